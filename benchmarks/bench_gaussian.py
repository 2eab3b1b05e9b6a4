"""Pairwise Gaussian ranking (hinge): ours against libsvm on the written-out kernel of the pairs, and on to all pairs.

Both minimise (1/m) sum max(0, 1 - f(x_i, x_j)) + lam ||f||^2 over the antisymmetric Gaussian space, on the same m
strict pairs. Ours starts from the documents, and works on a factor of full rank up to 512 landmarks. For libsvm the
kernel matrix is timed apart, and the ratio counts its fit alone. It has an intercept; every other pair is turned round
so that it comes out near 0, and the objective that is compared leaves it out. Medians of 5, in one process.

Data: OHSUMED fold 1 from LETOR_HOME, or generated data of that shape.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from bench_ranksvm import data

from letorlab.kernels import Gaussian
from letorlab.pairblocks import PairBlocks
from letorlab.queries import Queries
from letorlab.rankers.gaussian import GaussianPairRanker

SIGMA, LAM, TOL = 4.0, 1e-3, 5e-5
PEER = (1_000, 2_000, 4_000)
OURS = (*PEER, 10_000, 40_000, 100_000, 400_000)
T = TypeVar("T")


def with_pairs(queries: Queries, n_pairs: int) -> Queries:
    """The first documents, as many as give the number of strict pairs (or all)."""
    low, high = 2, queries.n_docs
    qid = queries.qid_of_docs

    def first(n: int) -> Queries:
        return Queries.from_rows(queries.X[:n], queries.y[:n], qid[:n])

    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _n_pairs(first(middle)) >= n_pairs else (middle + 1, high)
    return first(low)


def _n_pairs(queries: Queries) -> int:
    below = [np.sum(y[:, None] > y[None, :]) for y in np.split(queries.y, queries.offsets[1:-1])]
    return int(np.sum(below))


def median_of(run: Callable[[], T], repeats: int = 5) -> tuple[float, T]:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def fit(queries: Queries) -> GaussianPairRanker:
    ranker = GaussianPairRanker(loss="hinge", sigma=SIGMA, lam=LAM, weighting="pairs", tol=TOL)
    return ranker.fit(queries.X, queries.y, queries.qid_of_docs)


def pair_kernel(queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    """Kernel matrix of the pairs, better document first, and the weight of a pair in our risk."""
    pairs = PairBlocks(queries.y, queries.offsets, "pairs")
    better, worse = [], []
    for block in pairs.blocks:
        i, j = np.nonzero(block.weights())
        better.append(pairs.order[block.rows.start + i])
        worse.append(pairs.order[block.cols.start + j])
    G, i, j = Gaussian(SIGMA)(queries.X, queries.X), np.concatenate(better), np.concatenate(worse)
    K = 0.5 * (G[np.ix_(i, i)] * G[np.ix_(j, j)] - G[np.ix_(i, j)] * G[np.ix_(j, i)])
    return K, pairs.blocks[0].weight


def libsvm(K: np.ndarray, weight: float) -> tuple[float, float]:
    """Seconds of libsvm (median), and the objective without its intercept."""
    from sklearn.svm import SVC

    sign = np.where(np.arange(len(K)) % 2, 1.0, -1.0)
    turned = K * np.outer(sign, sign)
    model = SVC(C=weight / (2 * LAM), kernel="precomputed", tol=1e-4, cache_size=2000)
    seconds, fitted = median_of(lambda: model.fit(turned, sign))
    dual = np.zeros(len(K))
    dual[fitted.support_] = np.abs(fitted.dual_coef_[0])
    f = K @ dual
    return seconds, float(weight * np.maximum(0.0, 1.0 - f).sum() + LAM * dual @ f)


def row(queries: Queries, beside_peer: bool) -> tuple[int, float]:
    """Print one line; return the number of pairs, and our seconds."""
    seconds, ranker = median_of(lambda: fit(queries))
    n_pairs, result = ranker.fit_facts_["n_pairs"], ranker.result_
    line = f"  {n_pairs:8} {queries.n_docs:9} {ranker.rule_.factor.rank:5} {seconds:8.3f} s "
    if beside_peer:
        kernel_seconds, (K, weight) = median_of(lambda: pair_kernel(queries))
        peer_seconds, objective = libsvm(K, weight)
        line += f"{peer_seconds:8.3f} s {kernel_seconds:8.3f} s {peer_seconds / seconds:6.1f}  "
        line += f"objective {result.objective:.6f}, libsvm {objective:.6f}"
    else:
        line += f"{'':28}  objective {result.objective:.6f}, relative gap {result.relative_gap:.0e}"
    print(line, flush=True)
    return n_pairs, seconds


def main() -> None:
    name, queries = data()
    print(f"\nPairwise Gaussian ranking, hinge, sigma = {SIGMA:g}, lam = {LAM:g}: {name}")
    print("     pairs documents  rank   letorlab libsvm fit its kernel  ratio")
    times = [row(with_pairs(queries, n_pairs), n_pairs in PEER) for n_pairs in OURS]
    slope = np.polyfit(*np.log(np.array(times)).T, 1)[0]
    print(f"  time grows like pairs^{slope:.2f} from {times[0][0]} to {times[-1][0]} pairs")


if __name__ == "__main__":
    main()
