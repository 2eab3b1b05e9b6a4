"""Learning rates of pairwise Gaussian ranking (Lei and Shi), and the widths and penalties that reach them.

The exponents were derived anew, by analogy with Steinwart and Christmann (2008, theorem 8.26) and Hamm and Steinwart
(2021): balance the approximation error, sigma^beta (hinge) or sigma^(2 alpha) (square), with the stochastic error, of
the order sigma^(-2 rho) / n to the power that the noise allows. They are upper bounds, up to logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from letorlab.simulate.population import Population


@dataclass(frozen=True)
class Rate:
    """Exponents for n^-ranking, n^-surrogate, sigma_n ~ n^-sigma and lambda_n ~ n^-lam."""

    ranking: float
    surrogate: float
    sigma: float
    lam: float


def hinge_rate(population: Population) -> Rate:
    """Theorem 3: by the noise exponent q, the margin-noise exponent beta and the box dimension rho."""
    q, beta, rho = population.noise.noise_exponent, population.noise.margin_exponent, population.support.dimension
    share = 1.0 if np.isinf(q) else (q + 1.0) / (q + 2.0)  # of the square-root to the full rate
    below = beta + 2.0 * rho * share
    rate = beta * share / below
    return Rate(rate, rate, share / below, (beta + 2.0 * population.support.ambient) * share / below)


def square_rate(population: Population) -> Rate:
    """Theorem 4: by the smoothness alpha; the ranking risk follows by calibration with the noise exponent q."""
    q, alpha, rho = population.noise.noise_exponent, population.smoothness, population.support.dimension
    share = 1.0 if np.isinf(q) else (q + 1.0) / (q + 2.0)
    surrogate = alpha / (alpha + rho)
    lam = (alpha + population.support.ambient) / (alpha + rho)
    return Rate(surrogate * share, surrogate, 1.0 / (2.0 * (alpha + rho)), lam)
