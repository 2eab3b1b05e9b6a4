"""Margin losses psi(t), convex and falling, of a margin t = S f: positive where a pair is ordered as it should be.

Each has its value, the dual point u = -psi'(t) >= 0 (for the square loss of any sign), and the conjugate psi*(-u).
The three fulfil psi(t) + psi*(-u) + u t >= 0, with equality where u = -psi'(t): the sum of the left sides over the
pairs is the part of a duality gap that the loss contributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats

TINY = 1e-8  # the shortest chord of a slope that is infinitely steep at its kink


class MarginLoss(Protocol):
    """Value, dual point and conjugate, element by element; ``psi(0) = 1`` for every loss of this file.

    ``psi*(-u) + u`` is 0 (the hinge), or a multiple of ``u ** dual_power``; with the hinge u is at most 1.
    """

    @property
    def dual_power(self) -> float: ...

    def value(self, t: Floats) -> Floats: ...

    def dual_point(self, t: Floats) -> Floats: ...

    def conjugate(self, u: Floats) -> Floats: ...


class SmoothLoss(MarginLoss, Protocol):
    """A loss with a continuous slope."""

    def curvature(self, t: Floats, reach: float) -> Floats:
        """q >= 0 such that psi(t) + psi'(t) s + q s^2 / 2 is at least psi(t + s) for all |s| <= reach.

        It is the largest |psi'(t + s) - psi'(t)| / |s|: psi'' where the reach is small, and a bound beyond.
        """


@dataclass(frozen=True)
class Square:
    """(1 - t)^2; its conjugate -u + u^2/4 holds for u of any sign."""

    dual_power = 2.0

    def value(self, t: Floats) -> Floats:
        return (1.0 - t) ** 2

    def dual_point(self, t: Floats) -> Floats:
        return 2.0 * (1.0 - t)

    def conjugate(self, u: Floats) -> Floats:
        return u * (0.25 * u - 1.0)

    def curvature(self, t: Floats, reach: float) -> Floats:
        return np.full(np.shape(t), 2.0)


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - t); the dual point at the kink is 0, and the conjugate -u holds on 0 <= u <= 1."""

    dual_power = 1.0

    def value(self, t: Floats) -> Floats:
        return np.maximum(1.0 - t, 0.0)

    def dual_point(self, t: Floats) -> Floats:
        return (t < 1.0).astype(np.float64)

    def conjugate(self, u: Floats) -> Floats:
        return np.where((u >= 0.0) & (u <= 1.0), -u, np.inf)


@dataclass(frozen=True)
class SmoothHinge:
    """The hinge with its kink rounded: the largest u (1 - t) - width u^2 / 2 over 0 <= u <= 1.

    It lies at most width / 2 below the hinge, and its dual points are feasible for the hinge, so they certify the
    hinge's own problem.
    """

    width: float
    dual_power = 2.0

    def value(self, t: Floats) -> Floats:
        u = self.dual_point(t)
        return u * (1.0 - t - 0.5 * self.width * u)

    def dual_point(self, t: Floats) -> Floats:
        return np.clip((1.0 - t) / self.width, 0.0, 1.0)

    def conjugate(self, u: Floats) -> Floats:
        return Hinge().conjugate(u) + 0.5 * self.width * u**2

    def curvature(self, t: Floats, reach: float) -> Floats:
        # From outside, the steepest chord of the slope ends at the far side of the rounded part.
        outside = np.maximum(np.maximum(t - 1.0, 1.0 - self.width - t), 0.0)
        return np.where(outside < reach, 1.0 / (outside + self.width), 0.0)


@dataclass(frozen=True)
class PowerHinge:
    """max(0, 1 - t)^r for r > 1, with conjugate -u + (r - 1) (u/r)^(r/(r-1)) on u >= 0."""

    r: float

    @property
    def dual_power(self) -> float:
        return self.r / (self.r - 1.0)

    def value(self, t: Floats) -> Floats:
        return np.maximum(1.0 - t, 0.0) ** self.r

    def dual_point(self, t: Floats) -> Floats:
        return self.r * np.maximum(1.0 - t, 0.0) ** (self.r - 1.0)

    def conjugate(self, u: Floats) -> Floats:
        positive = np.maximum(u, 0.0)
        inside = -u + (self.r - 1.0) * (positive / self.r) ** (self.r / (self.r - 1.0))
        return np.where(u >= 0.0, inside, np.inf)

    def curvature(self, t: Floats, reach: float) -> Floats:
        # The slope is steepest near the kink for r < 2, far from it for r >= 2.
        missing = 1.0 - t
        if self.r >= 2.0:
            return (self.dual_point(t - reach) - self.dual_point(t)) / reach
        to_kink = np.where(missing > 0.0, missing, -missing / (2.0 - self.r))
        chord = np.clip(to_kink, TINY, reach) * np.where(missing > 0.0, 1.0, -1.0)
        return (self.dual_point(t) - self.dual_point(t + chord)) / chord


def margin_loss(name: str, r: float) -> MarginLoss:
    """The loss "hinge", "square", or "rhinge" with exponent r >= 1 (which is the hinge at r = 1).

    Raises
    ------
    InputError
        If the name is another, or r is less than 1 or not finite.
    """
    if name not in ("hinge", "square", "rhinge"):
        raise InputError(f"unknown loss {name!r}; known: hinge, square, rhinge (with an exponent r >= 1)")
    if not 1.0 <= r < np.inf:
        raise InputError(f"the exponent r of the hinge must be a number of at least 1; got {r}")
    if name == "square":
        return Square()
    return Hinge() if name == "hinge" or r == 1.0 else PowerHinge(r)
