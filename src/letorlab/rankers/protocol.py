"""What a ranker is, and how one is made from the parameters of a configuration."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike

from letorlab.errors import InputError
from letorlab.queries import Floats


class Ranker(Protocol):
    """What every entry of `letorlab.rankers.RANKERS` offers; typing only, nobody inherits it.

    After ``fit``, ``result_`` is a `letorlab.solvers.Result` and ``fit_facts_`` a dict with those of ``n_pairs``,
    ``n_atoms`` and ``factor_residual`` that the method has.
    """

    result_: Any
    fit_facts_: dict[str, Any]

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike) -> Self: ...

    def predict(self, X: ArrayLike, qid: ArrayLike | None = None) -> Floats: ...


def make_ranker(cls: type[Ranker], params: Mapping[str, Any], *, seed: int = 0) -> Ranker:
    """An unfitted ranker; rankers with a ``seed`` parameter get the study's, unless the method sets its own."""
    check_parameters(cls, params)
    defaults = {"seed": seed} if "seed" in inspect.signature(cls).parameters else {}
    return cls(**{**defaults, **params})


def check_parameters(cls: type[Ranker], params: Iterable[str]) -> None:
    """Raise InputError if the ranker has no parameter of one of these names."""
    known = inspect.signature(cls).parameters
    unknown = [key for key in params if key not in known]
    if unknown:
        raise InputError(f"{cls.__name__} has no parameter {', '.join(unknown)}; it has: {', '.join(known) or 'none'}")


def fit_takes(ranker: Ranker, keyword: str) -> bool:
    """Whether ``fit`` takes a keyword that not every ranker has.

    ``init``: another fitted model of its kind to start from (a warm start along the grid). ``validation``: the
    validation `Queries`, for early stopping.
    """
    return keyword in inspect.signature(ranker.fit).parameters
