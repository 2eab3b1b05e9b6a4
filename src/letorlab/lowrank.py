"""A low-rank factor of a kernel's Gram matrix: pivoted Cholesky in blocks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from letorlab.errors import InputError
from letorlab.kernels import Kernel
from letorlab.queries import Floats, Ints
from letorlab.triangles import pack_lower, unpack_lower

BLOCK = 32  # candidates for landmarks that are looked at together, so that the work is matrix products
DEFAULT_RANK = 512  # the most landmarks where the caller leaves the rank open


@dataclass(frozen=True)
class Factor:
    """Features phi(x) = L^-1 k(Z, x) of documents x, from landmark documents Z with Gram matrix L L'.

    phi(x)'phi(u) is the kernel of the functions that the landmarks span, an orthogonal projection of the whole
    space; what it leaves of the kernel is the residual k(x, x) - ||phi(x)||^2 >= 0, which is 0 on the landmarks.

    Attributes
    ----------
    kernel : Kernel
    landmarks : (rank, n_features) float64
    packed_root : (rank (rank + 1) / 2,) float64
        L, see `letorlab.triangles`.
    residual_mean, residual_max : float
        Residual of the documents that the factor was made for, relative to their largest k(x, x).
    source : str
        Digest of what it was made from: documents, kernel, rank and tolerance.
    """

    kernel: Kernel
    landmarks: Floats
    packed_root: Floats
    residual_mean: float
    residual_max: float
    source: str

    @property
    def rank(self) -> int:
        return len(self.landmarks)

    @property
    def root(self) -> Floats:
        """L, (rank, rank), lower triangular."""
        return unpack_lower(self.packed_root, diagonal=True)

    def features(self, X: Floats) -> Floats:
        """phi of documents X (n_docs, n_features), (n_docs, rank)."""
        return solve_triangular(self.root, self.kernel(self.landmarks, X), lower=True).T


def factor_of(X: Floats, kernel: Kernel, *, rank: int | None, tol: float, known: Factor | None = None) -> Factor:
    """`low_rank_factor` of the different documents among X, or `known` if it was made from the same."""
    different = np.unique(X, axis=0)
    if known is not None and known.source == _source(different, kernel, rank, tol):
        return known
    return low_rank_factor(different, kernel, rank=rank, tol=tol)


def low_rank_factor(X: Floats, kernel: Kernel, *, rank: int | None = None, tol: float = 1e-10) -> Factor:
    """Choose landmarks among the documents X by falling residual, until `rank` of them or a residual of `tol`.

    This is the Cholesky decomposition of the Gram matrix with complete pivoting, but for candidates being taken in
    blocks: of the 32 documents of largest residual those are kept that still have half of the largest residual
    after the others of the block. Where every document may be a landmark, all are one block. Costs n rank^2
    operations and n rank numbers, and no n x n matrix.

    Parameters
    ----------
    X : (n_docs, n_features) float64
    rank : int, optional
        The most landmarks; by default 512, or all documents if they are fewer: then the factor is exact.
    tol : float
        Residual, relative to the largest k(x, x), at which to stop. Below about 1e-12 it is rounding error.

    Raises
    ------
    InputError
        If rank is not in 1..n_docs, tol is not in (0, 1), or the kernel is 0 on every document.
    """
    if rank is not None and not 1 <= rank <= len(X):
        raise InputError(
            f"rank {rank} was asked for, but there are {len(X)} documents: a rank from 1 to {len(X)} is possible; "
            "leave rank out (None) for all that the documents give, at most 512"
        )
    if not 0 < tol < 1:
        raise InputError(f"the residual tolerance of the factor must be between 0 and 1; got {tol}")
    diagonal = kernel.diagonal(X)
    scale = float(diagonal.max())
    if scale <= 0:
        raise InputError("the kernel is 0 on every document, so there is nothing to learn with: choose another")
    most = min(rank or DEFAULT_RANK, len(X))
    n_candidates, share = (BLOCK, 0.5) if most < len(X) else (most, 0.0)
    phi, chosen, residual = np.zeros((len(X), most)), np.zeros(0, dtype=np.int64), diagonal.copy()
    while len(chosen) < most and residual.max() > tol * scale:
        candidates = np.argsort(-residual, kind="stable")[: min(n_candidates, len(X) - len(chosen))]
        new, columns = _landmarks(X, kernel, phi[:, : len(chosen)], candidates, share, tol * scale)
        new, columns = new[: most - len(chosen)], columns[:, : most - len(chosen)]
        phi[:, len(chosen) : len(chosen) + len(new)] = columns
        chosen = np.concatenate([chosen, new])
        residual = np.maximum(residual - np.sum(columns**2, axis=1), 0.0)
        residual[chosen] = 0.0
    root = pack_lower(phi[chosen, : len(chosen)], diagonal=True)
    mean, largest = float(residual.mean()) / scale, float(residual.max()) / scale
    return Factor(kernel, X[chosen].copy(), root, mean, largest, _source(X, kernel, rank, tol))


def _landmarks(
    X: Floats, kernel: Kernel, phi: Floats, candidates: Ints, share: float, floor: float
) -> tuple[Ints, Floats]:
    """The strong ones among the candidates, and their columns of the factor."""
    unexplained = kernel(X[candidates], X[candidates]) - phi[candidates] @ phi[candidates].T
    decomposed, pivots, rank, _ = dpstrf(unexplained, tol=floor, lower=1)
    falling = np.diag(decomposed)[: max(rank, 1)] ** 2
    n_strong = np.count_nonzero(falling >= share * falling[0])
    new = candidates[pivots[:n_strong] - 1]
    root = np.tril(decomposed[:n_strong, :n_strong])
    columns = kernel(X, X[new]) - phi @ phi[new].T
    return new, solve_triangular(root, columns.T, lower=True).T


def _source(X: Floats, kernel: Kernel, rank: int | None, tol: float) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    digest.update(repr((X.shape, kernel, rank, tol)).encode())
    return digest.hexdigest()
