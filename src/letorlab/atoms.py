"""Dictionaries of pair atoms: the functions that an l1-penalised pairwise rule is a sparse sum of.

An atom belongs to two landmark documents (z_i, z_j), i < j, and is D_ij(x, x') = K((z_i, z_j), (x, x')) -
K((z_j, z_i), (x, x')) for a pair kernel K. A rule is f = sum over i < j of alpha_ij D_ij, or, with an antisymmetric
matrix alpha, the sum over all ordered (i, j) of alpha_ij K((z_i, z_j), .). A dictionary is therefore a `PairMap` from
antisymmetric matrices (m, m) to the values of f on the strict pairs, and its transpose gives, for numbers c u on the
pairs, the matrix Gamma_ij = 1/2 sum_p c_p u_p D_ij(p): the gradient of the risk in alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self

import numpy as np

from letorlab.errors import InputError
from letorlab.pairblocks import Block, PairBlocks
from letorlab.pairmaps import Antisymmetric, PairMap, Values
from letorlab.queries import Floats, Ints

CHUNK = 2**22  # entries of explicit columns that are held at a time
PairKernel = Callable[[Floats, Floats, Floats, Floats], Floats]


@dataclass(frozen=True)
class Atoms:
    """Some atoms of a dictionary: landmark ``first[a]`` before ``second[a]``, (n_atoms,) each."""

    first: Ints
    second: Ints

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def flat(cls, index: Ints, m: int) -> Atoms:
        """From positions in the m x m matrix, row by row."""
        return cls(*np.divmod(index, m))

    def entries(self, matrix: Floats) -> Floats:
        return matrix[self.first, self.second]

    def matrix(self, coef: Floats, m: int) -> Floats:
        """The antisymmetric (m, m) with ``coef`` at the atoms."""
        alpha = np.zeros((m, m))
        alpha[self.first, self.second] = coef
        alpha[self.second, self.first] = -coef
        return alpha


class Dictionary(PairMap, Protocol):
    """A linear map from antisymmetric matrices to pair values, and its columns: the values of single atoms."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def columns(self, atoms: Atoms) -> Callable[[Ints, Ints], Floats]:
        """A function of pairs, given as positions in `PairBlocks.order`, to D_ij of the pairs: (n_pairs, n_atoms)."""

    def gram(self, atoms: Atoms) -> Floats:
        """sum_p c_p D_a(p) D_b(p) over all strict pairs p, (n_atoms, n_atoms)."""

    def on(self, landmarks: Ints) -> Self:
        """The dictionary of some of the landmarks."""


class ProductAtoms(Antisymmetric):
    """Atoms of the product kernel k(z, x) k(z', x'): f(x, x') = k_x' alpha k_x', with k_x = (k(z_i, x))_i.

    It is `Antisymmetric` with the kernel values in place of features.

    Parameters
    ----------
    values : (n_docs, m) float64
        k(x, z) of documents, in the order of the data, and landmarks.
    pairs : PairBlocks
    """

    shape: tuple[int, int]

    def __init__(self, values: Floats, pairs: PairBlocks) -> None:
        super().__init__(values, pairs)
        self._values = values

    def on(self, landmarks: Ints) -> ProductAtoms:
        return ProductAtoms(self._values[:, landmarks], self.pairs)

    def columns(self, atoms: Atoms) -> Callable[[Ints, Ints], Floats]:
        first, second = self._phi[:, atoms.first], self._phi[:, atoms.second]

        def of_pairs(better: Ints, worse: Ints) -> Floats:
            values = first[better] * second[worse]
            values -= second[better] * first[worse]
            return values

        return of_pairs

    def gram(self, atoms: Atoms) -> Floats:
        # Over all ordered pairs of a set of documents with A = k'k, sum D_ij D_kl = 2 (A_ik A_jl - A_il A_jk), and the
        # strict pairs of a query are all its pairs less those within a grade.
        i, j = atoms.first, atoms.second
        total = np.zeros((len(atoms), len(atoms)))
        for weight, rows in _signed_sets(self.pairs):
            A = self._phi[rows].T @ self._phi[rows]
            total += weight * (A[np.ix_(i, i)] * A[np.ix_(j, j)] - A[np.ix_(i, j)] * A[np.ix_(j, i)])
        return total


class DifferenceAtoms:
    """Atoms of the kernel <k_x - k_x', k_z - k_z'>: D_ij(x, x') = 2 (s(x) - s(x')) with s = k(z_i, .) - k(z_j, .).

    Rules are score differences. Parameters as for `ProductAtoms`.
    """

    def __init__(self, values: Floats, pairs: PairBlocks) -> None:
        self.pairs = pairs
        self.shape = (values.shape[1], values.shape[1])
        self._values, self._phi = values, values[pairs.order]

    def on(self, landmarks: Ints) -> DifferenceAtoms:
        return DifferenceAtoms(self._values[:, landmarks], self.pairs)

    def values(self, coef: Floats) -> Values:
        scores = 2.0 * self._phi @ coef.sum(axis=1)
        return lambda block: scores[block.rows, None] - scores[None, block.cols]

    def transpose(self, parts: Iterable[tuple[Block, Floats]]) -> Floats:
        degree = np.zeros(self.pairs.n_docs)
        for block, numbers in parts:
            degree[block.rows] += numbers.sum(axis=1)
            degree[block.cols] -= numbers.sum(axis=0)
        sums = self._phi.T @ degree
        return sums[:, None] - sums[None, :]

    def columns(self, atoms: Atoms) -> Callable[[Ints, Ints], Floats]:
        scores = self._scores(atoms)
        return lambda better, worse: scores[better] - scores[worse]

    def _scores(self, atoms: Atoms) -> Floats:
        return 2.0 * (self._phi[:, atoms.first] - self._phi[:, atoms.second])

    def gram(self, atoms: Atoms) -> Floats:
        scores = self._scores(atoms)
        total = np.zeros((len(atoms), len(atoms)))
        for weight, rows in _signed_sets(self.pairs):  # over unordered pairs: n s's - (sum s)(sum s)'
            part = scores[rows] - scores[rows].mean(axis=0)
            total += weight * len(part) * (part.T @ part)
        return total


class KernelAtoms:
    """Atoms of any pair kernel K((z, z'), (x, x')) that is symmetric: the same when both pairs are turned round.

    Nothing is known of its structure, so a pass over the whole dictionary costs pairs times m^2 / 2 kernel values,
    in chunks: for small samples.

    Parameters
    ----------
    kernel : callable
        ``kernel(Z, Z_prime, X, X_prime)`` gives K of n pairs of landmarks and m pairs of documents, (n, m).
    X : (n_docs, n_features) float64
        In the order of the data.
    landmarks : (m, n_features) float64
    pairs : PairBlocks

    Raises
    ------
    InputError
        If the kernel is not symmetric in this sense, which is tried on the first pairs.
    """

    def __init__(self, kernel: PairKernel, X: Floats, landmarks: Floats, pairs: PairBlocks) -> None:
        self.pairs = pairs
        self.shape = (len(landmarks), len(landmarks))
        self._kernel, self._data, self._X, self._landmarks = kernel, X, X[pairs.order], landmarks
        _check_symmetric(kernel, landmarks[:20], X[:20])

    def on(self, landmarks: Ints) -> KernelAtoms:
        return KernelAtoms(self._kernel, self._data, self._landmarks[landmarks], self.pairs)

    def values(self, coef: Floats) -> Values:
        atoms = Atoms(*np.nonzero(np.triu(coef)))
        column, coef_of_atoms = self.columns(atoms), atoms.entries(coef)

        def of_block(block: Block) -> Floats:
            better, worse = (grid.ravel() for grid in _positions(block))
            parts = [column(better[c], worse[c]) @ coef_of_atoms for c in chunks(len(better), len(atoms))]
            return np.concatenate(parts).reshape(block.rows.stop - block.rows.start, -1)

        return of_block

    def transpose(self, parts: Iterable[tuple[Block, Floats]]) -> Floats:
        m = self.shape[0]
        atoms = Atoms(*np.triu_indices(m, 1))
        column, sums = self.columns(atoms), np.zeros(len(atoms))
        for block, numbers in parts:
            better, worse = (grid.ravel() for grid in _positions(block))
            for part in chunks(len(better), len(atoms)):
                sums += numbers.ravel()[part] @ column(better[part], worse[part])
        return atoms.matrix(0.5 * sums, m)

    def columns(self, atoms: Atoms) -> Callable[[Ints, Ints], Floats]:
        first, second = self._landmarks[atoms.first], self._landmarks[atoms.second]

        def of_pairs(better: Ints, worse: Ints) -> Floats:
            x, x_prime = self._X[better], self._X[worse]
            return (self._kernel(first, second, x, x_prime) - self._kernel(second, first, x, x_prime)).T

        return of_pairs

    def gram(self, atoms: Atoms) -> Floats:
        total = np.zeros((len(atoms), len(atoms)))
        column = self.columns(atoms)
        for block in self.pairs.blocks:
            better, worse = _strict_positions(block)
            for part in chunks(len(better), len(atoms)):
                D = column(better[part], worse[part])
                total += block.weight * (D.T @ D)
        return total


def _strict_positions(block: Block) -> tuple[Ints, Ints]:
    """The strict pairs of a block as positions in `PairBlocks.order`: better documents, and worse ones."""
    better, worse = _positions(block)
    strict = block.weights() != 0
    return better[strict], worse[strict]


def _positions(block: Block) -> tuple[Ints, Ints]:
    rows, cols = (np.arange(span.start, span.stop) for span in (block.rows, block.cols))
    shape = len(rows), len(cols)
    return np.broadcast_to(rows[:, None], shape), np.broadcast_to(cols, shape)


def chunks(n_pairs: int, n_columns: int) -> Iterator[slice]:
    """Pieces of some pairs, so short that explicit columns of a piece stay within memory."""
    step = max(1, CHUNK // max(n_columns, 1))
    yield from (slice(start, start + step) for start in range(0, n_pairs, step))


def _signed_sets(pairs: PairBlocks) -> Iterator[tuple[float, slice]]:
    """Sets of documents (positions) and weights, whose unordered pairs sum up to the strict pairs, weighted."""
    for bounds, weight in pairs.grades:
        yield weight, slice(bounds[0], bounds[-1])
        yield from ((-weight, slice(first, end)) for first, end in pairwise(bounds) if end - first > 1)


def _check_symmetric(kernel: PairKernel, Z: Floats, X: Floats) -> None:
    straight = kernel(Z, Z[::-1], X, X[::-1])
    turned = kernel(Z[::-1], Z, X[::-1], X)
    if straight.shape != (len(Z), len(X)):
        raise InputError(f"the pair kernel gave shape {straight.shape} for {len(Z)} pairs by {len(X)} pairs")
    if not np.allclose(straight, turned, rtol=1e-8, atol=1e-10 * np.abs(straight).max()):
        raise InputError(
            "the pair kernel is not symmetric: K((z, z'), (x, x')) must be K((z', z), (x', x)), or no antisymmetric "
            "rule comes of it. Take 1/2 (K((z, z'), (x, x')) + K((z', z), (x', x)))"
        )
