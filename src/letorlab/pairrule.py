"""Fitting a pairwise rule on a kernel: documents to a factor, strict pairs to a risk, the risk to its minimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from letorlab.errors import InputError
from letorlab.kernels import Kernel
from letorlab.losses import MarginLoss, Square
from letorlab.lowrank import Factor, factor_of
from letorlab.pairblocks import PairBlocks
from letorlab.pairmaps import Antisymmetric, ScaledPairMap
from letorlab.queries import Floats, Queries
from letorlab.solvers import Result
from letorlab.solvers.margin import minimise_margin_risk
from letorlab.solvers.pair_least_squares import complete_least_squares, pair_least_squares
from letorlab.triangles import pack_lower, unpack_antisymmetric


@dataclass(frozen=True)
class PairRule:
    """A fitted rule: coefficients on the features of a factor.

    Attributes
    ----------
    factor : Factor
    result : Result
        With the coefficients; those of an antisymmetric rule are packed, see `letorlab.triangles`.
    antisymmetric : bool
        Whether the coefficients are an antisymmetric matrix or a vector, of an `Antisymmetric` or `Difference` map.
    facts : dict
        ``n_pairs`` and ``factor_residual``, for the record of the fit.
    """

    factor: Factor
    result: Result
    antisymmetric: bool
    facts: dict[str, Any]

    @property
    def coef(self) -> Floats:
        """Coefficients of the factor's features: B, (rank, rank), or w, (rank,)."""
        return unpack_antisymmetric(self.result.coef) if self.antisymmetric else self.result.coef


def fit_pair_rule(
    queries: Queries,
    kernel: Kernel,
    map_class: Callable[[Floats, PairBlocks], ScaledPairMap],
    loss: MarginLoss,
    lam: float,
    *,
    weighting: str,
    rank: int | None,
    residual_tol: float,
    tol: float,
    max_iter: int,
    init: PairRule | None = None,
) -> PairRule:
    """Minimise the risk of the strict pairs plus lam ||f||^2, over the rules that the factor of the kernel spans.

    Parameters
    ----------
    queries : Queries
        In canonical order.
    init : PairRule, optional
        A rule to start from; used if it has the same factor.

    Raises
    ------
    InputError
        If lam is not positive, there is no strict pair, or the rank is more than the different documents.
    """
    if not 0 < lam < np.inf:
        raise InputError(f"the weight lam of the norm must be a positive number; got {lam}")
    pairs = PairBlocks(queries.y, queries.offsets, weighting)
    known = None if init is None else init.factor
    factor = factor_of(queries.X, kernel, rank=rank, tol=residual_tol, known=known)
    phi = factor.features(queries.X)
    # In the eigenbasis of phi'phi the Hessian of the risk is nearly diagonal, which the solvers make use of.
    _, basis = np.linalg.eigh(phi.T @ phi)
    phi = phi @ basis
    pair_map = map_class(phi, pairs)
    start = _turned(init.coef, basis.T) if init is not None and factor is init.factor else None
    result = _minimise(phi, pairs, pair_map, loss, lam, start, tol, max_iter)
    coef, antisymmetric = _turned(result.coef, basis), isinstance(pair_map, Antisymmetric)
    result = replace(result, coef=pack_lower(coef, diagonal=False) if antisymmetric else coef)
    facts = {"n_pairs": pairs.n_pairs, "factor_residual": factor.residual_mean}
    return PairRule(factor, result, antisymmetric, facts)


def _minimise(
    phi: Floats,
    pairs: PairBlocks,
    pair_map: ScaledPairMap,
    loss: MarginLoss,
    lam: float,
    start: Floats | None,
    tol: float,
    max_iter: int,
) -> Result:
    if not isinstance(loss, Square):
        return minimise_margin_risk(pair_map, loss, lam, init=start, tol=tol, max_iter=max_iter)
    if isinstance(pair_map, Antisymmetric) and pairs.all_pairs_strict:
        return complete_least_squares(phi, pairs, pair_map, lam, tol=tol)
    return pair_least_squares(pair_map, lam, init=start, tol=tol, max_iter=max_iter)


def _turned(coef: Floats, basis: Floats) -> Floats:
    """Coefficients of the features phi from those of phi @ basis."""
    return basis @ coef if coef.ndim == 1 else basis @ coef @ basis.T
