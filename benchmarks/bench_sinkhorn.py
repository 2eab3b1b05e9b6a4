"""SinkProp's inner loop: value and slope of the expected NDCG over 600 derived queries of 200 documents, 5 steps.

Beside it, on the same numbers in float32 and in one process: the same formulas as a loop over queries with plain
autograd, and POT's log Sinkhorn, of which the balancing alone is timed (its other marginal rule does the same work a
step). Derived queries draw documents several times; once the list is as it is drawn, with ours merging the equal ones,
once all documents differ. Medians of 5; the most memory is that of our passes.
"""

from __future__ import annotations

import resource

import numpy as np
import torch
from bench_gaussian import median_of

from letorlab.merged import Merged, merge
from letorlab.queries import Queries
from letorlab.rank_linear import ndcg_terms
from letorlab.sinkhorn import FLOOR, STEPS
from letorlab.sinkhorn_objective import SinkhornModel, SinkhornObjective

N_QUERIES, N_DOCS, N_FEATURES, SMOOTHING = 600, 200, 45, 0.3
ENTRIES = N_QUERIES * N_DOCS**2


def queries_of(rng: np.random.Generator, *, drawn: bool) -> Queries:
    """Queries of 200 documents, drawn with replacement from 200 others, or all different."""
    X = rng.normal(size=(N_QUERIES, N_DOCS, N_FEATURES))
    y = rng.choice([0.0, 1.0, 2.0], size=(N_QUERIES, N_DOCS), p=[0.7, 0.2, 0.1])
    if drawn:
        row = rng.integers(N_DOCS, size=(N_QUERIES, N_DOCS))
        X, y = np.take_along_axis(X, row[..., None], axis=1), np.take_along_axis(y, row, axis=1)
    qid = np.repeat(np.arange(N_QUERIES), N_DOCS)
    return Queries.from_rows(X.reshape(-1, N_FEATURES), y.ravel(), qid)


def as_drawn(merged: Merged, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores and gains of all documents, (n_queries, n_docs), and discounts (n_docs,), with equal ones written out."""
    times = merged.mass.astype(np.int64)
    phi = scores[torch.as_tensor(np.repeat(merged.document, times))].reshape(N_QUERIES, N_DOCS)
    gains = np.repeat(merged.gains[:, 0] / merged.mass, times).reshape(N_QUERIES, N_DOCS)
    return phi, torch.as_tensor(gains).float(), torch.as_tensor(merged.discounts[:, 0]).float()


def plain(phi: torch.Tensor, gains: torch.Tensor, discounts: torch.Tensor) -> tuple[float, torch.Tensor]:
    """A loop over queries; torch keeps every intermediate matrix."""
    phi = phi.clone().requires_grad_()
    total = 0.0
    for scores, gain in zip(phi, gains, strict=True):
        ranked = scores.sort(descending=True).values
        Z = torch.exp(-((scores[:, None] - ranked[None, :]) ** 2) / (2 * SMOOTHING**2)) + FLOOR
        for _ in range(STEPS):
            Z = Z / Z.sum(0, keepdim=True)
            Z = Z / Z.sum(1, keepdim=True)
        value = gain @ Z @ discounts
        value.backward()
        total += float(value.detach())
    return total / N_QUERIES, phi.grad / N_QUERIES


def pot_seconds(phi: torch.Tensor) -> float:
    """POT's balancing of the same matrices, without a slope."""
    import ot

    ranked = phi.sort(dim=-1, descending=True).values
    cost = (phi[..., None] - ranked[:, None, :]) ** 2
    even = torch.full((N_DOCS,), 1 / N_DOCS)

    def run() -> None:
        for M in cost:
            ot.bregman.sinkhorn_log(even, even, M, 2 * SMOOTHING**2, numItermax=STEPS, stopThr=0.0, warn=False)

    return median_of(run)[0]


def row(rng: np.random.Generator, *, drawn: bool) -> None:
    merged = merge(queries_of(rng, drawn=drawn), ndcg_terms())
    objective = SinkhornObjective(merged, SinkhornModel("indicator"), dtype=torch.float32)
    scores = torch.as_tensor(merged.documents @ (rng.normal(size=N_FEATURES) / N_FEATURES**0.5)).float()
    ours, (value, _) = median_of(lambda: objective.value_and_slope(scores, SMOOTHING))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    laid_out = as_drawn(merged, scores)
    loop, (same, _) = median_of(lambda: plain(*laid_out))
    name = "as drawn" if drawn else "all different"
    print(f"  {name:14} {ours:8.3f} s {loop:8.3f} s {loop / ours:6.1f}  ", end="")
    print(f"{pot_seconds(laid_out[0]) / ours:6.1f}  {peak:5.2f} GB  value {value:.6f}, plain {same:.6f}", flush=True)


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"\nSinkProp, value and slope: {N_QUERIES} queries, {ENTRIES / 1e6:.0f} million entries, {STEPS} steps")
    print("  documents      letorlab  autograd  ratio   POT, balancing alone: ratio; most memory")
    for drawn in (True, False):
        row(rng, drawn=drawn)


if __name__ == "__main__":
    main()
