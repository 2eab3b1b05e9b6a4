"""Comparisons of two items with their outcome: better, worse, or a tie."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from letorlab.atomic import atomic_path
from letorlab.errors import InputError
from letorlab.queries import Floats, Ints, Queries


@dataclass(frozen=True)
class Comparisons:
    """Pairs (x, x') with an outcome y: 1 where x' is better, -1 where x is better, 0 for a tie.

    Parameters
    ----------
    X, X_prime : (n_pairs, n_features) float64
    y : (n_pairs,) int64
        -1, 0 or 1.

    Raises
    ------
    InputError
        If the shapes disagree, there is no pair, an outcome is another, or a feature is not finite.
    """

    X: Floats
    X_prime: Floats
    y: Ints

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape != self.X_prime.shape or len(self.X) != len(self.y) or len(self.y) == 0:
            raise InputError(
                f"x has shape {self.X.shape}, x' {self.X_prime.shape} and y {self.y.shape}: "
                "each of at least one comparison needs two items of the same features, and an outcome"
            )
        if not np.isin(self.y, (-1, 0, 1)).all():
            raise InputError(f"outcomes must be -1 (x is better), 0 (tie) or 1 (x' is better); got {_odd(self.y)}")
        if not (np.isfinite(self.X).all() and np.isfinite(self.X_prime).all()):
            raise InputError("the features of compared items must be finite; found NaN or infinity")

    @property
    def n_pairs(self) -> int:
        return len(self.y)

    @property
    def items(self) -> Floats:
        """x of all pairs, then x' of all pairs: (2 n_pairs, n_features)."""
        return np.concatenate([self.X, self.X_prime])

    def take(self, rows: Ints) -> Comparisons:
        return Comparisons(self.X[rows], self.X_prime[rows], self.y[rows])

    def swapped(self, rows: Ints) -> Comparisons:
        """The same comparisons, with those of `rows` told the other way round: (x', x, -y)."""
        X, X_prime, y = self.X.copy(), self.X_prime.copy(), self.y.copy()
        X[rows], X_prime[rows], y[rows] = self.X_prime[rows], self.X[rows], -self.y[rows]
        return Comparisons(X, X_prime, y)

    def flipped(self) -> tuple[Floats, Floats, Ints]:
        """The classification data of Venuto et al. (8): an inequality as x worse, x' better, label 1, and a tie both
        ways, label -1.

        Returns
        -------
        X, X_prime : (m, n_features) float64
        label : (m,) int64
            With m = n_pairs + number of ties; inequalities of outcome 1, then of -1 turned round, then ties twice.
        """
        up, down, tie = (self.y == outcome for outcome in (1, -1, 0))
        return (
            np.concatenate([self.X[up], self.X_prime[down], self.X[tie], self.X_prime[tie]]),
            np.concatenate([self.X_prime[up], self.X[down], self.X_prime[tie], self.X[tie]]),
            np.repeat([1, -1], [up.sum() + down.sum(), 2 * tie.sum()]),
        )


def within_queries(queries: Queries) -> Comparisons:
    """Every pair of documents of a query once, ties included: sum of n_q (n_q - 1) / 2 comparisons."""
    i, j = _pairs_of_rows(queries.offsets)
    return Comparisons(queries.X[i], queries.X[j], np.sign(queries.y[j] - queries.y[i]).astype(np.int64))


def score_differences(scores: Floats, y: Floats, offsets: Ints) -> tuple[Floats, Ints]:
    """s(x') - s(x) and the outcome of the same pairs, from scores and relevance (n_docs,): no features are copied."""
    i, j = _pairs_of_rows(offsets)
    return scores[j] - scores[i], np.sign(y[j] - y[i]).astype(np.int64)


def _pairs_of_rows(offsets: Ints) -> tuple[Ints, Ints]:
    pairs = [start + np.stack(np.triu_indices(stop - start, 1)) for start, stop in pairwise(offsets.tolist())]
    i, j = np.concatenate(pairs, axis=1)
    return i, j


def write_comparisons(comparisons: Comparisons, path: str | Path) -> None:
    """Write columns x1, x2, ..., x1', x2', ..., y to a ``.csv`` or ``.parquet`` file, whole or not at all."""
    import pandas as pd

    names = [f"x{k}" for k in range(1, comparisons.X.shape[1] + 1)]
    table = pd.DataFrame(
        np.hstack([comparisons.X, comparisons.X_prime]), columns=[*names, *(f"{name}'" for name in names)]
    ).assign(y=comparisons.y)
    is_csv = _format(path) == ".csv"
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n") if is_csv else table.to_parquet(temporary)


def read_comparisons(path: str | Path) -> Comparisons:
    """Read what `write_comparisons` wrote, or a table of your own with these columns.

    Raises
    ------
    InputError
        If the file is neither ``.csv`` nor ``.parquet``, or a column is missing, with its name.
    """
    import pandas as pd

    table = pd.read_csv(path) if _format(path) == ".csv" else pd.read_parquet(path)
    names = [name for name in table.columns if name.startswith("x") and not name.endswith("'")]
    wanted = [*names, *(f"{name}'" for name in names), "y"]
    missing = [name for name in wanted if name not in table.columns]
    if missing or not names:
        raise InputError(
            f"{path} needs columns x1, x2, ..., x1', x2', ... and y; missing: {', '.join(missing) or 'x1'}"
        )
    numbers = table[wanted].to_numpy(dtype=np.float64)
    if not np.isin(numbers[:, -1], (-1, 0, 1)).all():
        raise InputError(f"{path}: outcomes must be -1, 0 or 1; got {_odd(numbers[:, -1])}")
    X, X_prime = np.split(numbers[:, :-1], 2, axis=1)
    return Comparisons(X.copy(), X_prime.copy(), numbers[:, -1].astype(np.int64))


def _format(path: str | Path) -> str:
    suffix = Path(path).suffix
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"comparisons are kept in .csv or .parquet files; got {path}")
    return suffix


def _odd(y: Ints | Floats) -> str:
    return ", ".join(map(str, np.unique(y[~np.isin(y, (-1, 0, 1))])[:3]))
