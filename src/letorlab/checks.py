"""What a schema cannot check in a configuration: names that stand for code, and values that depend on others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from letorlab.datasets import resolve
from letorlab.errors import InputError
from letorlab.metrics import metric_named, parse_metric
from letorlab.profiles import profile_named
from letorlab.rankers import ranker_class, ranker_module
from letorlab.study import Method, chosen_methods, methods_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def check_study(config: Mapping[str, Any]) -> None:
    """Raise InputError for the first thing in a configuration that no job could use; reads no data."""
    for kind in ("datasets", "methods"):
        for name in config[kind]:
            if not NAME.fullmatch(str(name)):
                raise InputError(f"{kind}: {name!r}: a name becomes a folder; use letters, digits, _, - and .")
    for name, block in config["datasets"].items():
        profile_named(resolve(name, block).profile)
    for method in methods_of(config).values():
        ranker_module(method.ranker)
    chosen_methods(config)
    _check_evaluation(config["evaluation"], config["methods"])


def _check_evaluation(evaluation: Mapping[str, Any], methods: Mapping[str, Any]) -> None:
    for name in evaluation["metrics"]:
        metric_named(name)
    parse_metric(evaluation["select_on"])
    reference = evaluation["reference"]
    if reference is not None and reference not in methods:
        raise InputError(f"evaluation.reference: {reference} is not a method of this study: {', '.join(methods)}")


def check_parameters_of(methods: Iterable[Method]) -> None:
    """Raise InputError for a parameter that a ranker does not have; imports the rankers, so not for dry runs."""
    from letorlab.rankers.protocol import check_parameters

    for method in methods:
        try:
            check_parameters(ranker_class(method.ranker), [*method.params, *method.grid])
        except InputError as error:
            raise InputError(f"method {method.name}: {error}") from None
