"""A population with known truth: documents, utilities, labels, and the excess risks of a rule.

With d = P(y > y') - P(y < y') the ranking risk of an antisymmetric rule f exceeds that of the best by
E |d| 1{sgn f != sgn d} (one half where f = 0), and the surrogate risks of f clipped to [-1, 1] exceed theirs by
E |d| |f - sgn d| (hinge) and E (1 - P(y = y')) (f - f*)^2, f* = d / (1 - P(y = y')) (square).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from letorlab.queries import Floats
from letorlab.simulate.label_noise import LabelNoise
from letorlab.simulate.supports import Support


@dataclass(frozen=True)
class Sample:
    """X (n, n_features), utilities g (n,) and labels y (n,)."""

    X: Floats
    g: Floats
    y: Floats


@dataclass(frozen=True)
class Population:
    """A support, a utility on its latent coordinates, and label noise.

    Attributes
    ----------
    smoothness : float
        Hölder exponent alpha of the utility.
    """

    support: Support
    utility: Callable[[Floats], Floats]
    noise: LabelNoise
    smoothness: float = 1.0

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        t = self.support.latent(n, rng)
        g = self.utility(t)
        return Sample(self.support.embed(t), g, self.noise.draw(g, rng))

    def excess(self, f: Floats, g: Floats) -> Excess:
        """Excess risks over the ordered pairs of different documents with utilities g (n,), for f (n, n)."""
        pairs = ~np.eye(len(g), dtype=bool)
        d = self.noise.difference(g[:, None], g[None, :])[pairs]
        strict = 1.0 - self.noise.tied(g[:, None], g[None, :])[pairs]
        return excess_risks(f[pairs], d, strict)


@dataclass(frozen=True)
class Excess:
    """Excess ranking risk, and excess risks of the surrogates."""

    ranking: float
    hinge: float
    square: float


def excess_risks(f: Floats, d: Floats, strict: Floats) -> Excess:
    """Means over pairs (n,), of f, of d, and of the probability that the labels differ."""
    clipped, size = np.clip(f, -1.0, 1.0), np.abs(d)
    wrong = np.where(f == 0, 0.5, np.sign(f) != np.sign(d))
    best = np.divide(d, strict, out=np.zeros_like(d), where=strict > 0)
    return Excess(
        ranking=float(np.mean(size * wrong)),
        hinge=float(np.mean(size * np.abs(clipped - np.sign(d)))),
        square=float(np.mean(strict * (clipped - best) ** 2)),
    )


def bayes_risk(d: Floats, strict: Floats) -> float:
    """E min(P(y > y'), P(y < y')), the smallest ranking risk, as a mean over pairs."""
    return float(np.mean(0.5 * (strict - np.abs(d))))
