"""Optimality, certificates and closed forms of the solvers."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.pairwise import StrictPairs
from letorlab.solvers.least_squares import ridge, ridge_gap
from letorlab.solvers.ranksvm import ranksvm_newton

seeds = st.integers(0, 10**6)

# ---- least squares ---------------------------------------------------------------------------------------------


@given(seeds, st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
def test_ridge_solves_the_normal_equations_and_certifies_it(seed, lam):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    result = ridge(X, y, lam)
    np.testing.assert_allclose(X.T @ (y - X @ result.coef), lam * result.coef, atol=1e-9 * (1 + lam))
    assert result.converged
    assert result.relative_gap < 1e-10


@given(seeds, st.sampled_from([0.0, 0.7, 30.0]))
def test_the_ridge_gap_is_primal_minus_dual_and_bounds_the_error_anywhere(seed, lam):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    best = ridge(X, y, lam)
    w = best.coef + rng.normal(size=4)
    residual = y - X @ w
    primal, gap = residual @ residual + lam * w @ w, ridge_gap(X, y, w, lam)
    assert gap >= primal - best.objective - 1e-9
    if lam > 0:
        dual = 2 * residual @ y - residual @ residual - np.sum((X.T @ residual) ** 2) / lam
        assert gap == pytest.approx(primal - dual)
    else:  # the projected point is the best dual point, so the gap is the error itself
        assert gap == pytest.approx(primal - best.objective)


def test_least_squares_of_dependent_features_has_least_norm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    X = np.column_stack([X, X[:, 0], np.zeros(30)])  # a duplicate and an empty feature
    y = rng.normal(size=30)
    result = ridge(X, y, 0.0)
    np.testing.assert_allclose(result.coef, np.linalg.pinv(X) @ y, atol=1e-12)
    assert result.relative_gap < 1e-12


@pytest.mark.parametrize("lam", [-1.0, np.nan, np.inf])
def test_a_bad_ridge_penalty_is_refused(lam):
    with pytest.raises(InputError, match="lam must be a number of at least 0"):
        ridge(np.eye(2), np.ones(2), lam)


# ---- RankSVM ---------------------------------------------------------------------------------------------------

LOSSES = pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])


def written_out(queries, C, w, loss="squared_hinge"):
    """Objective, a subgradient and slacks of RankSVM on written-out pairs."""
    D = oracles.difference_matrix(oracles.strict_pairs(queries.y, queries.offsets), queries.n_docs) @ queries.X
    slack = np.maximum(0.0, 1.0 - D @ w)
    value, u = (slack @ slack, 2 * slack) if loss == "squared_hinge" else (slack.sum(), (slack > 0).astype(float))
    return 0.5 * w @ w + C * value, w - C * D.T @ u, slack, D


@given(seeds, st.sampled_from([1e-3, 0.1, 10.0]), st.booleans())
def test_ranksvm_is_optimal_on_written_out_pairs(seed, C, ties):
    queries = random_queries(seed, ties=ties)
    result = ranksvm_newton(queries.X, StrictPairs(queries.y, queries.offsets), C, tol=1e-12)
    value, gradient, _, _ = written_out(queries, C, result.coef)
    assert result.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert np.linalg.norm(gradient) <= 1e-5 * (1 + np.sqrt(value))


@given(seeds, st.sampled_from([1e-3, 0.1, 10.0]), st.booleans())
def test_the_hinge_is_certified_on_written_out_pairs(seed, C, ties):
    """No other point is lower than objective minus gap: neither random ones nor those along coordinates."""
    queries = random_queries(seed, ties=ties)
    result = ranksvm_newton(queries.X, StrictPairs(queries.y, queries.offsets), C, loss="hinge", tol=1e-5)
    assert result.converged
    value = written_out(queries, C, result.coef, "hinge")[0]
    assert result.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
    bound = value * (1 - result.relative_gap) - 1e-12
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for step in [*np.eye(queries.n_features), *-np.eye(queries.n_features), rng.normal(size=queries.n_features)]:
            assert written_out(queries, C, result.coef + size * step, "hinge")[0] >= bound


@given(seeds)
def test_the_ranksvm_gap_is_primal_minus_dual(seed):
    """At any w, with alpha = 2C slack: P - D = 1/2 ||grad P||^2 with the dual written out."""
    queries, C = random_queries(seed), 0.3
    w = np.random.default_rng(seed).normal(size=queries.n_features)
    primal, gradient, slack, D = written_out(queries, C, w)
    alpha = 2 * C * slack
    dual = alpha.sum() - 0.5 * np.sum((D.T @ alpha) ** 2) - alpha @ alpha / (4 * C)
    assert primal - dual == pytest.approx(0.5 * gradient @ gradient, rel=1e-9, abs=1e-9)


@given(seeds)
def test_the_gap_of_the_hinge_is_that_of_a_feasible_dual_point(seed):
    """At the start, with width 1: alpha = C clip(1 - t, 0, 1) is in the box of the hinge's dual."""
    queries, C = random_queries(seed), 0.3
    w = np.random.default_rng(seed).normal(size=queries.n_features)
    result = ranksvm_newton(
        queries.X, StrictPairs(queries.y, queries.offsets), C, loss="hinge", init=w, max_iter=0, tol=0.0
    )
    primal, _, slack, D = written_out(queries, C, w, "hinge")
    alpha = C * np.clip(slack, 0.0, 1.0)
    dual = alpha.sum() - 0.5 * np.sum((D.T @ alpha) ** 2)
    assert result.objective == pytest.approx(primal)
    assert result.relative_gap * primal == pytest.approx(primal - dual, rel=1e-9, abs=1e-9)


@LOSSES
def test_ranksvm_equals_scikit_learn_on_written_out_differences(loss):
    from sklearn.svm import LinearSVC

    queries, C = random_queries(3, n_queries=20), 0.05
    tol = 1e-12 if loss == "squared_hinge" else 1e-8
    ours = ranksvm_newton(queries.X, StrictPairs(queries.y, queries.offsets), C, loss=loss, tol=tol)
    D = written_out(queries, C, np.zeros(queries.n_features))[3]
    peer = LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-10, max_iter=1_000_000)
    peer.fit(np.vstack([D, -D]), np.repeat([1, -1], len(D)))  # both signs: the peer wants two classes
    # each pair stands there twice, so its C counts twice
    ours_doubled = ranksvm_newton(queries.X, StrictPairs(queries.y, queries.offsets), 2 * C, loss=loss, tol=tol)
    np.testing.assert_allclose(ours_doubled.coef, peer.coef_[0], atol=1e-5 if loss == "squared_hinge" else 1e-3)
    assert not np.allclose(ours.coef, peer.coef_[0], atol=1e-3)


def test_a_warm_start_reaches_the_same_solution():
    queries = random_queries(5, n_queries=30)
    pairs = StrictPairs(queries.y, queries.offsets)
    cold = ranksvm_newton(queries.X, pairs, 1.0, tol=1e-13)
    warm = ranksvm_newton(queries.X, pairs, 1.0, tol=1e-13, init=cold.coef)
    assert warm.n_iter == 0
    other = ranksvm_newton(queries.X, pairs, 1.0, tol=1e-13, init=np.full(queries.n_features, 50.0))
    np.testing.assert_allclose(other.coef, cold.coef, atol=1e-6)


@LOSSES
def test_one_pair_has_a_closed_form(loss):
    """X = (1), (0): minimise w^2/2 + C (1 - w)^2, so w = 2C / (1 + 2C); with the hinge w = min(C, 1)."""
    pairs = StrictPairs(np.array([1.0, 0.0]), np.array([0, 2]))
    for C in (0.01, 1.0, 100.0):
        result = ranksvm_newton(np.array([[1.0], [0.0]]), pairs, C, loss=loss, tol=1e-10)
        expected = 2 * C / (1 + 2 * C) if loss == "squared_hinge" else min(C, 1.0)
        assert result.coef[0] == pytest.approx(expected, abs=1e-4 if loss == "hinge" else 1e-6)


def test_stopping_early_is_reported():
    queries = random_queries(1, n_queries=30)
    result = ranksvm_newton(queries.X, StrictPairs(queries.y, queries.offsets), 10.0, max_iter=0)
    assert not result.converged
    assert result.n_iter == 0
    value, gradient, _, _ = written_out(queries, 10.0, np.zeros(queries.n_features))
    assert result.relative_gap == pytest.approx(0.5 * gradient @ gradient / value)
    assert result.relative_gap > 1e-3


def test_an_unknown_loss_lists_the_known_ones():
    pairs = StrictPairs(np.array([1.0, 0.0]), np.array([0, 2]))
    with pytest.raises(InputError, match="unknown loss 'logistic'; known: squared_hinge, hinge"):
        ranksvm_newton(np.eye(2), pairs, 1.0, loss="logistic")
