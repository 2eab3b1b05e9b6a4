"""One cell of the paper's simulations: tune the three models on a validation set, measure them on the test set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from letorlab.comparison_measures import comparison_errors, outcomes, tie_auc, tie_threshold
from letorlab.comparison_rule import Model, fit_dual, strict_first
from letorlab.comparisons import Comparisons
from letorlab.kernels import Gaussian
from letorlab.queries import Floats
from letorlab.scaling import Scaling
from letorlab.simulate.norms import draw_comparisons, true_outcomes
from letorlab.solvers import Result
from letorlab.solvers.pair_dual import pair_gram

MODELS: tuple[Model, ...] = ("rank", "rank2", "compare")
Select = Literal["error", "auc"]


@dataclass(frozen=True)
class Grid:
    """Values of C and of the Gaussian's gamma = 1 / sigma^2, and libsvm's limits."""

    C: Sequence[float]
    gamma: Sequence[float]
    tol: float = 1e-3
    max_iter: int = 1_000_000

    @classmethod
    def of_paper(cls, size: int = 10) -> Grid:
        """C = 10^-1..10^5 and gamma = 2^-8..2^4, `size` values each, evenly spaced in their logarithms."""
        return cls(np.logspace(-1, 5, size).tolist(), np.logspace(-8, 4, size, base=2).tolist())


@dataclass(frozen=True)
class Fit:
    """One model of the grid, and its validation values."""

    model: Model
    C: float
    gamma: float
    coef: Floats
    threshold: float
    validation_error: float
    validation_auc: float
    at_limit: bool


@dataclass(frozen=True)
class Tuned:
    """Training comparisons, every fit of the grid, and the one of each model that the validation set selects."""

    train: Comparisons
    fits: Sequence[Fit]
    best: Mapping[Model, Fit]

    def scores(self, model: Model, X: Floats) -> Floats:
        """r(x) of a model in units of its threshold, (n,)."""
        fit = self.best[model]
        return Pairs.of(self.train).features(X, fit.gamma)[:, : len(fit.coef)] @ fit.coef / fit.threshold


def tune(norm: str, n: int, seed: int, *, grid: Grid, ties: float, select_on: Select) -> Tuned:
    """Train on n comparisons and tune on n others, of which a share `ties` are ties.

    Of several fits of equal validation value the first is taken, C varying fastest, as the authors do. The features
    are standardised on the training set.
    """
    n_ties = round(ties * n)
    parts = (draw_comparisons(norm, n_ties, n - n_ties, seed, n, part, repr(ties)) for part in ("train", "vali"))
    train, validation = parts
    fits = list(fit_all(train, validation, grid))
    return Tuned(train, fits, {model: _selected(fits, model, select_on) for model in MODELS})


def simulate_cell(
    norm: str,
    n: int,
    seed: int,
    *,
    grid: Grid,
    ties: float = 0.5,
    n_test: int = 10_000,
    select_on: Select = "error",
) -> list[dict[str, Any]]:
    """Tune the models, see `tune`, and test them on `n_test` comparisons, half of them ties.

    The test set is the same for every n and seed of a norm.

    Returns
    -------
    list of dict
        One row for each model and for the truth: norm, n, ties, seed, model, test_error (a fraction), false_positives,
        false_negatives, inversions (counts), auc, C, gamma, validation (the value that selected), n_fits, n_at_limit
        (fits that libsvm's limit of steps ended).
    """
    test = draw_comparisons(norm, n_test // 2, n_test - n_test // 2, "test")
    tuned = tune(norm, n, seed, grid=grid, ties=ties, select_on=select_on)
    cell = {"norm": norm, "n": n, "ties": ties, "seed": seed}
    rows = [{**cell, "model": model, **_test_row(tuned, model, test, select_on)} for model in MODELS]
    return [*rows, {**cell, "model": "truth", **_errors(test, true_outcomes(norm, test))}]


def fit_all(train: Comparisons, validation: Comparisons, grid: Grid) -> Iterator[Fit]:
    """Every model at every point of the grid; what depends on gamma alone is computed once."""
    pairs = Pairs.of(train)
    for gamma in grid.gamma:
        gram = pair_gram(Gaussian(gamma**-0.5), pairs.X, pairs.X_prime)
        differences = {name: pairs.differences(part, gamma) for name, part in (("train", train), ("vali", validation))}
        for C in grid.C:
            for model in MODELS:
                result = fit_dual(gram, pairs.n_strict, model, C, tol=grid.tol, max_iter=grid.max_iter)
                yield _fit(model, C, gamma, result, differences, train, validation)


@dataclass(frozen=True)
class Pairs:
    """The scaled training pairs, inequalities first, then ties both ways round."""

    scaling: Scaling
    X: Floats
    X_prime: Floats
    n_strict: int

    @classmethod
    def of(cls, train: Comparisons) -> Pairs:
        scaling = Scaling.of(train.items)
        X, X_prime, n_strict = strict_first(train)
        return cls(scaling, scaling(X), scaling(X_prime), n_strict)

    def features(self, X: Floats, gamma: float) -> Floats:
        """u(x) of documents X (n, 2) is this matrix (n, n_pairs) times the coefficients."""
        kernel, Z = Gaussian(gamma**-0.5), self.scaling(X)
        return kernel(Z, self.X_prime) - kernel(Z, self.X)

    def differences(self, comparisons: Comparisons, gamma: float) -> Floats:
        """The same for u(x') - u(x) of comparisons."""
        return self.features(comparisons.X_prime, gamma) - self.features(comparisons.X, gamma)


def _fit(
    model: Model,
    C: float,
    gamma: float,
    result: Result,
    differences: dict[str, Floats],
    train: Comparisons,
    validation: Comparisons,
) -> Fit:
    coef, offset = result.coef[:-1], float(result.coef[-1])
    threshold = -offset if model == "compare" else tie_threshold(_times(differences["train"], coef), train.y)
    g = _times(differences["vali"], coef)
    error = comparison_errors(validation.y, outcomes(g, threshold)).share
    return Fit(model, C, gamma, coef, threshold, error, tie_auc(g, validation.y), not result.converged)


def _times(differences: Floats, coef: Floats) -> Floats:
    """For a model without ties the coefficients are those of the inequalities alone."""
    return differences[:, : len(coef)] @ coef


def _selected(fits: Sequence[Fit], model: Model, select_on: Select) -> Fit:
    own = [fit for fit in fits if fit.model == model]
    return min(own, key=lambda fit: fit.validation_error if select_on == "error" else -fit.validation_auc)


def _test_row(tuned: Tuned, model: Model, test: Comparisons, select_on: Select) -> dict[str, Any]:
    best = tuned.best[model]
    g = _times(Pairs.of(tuned.train).differences(test, best.gamma), best.coef)
    own = [fit for fit in tuned.fits if fit.model == model]
    return {
        **_errors(test, outcomes(g, best.threshold)),
        "auc": tie_auc(g, test.y),
        "C": best.C,
        "gamma": best.gamma,
        "validation": best.validation_error if select_on == "error" else best.validation_auc,
        "n_fits": len(own),
        "n_at_limit": sum(fit.at_limit for fit in own),
    }


def _errors(test: Comparisons, predicted: np.ndarray) -> dict[str, Any]:
    errors = comparison_errors(test.y, predicted)
    return {
        "test_error": errors.share,
        "false_positives": errors.false_positives,
        "false_negatives": errors.false_negatives,
        "inversions": errors.inversions,
    }
