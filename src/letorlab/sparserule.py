"""A sparse pairwise rule: the few landmark documents and atoms that carry it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from letorlab.atoms import Atoms
from letorlab.errors import InputError
from letorlab.kernels import Kernel
from letorlab.lowrank import DEFAULT_RANK, low_rank_factor
from letorlab.pairblocks import PairBlocks
from letorlab.pairkernels import PairKernelKind
from letorlab.pairmaps import Values
from letorlab.queries import Floats
from letorlab.solvers import Result
from letorlab.tournament import Preferences

RESIDUAL = 1e-10  # of the kernel, at which landmarks are enough


@dataclass(frozen=True)
class SparseRule:
    """f = sum of weights times atoms.

    Attributes
    ----------
    kind : PairKernelKind
    landmarks : (n_used, n_features) float64
        The documents that the atoms belong to.
    atoms : Atoms
        Of all m landmarks of the fit.
    local : Atoms
        The same, counted among `landmarks`.
    weights : (n_atoms,) float64
    """

    kind: PairKernelKind
    landmarks: Floats
    atoms: Atoms
    local: Atoms
    weights: Floats

    @classmethod
    def of(cls, kind: PairKernelKind, landmarks: Floats, alpha: Floats) -> SparseRule:
        """From an antisymmetric matrix alpha (m, m)."""
        atoms = Atoms(*np.nonzero(np.triu(alpha)))
        used, place = np.unique(np.concatenate([atoms.first, atoms.second]), return_inverse=True)
        local = Atoms(place[: len(atoms)], place[len(atoms) :])
        return cls(kind, landmarks[used], atoms, local, atoms.entries(alpha))

    def compact(self, result: Result) -> Result:
        """The solver's result with the weights in place of the matrix."""
        return replace(result, coef=self.weights)

    def on_pairs(self, X: Floats, X_prime: Floats) -> Floats:
        """f of the pairs of rows, (n,)."""
        return self.kind.on_pairs(self.landmarks, self.local, self.weights, X, X_prime)

    def within(self, X: Floats) -> Preferences:
        """f of some rows of X against all."""
        return self.kind.within(self.landmarks, self.local, self.weights, X)

    def values(self, X: Floats, pairs: PairBlocks) -> Values:
        """f of the strict pairs of documents X, block by block."""
        alpha = self.local.matrix(self.weights, len(self.landmarks))
        return self.kind.dictionary(X, self.landmarks, pairs).values(alpha)


def landmarks_of(X: Floats, kernel: Kernel, most: int | None) -> Floats:
    """The documents that make the atoms: all different ones, or those that a low-rank factor of the kernel stands on.

    Parameters
    ----------
    X : (n_docs, n_features) float64
    most : int, optional
        By default all different documents up to 512.

    Raises
    ------
    InputError
        If `most` is not from 2 to the number of different documents.
    """
    different = np.unique(X, axis=0)
    if most is not None and not 2 <= most <= len(different):
        raise InputError(
            f"{most} landmarks were asked for, but there are {len(different)} different documents: from 2 to "
            f"{len(different)} are possible; leave landmarks out (None) for all, at most {DEFAULT_RANK}"
        )
    wanted = most or min(len(different), DEFAULT_RANK)
    if wanted == len(different):
        return different
    return low_rank_factor(different, kernel, rank=wanted, tol=RESIDUAL).landmarks
