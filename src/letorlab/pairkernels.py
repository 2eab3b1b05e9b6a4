"""Pair kernels of sparse rules: how each makes its dictionary of atoms, and evaluates a rule on new documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from letorlab.atoms import Atoms, Dictionary, DifferenceAtoms, KernelAtoms, PairKernel, ProductAtoms
from letorlab.kernels import Kernel
from letorlab.pairblocks import PairBlocks
from letorlab.queries import Floats
from letorlab.tournament import Preferences


class PairKernelKind(Protocol):
    """A pair kernel; landmarks (m, n_features), atoms of them, and their weights (n_atoms,) make a rule f."""

    def dictionary(self, X: Floats, landmarks: Floats, pairs: PairBlocks) -> Dictionary: ...

    def on_pairs(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats, X_prime: Floats) -> Floats:
        """f of the pairs of rows, (n,)."""

    def within(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats) -> Preferences:
        """f of some rows of X against all."""


@dataclass(frozen=True)
class ProductKernel:
    """k(z, x) k(z', x'): f(x, x') = k_x' alpha k_x'."""

    kernel: Kernel

    def dictionary(self, X: Floats, landmarks: Floats, pairs: PairBlocks) -> ProductAtoms:
        return ProductAtoms(self.kernel(X, landmarks), pairs)

    def on_pairs(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats, X_prime: Floats) -> Floats:
        left = self.kernel(X, landmarks) @ atoms.matrix(weights, len(landmarks))
        return np.einsum("ij,ij->i", left, self.kernel(X_prime, landmarks))

    def within(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats) -> Preferences:
        values = self.kernel(X, landmarks)
        left = values @ atoms.matrix(weights, len(landmarks))
        return lambda rows: left[rows] @ values.T


@dataclass(frozen=True)
class DifferenceKernel:
    """<k_x - k_x', k_z - k_z'>: f(x, x') = s(x) - s(x')."""

    kernel: Kernel

    def dictionary(self, X: Floats, landmarks: Floats, pairs: PairBlocks) -> DifferenceAtoms:
        return DifferenceAtoms(self.kernel(X, landmarks), pairs)

    def _scores(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats) -> Floats:
        return 2.0 * self.kernel(X, landmarks) @ atoms.matrix(weights, len(landmarks)).sum(axis=1)

    def on_pairs(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats, X_prime: Floats) -> Floats:
        return self._scores(landmarks, atoms, weights, X) - self._scores(landmarks, atoms, weights, X_prime)

    def within(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats) -> Preferences:
        scores = self._scores(landmarks, atoms, weights, X)
        return lambda rows: scores[rows, None] - scores


@dataclass(frozen=True)
class AnyPairKernel:
    """A function K of pairs of landmarks and pairs of documents, see `letorlab.atoms.KernelAtoms`."""

    kernel: PairKernel

    def dictionary(self, X: Floats, landmarks: Floats, pairs: PairBlocks) -> KernelAtoms:
        return KernelAtoms(self.kernel, X, landmarks, pairs)

    def on_pairs(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats, X_prime: Floats) -> Floats:
        first, second = landmarks[atoms.first], landmarks[atoms.second]
        return weights @ (self.kernel(first, second, X, X_prime) - self.kernel(second, first, X, X_prime))

    def within(self, landmarks: Floats, atoms: Atoms, weights: Floats, X: Floats) -> Preferences:
        def preferences(rows: slice) -> Floats:
            part = X[rows]
            left, right = np.repeat(part, len(X), axis=0), np.tile(X, (len(part), 1))
            return self.on_pairs(landmarks, atoms, weights, left, right).reshape(len(part), len(X))

        return preferences
