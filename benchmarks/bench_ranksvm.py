"""RankSVM (squared hinge, all strict pairs): ours against scikit-learn's LinearSVC on written-out pair differences.

Both minimise 1/2 ||w||^2 + C sum max(0, 1 - w'(x_i - x_j))^2 in one process, medians of 5 runs of ours and of 3 of the
peer, and the objectives are compared. Data: OHSUMED fold 1 from LETOR_HOME, or generated data of that shape.
"""

from __future__ import annotations

import os
import statistics
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from letorlab.letor import read_letor
from letorlab.pairwise import StrictPairs
from letorlab.queries import Queries
from letorlab.solvers.ranksvm import ranksvm_newton
from letorlab.toy import make_toy

C = 1e-3


def data() -> tuple[str, Queries]:
    home = os.environ.get("LETOR_HOME")
    if home:
        archive = zipfile.Path(Path(home) / "OHSUMED.zip")
        return "OHSUMED fold 1 train", read_letor(archive / "OHSUMED/QueryLevelNorm/Fold1/train.txt")
    return "generated", make_toy(queries=63, documents=[40, 250], features=45, grades=3, seed=1)


def differences(queries: Queries) -> np.ndarray:
    """x_i - x_j of every strict pair, with alternating sign so that the peer sees two classes."""
    blocks = []
    for start, stop in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
        X, y = queries.X[start:stop], queries.y[start:stop]
        better, worse = np.nonzero(y[:, None] > y[None, :])
        blocks.append(X[better] - X[worse])
    return np.concatenate(blocks)


def timed(run: Callable[[], np.ndarray], repeats: int) -> tuple[float, np.ndarray]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        w = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), w


def main() -> None:
    from sklearn.svm import LinearSVC

    name, queries = data()
    D = differences(queries)
    sign = np.where(np.arange(len(D)) % 2, 1.0, -1.0)

    def objective(w: np.ndarray) -> float:
        return float(0.5 * w @ w + C * np.sum(np.maximum(0.0, 1.0 - D @ w) ** 2))

    def ours() -> np.ndarray:
        return ranksvm_newton(queries.X, StrictPairs(queries.y, queries.offsets), C).coef

    def peer() -> np.ndarray:
        model = LinearSVC(C=C, loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-4, max_iter=10_000)
        return model.fit(D * sign[:, None], sign).coef_[0]

    rows = [("letorlab, pairs not written out", *timed(ours, 5)), ("scikit-learn LinearSVC", *timed(peer, 3))]
    print(f"\nRankSVM, C = {C:g}: {name}, {queries.n_docs} documents, {len(D)} pairs")
    for label, seconds, w in rows:
        print(f"  {label:34} {seconds:8.3f} s   objective {objective(w):.6f}")
    print(f"  ratio {rows[1][1] / rows[0][1]:.0f}")


if __name__ == "__main__":
    main()
