"""Kernels between documents, and the width of the Gaussian one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats

N_FOR_QUANTILES = 1000  # documents whose mutual distances give the quantiles


class Kernel(Protocol):
    """A positive semidefinite kernel: ``kernel(X, Z)`` is (n, m), ``diagonal(X)`` the values k(x, x), (n,)."""

    def __call__(self, X: Floats, Z: Floats) -> Floats: ...

    def diagonal(self, X: Floats) -> Floats: ...


@dataclass(frozen=True)
class Gaussian:
    """k(x, u) = exp(-||x - u||^2 / sigma^2): the width divides by sigma^2, not by 2 sigma^2."""

    sigma: float

    def __call__(self, X: Floats, Z: Floats) -> Floats:
        left, right = X / self.sigma, Z / self.sigma
        squares = (left @ right.T) * -2.0
        squares += np.sum(left**2, axis=1)[:, None]
        squares += np.sum(right**2, axis=1)
        np.maximum(squares, 0.0, out=squares)  # rounding can leave it below
        return np.exp(np.negative(squares, out=squares), out=squares)

    def diagonal(self, X: Floats) -> Floats:
        return np.ones(len(X))


@dataclass(frozen=True)
class NamedKernel:
    """A kernel of scikit-learn's `pairwise_kernels` by name or function, with its parameters."""

    metric: str | Callable[..., Any]
    params: tuple[tuple[str, Any], ...] = ()

    def __call__(self, X: Floats, Z: Floats) -> Floats:
        from sklearn.metrics.pairwise import pairwise_kernels

        return pairwise_kernels(X, Z, metric=self.metric, **dict(self.params))

    def diagonal(self, X: Floats) -> Floats:
        # There is no general way to ask for the diagonal alone; small blocks waste little.
        return np.concatenate([self(rows, rows).diagonal() for rows in np.array_split(X, len(X) // 64 + 1)])


def named_kernel(metric: str | Callable[..., Any], params: Mapping[str, Any] | None) -> NamedKernel:
    """Kernel by scikit-learn's name (linear, polynomial, laplacian, chi2, ...) or function of two documents.

    Raises
    ------
    InputError
        If scikit-learn has no kernel of that name.
    """
    from sklearn.metrics.pairwise import kernel_metrics

    if isinstance(metric, str) and metric not in kernel_metrics():
        raise InputError(f"unknown kernel {metric!r}; known: gaussian (with sigma), {', '.join(kernel_metrics())}")
    return NamedKernel(metric, tuple((params or {}).items()))


def width(sigma: float | str, X: Floats) -> float:
    """The number sigma, or a quantile of the distances between the documents X, written "q0.5" for the median.

    The distances are those between (at most) 1,000 documents spread evenly over the rows of X.

    Raises
    ------
    InputError
        If sigma is not positive, is no such text, or the quantile is 0 because documents coincide.
    """
    if isinstance(sigma, str):
        return _quantile(sigma, X)
    if not 0 < sigma < np.inf:
        raise InputError(f'the width sigma must be a positive number, or a quantile such as "q0.5"; got {sigma}')
    return float(sigma)


def _quantile(text: str, X: Floats) -> float:
    from scipy.spatial.distance import pdist

    try:
        share = float(text.removeprefix("q"))
    except ValueError:
        share = np.nan
    if not (text.startswith("q") and 0 < share <= 1):
        raise InputError(f'sigma must be a positive number, or a quantile from "q0" (excluded) to "q1"; got {text!r}')
    if len(X) < 2:
        raise InputError(f"sigma = {text!r} asks for distances between documents, but there is only one: give a number")
    spread = np.unique(np.linspace(0, len(X) - 1, N_FOR_QUANTILES).round().astype(np.int64))
    distance = float(np.quantile(pdist(X[spread]), share))
    if distance == 0:
        raise InputError(f"sigma = {text!r} is 0 on these documents, so many coincide: choose a higher quantile")
    return distance
