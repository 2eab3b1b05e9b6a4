"""Excess risks against sample size: the cells of the learning-rate laboratory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from letorlab.queries import Floats
from letorlab.rankers.gaussian import GaussianPairRanker
from letorlab.rankers.pairkernel import PairKernelRanker
from letorlab.seeds import stream
from letorlab.simulate.population import Sample
from letorlab.simulate.rate_settings import SETTINGS, Setting
from letorlab.simulate.rate_theory import Rate, hinge_rate, square_rate
from letorlab.simulate.supports import helix

LAM_FLOOR, LAM_FACTOR = 1e-10, 0.3
RESIDUAL = 1e-10  # of the factor's kernel: the smallest lambda leaves no room for more
TOL, MAX_ITER = 1e-3, 3_000
R = 1.5
SIGMAS = (2.0, 1.0, 0.5, 0.25, 0.125)
LAMS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def rate_rows(name: str, n: int, seeds: Sequence[int], *, n_test: int) -> list[dict[str, Any]]:
    """One row for each seed: setting, n, seed, sigma, lam, converged, and the excess risks over the test pairs.

    Training, validation and test documents are drawn anew for each seed; the test pairs are all ordered pairs of
    `n_test` documents, with exact probabilities in place of labels.
    """
    setting = SETTINGS[name]
    rows = []
    for seed in seeds:
        train, validation, test = (
            setting.population.draw(size, stream("rates", name, n, seed, part))
            for part, size in (("train", n), ("validation", n), ("test", n_test))
        )
        model = fitted(setting, train, validation)
        excess = setting.population.excess(model.decision_matrix(test.X), test.g)
        parameters = {"sigma": getattr(model, "sigma_", None), "lam": model.lam, "converged": model.result_.converged}
        rows.append({"setting": name, "n": n, "seed": seed, **parameters, **asdict(excess)})
    return rows


def fitted(setting: Setting, train: Sample, validation: Sample) -> Any:
    """The model of a setting: at the theory's sigma_n and lambda_n, or the best on the validation sample."""
    if setting.tuning != "validation":
        sigma, lam = schedule(setting, len(train.y))
        return _fit(make_model(setting, sigma, lam), train)
    best, lowest = None, np.inf
    for model in _path(setting, train):
        risk = empirical_risk(model.decision_matrix(validation.X), validation.y)
        if risk < lowest:
            best, lowest = model, risk
    return best


def schedule(setting: Setting, n: int) -> tuple[float, float]:
    """sigma_n and lambda_n; the constants are free in the theorem."""
    rate = setting.rate
    if rate is None:
        raise ValueError(f"{setting.name}: there is no schedule without a theorem")
    exponent = _in_ambient_3(setting).lam if setting.tuning == "theory, lambda of ambient 3" else rate.lam
    return setting.width * n**-rate.sigma, max(LAM_FACTOR * n**-exponent, LAM_FLOOR)


def _in_ambient_3(setting: Setting) -> Rate:
    population = replace(setting.population, support=helix())
    return hinge_rate(population) if setting.method == "hinge" else square_rate(population)


def _path(setting: Setting, train: Sample) -> Iterator[Any]:
    """Fits of the grid, each started from the one of the next larger lambda."""
    for sigma in SIGMAS if setting.method != "linear" else SIGMAS[:1]:
        previous = None
        for lam in LAMS:
            previous = _fit(make_model(setting, sigma, lam), train, init=previous)
            yield previous


def make_model(setting: Setting, sigma: float, lam: float) -> Any:
    """An unfitted model."""
    shared: dict[str, Any] = {
        "lam": lam,
        "weighting": "pairs",
        "tol": TOL,
        "max_iter": MAX_ITER,
        "residual_tol": RESIDUAL,
    }
    match setting.method:
        case "hinge" | "square":
            return GaussianPairRanker(loss=setting.method, sigma=sigma, **shared)
        case "rhinge":
            return GaussianPairRanker(loss="rhinge", r=R, sigma=sigma, **shared)
        case "score":
            return PairKernelRanker(loss="square", sigma=sigma, **shared)
        case "linear":
            return PairKernelRanker(loss="square", kernel="linear", **shared)
    raise ValueError(f"unknown method {setting.method}")


def _fit(model: Any, sample: Sample, **options: Any) -> Any:
    return model.fit(sample.X, sample.y, np.zeros(len(sample.y)), **options)


def empirical_risk(f: Floats, y: Floats) -> float:
    """Share of the ordered pairs of different labels that f (n, n) orders wrongly, f = 0 counting one half."""
    sign = np.sign(y[:, None] - y[None, :])
    strict = sign != 0
    return float(np.mean(0.5 - 0.5 * (np.sign(f) * sign)[strict])) if strict.any() else 0.5
