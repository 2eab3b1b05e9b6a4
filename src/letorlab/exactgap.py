"""What a low-rank factor costs: the duality gap of a fitted rule for the kernel itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from letorlab.kernels import Kernel
from letorlab.losses import Hinge, MarginLoss, SmoothHinge
from letorlab.pairblocks import PairBlocks
from letorlab.pairmaps import Antisymmetric, risk
from letorlab.pairrule import PairRule
from letorlab.queries import Floats, Queries
from letorlab.solvers import relative_gap
from letorlab.solvers.margin import WIDTHS


@dataclass(frozen=True)
class ExactGap:
    """How far a rule on a factor is from the minimiser f* of the problem with the exact kernel.

    Attributes
    ----------
    relative_gap : float
        (primal - dual) / primal of the exact problem, at the rule.
    max_error : float
        Bound of |f(x, x') - f*(x, x')| over all x, x': the problem is 2 lam-strongly convex in the norm of the space,
        and the pairwise kernel is at most max k(x, x)^2 / 2, so it is sqrt(gap / (2 lam)) where k(x, x) <= 1.
    """

    relative_gap: float
    max_error: float


def exact_gap(
    rule: PairRule, kernel: Kernel, queries: Queries, loss: MarginLoss, lam: float, weighting: str
) -> ExactGap:
    """Certify an antisymmetric rule for the exact kernel.

    The factor spans a part of the space with the same norm, so the rule has the same primal value in the exact problem;
    its dual points are feasible there too, and only the norm of their image needs all kernel values: n_docs^2 of them,
    a query's rows at a time, and n_docs^2 times the size of a query operations.

    Parameters
    ----------
    rule : PairRule
        With antisymmetric coefficients.
    queries : Queries
        The training documents.
    loss, lam, weighting
        As the rule was fitted.
    """
    pairs = PairBlocks(queries.y, queries.offsets, weighting)
    pair_map = Antisymmetric(rule.factor.features(queries.X), pairs)
    value = risk(pair_map, rule.coef, loss).value + lam * float(np.sum(rule.coef**2))
    smoothing = _best_smoothing(pair_map, rule.coef, loss, lam)
    conjugates = risk(pair_map, rule.coef, loss, smoothing).conjugates
    weights = _dual_matrices(pair_map, rule.coef, smoothing or loss, queries)
    norm2 = _squared_norm(weights, kernel, queries.X[pairs.order], queries)
    gap = max(value + conjugates + norm2 / (4.0 * lam), 0.0)
    size = float(kernel.diagonal(queries.X).max())
    return ExactGap(relative_gap(value, gap), size * float(np.sqrt(gap / (2.0 * lam))))


def _best_smoothing(pair_map: Antisymmetric, coef: Floats, loss: MarginLoss, lam: float) -> MarginLoss | None:
    """The smoothing whose dual points have the highest dual value on the factor."""
    if not isinstance(loss, Hinge):
        return None

    def dual(smoothing: MarginLoss) -> float:
        at = risk(pair_map, coef, loss, smoothing)
        return -at.conjugates - float(np.sum(at.gradient**2)) / (4.0 * lam)

    return max((SmoothHinge(float(width)) for width in WIDTHS), key=dual)


def _dual_matrices(pair_map: Antisymmetric, coef: Floats, smooth: MarginLoss, queries: Queries) -> list[Floats]:
    """E_q with E_ij = -E_ji = c_ij u_ij / 2 for strict pairs (i, j) of each query: sum_p c_p u_p K_p is k' E k."""
    matrices = [np.zeros((size, size)) for size in queries.sizes]
    query_of = np.repeat(np.arange(queries.n_queries), queries.sizes)
    values = pair_map.values(coef)
    for block in pair_map.pairs.blocks:
        query = query_of[block.rows.start]
        start = int(queries.offsets[query])
        rows, cols = (slice(part.start - start, part.stop - start) for part in (block.rows, block.cols))
        matrices[query][rows, cols] = block.keep_strict(0.5 * block.weight * smooth.dual_point(values(block)))
    return [matrix - matrix.T for matrix in matrices]


def _squared_norm(weights: list[Floats], kernel: Kernel, X: Floats, queries: Queries) -> float:
    """tr(E' G E G) for the block-diagonal matrix E of the weights, and G the exact Gram matrix of X."""
    spans = list(pairwise(queries.offsets.tolist()))
    total = 0.0
    for (first, stop), own in zip(spans, weights, strict=True):
        gram = kernel(X[first:stop], X)
        image = np.concatenate([gram[:, a:b] @ other for (a, b), other in zip(spans, weights, strict=True)], axis=1)
        total += float(np.sum(own * (image @ gram.T)))
    return total
