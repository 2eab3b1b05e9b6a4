"""RankSVM (hinge and squared hinge, all strict pairs): ours against LinearSVC on written-out pair differences.

Both minimise 1/2 ||w||^2 + C sum psi(w'(x_i - x_j)) in one process, medians of 5 runs of ours and of 3 of the peer (one
where it takes a minute), and the objectives are compared. Ours stops at a certified relative gap of 1e-4. Data: OHSUMED
fold 1 from LETOR_HOME, or generated data of that shape.
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


def objective(D: np.ndarray, w: np.ndarray, loss: str) -> float:
    slack = np.maximum(0.0, 1.0 - D @ w)
    return float(0.5 * w @ w + C * (slack @ slack if loss == "squared_hinge" else slack.sum()))


def compare(queries: Queries, D: np.ndarray, loss: str, repeats: int) -> None:
    from sklearn.svm import LinearSVC

    sign = np.where(np.arange(len(D)) % 2, 1.0, -1.0)

    def ours() -> np.ndarray:
        pairs = StrictPairs(queries.y, queries.offsets)
        return ranksvm_newton(queries.X, pairs, C, loss=loss, tol=1e-4).coef

    def peer() -> np.ndarray:
        dual = loss == "hinge"  # the only solver it has for the hinge
        model = LinearSVC(C=C, loss=loss, fit_intercept=False, dual=dual, tol=1e-4, max_iter=10_000)
        return model.fit(D * sign[:, None], sign).coef_[0]

    rows = [("letorlab, pairs not written out", *timed(ours, 5)), ("scikit-learn LinearSVC", *timed(peer, repeats))]
    print(f"\n{loss}, C = {C:g}")
    for label, seconds, w in rows:
        print(f"  {label:34} {seconds:8.3f} s   objective {objective(D, w, loss):.6f}")
    print(f"  ratio {rows[1][1] / rows[0][1]:.0f}")


def main() -> None:
    name, queries = data()
    D = differences(queries)
    print(f"\nRankSVM: {name}, {queries.n_docs} documents, {len(D)} pairs")
    compare(queries, D, "squared_hinge", repeats=3)
    compare(queries, D, "hinge", repeats=1)


if __name__ == "__main__":
    main()
