"""Baselines against installable peers, in one run: medians of 5, on one training fold.

RankNet and LambdaRank: value and slope in the scores of all queries, against pytorchltr in batches of 8 padded queries
of similar size; for LambdaRank its nearest loss, NDCG-Loss1 of LambdaLoss, which weights the same pairs otherwise.
Coordinate ascent: one start, MAP, against fastrank. Peers that are not installed are left out
(``pip install --no-deps pytorchltr fastrank``).
"""

from __future__ import annotations

import importlib.util

import numpy as np
import torch
from bench_gaussian import median_of
from bench_ranksvm import data

from letorlab.listwise import LOSSES
from letorlab.listwise_objective import ListwiseObjective
from letorlab.merged import unmerged
from letorlab.metrics import average_precision
from letorlab.queries import Queries
from letorlab.rankers.coordinate_ascent import CoordinateAscent

BATCH = 8


def pytorchltr_slope(name: str, merged, scores: torch.Tensor):
    from pytorchltr.loss import LambdaNDCGLoss1, PairwiseLogisticLoss

    loss = {"ranknet": PairwiseLogisticLoss, "lambdarank": LambdaNDCGLoss1}[name]()
    sizes = np.diff(merged.offsets)
    order = np.argsort(sizes)

    def run() -> float:
        total = 0.0
        for some in np.array_split(order, -(-len(order) // BATCH)):
            rows = merged.offsets[some, None] + np.arange(sizes[some].max())
            rows = np.minimum(rows, len(scores) - 1)
            phi = scores[rows].clone().requires_grad_()
            labels = torch.as_tensor(merged.relevance[rows]).long()
            value = loss(phi, labels, torch.as_tensor(sizes[some])).sum()
            torch.autograd.grad(value, phi)
            total += float(value.detach())
        return total

    return run


def losses(queries: Queries) -> None:
    merged = unmerged(queries)
    scores = torch.as_tensor(np.random.default_rng(0).normal(size=len(merged.document)))
    for name in ("ranknet", "lambdarank"):
        objective = ListwiseObjective(merged, LOSSES[name])
        seconds, _ = median_of(lambda objective=objective: objective.value_and_slope(scores, 1.0))
        line = f"  {name:18} letorlab {seconds:8.3f} s"
        if importlib.util.find_spec("pytorchltr"):
            theirs, _ = median_of(pytorchltr_slope(name, merged, scores))
            line += f"   pytorchltr {theirs:8.3f} s   ratio {theirs / seconds:.1f}"
        print(line, flush=True)


def ascent(queries: Queries) -> None:
    model = CoordinateAscent(n_restarts=1)
    seconds, fitted = median_of(lambda: model.fit(queries.X, queries.y, queries.qid_of_docs))
    line = f"  coordinate_ascent  letorlab {seconds:8.3f} s, MAP {_map(fitted.predict(queries.X), queries):.4f}"
    if importlib.util.find_spec("fastrank"):
        theirs, scores = median_of(lambda: fastrank_scores(queries))
        line += f"   fastrank {theirs:8.3f} s, MAP {_map(scores, queries):.4f}   ratio {theirs / seconds:.1f}"
    print(line, flush=True)


def fastrank_scores(queries: Queries) -> np.ndarray:
    import fastrank

    qid = np.repeat(np.arange(queries.n_queries), queries.sizes)
    dataset = fastrank.CDataset.from_numpy(queries.X.astype(np.float32), queries.y, qid)
    request = fastrank.TrainRequest.coordinate_ascent()
    request.measure = "map"
    request.params.num_restarts, request.params.quiet, request.params.seed = 1, True, 1
    model = dataset.train_model(request)
    scores = model.predict_scores(dataset)
    return np.array([scores[row] for row in range(queries.n_docs)])


def _map(scores: np.ndarray, queries: Queries) -> float:
    return float(average_precision(scores, queries.y, queries.offsets).mean())


def main() -> None:
    name, queries = data()
    print(f"\nBaselines: {name}, {queries.n_docs} documents")
    losses(queries)
    ascent(queries)


if __name__ == "__main__":
    main()
