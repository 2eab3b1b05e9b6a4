"""Sinkhorn propagation: merged documents, slopes through everything, training, early stopping, hard queries."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import torch
from conftest import random_queries
from hypothesis import given, settings
from hypothesis import strategies as st

from letorlab.early_stopping import EarlyStopping
from letorlab.errors import InputError
from letorlab.merged import distinct_rows, merge
from letorlab.metrics import ndcg
from letorlab.presinkhorn import partitioned, rank_edges, smoothed_indicator
from letorlab.queries import Queries
from letorlab.rank_linear import expected_value, measure_named
from letorlab.rankers.regression import Regression
from letorlab.rankers.sinkprop import SinkProp
from letorlab.resample import resample
from letorlab.scorer_problem import ScorerProblem
from letorlab.scorers import make_scorer, spread_within
from letorlab.sinkhorn import sinkhorn
from letorlab.sinkhorn_objective import LOGIT_SPREAD, PRE_SINKHORN, SinkhornModel, SinkhornObjective
from letorlab.solvers.adam import adam_stage
from letorlab.solvers.annealing import anneal, lbfgs_stage
from letorlab.toy import make_toy
from letorlab.tuning import fit_grid

OBJECTIVES = ["ndcg", "ndcg@3", "precision@2", "rbp@0.8", lambda r, k: r / (1 + k)]


def derived_queries(seed, copies=3):
    train = random_queries(seed, n_queries=6, ties=True)
    return resample(train, copies=copies, max_documents=20, seed=seed)[0].apply(train)


def objective_of(queries, matrix="indicator", objective="ndcg"):
    merged = merge(queries, measure_named(objective))
    return SinkhornObjective(merged, SinkhornModel(matrix), dtype=torch.float64)


def slow_value(queries, weights, matrix, objective, smoothing):
    """One query at a time, one row a document, one column a rank, matrices written out."""
    terms, total, counted = measure_named(objective)(queries.y, queries.offsets), 0.0, 0
    for start, stop in pairwise(queries.offsets):
        if not terms.gains[start:stop].any():
            continue
        phi = torch.as_tensor(queries.X[start:stop] @ weights)
        if matrix == "indicator":
            A = smoothed_indicator(phi, None, smoothing)
        else:
            edges = rank_edges(torch.tensor(len(phi)), len(phi), torch.float64)
            A = partitioned((phi - phi.mean()) * LOGIT_SPREAD, edges, smoothing, matrix)
        total += expected_value(sinkhorn(A).matrix.numpy(), terms.gains[start:stop], terms.discounts)
        counted += 1
    return total / counted


# ---- merged documents and the objective --------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", PRE_SINKHORN)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_merging_and_padding_change_no_number(matrix, objective):
    queries, weights = derived_queries(1), np.array([0.5, -1.0, 0.3, 0.2])
    fast = objective_of(queries, matrix, objective)
    scores = torch.as_tensor(fast.merged.documents @ weights)
    expected = slow_value(queries, weights, matrix, objective, 0.4)
    assert fast.value(scores, 0.4) == pytest.approx(expected, abs=1e-12)
    assert fast.value_and_slope(scores, 0.4)[0] == pytest.approx(expected, abs=1e-12)
    assert len(fast.merged.mass) < queries.n_docs


@pytest.mark.parametrize("matrix", PRE_SINKHORN)
def test_the_slope_in_the_scores_equals_finite_differences(matrix):
    objective = objective_of(derived_queries(2), matrix)
    rng = np.random.default_rng(0)
    scores, step = rng.normal(size=len(objective.merged.documents)), 1e-5
    _, slope = objective.value_and_slope(torch.as_tensor(scores), 0.7)
    for _ in range(5):
        way = rng.normal(size=len(scores)) / np.sqrt(len(scores))
        ends = [objective.value(torch.as_tensor(scores + sign * step * way), 0.7) for sign in (1, -1)]
        assert float(slope @ torch.as_tensor(way)) == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize(
    "scorer", ["linear", "mlp", torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))]
)
def test_the_slope_in_the_parameters_equals_finite_differences(scorer):
    objective, rng = objective_of(derived_queries(3)), np.random.default_rng(1)
    problem = ScorerProblem(make_scorer(scorer, objective.merged, n_hidden=3), objective, lam=0.05)
    theta = problem.start + 0.1 * rng.normal(size=problem.start.shape)
    _, slope = problem.evaluate(theta, 0.5)
    for i in rng.choice(len(theta), size=min(5, len(theta)), replace=False):
        step = 1e-6 * np.eye(len(theta))[i]
        ends = [problem.evaluate(theta + sign * step, 0.5)[0] for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_the_mean_over_parts_is_the_mean_over_all():
    objective = objective_of(derived_queries(4))
    scores = torch.as_tensor(np.random.default_rng(0).normal(size=len(objective.merged.documents)))
    n, (value, slope) = objective.merged.n_queries, objective.value_and_slope(scores, 0.5)
    parts = np.array_split(np.random.default_rng(1).permutation(n), 3)
    sums = [objective.value_and_slope(scores, 0.5, list(objective.batches(part))) for part in parts]
    assert sum(len(p) * v for p, (v, _) in zip(parts, sums, strict=True)) / n == pytest.approx(value)
    torch.testing.assert_close(sum(len(p) * s for p, (_, s) in zip(parts, sums, strict=True)) / n, slope)


@pytest.mark.parametrize("matrix", PRE_SINKHORN)
def test_single_precision_is_close(matrix):
    merged = merge(derived_queries(5), measure_named("ndcg"))
    scores = torch.as_tensor(np.random.default_rng(0).normal(size=len(merged.documents)))
    fits = [SinkhornObjective(merged, SinkhornModel(matrix), dtype=d) for d in (torch.float32, torch.float64)]
    pair = [fit.value_and_slope(scores.to(fit.dtype), 0.3) for fit in fits]
    assert pair[0][0] == pytest.approx(pair[1][0], abs=1e-5)
    torch.testing.assert_close(pair[0][1].double(), pair[1][1], rtol=1e-3, atol=1e-5)


def test_equal_relevances_have_no_slope_in_the_limit():
    phi = torch.as_tensor(np.random.default_rng(0).normal(size=6)).requires_grad_()
    discounts = torch.as_tensor(1 / np.log2(np.maximum(np.arange(1, 7), 2)))
    value = (sinkhorn(smoothed_indicator(phi, None, 0.8), n_iter=200).matrix @ discounts).sum() / discounts.sum()
    assert float(value.detach()) == pytest.approx(1.0, abs=1e-12)
    assert float(torch.autograd.grad(value, phi)[0].abs().max()) < 1e-10


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_distinct_rows_rebuild_the_matrix_and_zero_has_one_sign(seed):
    X = np.random.default_rng(seed).integers(-1, 2, size=(12, 2)) * np.array([1.0, -1.0])
    first, inverse = distinct_rows(X)
    np.testing.assert_array_equal(X[first][inverse], X)
    assert len(first) == len(np.unique(X + 0.0, axis=0))


# ---- optimisers --------------------------------------------------------------------------------------------------


def parabola(point, smoothing):
    return float(smoothing + np.sum((point - 3) ** 2)), 2 * (point - 3)


def test_annealing_runs_every_stage_from_where_the_last_one_ended():
    seen = []

    def watch(point, smoothing):
        seen.append((smoothing, float(point[0])))
        return False

    ended = anneal(lbfgs_stage(parabola, max_iter=50, tol=1e-12), np.zeros(2), [1.0, 0.5], watch)
    np.testing.assert_allclose(ended.point, 3.0, atol=1e-6)
    assert ended.converged
    assert ended.smoothing == 0.5
    assert {smoothing for smoothing, _ in seen} <= {1.0, 0.5}


def test_stages_without_a_new_best_end_the_training():
    stage = lbfgs_stage(parabola, max_iter=1, tol=1e-12)
    ended = anneal(stage, np.zeros(2), [4.0, 2.0, 1.0, 0.5], lambda point, smoothing: smoothing == 4.0, patience=2)
    assert ended.smoothing == 1.0
    assert ended.converged
    assert not anneal(stage, np.zeros(2), [1.0], lambda point, smoothing: True).converged  # 1 iteration is too few


def test_adam_comes_to_the_minimum_and_is_seeded():
    def evaluate(point, smoothing, some):
        return float(np.mean((point[0] - some) ** 2)), np.array([2 * np.mean(point[0] - some)])

    def run(seed):
        stage = adam_stage(evaluate, 10, batch=3, epochs=2000, rate=0.005, tol=1e-9, seed=seed)
        return stage(np.zeros(1), 1.0, lambda point: None)[0]

    assert run(1)[0] == pytest.approx(4.5, abs=0.3)  # mean of 0..9
    np.testing.assert_array_equal(run(1), run(1))
    assert run(1)[0] != run(2)[0]


def test_early_stopping_keeps_the_first_of_the_best():
    queries = random_queries(0, n_queries=9)
    stopping = EarlyStopping(queries, "ndcg@3", profile="letor3")
    assert stopping.offer("bad", -queries.y)
    assert stopping.offer("good", queries.y)
    assert not stopping.offer("as good", 2 * queries.y)
    assert not stopping.offer("bad again", -queries.y)
    assert (stopping.best, stopping.value) == ("good", ndcg(queries.y, queries.y, queries.offsets, k=3).mean())
    with pytest.raises(InputError, match="ndcg takes a k"):
        EarlyStopping(queries, "ndcg", profile="letor3")


# ---- the ranker --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy():
    data = make_toy(queries=40, documents=[8, 15], features=6, grades=3, seed=3)
    part = np.isin(data.qid_of_docs, data.qid[:25])
    rows = data.X, data.y, data.qid_of_docs, data.docid
    return tuple(Queries.from_rows(*(column[p] for column in rows)) for p in (part, ~part))


def fit(queries, validation=None, init=None, **params):
    return SinkProp(**params).fit(queries.X, queries.y, queries.qid_of_docs, init=init, validation=validation)


def test_it_starts_at_the_regression_and_a_strong_penalty_keeps_it_there(toy):
    train, test = toy
    regression = Regression().fit(train.X, train.y)
    for scorer in ("linear", "mlp"):
        model = fit(train, scorer=scorer, lam=1e9, n_stages=2)
        phi, theirs = model.decision_scores(test.X), regression.predict(test.X)
        assert np.corrcoef(phi, theirs)[0, 1] == pytest.approx(1.0, abs=1e-6)
        assert spread_within(
            merge(train, measure_named("ndcg")), model.decision_scores(distinct(train))
        ) == pytest.approx(1.0, abs=1e-4)


def distinct(queries):
    return queries.X[distinct_rows(queries.X)[0]]


@pytest.mark.parametrize(
    "params", [{}, {"matrix": "logistic"}, {"optimiser": "adam"}, {"scorer": "mlp", "max_iter": 500}]
)
def test_training_raises_the_expected_gain_above_the_start(params, toy):
    model = fit(toy[0], **params)
    facts = model.fit_facts_
    assert facts["expected_gain"] > facts["expected_gain_at_start"] + 0.003
    assert model.result_.relative_gap is None
    assert model.result_.converged


def test_the_end_of_training_is_stationary(toy):
    model = fit(toy[0], tol=1e-14, max_iter=500, n_stages=3, dtype="float64", lam=0.05)
    objective = objective_of(toy[0])
    problem = ScorerProblem(make_scorer("linear", objective.merged), objective, lam=0.05)
    value, slope = problem.evaluate(model.result_.coef, model.smoothing_)
    assert value == pytest.approx(model.result_.objective)
    assert np.abs(slope).max() < 1e-5


def test_early_stopping_keeps_the_weights_that_validation_likes_best(toy):
    train, vali = toy
    model = fit(train, vali, lam=1e-5)
    scores = model.predict(vali.X, vali.qid_of_docs)
    assert model.fit_facts_["validation"] == pytest.approx(ndcg(scores, vali.y, vali.offsets, k=10).mean())
    to_the_end = fit(train, lam=1e-5)
    end = ndcg(to_the_end.predict(vali.X, vali.qid_of_docs), vali.y, vali.offsets, k=10).mean()
    assert model.fit_facts_["validation"] > end
    assert model.result_.n_iter < to_the_end.result_.n_iter
    assert to_the_end.fit_facts_["validation"] is None


def test_another_model_is_a_start_where_it_fits(toy):
    first = fit(toy[0], lam=0.1)
    warm = fit(toy[0], init=first, lam=0.1, max_iter=1, n_stages=1, smoothing=first.smoothing_)
    assert warm.result_.objective <= first.result_.objective + 1e-6
    cold = fit(toy[0], lam=0.1, n_stages=2)
    ignored = fit(toy[0], init=first, warm_start=False, lam=0.1, n_stages=2)
    np.testing.assert_array_equal(ignored.result_.coef, cold.result_.coef)
    with pytest.raises(InputError, match=r"init has 6 parameters, this scorer has .*: give the same scorer"):
        fit(toy[0], init=first, scorer="mlp")


def test_predictions_rank_by_score_and_fall_strictly(toy):
    model, test = fit(toy[0], n_stages=3), toy[1]
    phi = model.decision_scores(test.X)
    for rule in ("top", "expected", "full"):
        scores = model.set_params(rule=rule).predict(test.X, test.qid_of_docs)
        for start, stop in pairwise(test.offsets):
            by_score = np.argsort(-phi[start:stop], kind="stable")
            np.testing.assert_array_equal(np.argsort(-scores[start:stop], kind="stable"), by_score)
            falls = np.diff(scores[start:stop][by_score])
            np.testing.assert_array_equal(falls < 0, np.diff(phi[start:stop][by_score]) < 0)
    Z = model.ranking_matrix(test.X[:5])
    np.testing.assert_allclose(Z.sum(1), 1.0)


def test_a_module_of_the_caller_is_copied_trained_and_pickled(toy):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    before = copy.deepcopy(module.state_dict())
    model = fit(toy[0], scorer=module, lam=0.0, n_stages=3)
    assert all(torch.equal(before[key], value) for key, value in module.state_dict().items())
    assert model.fit_facts_["expected_gain"] > model.fit_facts_["expected_gain_at_start"] + 0.05
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(toy[1].X), model.predict(toy[1].X))
    with pytest.raises(InputError, match=r"the scorer gave scores of shape \(\d+, 6\)"):
        fit(toy[0], scorer=torch.nn.Linear(6, 6))


@pytest.mark.parametrize("matrix", PRE_SINKHORN)
def test_hard_queries_train_without_nan(matrix):
    """One document, equal relevances, no relevant document, only duplicates, duplicates of different relevance."""
    base = random_queries(5, n_queries=6)
    X = np.vstack([base.X, [[1.0, 2, 3, 4]], np.eye(4), np.eye(4), np.ones((3, 4)), np.ones((3, 4))])
    y = np.concatenate([base.y, [2], [1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1], [0, 1, 2]])
    names = np.repeat(["one", "equal", "none", "same", "mixed"], [1, 4, 4, 3, 3])
    queries = Queries.from_rows(X, y, np.concatenate([base.qid_of_docs, names]))
    model = fit(queries, matrix=matrix, n_stages=3, max_iter=10)
    assert np.isfinite(model.result_.coef).all()
    assert np.isfinite(model.result_.objective)
    assert np.isfinite(model.predict(queries.X, queries.qid_of_docs)).all()
    for name in ("one", "equal", "same", "mixed"):
        rows = queries.qid_of_docs == name
        alone = SinkProp(matrix=matrix, n_stages=2).fit(queries.X[rows], queries.y[rows], queries.qid_of_docs[rows])
        assert np.isfinite(alone.predict(queries.X[rows])).all()


def test_without_any_gain_there_is_nothing_to_learn_from():
    with pytest.raises(InputError, match="none of the 1 queries has a document with gain"):
        SinkProp().fit(np.eye(3), np.zeros(3), ["a", "a", "a"])


def test_fit_json_counts_the_derived_documents(toy):
    train, vali = toy
    derived = resample(train, copies=4, max_documents=200, seed=1)[0].apply(train)
    (trial,) = fit_grid(SinkProp, [{"n_stages": 2, "max_iter": 5}], derived, vali, vali, seed=0)
    assert trial.fit["n_docs"] == derived.n_docs
    assert trial.fit["n_docs"] > 3 * train.n_docs
    assert trial.fit["n_merged_docs"] < derived.n_docs
    assert trial.fit["validation"] > 0  # the validation queries reached the fit
    assert trial.fit["relative_gap"] is None


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"matrix": "gumbel"}, "unknown pre-Sinkhorn matrix 'gumbel'; known: indicator, logistic, probit, beta"),
        ({"scorer": "tree"}, "unknown scorer 'tree'; known: linear, mlp, or a torch module"),
        ({"optimiser": "sgd"}, "unknown optimiser 'sgd'; known: lbfgs, adam"),
        ({"objective": "map"}, "unknown objective 'map'"),
        ({"rule": "greedy"}, "unknown rule for the permutation"),
        ({"profile": "trec"}, "unknown metric profile 'trec'"),
        ({"dtype": "float16"}, "unknown dtype 'float16'; known: float32, float64"),
        ({"device": "abacus"}, "device 'abacus' can not be used here"),
        ({"lam": -1.0}, "lam must be a number of at least 0; got -1.0"),
        ({"smoothing": 0.0}, "smoothing must be a positive number; got 0.0"),
        ({"n_stages": 0}, "n_stages must be a whole number of at least 1; got 0"),
        ({"start_lam": -1.0}, "the ridge penalty lam must be a number of at least 0"),
        ({"scorer": "mlp", "n_hidden": 0}, "n_hidden must be at least 1; got 0"),
        ({"n_iter": 0}, "n_iter, the number of Sinkhorn steps, must be at least 1"),
        ({"stop_on": "ndcg"}, "ndcg takes a k"),
    ],
)
def test_bad_parameters_are_named(params, message, toy):
    with pytest.raises(InputError, match=message):
        fit(toy[0], toy[1], **params)
