"""What every ranker promises, and what each one is for."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from conftest import random_queries
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from letorlab.errors import InputError
from letorlab.metrics import average_precision
from letorlab.queries import Queries
from letorlab.rankers import LIBRARIES, RANKERS, missing_library, ranker_class, ranker_module
from letorlab.rankers.protocol import fit_takes, make_ranker
from letorlab.toy import make_toy

REFERENCE = {"random", "constant"}  # they learn nothing
INSTALLED = [name for name in RANKERS if missing_library(name) is None]


@pytest.fixture(scope="module")
def toy() -> tuple[Queries, Queries]:
    data = make_toy(queries=50, documents=[15, 25], features=8, grades=3, seed=7)
    in_train = np.isin(data.qid_of_docs, data.qid[:30])
    rows = data.X, data.y, data.qid_of_docs, data.docid
    return tuple(Queries.from_rows(*(column[part] for column in rows)) for part in (in_train, ~in_train))


@pytest.fixture(params=INSTALLED)
def fitted(request, toy):
    train = toy[0]
    return request.param, make_ranker(ranker_class(request.param), {}).fit(train.X, train.y, train.qid_of_docs)


def test_scores_are_finite_and_one_a_document(fitted, toy):
    scores = fitted[1].predict(toy[1].X, toy[1].qid_of_docs)
    assert scores.shape == (toy[1].n_docs,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", [name for name in INSTALLED if name not in REFERENCE])
def test_it_beats_a_constant_score(name, toy):
    train, test = toy
    ranker = make_ranker(ranker_class(name), {}).fit(train.X, train.y, train.qid_of_docs)
    scores = ranker.predict(test.X, test.qid_of_docs)
    assert average_precision(scores, test.y, test.offsets).mean() > 1.2 * shuffled_map(test)


def shuffled_map(queries: Queries) -> float:
    """What a constant score is worth when the order of the file says nothing."""
    rng = np.random.default_rng(0)
    runs = [average_precision(rng.random(queries.n_docs), queries.y, queries.offsets).mean() for _ in range(20)]
    return float(np.mean(runs))


def test_it_is_deterministic_and_pickles(fitted, toy):
    name, ranker = fitted
    train, test = toy
    again = make_ranker(ranker_class(name), {}).fit(train.X, train.y, train.qid_of_docs)
    scores = ranker.predict(test.X, test.qid_of_docs)
    np.testing.assert_array_equal(scores, again.predict(test.X, test.qid_of_docs))
    np.testing.assert_array_equal(scores, pickle.loads(pickle.dumps(ranker)).predict(test.X, test.qid_of_docs))


def test_neither_the_order_of_queries_nor_of_documents_matters(fitted, toy):
    name, ranker = fitted
    train, test = toy
    rng = np.random.default_rng(1)
    mixed, order = (
        rng.permutation(train.n_docs),
        rng.permutation(test.n_docs),
    )  # rows of all queries interleaved
    other = make_ranker(ranker_class(name), {}).fit(train.X[mixed], train.y[mixed], train.qid_of_docs[mixed])
    scores = ranker.predict(test.X, test.qid_of_docs)
    np.testing.assert_allclose(other.predict(test.X[order], test.qid_of_docs[order]), scores[order], atol=1e-7)


def test_parameters_are_untouched_and_clone(fitted):
    name, ranker = fitted
    assert ranker.get_params() == make_ranker(ranker_class(name), {}).get_params()
    assert clone(ranker).get_params() == ranker.get_params()
    assert all(p.kind is not p.VAR_KEYWORD for p in inspect.signature(type(ranker)).parameters.values())


def test_it_refuses_nan_other_widths_and_predicting_before_fit(fitted, toy):
    name, ranker = fitted
    X = toy[0].X.copy()
    X[3, 2] = np.nan
    fresh = make_ranker(ranker_class(name), {})
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(X, toy[0].y, toy[0].qid_of_docs)
    with pytest.raises(ValueError, match="features"):
        ranker.predict(toy[1].X[:, :3], toy[1].qid_of_docs)
    with pytest.raises(NotFittedError):
        make_ranker(ranker_class(name), {}).predict(toy[1].X, toy[1].qid_of_docs)


def test_it_reports_how_the_fit_went(fitted):
    result = fitted[1].result_
    assert result.converged
    assert result.relative_gap is None or 0 <= result.relative_gap <= 1e-4
    assert isinstance(fitted[1].fit_facts_, dict)


# ---- one by one ------------------------------------------------------------------------------------------------


def test_regression_is_least_squares_with_an_intercept():
    queries = random_queries(0, n_queries=30)
    ranker = make_ranker(ranker_class("regression"), {}).fit(queries.X, queries.y, queries.qid_of_docs)
    residual = queries.y - ranker.predict(queries.X)
    np.testing.assert_allclose(queries.X.T @ residual, 0, atol=1e-9)
    assert residual.sum() == pytest.approx(0, abs=1e-9)


def test_ranksvm_starts_from_another_model_and_ends_at_the_same():
    queries = random_queries(0, n_queries=30)
    data = queries.X, queries.y, queries.qid_of_docs
    cls = ranker_class("ranksvm")
    small, cold = (
        make_ranker(cls, {"C": 0.1}).fit(*data),
        make_ranker(cls, {"C": 1.0, "tol": 1e-12}).fit(*data),
    )
    warm = make_ranker(cls, {"C": 1.0, "tol": 1e-12})
    assert fit_takes(warm, "init")
    warm.fit(*data, init=small)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-6)


def test_ranksvm_ignores_queries_without_pairs_and_refuses_data_without_any():
    queries = random_queries(2, n_queries=20)
    more = Queries.from_rows(
        np.vstack([queries.X, np.ones((3, queries.n_features))]),
        np.concatenate([queries.y, [1, 1, 1]]),
        np.concatenate([queries.qid_of_docs, ["one", "same", "same"]]),
    )
    fits = [make_ranker(ranker_class("ranksvm"), {}).fit(q.X, q.y, q.qid_of_docs) for q in (queries, more)]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-12)
    with pytest.raises(InputError, match="there is no pair to learn from"):
        make_ranker(ranker_class("ranksvm"), {}).fit(np.ones((4, 2)), np.ones(4), ["a", "a", "b", "b"])


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan])
def test_ranksvm_needs_a_positive_C(C):
    with pytest.raises(InputError, match="C must be a positive number"):
        make_ranker(ranker_class("ranksvm"), {"C": C}).fit(np.eye(2), [1, 0], ["a", "a"])


def test_best_feature_finds_the_feature_and_its_direction():
    queries = random_queries(4, n_queries=30)
    X = queries.X.copy()
    X[:, 2] = -queries.y  # perfect, but falling
    ranker = make_ranker(ranker_class("best_feature"), {}).fit(X, queries.y, queries.qid_of_docs)
    assert (ranker.feature_, ranker.sign_, ranker.concordance_) == (2, -1.0, 1.0)


def test_random_scores_are_uniform_and_change_with_seed_query_and_features():
    X, qid = np.arange(8000.0).reshape(4000, 2), np.repeat(["a", "b"], 2000)

    def scores(seed, qid=qid):
        return make_ranker(ranker_class("random"), {}, seed=seed).fit(X, np.zeros(4000), qid).predict(X, qid)

    assert scores(3).mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / 4000))
    assert scores(3).var() == pytest.approx(1 / 12, abs=0.01)
    for other in (scores(4), scores(3, qid[::-1])):
        assert abs(np.corrcoef(scores(3), other)[0, 1]) < 4 / np.sqrt(4000)


# ---- the registry ----------------------------------------------------------------------------------------------


def test_unknown_names_and_parameters_list_the_known_ones():
    with pytest.raises(InputError, match="unknown ranker 'svm'; known: regression, ranksvm"):
        ranker_module("svm")
    with pytest.raises(InputError, match="RankSVM has no parameter gamma; it has: C, loss, tol, max_iter"):
        make_ranker(ranker_class("ranksvm"), {"gamma": 1})


def test_the_study_seed_reaches_rankers_that_have_one_unless_the_method_sets_its_own():
    cls = ranker_class("random")
    assert make_ranker(cls, {}, seed=5).seed == 5
    assert make_ranker(cls, {"seed": 6}, seed=5).seed == 6


def test_a_missing_library_is_named_without_an_import(monkeypatch):
    monkeypatch.setitem(LIBRARIES, "lambdamart", "no_such_library")
    assert missing_library("lambdamart") == "no_such_library"
    assert missing_library("regression") is None
