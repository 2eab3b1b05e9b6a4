"""What a configuration asks for: data sets, methods with their grids, folds, evaluation.

The Snakefile builds its jobs from this, so it imports nothing heavy and reads no data.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from letorlab.errors import InputError

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Method:
    """One method of a study: a ranker of `letorlab.rankers.RANKERS`, fixed parameters and a grid."""

    name: str
    ranker: str
    params: dict[str, Value]
    grid: dict[str, list[Value]]
    train_on: str  # "original" | "derived"

    @classmethod
    def from_config(cls, name: str, block: Mapping[str, Any] | None) -> Method:
        block = block or {}
        params = {key: canonical(value) for key, value in block.get("params", {}).items()}
        grid = {key: _grid_values(name, key, values) for key, values in block.get("grid", {}).items()}
        both = params.keys() & grid.keys()
        if both:
            raise InputError(f"method {name}: {', '.join(sorted(both))} stands under both params and grid")
        return cls(name, block.get("ranker", name), params, grid, block.get("train_on", "original"))

    def trials(self) -> list[dict[str, Value]]:
        """Every combination of the grid with the fixed parameters; the last grid key varies fastest."""
        keys = list(self.grid)
        return [
            {**self.params, **dict(zip(keys, values, strict=True))}
            for values in itertools.product(*(self.grid[key] for key in keys))
        ]


def methods_of(config: Mapping[str, Any]) -> dict[str, Method]:
    """The methods of a configuration by name, in its order."""
    return {name: Method.from_config(name, block) for name, block in config["methods"].items()}


def chosen_methods(config: Mapping[str, Any]) -> list[str]:
    """Names to build: all, or those of ``--config only=[...]``."""
    names, only = list(config["methods"]), config.get("only")
    if only is None:
        return names
    wanted = [only] if isinstance(only, str) else list(only)
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        raise InputError(f"only={wanted}: not methods of this study; known: {', '.join(names)}")
    return [name for name in names if name in wanted]


def fold_groups(config: Mapping[str, Any], dataset: str) -> list[list[int]]:
    """Folds that one job takes together."""
    folds = config["folds"]
    block = config["datasets"][dataset] or {}
    size = block.get("folds_per_job", config["folds_per_job"])
    return [folds[start : start + size] for start in range(0, len(folds), size)]


def canonical(value: Any) -> Value:
    """One spelling for one value: YAML reads ``1e-5`` as text and ``0.00001`` as a number."""
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        return number if math.isfinite(number) else value
    if value is None or isinstance(value, bool | int | float):
        return value
    raise InputError(f"a parameter must be text, a number, true, false or null; got {value!r}")


def _grid_values(method: str, key: str, values: list[Any]) -> list[Value]:
    result = [canonical(value) for value in values]
    for position, value in enumerate(result):
        # 1 and 1.0 are the same value; 1 and True are not, though Python calls them equal
        if any(other == value and isinstance(other, bool) == isinstance(value, bool) for other in result[:position]):
            raise InputError(f"method {method}: grid value {value!r} of {key} is given twice")
    return result


def params_text(params: Mapping[str, Value]) -> str:
    """Parameters as one line of JSON with sorted keys: how tables and MLflow name a trial."""
    return json.dumps(params, sort_keys=True)
