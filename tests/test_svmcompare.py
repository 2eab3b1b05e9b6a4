"""Support vector comparison machines: oracles of the paper, and solver against solver."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from letorlab.comparisons import Comparisons, within_queries
from letorlab.errors import InputError
from letorlab.hardcompare import compare_lp, compare_qp, is_separable
from letorlab.kernels import Gaussian, NamedKernel
from letorlab.queries import Queries
from letorlab.rankers.svmcompare import MODELS, SVMCompare
from letorlab.solvers.pair_dual import pair_dual, pair_gram


def line(differences, outcomes) -> Comparisons:
    """Comparisons of 0 with the given numbers."""
    X_prime = np.array(differences, dtype=float)[:, None]
    return Comparisons(np.zeros_like(X_prime), X_prime, np.array(outcomes))


def noisy(seed: int, n: int = 40, d: int = 3) -> Comparisons:
    rng = np.random.default_rng(seed)
    X, X_prime = rng.normal(size=(2, n, d))
    g = (X_prime - X) @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    y = np.where(np.abs(g) > 1, np.sign(g), 0).astype(int)
    y[:3] = -1, 0, 1
    return Comparisons(X, X_prime, y)


# ---- hard margins ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(0.5, 2.0), (1.0, 1.5), (3.0, 10.0)])
def test_hard_margins_on_a_line_have_a_closed_form(a, b):
    data = line([a, -a, 0.0, b, -b, b + 1], [0, 0, 0, 1, -1, 1])
    lp, qp = compare_lp(data), compare_qp(data)
    assert lp.margin == pytest.approx((b - a) / (b + a))
    assert qp.margin == pytest.approx((b - a) / (b + a), rel=1e-6)  # -1 / beta
    for rule in (lp, qp):
        assert rule.w[0] == pytest.approx(2 / (a + b), rel=1e-6)
        np.testing.assert_array_equal(rule.predict_pairs(data.X, data.X_prime), data.y)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_the_quadratic_program_is_feasible_for_the_linear_one(seed):
    rng = np.random.default_rng(seed)
    X, X_prime = rng.normal(size=(2, 30, 2))
    g = (X_prime - X) @ np.array([1.0, -0.5])
    keep = np.abs(np.abs(g) - 1) > 0.2  # separable, with a gap
    data = Comparisons(X[keep], X_prime[keep], np.where(np.abs(g) > 1, np.sign(g), 0).astype(int)[keep])
    if not (data.y == 0).any() or not (data.y != 0).any():
        return
    lp, qp = compare_lp(data), compare_qp(data)
    h = (data.X_prime - data.X) @ qp.w
    assert (np.abs(h[data.y == 0]) <= 1 - qp.margin + 1e-6).all()
    assert ((data.y * h)[data.y != 0] >= 1 + qp.margin - 1e-6).all()
    assert qp.margin <= lp.margin + 1e-6


def test_what_no_line_separates_is_said():
    data = line([1.0, 2.0, 3.0], [1, 0, 1])
    assert not is_separable(data)
    with pytest.raises(InputError, match="no linear score separates these 3 comparisons: use SVMCompare"):
        compare_lp(data)
    with pytest.raises(InputError, match="none of the comparisons is a tie"):
        compare_qp(line([1.0], [1]))


# ---- the structured kernel and its dual ------------------------------------------------------------------------


def test_the_kernel_of_pairs_is_that_of_differences():
    data = noisy(0)
    linear = pair_gram(NamedKernel("linear"), data.X, data.X_prime)
    difference = data.X_prime - data.X
    np.testing.assert_allclose(linear, difference @ difference.T, atol=1e-12)
    gaussian = pair_gram(Gaussian(1.0), data.X, data.X_prime)
    assert np.linalg.eigvalsh(gaussian).min() > -1e-12


@pytest.mark.parametrize("with_offset", [True, False])
def test_the_dual_solves_the_primal(with_offset):
    X, X_prime, label = noisy(1).flipped()
    gram = pair_gram(Gaussian(2.0), X, X_prime)
    weight = np.where(label == 1, 2.0, 0.5)
    result = pair_dual(gram, label, weight, with_offset=with_offset, tol=1e-8)
    v = label * result.coef[:-1]
    assert result.converged
    assert result.relative_gap <= 1e-6
    assert (v >= 0).all()
    assert (v <= weight + 1e-9).all()
    if with_offset:
        assert abs(label @ v) < 1e-6
    else:
        assert result.coef[-1] == 0

    def dual(u):
        g = gram @ (label * u)
        return 0.5 * (label * u) @ g - u.sum(), label * g - 1

    balance = {"type": "eq", "fun": lambda u: label @ u, "jac": lambda u: label}
    slow = minimize(
        *(dual, np.zeros(len(label))),
        jac=True,
        method="SLSQP",
        bounds=[(0, w) for w in weight],
        constraints=[balance] if with_offset else [],
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    assert -slow.fun == pytest.approx(v.sum() - 0.5 * result.coef[:-1] @ gram @ result.coef[:-1], rel=1e-6)


def test_a_libsvm_that_hits_its_limit_is_not_called_converged():
    X, X_prime, label = noisy(2).flipped()
    result = pair_dual(
        pair_gram(Gaussian(1.0), X, X_prime), label, np.full(len(label), 1e3), with_offset=True, max_iter=5
    )
    assert not result.converged


# ---- the three models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_all_pairs_of_queries_give_what_the_written_out_pairs_give(model, kernel):
    queries = random_queries(5, n_queries=4, n_features=3)
    params = {"model": model, "kernel": kernel, "sigma": 2.0, "C": 0.05}
    primal = SVMCompare(**params, tol=1e-7, max_iter=20_000).fit(queries.X, queries.y, queries.qid_of_docs)
    # The written-out pairs are scaled by how often a document is in a pair: undo this, to compare one problem.
    X = primal.rule_.scaling(queries.X)
    pairs = within_queries(Queries(X, queries.y, queries.offsets, queries.qid, queries.docid))
    dual = _unscaled_fit(SVMCompare(**params, tol=1e-9), pairs)
    assert primal.result_.converged
    assert primal.result_.objective == pytest.approx(dual.objective, rel=1e-5)


def _unscaled_fit(ranker, pairs):
    from letorlab.comparison_rule import OFFSET, STRICT, TIED

    X, X_prime, label = pairs.flipped()
    if TIED[ranker.model] == 0:
        X, X_prime, label = (part[label == 1] for part in (X, X_prime, label))
    weight = ranker.C * np.where(label == 1, STRICT[ranker.model], TIED[ranker.model])
    label = label if OFFSET[ranker.model] else np.ones_like(label)
    gram = pair_gram(ranker._kernel(X), X, X_prime)
    return pair_dual(gram, label, weight, with_offset=OFFSET[ranker.model], tol=ranker.tol)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_telling_pairs_the_other_way_round_changes_nothing(model, seed):
    data, unseen = noisy(seed), noisy(seed + 100)
    other = data.swapped(np.arange(0, data.n_pairs, 2))
    fits = [SVMCompare(model=model, sigma=2.0, C=1.0, tol=1e-8).fit_comparisons(d) for d in (data, other)]
    r = [fit.rank_function(unseen.items) for fit in fits]
    np.testing.assert_allclose(r[0] - r[0][0], r[1] - r[1][0], atol=1e-3 * np.ptp(r[0]))


@pytest.mark.parametrize("model", MODELS)
def test_rescaled_features_change_nothing(model):
    data, unseen = noisy(3), noisy(4)
    by = np.array([1e3, 1.0, 1e-2])
    rescaled = Comparisons(data.X * by, data.X_prime * by, data.y)
    one = SVMCompare(model=model, C=1.0, tol=1e-8).fit_comparisons(data)
    other = SVMCompare(model=model, C=1.0, tol=1e-8).fit_comparisons(rescaled)
    np.testing.assert_array_equal(
        one.predict_pairs(unseen.X, unseen.X_prime), other.predict_pairs(unseen.X * by, unseen.X_prime * by)
    )


@pytest.mark.parametrize("model", MODELS)
def test_predictions_are_antisymmetric_and_follow_the_scores(model):
    data, unseen = noisy(6), noisy(7)
    fit = SVMCompare(model=model, C=1.0).fit_comparisons(data)
    predicted = fit.predict_pairs(unseen.X, unseen.X_prime)
    np.testing.assert_array_equal(predicted, -fit.predict_pairs(unseen.X_prime, unseen.X))
    assert not fit.predict_pairs(unseen.X, unseen.X).any()
    g = fit.predict(unseen.X_prime) - fit.predict(unseen.X)
    np.testing.assert_array_equal(predicted, np.where(np.abs(g) > 1, np.sign(g), 0))


def test_a_weak_compare_model_without_a_tie_margin_falls_back_to_the_order():
    data = line([1.0, 1.1, -1.2, 0.9, 0.05], [1, 1, -1, 1, 0])
    fit = SVMCompare(kernel="linear", C=1e-6).fit_comparisons(data)
    assert fit.rule_.offset > 0
    np.testing.assert_array_equal(fit.predict_pairs(data.X, data.X_prime), np.sign(data.X_prime[:, 0]))
    np.testing.assert_array_equal(fit.predict(data.X_prime), fit.rule_.u(data.X_prime))


def test_ties_change_only_the_threshold_of_rank():
    data = noisy(8)
    strict = data.take(np.flatnonzero(data.y != 0))
    doubled = data.take(np.concatenate([np.arange(data.n_pairs), np.flatnonzero(data.y == 0)]))
    fits = [SVMCompare(model="rank", kernel="linear", tol=1e-8).fit_comparisons(d) for d in (data, doubled)]
    # The scaling sees the items of ties; in the units of the features the direction stays
    weights = [(fit.rule_.score.points.T @ fit.rule_.score.coef) for fit in fits]
    assert strict.n_pairs < data.n_pairs
    assert np.dot(*weights) / np.prod([np.linalg.norm(w) for w in weights]) > 0.99


def test_degenerate_data_are_an_error_or_a_constant():
    inequalities, ties = line([1.0, 2.0, -1.0], [1, 1, -1]), line([1.0, 2.0, -1.0], [0, 0, 0])
    with pytest.raises(InputError, match=r'none of the 3 comparisons is a tie.* Use the model "rank"'):
        SVMCompare().fit_comparisons(inequalities)
    for model in ("compare", "rank"):
        with pytest.raises(InputError, match="all 3 comparisons are ties"):
            SVMCompare(model=model).fit_comparisons(ties)
    rank2 = SVMCompare(model="rank2").fit_comparisons(ties)
    np.testing.assert_allclose(rank2.rule_.u(ties.X_prime), 0, atol=1e-12)
    assert not rank2.predict_pairs(ties.X, ties.X_prime).any()
    assert SVMCompare(model="rank").fit_comparisons(inequalities).rule_.offset is None


def test_bad_parameters_are_named():
    with pytest.raises(InputError, match="C must be a positive number; got 0"):
        SVMCompare(C=0).fit_comparisons(noisy(0))
    with pytest.raises(InputError, match="unknown model 'rank3'; known: compare, rank, rank2"):
        SVMCompare(model="rank3").fit_comparisons(noisy(0))
    with pytest.raises(InputError, match="all 1 features are constant"):
        SVMCompare().fit_comparisons(line([0.0, 0.0], [0, 1]))


def test_a_warm_start_ends_at_the_same_solution_in_fewer_passes():
    queries = random_queries(9, n_queries=10)
    data = queries.X, queries.y, queries.qid_of_docs
    weak = SVMCompare(C=0.01, tol=1e-6).fit(*data)
    cold = SVMCompare(C=0.011, tol=1e-6).fit(*data)
    warm = SVMCompare(C=0.011, tol=1e-6).fit(*data, init=weak)
    assert warm.result_.objective == pytest.approx(cold.result_.objective, rel=2e-6)
    assert warm.rule_.score.factor is weak.rule_.score.factor


def test_too_few_passes_are_reported_with_an_honest_gap():
    queries = random_queries(9, n_queries=10)
    data = queries.X, queries.y, queries.qid_of_docs
    short = SVMCompare(C=0.1, tol=1e-8, max_iter=8).fit(*data).result_
    full = SVMCompare(C=0.1, tol=1e-7, max_iter=20_000).fit(*data).result_
    assert not short.converged
    assert short.objective * (1 - short.relative_gap) <= full.objective <= short.objective
