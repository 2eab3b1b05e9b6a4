"""Label noise with known exponents: how relevance y follows from the utility g(x).

Each gives d(x, x') = P(y > y') - P(y < y') and P(y = y') exactly, so that risks are measured without label noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from letorlab.queries import Floats


class LabelNoise(Protocol):
    """What a kind of noise offers; typing only."""

    @property
    def name(self) -> str: ...

    @property
    def noise_exponent(self) -> float:
        """q: P(|d| < s) is of the order s^q."""
        ...

    @property
    def margin_exponent(self) -> float:
        """beta: E |d| over the pairs within s of the border d = 0 is of the order s^beta, for a Lipschitz utility."""
        ...

    def draw(self, g: Floats, rng: np.random.Generator) -> Floats:
        """Labels (n,) for utilities (n,)."""
        ...

    def difference(self, g: Floats, g_prime: Floats) -> Floats:
        """d for utilities that broadcast."""
        ...

    def tied(self, g: Floats, g_prime: Floats) -> Floats:
        """P(y = y')."""
        ...


@dataclass(frozen=True)
class Contaminated:
    """y = g(x), but with probability delta uniform on [0, 1]; g must lie there. |d| is bounded away from 0."""

    delta: float
    name: str = "D1 contaminated"
    noise_exponent: float = np.inf
    margin_exponent: float = 1.0

    def draw(self, g: Floats, rng: np.random.Generator) -> Floats:
        return np.where(rng.random(len(g)) < self.delta, rng.random(len(g)), g)

    def difference(self, g: Floats, g_prime: Floats) -> Floats:
        clean, gap = 1.0 - self.delta, g - g_prime
        return clean**2 * np.sign(gap) + 2.0 * self.delta * clean * gap

    def tied(self, g: Floats, g_prime: Floats) -> Floats:
        return np.zeros(np.broadcast_shapes(g.shape, g_prime.shape))


@dataclass(frozen=True)
class PowerNoise:
    """y = g(x) + e, e = +-V^(1/a) with V uniform: |d| is of the order |g - g'|^(2a) near 0, for a < 1/2."""

    a: float
    name: str = "D2 power noise"

    @property
    def noise_exponent(self) -> float:
        return 1.0 / min(1.0, 2.0 * self.a)

    @property
    def margin_exponent(self) -> float:
        return 1.0 + min(1.0, 2.0 * self.a)

    def draw(self, g: Floats, rng: np.random.Generator) -> Floats:
        size = rng.random(len(g)) ** (1.0 / self.a)
        return g + np.where(rng.random(len(g)) < 0.5, size, -size)

    def difference(self, g: Floats, g_prime: Floats) -> Floats:
        gap = g - g_prime
        return np.sign(gap) * self._within(np.abs(gap))

    def tied(self, g: Floats, g_prime: Floats) -> Floats:
        return np.zeros(np.broadcast_shapes(g.shape, g_prime.shape))

    def _within(self, u: Floats) -> Floats:
        """P(|e - e'| < u), from a table that is dense near 0."""
        root, values = self._table
        return np.interp(np.sqrt(np.minimum(u, 2.0)), root, values)

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """At u = root^2: the mean over e' of F(e' + u) - F(e' - u), e' = V^(1/a) at the midpoints of V."""
        root = np.linspace(0.0, np.sqrt(2.0), 2001)
        e = ((np.arange(20_000) + 0.5) / 20_000) ** (1.0 / self.a)
        values = [float(np.mean(self._cdf(e + u) - self._cdf(e - u))) for u in root**2]
        return root, np.array(values)

    def _cdf(self, e: Floats) -> Floats:
        return 0.5 + 0.5 * np.sign(e) * np.minimum(np.abs(e), 1.0) ** self.a


@dataclass(frozen=True)
class Bipartite:
    """y is 1 with probability g(x), else 0: two grades, many ties. g must lie in [0, 1]."""

    name: str = "D3 bipartite"
    noise_exponent: float = 1.0
    margin_exponent: float = 2.0

    def draw(self, g: Floats, rng: np.random.Generator) -> Floats:
        return (rng.random(len(g)) < g).astype(np.float64)

    def difference(self, g: Floats, g_prime: Floats) -> Floats:
        return g - g_prime

    def tied(self, g: Floats, g_prime: Floats) -> Floats:
        return g * g_prime + (1.0 - g) * (1.0 - g_prime)


@dataclass(frozen=True)
class BradleyTerryLuce:
    """y = scale g(x) + Gumbel(0, 1): d = tanh(scale (g - g') / 2)."""

    scale: float
    name: str = "D4 Bradley-Terry-Luce"
    noise_exponent: float = 1.0
    margin_exponent: float = 2.0

    def draw(self, g: Floats, rng: np.random.Generator) -> Floats:
        return self.scale * g + rng.gumbel(size=len(g))

    def difference(self, g: Floats, g_prime: Floats) -> Floats:
        return np.tanh(0.5 * self.scale * (g - g_prime))

    def tied(self, g: Floats, g_prime: Floats) -> Floats:
        return np.zeros(np.broadcast_shapes(g.shape, g_prime.shape))
