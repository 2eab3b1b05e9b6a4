"""Sinkhorn balancing of positive matrices in torch, incomplete (a few steps) or until it converges.

A step divides the columns by their sums and then the rows by theirs (Adams and Zemel, Ranking via Sinkhorn Propagation,
2011, section 3: columns first, rows last).

Masses are weights of rows and columns: the balanced matrix Z satisfies ``Z @ col_mass = 1`` and ``row_mass @ Z = 1``.
With all masses 1, Z is doubly stochastic. Mass 0 is padding: it takes part in no sum. Mass m stands for m equal rows or
columns, with the same numbers as if they were written out. With two measures of the same total as masses,
``row_mass * Z * col_mass`` is a transport plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from letorlab.errors import InputError
from letorlab.sinkhorn_autograd import Balance, ExpectedGain

FLOOR = 1e-6  # added to every entry, as in the paper: no sum is 0 then, however small the smoothing
STEPS = 5


@dataclass(frozen=True)
class Balanced:
    """A matrix after some steps.

    Attributes
    ----------
    matrix : (..., n_rows, n_cols) tensor
        Rows sum to 1 under ``col_mass``, up to rounding; 0 where a mass is 0.
    marginal_error : (...) tensor
        Largest |row_mass @ matrix - 1| * col_mass, the mass that the worst column lacks or has too much.
    n_iter : int
        Steps taken.
    """

    matrix: Tensor
    marginal_error: Tensor
    n_iter: int

    def require(self, tol: float) -> Balanced:
        """Itself; raises InputError if a marginal error is above tol."""
        worst = float(self.marginal_error.max())
        if not worst <= tol:
            raise InputError(
                f"Sinkhorn balancing stopped after {self.n_iter} steps with a marginal error of {worst:.2g}, "
                f"above {tol:g}: allow more steps, more smoothing, or a larger error"
            )
        return self


def sinkhorn(
    A: Tensor,
    *,
    n_iter: int = STEPS,
    floor: float = FLOOR,
    row_mass: Tensor | None = None,
    col_mass: Tensor | None = None,
) -> Balanced:
    """Balance A + floor in `n_iter` steps; differentiable in A.

    Parameters
    ----------
    A : (..., n_rows, n_cols) tensor
        Entries of 0 or more, finite; the leading axes are a batch.
    n_iter : int
    floor : float
        Positive; see `log_sinkhorn` for matrices to be balanced without it.
    row_mass, col_mass : (..., n_rows) and (..., n_cols) tensors, optional
        Default 1. Queries of different size are batched by mass 0 for what is not there.

    Raises
    ------
    InputError
        If an argument is out of range, or the masses of rows and columns differ in total.
    """
    if not 0 < floor < math.inf:
        raise InputError(f"floor must be a positive number; got {floor}. Without a floor use log_sinkhorn")
    rows, cols = _masses(A, n_iter, row_mass, col_mass)
    matrix = Balance.apply(A, rows, cols, floor, n_iter)
    return Balanced(matrix, _marginal_error(matrix, rows, cols), n_iter)


def expected_gain(
    A: Tensor,
    gains: Tensor,
    discounts: Tensor,
    *,
    row_mass: Tensor,
    col_mass: Tensor,
    n_iter: int = STEPS,
    floor: float = FLOOR,
) -> Tensor:
    """sum_jkr gains_jr Z_jk discounts_kr for Z = ``sinkhorn(A).matrix``, without writing Z out; differentiable in A.

    Parameters
    ----------
    A : (n, n_rows, n_cols) tensor
    gains, discounts : (n, n_rows, n_terms) and (n, n_cols, n_terms) tensors
        0 where the mass is 0. A row that stands for several documents has the sum of their gains.
    row_mass, col_mass, n_iter, floor
        As in `sinkhorn`; not checked again, this is the inner loop of training.

    Returns
    -------
    (n,) tensor
    """
    return ExpectedGain.apply(A, gains, discounts, row_mass, col_mass, floor, n_iter)


def log_sinkhorn(
    log_A: Tensor,
    *,
    n_iter: int = STEPS,
    floor: float = 0.0,
    tol: float | None = None,
    row_mass: Tensor | None = None,
    col_mass: Tensor | None = None,
) -> Balanced:
    """`sinkhorn` on logarithms: the same numbers, with or without a floor, and no underflow.

    Parameters
    ----------
    log_A : (..., n_rows, n_cols) tensor
        Minus infinity is an entry of 0.
    tol : float, optional
        Stop before `n_iter` steps once every marginal error is at most this. See `Balanced.require`.

    Raises
    ------
    InputError
        As `sinkhorn`, and if a row or column has no positive entry.
    """
    rows, cols = _masses(log_A, n_iter, row_mass, col_mass)
    L = torch.logaddexp(log_A, log_A.new_tensor(floor).log()) if floor > 0 else log_A
    present = _present(rows, cols)
    _check_support(L, present)
    L = torch.where(present, L, L.new_zeros(()))  # what stands in the padding, infinity too, is never seen
    log_rows, log_cols = rows.log().unsqueeze(-1), cols.log().unsqueeze(-2)
    f, g = L.new_zeros(L.shape[:-1]), L.new_zeros(L.shape[:-2] + L.shape[-1:])
    for step in range(1, n_iter + 1):  # noqa: B007 (reported)
        g = -torch.logsumexp(L + log_rows + f.unsqueeze(-1), -2)
        f = -torch.logsumexp(L + log_cols + g.unsqueeze(-2), -1)
        matrix = torch.where(present, (L + f.unsqueeze(-1) + g.unsqueeze(-2)).exp(), L.new_zeros(()))
        error = _marginal_error(matrix, rows, cols)
        if tol is not None and bool((error <= tol).all()):
            break
    return Balanced(matrix, error, step)


def _masses(A: Tensor, n_iter: int, rows: Tensor | None, cols: Tensor | None) -> tuple[Tensor, Tensor]:
    """Masses of the shape of the sums of A, checked."""
    if n_iter < 1:
        raise InputError(f"n_iter, the number of Sinkhorn steps, must be at least 1; got {n_iter}")
    r = A.new_ones(A.shape[:-1]) if rows is None else rows.expand(A.shape[:-1])
    col_shape = A.shape[:-2] + A.shape[-1:]
    c = A.new_ones(col_shape) if cols is None else cols.expand(col_shape)
    totals = r.sum(-1), c.sum(-1)
    if not torch.allclose(*totals, rtol=1e-4) or not bool((totals[0] > 0).all()):
        raise InputError(
            f"rows and columns need masses of the same positive total; got totals up to {float(totals[0].max()):g} and "
            f"{float(totals[1].max()):g}: a matrix that is not square needs masses"
        )
    return r, c


def _present(rows: Tensor, cols: Tensor) -> Tensor:
    return (rows > 0).unsqueeze(-1) & (cols > 0).unsqueeze(-2)


def _check_support(L: Tensor, present: Tensor) -> None:
    positive = (-math.inf < L) & present
    for axis, name in ((-1, "row"), (-2, "column")):
        if bool((present.any(axis) & ~positive.any(axis)).any()):
            raise InputError(f"a {name} of the matrix has no positive entry: it cannot be balanced; give a floor")


def _marginal_error(matrix: Tensor, rows: Tensor, cols: Tensor) -> Tensor:
    sums = (matrix.detach() * rows.unsqueeze(-1)).sum(-2)
    return ((sums - 1.0).abs() * cols).amax(-1)
