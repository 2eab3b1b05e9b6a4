"""Triangular and antisymmetric matrices as vectors: half the memory and half the file."""

from __future__ import annotations

import numpy as np

from letorlab.queries import Floats


def pack_lower(matrix: Floats, *, diagonal: bool) -> Floats:
    """The entries below the diagonal of (n, n), row by row, with or without the diagonal itself."""
    return matrix[np.tril_indices(len(matrix), 0 if diagonal else -1)]


def unpack_lower(packed: Floats, *, diagonal: bool) -> Floats:
    """The lower triangular matrix that was packed."""
    size = int((np.sqrt(8 * len(packed) + 1) + (-1 if diagonal else 1)) / 2 + 0.5)
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size, 0 if diagonal else -1)] = packed
    return matrix


def unpack_antisymmetric(packed: Floats) -> Floats:
    """The antisymmetric matrix whose lower triangle was packed without its diagonal."""
    lower = unpack_lower(packed, diagonal=False)
    return lower - lower.T
