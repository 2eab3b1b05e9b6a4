"""Fitting a grid on the training queries, and choosing from it on the validation queries."""

from __future__ import annotations

import logging
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats, Queries
from letorlab.rankers.protocol import Ranker, fit_takes, make_ranker

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """One point of the grid, fitted.

    ``vali`` and ``test`` are its scores of the two splits: which trial is best is not known here, since the
    measures belong to the evaluation, so all are kept. ``fit`` is what becomes fit.json.
    """

    params: dict[str, Any]
    model: Ranker
    fit: dict[str, Any]
    vali: Floats
    test: Floats


def fit_grid(
    cls: type[Ranker],
    trials: Sequence[Mapping[str, Any]],
    train: Queries,
    vali: Queries,
    test: Queries,
    *,
    seed: int,
) -> Iterator[Trial]:
    """Fit every trial in turn, with what its ranker can use (`fit_takes`): the trial before, the validation queries.

    Order the grid from strong to weak regularisation: a solution is then close to the next.

    Raises
    ------
    InputError
        If a parameter is unknown, or a fitted model gives a score that is not finite.
    """
    previous: Ranker | None = None
    for number, params in enumerate(trials):
        model = make_ranker(cls, params, seed=seed)
        offered = {"init": previous, "validation": vali}
        extra = {key: value for key, value in offered.items() if value is not None and fit_takes(model, key)}
        start = time.perf_counter()
        model.fit(train.X, train.y, train.qid_of_docs, **extra)
        seconds = time.perf_counter() - start
        fit = _fit_record(model, params, train, seconds)
        log.info("trial %d of %d %s: %.2f s, %s", number + 1, len(trials), dict(params), seconds, _state(fit))
        yield Trial(dict(params), model, fit, _scores(model, vali, params), _scores(model, test, params))
        previous = model


def best_trial(values: Sequence[float]) -> int:
    """Index of the highest value, the first of equals: every selection metric is better when higher."""
    return int(np.argmax(values))


def _scores(model: Ranker, queries: Queries, params: Mapping[str, Any]) -> Floats:
    scores = np.asarray(model.predict(queries.X, queries.qid_of_docs), dtype=np.float64)
    if scores.shape != (queries.n_docs,) or not np.isfinite(scores).all():
        raise InputError(
            f"{type(model).__name__} with {dict(params)} gave scores of shape {scores.shape}, "
            f"{np.count_nonzero(~np.isfinite(scores))} of them not finite, for {queries.n_docs} documents: "
            "leave this value out of the grid, or mend the method"
        )
    return scores


def _fit_record(model: Ranker, params: Mapping[str, Any], train: Queries, seconds: float) -> dict[str, Any]:
    result = model.result_
    nothing_special = {"n_pairs": None, "n_atoms": None, "factor_residual": None}
    return {
        **nothing_special,
        **model.fit_facts_,
        "params": dict(params),
        "converged": result.converged,
        "relative_gap": result.relative_gap,
        "n_iter": result.n_iter,
        "seconds": seconds,
        "peak_memory_mb": _peak_memory_mb(),
        "n_docs": train.n_docs,
    }


def _peak_memory_mb() -> float:
    """Most memory that the process held so far; with several fits in a job, of all of them until now."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _state(fit: Mapping[str, Any]) -> str:
    gap = "no gap" if fit["relative_gap"] is None else f"relative gap {fit['relative_gap']:.1e}"
    return f"{fit['n_iter']} iterations, {gap}" + ("" if fit["converged"] else ", NOT CONVERGED")
