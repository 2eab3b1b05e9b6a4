"""The two families of pairwise rules as linear maps, from coefficients to the values f(x, x') of all strict pairs.

Both work through the blocks of `PairBlocks`, one at a time, so that nothing of the size of all pairs is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from letorlab.losses import MarginLoss
from letorlab.pairblocks import Block, PairBlocks
from letorlab.queries import Floats

Values = Callable[[Block], Floats]  # f of the pairs of a block, (n_rows, n_cols)


class PairMap(Protocol):
    """A linear map F from coefficients to pair values, and its transpose."""

    @property
    def pairs(self) -> PairBlocks: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def values(self, coef: Floats) -> Values:
        """F coef, block by block."""

    def transpose(self, parts: Iterable[tuple[Block, Floats]]) -> Floats:
        """F'U for numbers U on the pairs, given block by block."""


class ScaledPairMap(PairMap, Protocol):
    """One that knows the size of its columns, for solvers that scale by it."""

    def squares(self) -> Floats:
        """sum_p c_p F_pk^2 for each coefficient k, with the weights c of the pairs (approximate: for scaling)."""


class Antisymmetric:
    """f(x, x') = phi(x)' B phi(x') with B antisymmetric: the pairwise Gaussian space on a factor phi.

    The norm is ||f||^2 = ||B||_F^2; the gradient of f(x, x') in B is (phi phi'^T - phi' phi^T) / 2. Only the better
    documents are multiplied by B, and a block of pairs costs two thin matrix products.

    Parameters
    ----------
    phi : (n_docs, rank) float64
        Features of the documents, in the order of the data.
    pairs : PairBlocks
    """

    def __init__(self, phi: Floats, pairs: PairBlocks) -> None:
        self.pairs = pairs
        self.shape: tuple[int, ...] = (phi.shape[1], phi.shape[1])
        self._phi = phi[pairs.order]
        self._upper = self._phi[pairs.upper]

    def values(self, coef: Floats) -> Values:
        left = self._upper @ coef
        return lambda block: left[block.upper] @ self._phi[block.cols].T

    def transpose(self, parts: Iterable[tuple[Block, Floats]]) -> Floats:
        sums = np.zeros_like(self._upper)
        for block, numbers in parts:
            sums[block.upper] += numbers @ self._phi[block.cols]
        product = self._upper.T @ sums
        return 0.5 * (product - product.T)

    def squares(self) -> Floats:
        # (phi_a phi'_b - phi_b phi'_a)^2 / 2 without its mixed term, which is small in the eigenbasis of phi'phi.
        squared = self._phi**2
        sums = np.zeros_like(self._upper)
        for block in self.pairs.blocks:
            sums[block.upper] += block.weights() @ squared[block.cols]
        product = (self._upper**2).T @ sums
        return 0.5 * (product + product.T)


class Difference:
    """f(x, x') = s(x) - s(x') with scores s = phi(x)'w: the score differences of a kernel's functions.

    The norm is ||f||^2 = ||w||^2, the kernel of pairs <phi(x) - phi(x'), phi(u) - phi(u')>.

    Parameters
    ----------
    phi : (n_docs, rank) float64
    pairs : PairBlocks
    """

    def __init__(self, phi: Floats, pairs: PairBlocks) -> None:
        self.pairs = pairs
        self.shape: tuple[int, ...] = (phi.shape[1],)
        self._phi = phi[pairs.order]

    def values(self, coef: Floats) -> Values:
        scores = self._phi @ coef
        return lambda block: scores[block.rows, None] - scores[None, block.cols]

    def transpose(self, parts: Iterable[tuple[Block, Floats]]) -> Floats:
        degree = np.zeros(self.pairs.n_docs)
        for block, numbers in parts:
            degree[block.rows] += numbers.sum(axis=1)
            degree[block.cols] -= numbers.sum(axis=0)
        return self._phi.T @ degree

    def squares(self) -> Floats:
        total = np.zeros(self.shape)
        for block in self.pairs.blocks:
            weights = block.weights()
            rows, cols = self._phi[block.rows], self._phi[block.cols]
            total += weights.sum(axis=1) @ rows**2 + weights.sum(axis=0) @ cols**2
            total -= 2.0 * np.einsum("ik,ik->k", rows, weights @ cols)
        return total


@dataclass(frozen=True)
class Risk:
    """The weighted loss over all strict pairs at some coefficients, for a loss and for a smoothing of it.

    Attributes
    ----------
    value, smooth_value : float
        sum_p c_p psi(f_p), for the loss and for its smoothing.
    gradient : array of the coefficients' shape
        Of `smooth_value`.
    conjugates : float
        sum_p c_p psi*(-u_p) of the loss, at the dual points u of the smoothing.
    duals : float
        sum_p c_p u_p.
    """

    value: float
    smooth_value: float
    gradient: Floats
    conjugates: float
    duals: float


def risk(pair_map: PairMap, coef: Floats, loss: MarginLoss, smoothing: MarginLoss | None = None) -> Risk:
    """Evaluate the risk; without a smoothing, the loss itself takes its place."""
    values, smooth = pair_map.values(coef), smoothing or loss
    value = smooth_value = conjugates = duals = 0.0

    def with_slopes() -> Iterator[tuple[Block, Floats]]:
        nonlocal value, smooth_value, conjugates, duals
        for block in pair_map.pairs.blocks:
            t = values(block)
            u = smooth.dual_point(t)
            value += block.weighted_sum(loss.value(t))
            conjugates += block.weighted_sum(loss.conjugate(u))
            if smoothing is not None:
                smooth_value += block.weighted_sum(smoothing.value(t))
            slopes = block.keep_strict(-block.weight * u)
            duals -= float(slopes.sum())
            yield block, slopes

    gradient = pair_map.transpose(with_slopes())
    return Risk(value, value if smoothing is None else smooth_value, gradient, conjugates, duals)


def normal_product(pair_map: PairMap, coef: Floats) -> Floats:
    """F' diag(c) F coef, with the weights c of the pairs."""
    value_of = pair_map.values(coef)
    blocks = pair_map.pairs.blocks
    return pair_map.transpose((block, block.keep_strict(block.weight * value_of(block))) for block in blocks)


def weighted_sum(pair_map: PairMap) -> Floats:
    """F'c, the sum of the pairs' columns with their weights."""
    return pair_map.transpose((block, block.weights()) for block in pair_map.pairs.blocks)
