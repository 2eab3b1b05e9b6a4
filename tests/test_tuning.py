"""Grids, warm starts, the trials file and the choice among trials."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pytest
from conftest import random_queries

from letorlab.csvtable import read_table
from letorlab.errors import InputError
from letorlab.evaluate import Evaluation, evaluate_fold, trec_run
from letorlab.metrics import average_precision, ndcg
from letorlab.queries import Queries
from letorlab.rankers import ranker_class
from letorlab.solvers import Result
from letorlab.trials import SavedTrials, save_trials
from letorlab.tuning import best_trial, fit_grid

SPLITS = [random_queries(seed, n_queries=12) for seed in range(30, 33)]
GRID = [{"C": 1e-3}, {"C": 0.1}, {"C": 10.0}]
EVALUATION = Evaluation(metrics=["ndcg", "map", "mrr"], cutoff=5, select_on="map", profile="letor3")
FACTS = {"dataset": "d", "method": "m", "fold": 2, "ranker": "ranksvm", "train_on": "original"}


def trials(cls=None, grid=GRID):
    return list(fit_grid(cls or ranker_class("ranksvm"), grid, *SPLITS, seed=0))


def test_every_trial_is_the_fit_of_its_parameters():
    for trial, params in zip(trials(), GRID, strict=True):
        alone = ranker_class("ranksvm")(**params).fit(SPLITS[0].X, SPLITS[0].y, SPLITS[0].qid_of_docs)
        np.testing.assert_allclose(trial.test, alone.predict(SPLITS[2].X), atol=1e-3)
        assert trial.fit["params"] == params
        assert trial.fit["converged"]
        assert trial.fit["n_docs"] == SPLITS[0].n_docs
        assert trial.fit["n_pairs"] > 0


class Recorder:
    """Notes from which model it was started."""

    def __init__(self, C=0):
        self.C = C
        self.fit_facts_ = {}

    def fit(self, X, y, qid, init=None):
        self.started_from = None if init is None else init.C
        self.result_ = Result(np.zeros(1), 0.0, None, 1, True)
        return self

    def predict(self, X, qid=None):
        return np.full(len(X), np.nan if self.C == "bad" else 0.0)


def test_each_trial_starts_from_the_one_before():
    assert [t.model.started_from for t in trials(Recorder)] == [None, 1e-3, 0.1]


def test_scores_that_are_not_finite_stop_the_job_with_the_parameters():
    with pytest.raises(InputError, match=r"Recorder with {'C': 'bad'} gave scores .* not finite"):
        trials(Recorder, [{"C": "bad"}])


def test_the_first_of_equal_trials_is_chosen():
    assert best_trial([0.1, 0.3, 0.3, 0.2]) == 1


@pytest.fixture
def evaluated(tmp_path):
    save_trials(tmp_path / "trials.zip", trials())
    evaluate_fold(SavedTrials(tmp_path / "trials.zip"), SPLITS[1], SPLITS[2], EVALUATION, tmp_path, FACTS)
    return tmp_path


def test_selection_is_on_validation_and_measured_on_test(evaluated):
    table = read_table(evaluated / "trials.csv")
    vali, test = SPLITS[1:]
    expected = [average_precision(t.vali, vali.y, vali.offsets).mean() for t in trials()]
    np.testing.assert_allclose(table["validation"], expected)
    chosen = table["selected"].tolist().index("true")
    assert chosen > 0, "the test needs data on which the first trial is not the best"
    assert chosen == int(np.argmax(expected))
    assert table["selected"].tolist().count("true") == 1
    scores = trials()[chosen].test
    assert table["test"][chosen] == pytest.approx(average_precision(scores, test.y, test.offsets).mean())
    per_query = read_table(evaluated / "per_query.csv")
    at_five = per_query[(per_query["metric"] == "ndcg") & (per_query["k"] == 5)]
    np.testing.assert_array_equal(at_five["value"], ndcg(scores, test.y, test.offsets, k=5))
    assert at_five["qid"].tolist() == test.qid.tolist()
    assert len(per_query) == test.n_queries * (5 + 1 + 1)


def one_query_without_relevant() -> tuple[Queries, np.ndarray]:
    """Queries a (labels 0, 1 with equal scores), b (no relevant document), c (1, 0 in order)."""
    queries = Queries(
        X=np.zeros((6, 1)),
        y=np.array([0.0, 1, 0, 0, 1, 0]),
        offsets=np.array([0, 2, 4, 6]),
        qid=np.array(["a", "b", "c"]),
        docid=np.array(list("uvwxyz")),
    )
    return queries, np.array([0.0, 0, 0, 0, 2, 1])


@pytest.mark.parametrize(
    ("policy", "ndcg_at_1", "precision_at_1"),
    [("zero", [0, 0, 1], [0, 0, 1]), ("one", [0, 1, 1], [0, 0, 1]), ("skip", [0, 1], [0, 1])],
)
def test_queries_without_relevant_document_follow_the_policy(policy, ndcg_at_1, precision_at_1):
    """0 over 0 is what the policy says; P@1 is 0 over 1 in any case."""
    queries, scores = one_query_without_relevant()
    evaluation = Evaluation(["ndcg", "precision", "map"], 1, "ndcg@1", "letor3", policy)
    table = evaluation.per_query(scores, queries, {}).set_index("metric")
    assert table.loc["ndcg", "value"].tolist() == ndcg_at_1
    assert table.loc["precision", "value"].tolist() == precision_at_1
    assert table.loc["map", "value"].tolist() == [
        value or 0.5 if q == 0 else value for q, value in enumerate(ndcg_at_1)
    ]
    assert evaluation.selection_value(scores, queries) == pytest.approx(np.mean(ndcg_at_1))


def test_a_policy_must_exist_and_leave_a_query():
    queries, scores = one_query_without_relevant()
    with pytest.raises(InputError, match="no_relevant must be one of zero, one, skip; got 'nan'"):
        Evaluation(["map"], 1, "map", "letor3", "nan")
    with pytest.raises(InputError, match="none of the 1 queries has a relevant document"):
        nothing = np.array([False, True, False])
        Evaluation(["map"], 1, "map", "letor3", "skip").selection_value(scores[2:4], queries.take(nothing))


def test_the_mean_over_orders_stands_beside_the_value_where_scores_tie():
    queries, scores = one_query_without_relevant()
    table = Evaluation(["ndcg", "map"], 2, "map", "letor3").per_query(scores, queries, {})
    at = table.set_index(["metric", "k", "qid"])
    assert at.loc[("ndcg", 1, "a"), ["value", "expected"]].tolist() == [0, 0.5]
    assert at.loc[("ndcg", 2, "a"), ["value", "expected"]].tolist() == [1, 1]
    assert table.query("metric == 'map' and qid == 'a'")["expected"].tolist() == [(1 + 1 / 2) / 2]
    # b ties too, but between documents of one grade: any order has the same value
    assert table[table["qid"] != "a"]["expected"].isna().all()


def test_the_saved_model_gives_the_saved_scores(evaluated):
    model, scores = joblib.load(evaluated / "model.joblib"), read_table(evaluated / "scores.test.csv")
    np.testing.assert_array_equal(model.predict(SPLITS[2].X), scores["score"])
    assert scores["docid"].tolist() == SPLITS[2].docid.tolist()
    assert scores["qid"].tolist() == SPLITS[2].qid_of_docs.tolist()


def test_fit_json_holds_the_contract(evaluated):
    fit = json.loads((evaluated / "fit.json").read_text())
    contract = "params converged relative_gap factor_residual n_iter seconds peak_memory_mb n_docs n_pairs n_atoms"
    assert set(contract.split()) <= fit.keys()
    assert fit["ranker"] == "ranksvm"
    assert fit["fold"] == 2
    assert 0 <= fit["relative_gap"] <= 1e-6


def test_trec_runs_rank_by_position_so_that_small_differences_survive():
    queries = Queries(
        X=np.zeros((4, 1)),
        y=np.zeros(4),
        offsets=np.array([0, 3, 4]),
        qid=np.array(["q1", "q2"]),
        docid=np.array(["a", "b", "c", "d"]),
    )
    run = trec_run(np.array([1.0, 1 + 1e-12, 1.0, 5.0]), queries, tag="m")
    assert run.splitlines() == ["q1 Q0 b 1 3 m", "q1 Q0 a 2 2 m", "q1 Q0 c 3 1 m", "q2 Q0 d 1 1 m"]


def test_trials_of_other_data_are_refused(evaluated):
    with pytest.raises(InputError, match="delete the trials file and run again"):
        evaluate_fold(SavedTrials(evaluated / "trials.zip"), SPLITS[2], SPLITS[2], EVALUATION, evaluated, FACTS)


def test_a_failed_fit_leaves_no_trials_file(tmp_path):
    def broken():
        yield trials()[0]
        raise RuntimeError("in the second trial")

    with pytest.raises(RuntimeError):
        save_trials(tmp_path / "trials.zip", broken())
    assert list(tmp_path.iterdir()) == []


def test_selection_metrics_need_their_k():
    with pytest.raises(InputError, match="ndcg takes a k"):
        Evaluation(metrics=["ndcg"], cutoff=5, select_on="ndcg", profile="letor3")
