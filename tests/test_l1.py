"""l1-penalised pairwise ranking: oracles of the theory, and the working sets against generic solvers."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_queries
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import strict_pairs
from scipy.optimize import linprog, minimize_scalar
from scipy.spatial.distance import pdist

from letorlab.atoms import Atoms, DifferenceAtoms, KernelAtoms, ProductAtoms
from letorlab.errors import InputError
from letorlab.kernels import Gaussian
from letorlab.losses import Hinge, MarginLoss, PowerHinge, SmoothHinge, Square
from letorlab.pairblocks import PairBlocks
from letorlab.pairmaps import risk
from letorlab.rankers.l1 import L1PairRanker
from letorlab.solvers.l1 import largest_lam, minimise_l1_risk
from letorlab.solvers.lasso_quadratic import lasso_quadratic

LOSSES: list[MarginLoss] = [Square(), PowerHinge(2.0), PowerHinge(1.5), PowerHinge(3.0), Hinge()]
SMOOTH = LOSSES[:-1]


def sample(seed: int, n: int = 12, grades: int | None = None):
    rng = np.random.default_rng(seed)
    y = rng.permutation(n).astype(float) if grades is None else rng.integers(0, grades, n).astype(float)
    y[: 2 if grades else 0] = [0, 1][: 2 if grades else 0]
    X = rng.normal(size=(n, 3))
    return X, y, Gaussian(float(np.median(pdist(X))))


def dictionary_of(seed: int, n: int = 12, grades: int | None = None) -> ProductAtoms:
    X, y, kernel = sample(seed, n, grades)
    return ProductAtoms(kernel(X, X), PairBlocks(y, np.array([0, n]), "pairs"))


def solved(dictionary, loss, share, tol=1e-10):
    lam = share * largest_lam(dictionary, loss)
    return lam, minimise_l1_risk(dictionary, loss, lam, tol=tol)


def explicit(dictionary) -> tuple[Atoms, np.ndarray, np.ndarray]:
    """All atoms, the matrix D of their values on the strict pairs, and the weights of the pairs."""
    atoms, parts, weights = Atoms(*np.triu_indices(dictionary.shape[0], 1)), [], []
    column = dictionary.columns(atoms)
    for block in dictionary.pairs.blocks:
        i, j = np.nonzero(block.weights())
        parts.append(column(block.rows.start + i, block.cols.start + j))
        weights.append(np.full(len(i), block.weight))
    return atoms, np.concatenate(parts), np.concatenate(weights)


def objective(dictionary, loss, lam, alpha) -> float:
    return risk(dictionary, alpha, loss).value + lam * float(np.abs(alpha).sum())


# ---- the dictionaries --------------------------------------------------------------------------------------------


def product_kernel(kernel):
    return lambda Z, Z1, X, X1: kernel(Z, X) * kernel(Z1, X1)


def difference_kernel(kernel):
    return lambda Z, Z1, X, X1: kernel(Z, X) - kernel(Z, X1) - kernel(Z1, X) + kernel(Z1, X1)


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("kind", ["product", "difference"])
def test_structured_dictionaries_are_those_of_their_kernels(kind, weighting):
    """Values, transpose, columns and Gram matrix against the definition, on several queries with ties."""
    queries, kernel = random_queries(3, n_queries=6), Gaussian(1.5)
    pairs, Z = PairBlocks(queries.y, queries.offsets, weighting), queries.X[:7]
    structured = {"product": ProductAtoms, "difference": DifferenceAtoms}[kind](kernel(queries.X, Z), pairs)
    pair_kernel = {"product": product_kernel, "difference": difference_kernel}[kind](kernel)
    atoms, D, c = explicit(structured)
    i, j = np.array(strict_pairs(queries.y, queries.offsets)).T
    x, x1, z, z1 = queries.X[i], queries.X[j], Z[atoms.first], Z[atoms.second]
    definition = (pair_kernel(z, z1, x, x1) - pair_kernel(z1, z, x, x1)).T
    np.testing.assert_allclose(np.sort(D, axis=0), np.sort(definition, axis=0), atol=1e-13)

    generic = KernelAtoms(pair_kernel, queries.X, Z, pairs)
    coef = np.random.default_rng(0).normal(size=len(atoms))
    alpha = atoms.matrix(coef, 7)
    for dictionary in (structured, generic):
        np.testing.assert_allclose(dictionary.gram(atoms), D.T @ (c[:, None] * D), atol=1e-12)
        at = risk(dictionary, alpha, PowerHinge(2.0))
        t = D @ coef
        assert at.value == pytest.approx(c @ np.maximum(1 - t, 0) ** 2)
        assert at.duals == pytest.approx(c @ (2 * np.maximum(1 - t, 0)))
        np.testing.assert_allclose(2 * atoms.entries(at.gradient), -D.T @ (c * 2 * np.maximum(1 - t, 0)), atol=1e-12)
        np.testing.assert_allclose(at.gradient, -at.gradient.T)
        part = dictionary.on(np.array([2, 5, 6]))
        np.testing.assert_allclose(explicit(part)[1], explicit(dictionary)[1][:, [13, 14, 20]])


def test_a_pair_kernel_that_is_not_symmetric_is_refused():
    X, y, kernel = sample(0)
    lopsided = lambda Z, Z1, X, X1: kernel(Z, X)  # noqa: E731
    with pytest.raises(InputError, match=r"not symmetric: K\(\(z, z'\), \(x, x'\)\) must be"):
        L1PairRanker(pair_kernel=lopsided).fit(X, y, np.zeros(len(y)))


# ---- losses ------------------------------------------------------------------------------------------------------


@given(
    st.sampled_from([*SMOOTH, SmoothHinge(0.3), SmoothHinge(2.0)]),
    st.floats(-3, 3),
    st.floats(1e-6, 4),
    st.floats(-1, 1),
)
@settings(max_examples=300, deadline=None)
def test_the_curvature_bounds_the_loss_within_its_reach(loss, t, reach, share):
    t, s = np.array([t]), share * reach
    bound = loss.value(t) - loss.dual_point(t) * s + 0.5 * loss.curvature(t, reach) * s**2
    assert bound[0] >= loss.value(t + s)[0] - 1e-7


@pytest.mark.parametrize("loss", [Square(), PowerHinge(1.5), PowerHinge(3.0)])
def test_a_small_reach_gives_the_second_derivative(loss):
    t, h = np.array([-1.0, 0.2, 0.7]), 1e-5
    second = (loss.dual_point(t - h) - loss.dual_point(t + h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(t, 1e-6), second, rtol=1e-4)


# ---- the quadratic with an l1 norm -------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(0.01, 1.2), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_quadratic_meets_its_optimality_conditions(seed, share, copies):
    """Also with more coefficients than the rank, with twins, and from any start."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 15))
    if copies:
        X[:, 3], X[:, 7] = X[:, 2], -X[:, 2]
    H, g = X.T @ X, X.T @ rng.normal(size=8)
    lam = share * float(np.abs(g).max())
    b = lasso_quadratic(H, g, lam, rng.normal(size=15) * rng.integers(0, 2, 15))
    down = g - H @ b
    assert np.abs(down).max() <= lam * (1 + 1e-8)
    np.testing.assert_allclose(down[b != 0], lam * np.sign(b[b != 0]), atol=1e-8 * lam)


# ---- oracles of the theory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("grades", [None, 3])
def test_nothing_is_in_use_from_lam_max_on(loss, grades):
    """lam_max = |psi'(0)| max |G S G| / N, and the objective is psi(0) = 1 on the strict pairs."""
    X, y, kernel = sample(1, grades=grades)
    dictionary, G = dictionary_of(1, grades=grades), kernel(X, X)
    slope = {Square: 2.0, Hinge: 1.0}.get(type(loss)) or loss.r
    N, S = len(y) * (len(y) - 1), np.sign(y[:, None] - y)
    lam_max = slope * np.abs(G @ S @ G).max() / N
    assert largest_lam(dictionary, loss) == pytest.approx(lam_max, rel=1e-12)
    result = minimise_l1_risk(dictionary, loss, lam_max * (1 + 1e-9))
    assert result.converged
    assert not result.coef.any()
    assert result.objective == pytest.approx(dictionary.pairs.total, rel=1e-12)
    assert minimise_l1_risk(dictionary, loss, lam_max * 0.9).coef.any()


@pytest.mark.parametrize("loss", SMOOTH)
def test_just_below_lam_max_the_steepest_atom_alone_is_in_use(loss):
    X, y, kernel = sample(2)
    _, result = solved(dictionary_of(2), loss, 0.999)
    G = kernel(X, X)
    steepest = np.abs(G @ np.sign(y[:, None] - y) @ G)
    assert np.argwhere(result.coef).tolist() == np.argwhere(steepest >= steepest.max() * (1 - 1e-12)).tolist()


@pytest.mark.parametrize("grades", [None, 3])
@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("share", [0.3, 0.03])
def test_optimality_conditions(loss, grades, share):
    dictionary = dictionary_of(3, n=20, grades=grades)
    lam, result = solved(dictionary, loss, share, tol=1e-14)
    alpha, slope = result.coef, risk(dictionary, result.coef, loss).gradient
    np.testing.assert_array_equal(alpha, -alpha.T)
    assert np.abs(slope).max() <= lam * (1 + 1e-6)
    used = alpha != 0
    tolerance = 1e-8 if isinstance(loss, Square) or loss == PowerHinge(2.0) else 1e-5
    np.testing.assert_allclose(slope[used], -lam * np.sign(alpha[used]), atol=tolerance)


@pytest.mark.parametrize(("n", "grades", "share"), [(60, None, 0.1), (20, 3, 0.3), (20, 3, 0.05)])
def test_the_hinge_is_the_linear_programme(n, grades, share):
    """min 2 lam 1'(b+ + b-) + c'xi subject to D(b+ - b-) + xi >= 1, by column generation.

    Multipliers of some columns that are feasible for all prove that the value is that of the whole programme.
    """
    dictionary = dictionary_of(4, n=n, grades=grades)
    lam, result = solved(dictionary, Hinge(), share, tol=1e-7)
    atoms, D, c = explicit(dictionary)
    chosen = atoms.entries(result.coef) != 0
    while True:
        part = D[:, chosen]
        cost = np.concatenate([np.full(2 * part.shape[1], 2 * lam), c])
        rows = np.hstack([-part, part, -np.eye(len(c))])
        programme = linprog(cost, A_ub=rows, b_ub=-np.ones(len(c)), method="highs")
        slopes = np.abs(D.T @ programme.ineqlin.marginals)
        if slopes.max() <= 2 * lam * (1 + 1e-7):
            break
        chosen |= slopes > 2 * lam * (1 + 1e-7)
    assert result.objective == pytest.approx(programme.fun, rel=1e-6)
    assert result.objective * (1 - result.relative_gap) <= programme.fun * (1 + 1e-6)


@pytest.mark.parametrize("grades", [None, 3])
def test_square_loss_is_the_lasso_of_a_generic_solver(grades):
    from sklearn.linear_model import Lasso

    dictionary = dictionary_of(5, n=15, grades=grades)
    lam, result = solved(dictionary, Square(), 0.05)
    atoms, D, c = explicit(dictionary)
    root = np.sqrt(c)
    lasso = Lasso(alpha=lam / len(c), fit_intercept=False, tol=1e-8, max_iter=10**5)
    lasso.fit(root[:, None] * D, root)
    theirs = objective(dictionary, Square(), lam, atoms.matrix(lasso.coef_, 15))
    assert result.objective == pytest.approx(theirs, rel=1e-6)
    assert result.objective <= theirs * (1 + 1e-12)
    reduced = c @ (1 - D @ atoms.entries(result.coef)) ** 2 + 2 * lam * np.abs(atoms.entries(result.coef)).sum()
    assert result.objective == pytest.approx(reduced, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_objective_falls_and_norm_grows_along_the_path(loss):
    dictionary, start = dictionary_of(6, grades=3), None
    lam_max, seen = largest_lam(dictionary, loss), []
    for share in (1.0, 0.5, 0.2, 0.1, 0.03, 0.01):
        result = minimise_l1_risk(dictionary, loss, share * lam_max, init=start, tol=1e-7)
        start, norm = result.coef, float(np.abs(result.coef).sum())
        assert result.relative_gap <= 1e-7
        assert share * lam_max * norm <= dictionary.pairs.total + 1e-12
        seen.append((result.objective, -norm))
    assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize("loss", LOSSES)
def test_reversed_labels_reverse_the_rule_and_monotone_ones_do_nothing(loss):
    X, y, kernel = sample(7, grades=4)
    values, offsets = kernel(X, X), np.array([0, len(y)])

    def fitted(labels):
        return solved(ProductAtoms(values, PairBlocks(labels, offsets, "pairs")), loss, 0.1, tol=1e-9)[1]

    plain, reverse, stretched = fitted(y), fitted(-y), fitted(np.exp(3 * y))
    np.testing.assert_allclose(reverse.coef, -plain.coef, atol=1e-4)
    assert reverse.objective == pytest.approx(plain.objective, rel=1e-7)
    np.testing.assert_allclose(stretched.coef, plain.coef, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@given(distance=st.floats(0.3, 3), share=st.floats(0.02, 0.95))
@settings(max_examples=20, deadline=None)
def test_two_documents_have_a_closed_form(loss, distance, share):
    """f(x1, x2) = b D with D = 1 - kappa^2, and b minimises psi(D b) + 2 lam b over one number."""
    X, y = np.array([[0.0], [distance]]), np.array([1.0, 0.0])
    kernel = Gaussian(1.0)
    D = 1 - kernel(X[:1], X[1:])[0, 0] ** 2
    dictionary = ProductAtoms(kernel(X, X), PairBlocks(y, np.array([0, 2]), "pairs"))
    lam, result = solved(dictionary, loss, share, tol=1e-8)
    if isinstance(loss, Square):
        assert largest_lam(dictionary, loss) == pytest.approx(D, rel=1e-12)
        assert result.coef[0, 1] == pytest.approx(max(0.0, (D - lam) / D**2), rel=1e-9)
    elif isinstance(loss, Hinge):
        assert result.coef[0, 1] == pytest.approx(1 / D, rel=1e-4)
    else:
        best = minimize_scalar(
            lambda b: float(loss.value(np.array([D * b]))[0]) + 2 * lam * b,
            bounds=(0, 1 / D),
            method="bounded",
            options={"xatol": 1e-12},
        )
        assert result.objective == pytest.approx(best.fun, rel=2e-8)


def test_a_small_penalty_fits_the_signs():
    X, y, kernel = sample(8, n=8)
    G = kernel(X, X)
    dictionary = ProductAtoms(G, PairBlocks(y, np.array([0, 8]), "pairs"))
    _, result = solved(dictionary, Square(), 1e-9)
    np.testing.assert_allclose(G @ result.coef @ G, np.sign(y[:, None] - y), atol=1e-3)


def test_where_no_margin_exceeds_one_the_squared_hinge_has_the_same_solution():
    dictionary = dictionary_of(9, grades=3)
    lam, square = solved(dictionary, Square(), 0.5, tol=1e-13)
    _, D, _ = explicit(dictionary)
    assert (D @ Atoms(*np.triu_indices(12, 1)).entries(square.coef)).max() <= 1
    np.testing.assert_allclose(
        minimise_l1_risk(dictionary, PowerHinge(2.0), lam, tol=1e-13).coef, square.coef, atol=1e-9
    )


@given(st.integers(0, 10**6), st.floats(0.01, 100))
@settings(max_examples=15, deadline=None)
def test_the_norm_bounds_the_rule_and_the_gap_bounds_the_error(seed, scale):
    """|f| <= sum |alpha| as K <= 1; any point's certified gap covers its distance to the minimum."""
    dictionary = dictionary_of(seed % 7, n=8, grades=3)
    rng = np.random.default_rng(seed)
    alpha = scale * rng.normal(size=(8, 8))
    alpha -= alpha.T
    _, D, _ = explicit(dictionary)
    assert np.abs(D @ Atoms(*np.triu_indices(8, 1)).entries(alpha)).max() <= np.abs(alpha).sum() * (1 + 1e-12)
    for loss in (Square(), Hinge(), PowerHinge(1.5)):
        lam = 0.1 * largest_lam(dictionary, loss)
        start = minimise_l1_risk(dictionary, loss, lam, init=alpha, max_iter=1)
        best = minimise_l1_risk(dictionary, loss, lam, tol=1e-6)
        error = objective(dictionary, loss, lam, alpha) - best.objective * (1 - best.relative_gap)
        assert start.relative_gap * start.objective >= error * (1 - 1e-6) - 1e-9


# ---- the ranker --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def queries():
    return random_queries(11, n_queries=12)


@pytest.mark.parametrize("pair_kernel", ["product", "difference"])
@pytest.mark.parametrize("loss", ["square", "qhinge"])
def test_the_ranker_is_its_atoms(queries, pair_kernel, loss):
    model = L1PairRanker(loss=loss, pair_kernel=pair_kernel, sigma=1.5, lam=0.05)
    model.fit(queries.X, queries.y, queries.qid_of_docs)
    kernel = Gaussian(1.5)
    definition = {"product": product_kernel, "difference": difference_kernel}[pair_kernel](kernel)
    z, z1 = model.landmarks_[model.atoms_[:, 0]], model.landmarks_[model.atoms_[:, 1]]
    x, x1 = queries.X[:9], queries.X[9:18]
    expected = model.weights_ @ (definition(z, z1, x, x1) - definition(z1, z, x, x1))
    np.testing.assert_allclose(model.decision(x, x1), expected, atol=1e-12)
    F = model.decision_matrix(queries.X[:9])
    np.testing.assert_allclose(F, -F.T, atol=1e-12)
    np.testing.assert_allclose(model.predict(queries.X[:9]), np.clip(F, -1, 1).mean(axis=1))
    assert model.fit_facts_["n_atoms"] == len(model.weights_) > 0
    assert not model.fit_facts_["all_zero"]

    own = L1PairRanker(loss=loss, pair_kernel=definition, sigma=1.5, lam=0.05)
    own.fit(queries.X, queries.y, queries.qid_of_docs)
    np.testing.assert_allclose(
        own.predict(queries.X, queries.qid_of_docs), model.predict(queries.X, queries.qid_of_docs), atol=1e-6
    )
    np.testing.assert_allclose(own.decision(x, x1), model.decision(x, x1), atol=1e-6)


def test_clipping_lowers_the_risk_and_keeps_the_order(queries):
    model = L1PairRanker(lam=1e-4).fit(queries.X, queries.y, queries.qid_of_docs)
    data = queries.X, queries.y, queries.qid_of_docs
    norm = model.lam_ * 2 * np.abs(model.weights_).sum()
    assert model.clipped_risk(*data) <= model.result_.objective - norm + 1e-12
    flipped = L1PairRanker(lam=1e-4).fit(queries.X, -queries.y, queries.qid_of_docs)
    pairs, total = PairBlocks(queries.y, queries.offsets, "pairs"), model.score_risk(*data)
    assert total + flipped.score_risk(*data) == pytest.approx(pairs.total, abs=1e-6)


def test_nothing_in_use_is_reported_and_scores_all_documents_alike(queries):
    model = L1PairRanker(lam=1.0).fit(queries.X, queries.y, queries.qid_of_docs)
    assert model.fit_facts_["all_zero"]
    assert model.fit_facts_["n_atoms"] == 0
    assert model.result_.converged
    assert not model.predict(queries.X, queries.qid_of_docs).any()
    pairs = PairBlocks(queries.y, queries.offsets, "pairs")
    assert model.score_risk(queries.X, queries.y, queries.qid_of_docs) == pytest.approx(pairs.total / 2)


def test_a_warm_start_ends_at_the_same(queries):
    data = queries.X, queries.y, queries.qid_of_docs
    large = L1PairRanker(lam=0.3, sigma=1.0).fit(*data)
    cold = L1PairRanker(lam=0.1, sigma=1.0, tol=1e-10).fit(*data)
    warm = L1PairRanker(lam=0.1, sigma=1.0, tol=1e-10).fit(*data, init=large)
    np.testing.assert_allclose(warm.alpha_, cold.alpha_, atol=1e-6)
    other = L1PairRanker(lam=0.1, sigma=1.0, landmarks=20, tol=1e-10).fit(*data, init=large)
    assert other.result_.converged  # other landmarks: the start is not used
    assert other.fit_facts_["n_landmarks"] == 20


def test_lam_counts_in_units_of_its_maximum_or_as_it_is(queries):
    data = queries.X, queries.y, queries.qid_of_docs
    share = L1PairRanker(lam=0.2).fit(*data)
    absolute = L1PairRanker(lam=0.2 * share.lam_max_, lam_unit="absolute").fit(*data)
    np.testing.assert_array_equal(share.alpha_, absolute.alpha_)


def test_duplicate_documents_and_constant_features_are_harmless(queries):
    X = np.vstack([queries.X, queries.X])
    X[:, 0] = 1.0
    y, qid = np.tile(queries.y, 2), np.tile(queries.qid_of_docs, 2)
    for loss in ("square", "qhinge"):
        model = L1PairRanker(loss=loss, q=1.0 if loss == "qhinge" else 2.0, lam=0.05, tol=1e-4).fit(X, y, qid)
        assert model.result_.converged
        assert np.isfinite(model.predict(X, qid)).all()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"loss": "logistic"}, "unknown loss 'logistic'; known: square, qhinge"),
        ({"loss": "qhinge", "q": 0.5}, "exponent q of the hinge must be a number of at least 1; got 0.5"),
        ({"lam": 0.0}, "weight lam of the l1 norm must be a positive number; got 0.0"),
        ({"lam_unit": "min"}, "unknown lam_unit 'min'"),
        ({"pair_kernel": "sum"}, "unknown pair_kernel 'sum'; known: product, difference, or a function"),
        ({"sigma": -1.0}, "the width sigma must be a positive number"),
        ({"landmarks": 10**6}, "1000000 landmarks were asked for, but there are"),
        ({"landmarks": 1}, "from 2 to"),
    ],
)
def test_parameters_out_of_range_say_what_is_possible(queries, params, words):
    with pytest.raises(InputError, match=words):
        L1PairRanker(**params).fit(queries.X, queries.y, queries.qid_of_docs)
    with pytest.raises(InputError, match="there is no pair to learn from"):
        L1PairRanker().fit(queries.X, np.ones(queries.n_docs), queries.qid_of_docs)
