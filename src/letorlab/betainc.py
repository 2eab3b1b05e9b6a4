"""The distribution function of the beta distribution in torch, with derivatives in its parameters."""

from __future__ import annotations

import torch
from torch import Tensor

MOST_TERMS = 500


def beta_cdf(u: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """I_u(a, b), by its continued fraction (DLMF 8.17.22), on the side where that converges fast.

    Parameters
    ----------
    u : tensor in [0, 1]
    a, b : positive tensors
        Broadcast against u.
    """
    u, a, b = torch.broadcast_tensors(u, a, b)
    swap = u > (a + 1) / (a + b + 2)
    x = torch.where(swap, 1 - u, u)
    p, q = torch.where(swap, b, a), torch.where(swap, a, b)
    inside = (x > 0) & (x < 1)
    safe = torch.where(inside, x, torch.full_like(x, 0.5))  # at the ends the logarithms would be infinite
    log_front = p * safe.log() + q * torch.log1p(-safe) + (p + q).lgamma() - (p + 1).lgamma() - q.lgamma()
    lower = torch.where(inside, log_front.exp() / _fraction(safe, p, q), (x >= 1).to(x.dtype))
    return torch.where(swap, 1 - lower, lower)


def _fraction(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """1 + d_1 / (1 + d_2 / (1 + ...)), by Lentz's method until no entry moves."""
    tiny = torch.finfo(x.dtype).tiny ** 0.5
    value, above, below = torch.ones_like(x), torch.ones_like(x), torch.zeros_like(x)
    for term in range(1, MOST_TERMS):
        d = _coefficient(term, x, a, b)
        below = 1 / _away_from_zero(1 + d * below, tiny)
        above = _away_from_zero(1 + d / above, tiny)
        value = value * above * below
        if term % 8 == 0 and bool(((above * below - 1).abs() < 4 * torch.finfo(x.dtype).eps).all()):
            break
    return value


def _coefficient(term: int, x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    m = term // 2
    if term % 2:
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))


def _away_from_zero(value: Tensor, tiny: float) -> Tensor:
    return torch.where(value.abs() < tiny, torch.full_like(value, tiny), value)
