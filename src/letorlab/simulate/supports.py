"""Supports of known box dimension, and utilities of known smoothness on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from letorlab.queries import Floats
from letorlab.seeds import stream

Latent = Callable[[int, np.random.Generator], Floats]
CANTOR_DIGITS = 40  # 3^-40 is below the spacing of double precision


@dataclass(frozen=True)
class Support:
    """Documents x = embed(t) of latent coordinates t.

    Attributes
    ----------
    name : str
    dimension : float
        Box dimension of the support, rho in the theorems.
    ambient : int
        Number of features.
    latent : callable
        ``latent(n, rng)`` draws t, (n, k), with values in [0, 1].
    embed : callable
        From t to X (n, ambient).
    """

    name: str
    dimension: float
    ambient: int
    latent: Latent
    embed: Callable[[Floats], Floats]


def helix(ambient: int = 3) -> Support:
    """(cos 2 pi t / 2 pi, sin 2 pi t / 2 pi, t), turned into a space of more dimensions by an orthonormal map."""
    turn = _orthonormal(ambient, 3)

    def embed(t: Floats) -> Floats:
        angle = 2 * np.pi * t[:, 0]
        return np.stack([np.cos(angle) / (2 * np.pi), np.sin(angle) / (2 * np.pi), t[:, 0]], axis=1) @ turn

    return Support(f"helix in R^{ambient}", 1.0, ambient, _uniform(1), embed)


def cube(dimension: int, ambient: int) -> Support:
    """[0, 1]^dimension, turned into a space of more dimensions."""
    turn = _orthonormal(ambient, dimension)
    return Support(
        f"cube of {dimension} in R^{ambient}", float(dimension), ambient, _uniform(dimension), lambda t: t @ turn
    )


def cantor() -> Support:
    """The Cantor set: sum of 2 b_i 3^-i with fair bits b_i."""

    def latent(n: int, rng: np.random.Generator) -> Floats:
        bits = rng.integers(0, 2, (n, CANTOR_DIGITS))
        return (2.0 * bits @ 3.0 ** -np.arange(1.0, CANTOR_DIGITS + 1))[:, None]

    return Support("Cantor set", float(np.log(2) / np.log(3)), 1, latent, lambda t: t.copy())


def triangle(t: Floats) -> Floats:
    """Mean over coordinates of a wave up to 1 and back, (n,): Lipschitz, and uniform where one t is."""
    return (1.0 - np.abs(2.0 * t - 1.0)).mean(axis=1)


def two_waves(t: Floats) -> Floats:
    """The wave twice over the first coordinate: no linear score on the helix orders like it."""
    return triangle(2.0 * t[:, :1] % 1.0)


def weierstrass(alpha: float, terms: int = 24) -> Callable[[Floats], Floats]:
    """g(t) = sum_j 2^(-alpha j) cos(2 pi 2^j t + p_j) of the first coordinate: Hölder of exponent alpha, no more."""
    j = np.arange(terms)
    phases = 2 * np.pi * stream("weierstrass").random(terms)

    def g(t: Floats) -> Floats:
        waves: Floats = np.cos(2 * np.pi * 2.0**j * t[:, :1] + phases) @ 2.0 ** (-alpha * j)
        return waves

    return g


def _uniform(k: int) -> Latent:
    return lambda n, rng: rng.random((n, k))


def _orthonormal(ambient: int, k: int) -> Floats:
    """(k, ambient) with orthonormal rows; the identity where nothing is added."""
    if ambient == k:
        return np.eye(k)
    return np.linalg.qr(stream("embedding", ambient, k).normal(size=(ambient, k)))[0].T
