"""From the scores of a query's documents to a positive matrix of documents and ranks (Adams and Zemel, section 4).

Both kinds put the high scores at the first ranks, and both are narrow when the smoothing is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from letorlab.betainc import beta_cdf
from letorlab.errors import InputError


def smoothed_indicator(phi: Tensor, at_ranks: Tensor | None, smoothing: float) -> Tensor:
    """A_jk = exp(-(phi_j - phi_s[k])^2 / (2 smoothing^2)), where s[k] is the document that phi puts at rank k.

    Parameters
    ----------
    phi : (..., n_docs) tensor
        Scores.
    at_ranks : (..., n_ranks) tensor, optional
        The scores phi_s[k]; by default all scores in falling order. The slope goes through these as well, the order
        being held fixed.
    smoothing : float
        In units of the scores. Towards 0 the matrix becomes the permutation, towards infinity all ones.

    Returns
    -------
    (..., n_docs, n_ranks) tensor
    """
    _check_smoothing(smoothing)
    ranked = phi.sort(dim=-1, descending=True, stable=True).values if at_ranks is None else at_ranks
    return _SmoothedIndicator.apply(phi, ranked, smoothing)


class _SmoothedIndicator(torch.autograd.Function):
    """Keeps A alone; differences are cheap to form again.

    Entries stay above the root of the smallest number (1e-19 in float32), far below any floor: exp and products are
    twice as slow where they underflow.
    """

    @staticmethod
    def forward(ctx: Any, phi: Tensor, ranked: Tensor, smoothing: float) -> Tensor:
        scale = 0.5**0.5 / smoothing
        exponent = _differences(phi * scale, ranked * scale).square_().neg_()
        A = exponent.clamp_(min=0.5 * math.log(torch.finfo(phi.dtype).tiny)).exp_()
        ctx.save_for_backward(A, phi, ranked)
        ctx.smoothing = smoothing
        return A

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        A, phi, ranked = ctx.saved_tensors
        B = _differences(phi, ranked).mul_(grad).mul_(A)
        scale = 1.0 / ctx.smoothing**2
        return B.sum(-1).mul_(-scale), B.sum(-2).mul_(scale), None


def _differences(phi: Tensor, ranked: Tensor) -> Tensor:
    return phi.unsqueeze(-1) - ranked.unsqueeze(-2)


def partitioned(phi: Tensor, edges: Tensor, smoothing: float, family: str = "logistic") -> Tensor:
    """A_jk = F(edge_k; phi_j) - F(edge_k-1; phi_j) for a distribution F on [0, 1] whose mass moves to 0 as phi rises.

    Parameters
    ----------
    phi : (..., n_docs) tensor
        Scores, in units of their own: a score of 0 stands in the middle.
    edges : (..., n_ranks + 1) tensor
        0, 1/J, ..., 1 for J ranks, see `rank_edges`; equal edges make a rank of no mass.
    smoothing : float
        Spread of F.
    family : {"logistic", "probit", "beta"}
        logistic: F(u) = 1 / (1 + exp(-(logit u + phi) / smoothing)). probit: Phi((Phi^-1(u) + phi) / smoothing).
        beta: mean 1 / (1 + exp(phi)), and a + b = 1 / smoothing^2, between 0.1 and 10,000.

    Returns
    -------
    (..., n_docs, n_ranks) tensor
        Rows sum to 1.

    Raises
    ------
    InputError
        If the smoothing is not positive, or the family is unknown.
    """
    _check_smoothing(smoothing)
    if family not in FAMILIES:
        raise InputError(f"unknown family of partitioned measures {family!r}; known: {', '.join(FAMILIES)}")
    return _Partitioned.apply(phi, edges, smoothing, FAMILIES[family])


def rank_edges(n_docs: Tensor, n_ranks: int, dtype: torch.dtype) -> Tensor:
    """min(k / J, 1) for k = 0, ..., n_ranks of queries with J documents, (..., n_ranks + 1)."""
    ranks = torch.arange(n_ranks + 1, dtype=dtype, device=n_docs.device)
    return (ranks / n_docs.to(dtype).unsqueeze(-1)).clamp_(max=1.0)


class _Partitioned(torch.autograd.Function):
    """Row j depends on phi_j alone, so that one forward derivative, dA_jk / dphi_j, is all that backward needs."""

    @staticmethod
    def forward(ctx: Any, phi: Tensor, edges: Tensor, smoothing: float, cdf: Cdf) -> Tensor:
        def bins(scores: Tensor) -> Tensor:
            return cdf(edges.unsqueeze(-2), scores.unsqueeze(-1), smoothing).diff(dim=-1)

        A, slope = torch.func.jvp(bins, (phi,), (torch.ones_like(phi),))[:2]
        ctx.save_for_backward(slope)
        return A.clamp_(min=0.0)  # rounding may leave -1e-17

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (grad * ctx.saved_tensors[0]).sum(-1), None, None, None


Cdf = Callable[[Tensor, Tensor, float], Tensor]


def _logistic(u: Tensor, phi: Tensor, smoothing: float) -> Tensor:
    return torch.sigmoid((torch.logit(u) + phi) / smoothing)


def _probit(u: Tensor, phi: Tensor, smoothing: float) -> Tensor:
    return torch.special.ndtr((torch.special.ndtri(u) + phi) / smoothing)


def _beta(u: Tensor, phi: Tensor, smoothing: float) -> Tensor:
    concentration = min(max(smoothing**-2, 0.1), 1e4)
    mean = torch.sigmoid(-phi).clamp(1e-4, 1.0 - 1e-4)
    return beta_cdf(u, concentration * mean, concentration * (1.0 - mean))


FAMILIES: dict[str, Cdf] = {"logistic": _logistic, "probit": _probit, "beta": _beta}


def _check_smoothing(smoothing: float) -> None:
    if not 0 < smoothing < float("inf"):
        raise InputError(f"smoothing must be a positive number; got {smoothing}")
