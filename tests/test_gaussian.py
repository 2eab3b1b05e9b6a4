"""Pairwise kernel models: oracles of the theory, and each solver against a dense reference."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from conftest import random_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import strict_pairs
from scipy.optimize import minimize

from letorlab.errors import InputError
from letorlab.exactgap import exact_gap
from letorlab.kernels import Gaussian, named_kernel, width
from letorlab.losses import Hinge, PowerHinge, SmoothHinge, Square, margin_loss
from letorlab.lowrank import low_rank_factor
from letorlab.pairblocks import PairBlocks, tied_blocks
from letorlab.pairmaps import Antisymmetric, Difference, normal_product, risk, weighted_sum
from letorlab.rankers.gaussian import GaussianPairRanker
from letorlab.rankers.pairkernel import PairKernelRanker
from letorlab.solvers.margin import minimise_margin_risk
from letorlab.solvers.pair_least_squares import complete_least_squares, pair_least_squares
from letorlab.tournament import intransitive_share, intransitive_triples, scores_from_preferences

LOSSES = [("hinge", 1.0), ("square", 2.0), ("rhinge", 1.5), ("rhinge", 2.0), ("rhinge", 3.0)]
TIGHT = {"tol": 1e-7, "max_iter": 50_000}


def sample(seed: int, n: int = 12, d: int = 3, grades: int | None = None):
    """One query: X, y without ties unless grades are given, and a constant qid."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(n).astype(float) if grades is None else rng.integers(0, grades, n).astype(float)
    if grades:
        y[:2] = 0, 1  # at least one strict pair
    return rng.normal(size=(n, d)), y, np.full(n, "q")


def dense_minimum(Q, c, loss, lam):
    """Minimum of sum c psi(f) + lam a'Qa with f = Q a, by its dual over the pairs."""
    upper = {"Hinge": 1.0}.get(type(loss).__name__, np.inf)
    lower = -np.inf if isinstance(loss, Square) else 0.0

    def negative_dual(u):
        f = Q @ (c * u) / (2 * lam)
        conjugate = loss.conjugate(u)
        slope = {  # of the conjugate, in closed form
            Hinge: lambda: -np.ones_like(u),
            Square: lambda: 0.5 * u - 1,
            PowerHinge: lambda: (u / loss.r) ** (1 / (loss.r - 1)) - 1,
        }[type(loss)]()
        return float(c @ conjugate + 0.5 * (c * u) @ f), c * (slope + f)

    start = np.full(len(c), 0.5)
    bounds = [(lower, upper)] * len(c)
    found = minimize(
        negative_dual,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10},
    )
    return -found.fun


def pair_kernel(G, pairs):
    """Definition (1.3): K((x, x'), (u, u')) = (k(x, u) k(x', u') - k(x', u) k(x, u')) / 2."""
    i, j = np.array(pairs).T
    return 0.5 * (G[np.ix_(i, i)] * G[np.ix_(j, j)] - G[np.ix_(j, i)] * G[np.ix_(i, j)])


def difference_kernel(G, pairs):
    i, j = np.array(pairs).T
    return G[np.ix_(i, i)] - G[np.ix_(i, j)] - G[np.ix_(j, i)] + G[np.ix_(j, j)]


def pair_weights(y, offsets, weighting):
    """Weight of each strict pair of `oracles.strict_pairs`, counted one by one."""
    pairs, sizes = strict_pairs(y, offsets), np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    of_pair = np.array([query[i] for i, _ in pairs])
    if weighting == "pairs":
        return np.full(len(pairs), 2 / np.sum(sizes * (sizes - 1)))
    counts = np.bincount(of_pair, minlength=len(sizes))
    return 1 / (np.count_nonzero(counts) * counts[of_pair])


# ---- losses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Square(), Hinge(), PowerHinge(1.5), PowerHinge(3.0), SmoothHinge(0.2)])
def test_losses_and_conjugates_fulfil_fenchel(loss):
    t, u = np.linspace(-3, 3, 61), np.linspace(0, 1, 21)
    assert (loss.value(t)[:, None] + loss.conjugate(u) + t[:, None] * u >= -1e-12).all()
    own = loss.dual_point(t)
    np.testing.assert_allclose(loss.value(t) + loss.conjugate(own) + t * own, 0, atol=1e-12)


@pytest.mark.parametrize("loss", [Square(), PowerHinge(1.5), PowerHinge(3.0), SmoothHinge(0.2)])
def test_dual_points_are_negative_slopes(loss):
    t = np.linspace(-2.95, 2.95, 50)
    slope = (loss.value(t + 1e-6) - loss.value(t - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.dual_point(t), -slope, atol=1e-4)


def test_the_rounded_hinge_lies_at_most_half_its_width_below():
    t = np.linspace(-3, 3, 61)
    below = Hinge().value(t) - SmoothHinge(0.4).value(t)
    assert (below >= -1e-15).all()
    assert below.max() == pytest.approx(0.2)


# ---- factor ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 30))
@settings(max_examples=30)
def test_the_factor_is_a_projection_with_the_residual_it_reports(seed, rank):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    kernel = Gaussian(1.5)
    factor = low_rank_factor(X, kernel, rank=rank)
    phi, G = factor.features(X), kernel(X, X)
    residual = G - phi @ phi.T
    assert np.linalg.eigvalsh(residual).min() > -1e-7
    assert residual.diagonal().max() == pytest.approx(factor.residual_max, abs=1e-7)
    assert residual.diagonal().mean() == pytest.approx(factor.residual_mean, abs=1e-7)
    at = factor.features(factor.landmarks)
    np.testing.assert_allclose(at @ at.T, kernel(factor.landmarks, factor.landmarks), atol=1e-7)


def test_blocks_of_landmarks_and_duplicates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    factor = low_rank_factor(X, Gaussian(2.0), tol=1e-4)
    assert factor.residual_max <= 1e-4
    assert factor.rank < 512
    twice = low_rank_factor(np.vstack([X[:20], X[:20]]), Gaussian(2.0))
    assert twice.rank <= 20
    phi = twice.features(X[:20])
    np.testing.assert_allclose(phi @ phi.T, Gaussian(2.0)(X[:20], X[:20]), atol=1e-6)


# ---- maps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("map_class", [Antisymmetric, Difference])
@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("grades", [3, 100])
def test_maps_are_the_written_out_matrices(map_class, weighting, grades):
    queries = random_queries(4, n_queries=6, grades=grades)
    rng = np.random.default_rng(0)
    phi, pairs = rng.normal(size=(queries.n_docs, 5)), PairBlocks(queries.y, queries.offsets, weighting)
    listed = strict_pairs(queries.y, queries.offsets)
    c = pair_weights(queries.y, queries.offsets, weighting)
    pair_map = map_class(phi, pairs)
    coef = rng.normal(size=pair_map.shape)
    coef = coef - coef.T if coef.ndim == 2 else coef
    i, j = np.array(listed).T
    f = np.einsum("pk,kl,pl->p", phi[i], coef, phi[j]) if coef.ndim == 2 else (phi[i] - phi[j]) @ coef
    assert (pairs.n_pairs, pairs.total) == (len(listed), pytest.approx(c.sum()))

    at = risk(pair_map, coef, PowerHinge(2.0))
    assert at.value == pytest.approx(c @ PowerHinge(2.0).value(f))
    np.testing.assert_allclose(np.sum(weighted_sum(pair_map) * coef), c @ f)
    np.testing.assert_allclose(np.sum(normal_product(pair_map, coef) * coef), c @ f**2)
    direction = rng.normal(size=pair_map.shape)
    direction = direction - direction.T if direction.ndim == 2 else direction
    ahead, behind = (risk(pair_map, coef + s * 1e-5 * direction, PowerHinge(2.0)).value for s in (1, -1))
    assert np.sum(at.gradient * direction) == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)


def test_many_grades_share_blocks_and_lose_no_pair():
    queries = random_queries(1, n_queries=3, grades=100)
    big = np.tile(np.arange(300.0), 1)
    pairs = PairBlocks(big, np.array([0, 300]), "pairs")
    assert pairs.n_pairs == 300 * 299 // 2
    assert pairs.all_pairs_strict
    assert len(pairs.blocks) < 10
    assert pairs.total == pytest.approx(1.0)
    assert not PairBlocks(queries.y, queries.offsets).all_pairs_strict


# ---- solvers against the dense reference -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "r"), LOSSES)
@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_solvers_reach_the_dense_optimum(name, r, weighting, lam):
    queries = random_queries(6, n_queries=4)
    data = queries.X, queries.y, queries.qid_of_docs
    G, listed = Gaussian(2.0)(queries.X, queries.X), strict_pairs(queries.y, queries.offsets)
    c = pair_weights(queries.y, queries.offsets, weighting)
    params = {"loss": name, "r": r, "sigma": 2.0, "lam": lam, "weighting": weighting, "residual_tol": 1e-13, **TIGHT}
    for cls, kernel in ((GaussianPairRanker, pair_kernel), (PairKernelRanker, difference_kernel)):
        result = cls(**params).fit(*data).result_
        best = dense_minimum(kernel(G, listed), c, margin_loss(name, r), lam)
        assert result.converged
        assert result.objective == pytest.approx(best, rel=2e-5)
        assert best >= result.objective * (1 - result.relative_gap) * (1 - 1e-6)


@pytest.mark.parametrize("lam", [1e-6, 1e-3, 10.0])
def test_square_loss_without_ties_has_a_closed_form(lam):
    X, y, qid = sample(0)
    G, S, N = Gaussian(1.0)(X, X), np.sign(y[:, None] - y[None, :]), 12 * 11
    d, U = np.linalg.eigh(G)
    A = U @ ((U.T @ S @ U) / (np.outer(d, d) + N * lam)) @ U.T
    F = G @ A @ G
    model = GaussianPairRanker("square", sigma=1.0, lam=lam, weighting="pairs", residual_tol=1e-14).fit(X, y, qid)
    f = np.array([model.decision(np.tile(x, (12, 1)), X) for x in X])
    np.testing.assert_allclose(f, F, atol=1e-6)
    assert model.result_.objective == pytest.approx(1 - np.sum(S * F) / N, abs=1e-8)
    assert model.result_.objective == pytest.approx(lam * np.sum(A * S), abs=1e-6)
    pairs = PairBlocks(y, np.array([0, 12]), "pairs")
    phi = low_rank_factor(X, Gaussian(1.0), tol=1e-13).features(X)
    phi = phi @ np.linalg.eigh(phi.T @ phi)[1]
    pair_map = Antisymmetric(phi, pairs)
    exact = complete_least_squares(phi, pairs, pair_map, lam, tol=1e-6)
    iterated = pair_least_squares(pair_map, lam, tol=1e-12)
    assert exact.converged
    assert iterated.objective == pytest.approx(exact.objective, rel=1e-8)


@pytest.mark.parametrize("name", ["hinge", "square"])
@pytest.mark.parametrize("lam", [0.01, 0.2, 5.0])
def test_two_documents_have_a_closed_form(name, lam):
    X, qid = np.array([[0.0], [0.8]]), ["q", "q"]
    kappa = np.exp(-0.64)
    v = 0.5 * (1 - kappa**2)
    model = GaussianPairRanker(name, sigma=1.0, lam=lam, weighting="pairs", tol=1e-10).fit(X, [1, 0], qid)
    expected = min(1.0, v / (2 * lam)) if name == "hinge" else v / (v + lam)
    assert model.decision(X[:1], X[1:])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["hinge", "square"])
def test_bounds_and_limits(name):
    X, y, qid = sample(1, grades=3)
    share = 2 * len(strict_pairs(y, np.array([0, 12]))) / (12 * 11)
    for lam in (1e-4, 1e-2, 1e4):
        model = GaussianPairRanker(name, sigma=1.0, lam=lam, weighting="pairs", tol=1e-6).fit(X, y, qid)
        norm2 = np.sum(model.coef_**2)
        assert lam * norm2 <= share
        assert model.result_.objective <= share + 1e-12
        f = np.array([model.decision(np.tile(x, (12, 1)), X) for x in X])
        np.testing.assert_allclose(f, -f.T, atol=1e-12)
        bound = np.sqrt(norm2 * (1 - Gaussian(1.0)(X, X) ** 2) / 2)
        assert (np.abs(f) <= bound + 1e-6).all()
    assert model.result_.objective == pytest.approx(share, rel=1e-3)  # lam to infinity: f to 0


def test_too_few_passes_are_reported_with_an_honest_gap():
    X, y, qid = sample(2, 40)
    params = {"sigma": 1.0, "lam": 1e-5, "weighting": "pairs"}
    short = GaussianPairRanker(**params, tol=1e-8, max_iter=5).fit(X, y, qid).result_
    full = GaussianPairRanker(**params, **TIGHT).fit(X, y, qid).result_
    assert full.converged
    assert full.relative_gap <= 1e-6
    assert not short.converged
    assert short.objective * (1 - short.relative_gap) <= full.objective <= short.objective


def test_warm_starts_share_the_factor_and_end_at_the_same_optimum():
    X, y, qid = sample(3, 40, grades=3)
    params = {"sigma": 1.0, "weighting": "pairs", "tol": 1e-7, "max_iter": 20_000}
    first = GaussianPairRanker(lam=1e-3, **params).fit(X, y, qid)
    cold, warm = (GaussianPairRanker(lam=9e-4, **params).fit(X, y, qid, init=init) for init in (None, first))
    assert warm.rule_.factor is first.rule_.factor
    assert warm.result_.objective == pytest.approx(cold.result_.objective, rel=2e-7)
    other = GaussianPairRanker(lam=9e-4, **{**params, "sigma": 2.0}).fit(X, y, qid, init=first)
    assert other.rule_.factor is not first.rule_.factor


def test_a_lower_rank_is_never_better_and_the_exact_gap_says_how_far_it_is():
    queries = random_queries(8, n_queries=8).canonical()
    data = queries.X, queries.y, queries.qid_of_docs
    params = {"sigma": 2.0, "lam": 1e-3, **TIGHT}
    full = GaussianPairRanker(**params, residual_tol=1e-13).fit(*data).result_.objective
    values = []
    for rank in (3, 10, 25):
        model = GaussianPairRanker(**params, rank=rank).fit(*data)
        gap = exact_gap(model.rule_, Gaussian(2.0), queries, Hinge(), 1e-3, "queries")
        values.append(model.result_.objective)
        assert values[-1] * (1 - gap.relative_gap) <= full * (1 + 1e-6) <= values[-1] * (1 + 2e-6)
    assert values == sorted(values, reverse=True)


# ---- invariances -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hinge", "square"])
def test_invariances(name):
    X, y, qid = sample(5, grades=3)
    Z = np.random.default_rng(0).normal(size=(6, 3))

    def f(X, y, Z, sigma=1.5):
        params = {"lam": 1e-2, "weighting": "pairs", "tol": 1e-9, "max_iter": 20_000, "residual_tol": 1e-13}
        return GaussianPairRanker(name, sigma=sigma, **params).fit(X, y, qid).decision(Z, Z[::-1])

    expected = f(X, y, Z)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    for other in (
        f(X, np.exp(y), Z),  # only the order of the grades counts
        -f(X, 5 - y, Z),
        f(X @ rotation + 3, y, Z @ rotation + 3),
        f(7 * X, y, 7 * Z, sigma=7 * 1.5),
    ):
        np.testing.assert_allclose(other, expected, atol=2e-4)


def test_risk_of_a_rule_and_of_its_opposite_add_up_to_the_strict_share():
    X, y, qid = sample(6, grades=3)
    model = GaussianPairRanker(sigma=1.0, lam=1e-2, weighting="pairs").fit(X, y, qid)
    f = np.array([model.decision(np.tile(x, (12, 1)), X) for x in X])
    listed = strict_pairs(y, np.array([0, 12]))
    slow = 2 * sum((f[i, j] < 0) + 0.5 * (f[i, j] == 0) for i, j in listed) / (12 * 11)
    assert model.score_risk(X, y, qid) == pytest.approx(slow)
    assert model.score_risk(X, y, qid) + model.score_risk(X, -y + 2, qid) == pytest.approx(2 * len(listed) / (12 * 11))


# ---- conditioning ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [GaussianPairRanker, PairKernelRanker])
@pytest.mark.parametrize("name", ["hinge", "square"])
def test_duplicates_constant_features_and_queries_without_pairs(cls, name):
    X, y, qid = sample(7, 20, grades=3)
    X = np.column_stack([np.vstack([X[:10], X[:10]]), np.ones(20)])  # equal documents of different grades
    more = np.vstack([X, X[:2]]), np.append(y, [1, 1]), np.append(qid, ["other", "other"])
    model = cls(name, lam=1e-4, sigma=1.0) if cls is GaussianPairRanker else cls(loss=name, lam=1e-4, sigma=1.0)
    model.fit(*more)
    assert model.result_.converged
    assert np.isfinite(model.predict(X, qid)).all()


# ---- from preferences to scores ----------------------------------------------------------------------------------


def test_scores_are_mean_preferences():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 7, 3))
    f = left @ right.T
    for name, expected in (("clip", np.clip(f, -1, 1)), ("mean", f), ("wins", np.sign(f))):
        np.testing.assert_allclose(
            scores_from_preferences(lambda rows: left[rows] @ right.T, len(left), name), expected.mean(axis=1)
        )


def test_circles_are_counted():
    rock_paper_scissors = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    assert intransitive_triples(rock_paper_scissors) == (1, 1)
    s = np.random.default_rng(0).normal(size=9)
    assert intransitive_triples(s[:, None] - s[None, :]) == (0, 84)
    random = np.sign(np.triu(np.random.default_rng(1).normal(size=(8, 8)), 1))
    random -= random.T
    slow = sum(
        (random[i, j] > 0 and random[j, k] > 0 and random[k, i] > 0)
        for i in range(8)
        for j in range(8)
        for k in range(8)
    )
    assert intransitive_triples(random)[0] == slow // 3
    assert intransitive_share(rock_paper_scissors.astype(float), np.eye(3), np.array([0, 3])) == 1.0
    assert intransitive_share(np.ones((2, 1)), np.ones((2, 1)), np.array([0, 2])) == 0.0


def test_an_intransitive_preference_is_learnt_by_the_pairwise_space_alone():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # rock, paper, scissors
    better, worse = [1, 2, 0], [0, 1, 2]
    rows, y, qid = np.vstack([X[better], X[worse]]), [1, 1, 1, 0, 0, 0], ["a", "b", "c"] * 2
    pairwise_rule = GaussianPairRanker(sigma=1.0, lam=1e-4, weighting="pairs").fit(rows, y, qid)
    assert (pairwise_rule.decision(X[better], X[worse]) > 0.9).all()
    assert pairwise_rule.score_risk(rows, y, qid) == 0
    scores = PairKernelRanker(sigma=1.0, lam=1e-4, weighting="pairs").fit(rows, y, qid)
    assert scores.score_risk(rows, y, qid) >= 1 / 3  # of any scores, one pair of the circle is wrong or all are tied


# ---- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sigma": 0.0}, r'sigma must be a positive number, or a quantile such as "q0\.5"; got 0\.0'),
        ({"sigma": "median"}, "got 'median'"),
        ({"lam": 0.0}, "lam of the norm must be a positive number; got 0"),
        ({"loss": "rhinge", "r": 0.5}, "exponent r of the hinge must be a number of at least 1; got 0.5"),
        ({"loss": "logistic"}, "unknown loss 'logistic'; known: hinge, square, rhinge"),
        ({"weighting": "documents"}, "unknown weighting 'documents'"),
        ({"rank": 13}, "rank 13 was asked for, but there are 12 documents: .* leave rank out"),
        ({"residual_tol": 0.0}, "residual tolerance of the factor must be between 0 and 1"),
    ],
)
def test_bad_parameters_say_what_to_do(params, message):
    with pytest.raises(InputError, match=message):
        GaussianPairRanker(**{"sigma": 1.0, **params}).fit(*sample(0))


def test_bad_data_and_other_names_say_what_to_do():
    X, y, qid = sample(0)
    with pytest.raises(InputError, match="there is no pair to learn from"):
        GaussianPairRanker(sigma=1.0).fit(X, np.ones(12), qid)
    with pytest.raises(InputError, match="so many coincide: choose a higher quantile"):
        GaussianPairRanker().fit(np.ones((12, 3)), y, qid)
    with pytest.raises(InputError, match="unknown aggregate 'max' of the preferences; known: clip, mean, wins"):
        GaussianPairRanker(sigma=1.0, aggregate="max").fit(X, y, qid).predict(X, qid)
    with pytest.raises(InputError, match="unknown kernel 'gauss'; known: gaussian"):
        PairKernelRanker(kernel="gauss").fit(X, y, qid)
    with pytest.raises(InputError, match="but there is only one: give a number"):
        width("q0.5", X[:1])


def test_any_kernel_of_scikit_learn_gives_score_differences():
    X, y, qid = sample(9)
    linear = PairKernelRanker(kernel="linear", loss="square", lam=0.1, weighting="pairs", tol=1e-12).fit(X, y, qid)
    D = np.array([X[i] - X[j] for i, j in strict_pairs(y, np.array([0, 12]))])
    w = np.linalg.solve(D.T @ D * 2 / 132 + 0.1 * np.eye(3), D.sum(axis=0) * 2 / 132)
    np.testing.assert_allclose(linear.predict(X), X @ w, atol=1e-6)
    kernel = named_kernel("polynomial", {"degree": 2})
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)))


def test_canonical_order_depends_on_the_documents_alone():
    queries = random_queries(2, n_queries=5, ties=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(queries.n_docs)
    mixed = type(queries).from_rows(queries.X[rows], queries.y[rows], queries.qid_of_docs[rows], queries.docid[rows])
    one, other = queries.canonical(), mixed.canonical()
    for part in ("X", "y", "offsets", "qid"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    for start, stop in pairwise(one.offsets):
        assert one.X[start:stop].tolist() == sorted(one.X[start:stop].tolist())


def test_the_margin_solver_stops_at_its_tolerance_for_either_map():
    queries = random_queries(3, n_queries=6)
    pairs = PairBlocks(queries.y, queries.offsets)
    for map_class in (Antisymmetric, Difference):
        result = minimise_margin_risk(map_class(queries.X, pairs), Hinge(), 1e-2, tol=1e-6)
        assert result.converged
        assert result.relative_gap <= 1e-6


def test_memory_grows_like_documents_times_rank():
    """Twice the queries take twice the memory; all pairs of them would too, so queries are made longer as well."""

    def peak(n_queries: int, size: int) -> int:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n_queries * size, 3)), rng.integers(0, 3, n_queries * size).astype(float)
        qid = np.repeat(np.arange(n_queries), size)
        tracemalloc.start()
        GaussianPairRanker(loss="hinge", sigma=2.0, lam=1e-2, rank=32, tol=1e-2).fit(X, y, qid)
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    small = peak(2, 2000)
    assert peak(4, 2000) < 2.2 * small
    assert peak(2, 4000) < 2.2 * small


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 40))
def test_blocks_hold_every_pair_once_however_they_are_split(seed, rows, entries):
    q = random_queries(seed, n_queries=3, grades=4)
    same_query = q.qid_of_docs[:, None] == q.qid_of_docs[None, :]
    better, tied = q.y[:, None] > q.y[None, :], q.y[:, None] == q.y[None, :]
    if not (same_query & better).any():
        return
    with patch.multiple("letorlab.pairblocks", ROWS=rows, ENTRIES=entries):
        pairs = PairBlocks(q.y, q.offsets, "pairs")
        ties = tied_blocks(q.y[pairs.order], q.offsets, 1.0)
    for blocks, wanted in ((pairs.blocks, better), (ties, tied & ~np.eye(q.n_docs, dtype=bool))):
        count = np.zeros((q.n_docs, q.n_docs))
        for block in blocks:
            here = np.ix_(pairs.order[block.rows], pairs.order[block.cols])
            count[here] += block.reweighted(1.0).weights()
        np.testing.assert_array_equal(count, same_query & wanted)
    for block in pairs.blocks:
        np.testing.assert_array_equal(pairs.upper[block.upper], np.arange(block.rows.start, block.rows.stop))
