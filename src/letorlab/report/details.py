"""The tables behind the answer: comparisons, tuning, fits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from letorlab.report.cells import (
    Cell,
    Table,
    between,
    count,
    general,
    is_number,
    metric_name,
    missing,
    number,
    p_value,
    text,
)
from letorlab.report.results import LEVEL
from letorlab.report.rows import records


def comparison_table(comparisons: pd.DataFrame) -> Table:
    """comparisons.csv, row by row, with the verdict in words."""
    titles = ["Data set", "Method", "Metric", "Difference", "95% interval", "Queries", "t", "p", "p (Holm)"]
    rows = [_comparison(row) for row in records(comparisons)]
    return Table("comparisons", "Every method against the reference", [*titles, "Verdict"], rows)


def _comparison(row: Mapping[str, Any]) -> list[Cell]:
    return [
        Cell(row["dataset"]),
        Cell(row["method"], note=f"against {row['reference']}"),
        Cell(metric_name(row["metric"], row["k"])),
        number(row["difference"], signed=True),
        Cell(between(row["ci_low"], row["ci_high"], 4)),
        count(row["n_queries"]),
        number(row["t_statistic"], 2),
        p_value(row["p_value"]),
        p_value(row["p_holm"]),
        _verdict(row["p_holm"], row["difference"]),
    ]


def _verdict(p: Any, difference: float) -> Cell:
    if missing(p):
        return text(None)
    if p >= LEVEL:
        return Cell("not shown")
    return Cell("better" if difference > 0 else "worse")


def tie_table(ties: pd.DataFrame) -> Table:
    """ties.csv: the means of methods with equal scores, in the file's order and over all orders."""
    titles = ["Data set", "Method", "Metric", "File order", "All orders", "Difference", "Queries with ties", "Queries"]
    rows = [
        [
            Cell(row["dataset"]),
            Cell(row["method"]),
            Cell(metric_name(row["metric"], row["k"])),
            number(row["mean"]),
            number(row["expected"]),
            number(row["expected"] - row["mean"], signed=True),
            count(row["n_tied"]),
            count(row["n_queries"]),
        ]
        for row in records(ties)
    ]
    return Table("ties", "Methods with equal scores for documents of different relevance", titles, rows)


def query_table(queries: pd.DataFrame) -> Table:
    """queries.csv, its folds added up: how many test queries each rule for rare cases decides."""
    titles = ["Data set", "Profile", "Queries", "Without relevant document", "These count"]
    keys = ["dataset", "profile", "no_relevant", "cutoff"]
    sums = queries.groupby(keys, sort=False)[["n_queries", "without_relevant", "short", "all_equal"]].sum()
    rows = [
        [
            Cell(row["dataset"]),
            Cell(row["profile"]),
            count(row["n_queries"]),
            count(row["without_relevant"]),
            Cell({"zero": "0", "one": "1", "skip": "not at all"}[row["no_relevant"]]),
            count(row["short"]),
            count(row["all_equal"]),
        ]
        for row in records(sums.reset_index())
    ]
    short = f"With fewer than {queries['cutoff'].iloc[0]} documents"
    return Table("queries", "Test queries that a rule decides", [*titles, short, "All labels equal"], rows)


def tuning_table(trials: pd.DataFrame) -> Table:
    """The selected trial of every method and fold: parameters, validation against test."""
    titles = [
        "Data set",
        "Method",
        "Fold",
        "Trials",
        "Selected",
        "Chosen by",
        "Validation",
        "Test",
        "Test − validation",
    ]
    rows = []
    for (dataset, method), block in trials.groupby(["dataset", "method"], sort=False):
        grid = _grid(block)
        for row in records(block[block["selected"] == "true"]):
            n_trials = int((block["fold"] == row["fold"]).sum())
            rows.append([
                Cell(str(dataset)), Cell(str(method)), count(row["fold"]), count(n_trials),
                _parameters(json.loads(row["params"]), grid), Cell(_select_on(row["select_on"])),
                number(row["validation"]), number(row["test"]),
                number(row["test"] - row["validation"], signed=True),
            ])  # fmt: skip
    return Table("tuning", "Selected trials", titles, rows)


def _select_on(name: str) -> str:
    metric, _, k = name.partition("@")
    return metric_name(metric, k or None)


def _grid(block: pd.DataFrame) -> dict[str, list[float]]:
    """Numeric parameters with at least three values, sorted: a selected end hints at a narrow grid."""
    values: dict[str, set[float]] = {}
    for params in map(json.loads, block["params"].unique()):
        for key, value in params.items():
            if is_number(value):
                values.setdefault(key, set()).add(value)
    return {key: sorted(found) for key, found in values.items() if len(found) >= 3}


def _parameters(params: Mapping[str, Any], grid: Mapping[str, Sequence[float]]) -> Cell:
    words = ", ".join(f"{key} = {_shown(value)}" for key, value in params.items()) or "none"
    ends = [key for key, value in params.items() if key in grid and value in (grid[key][0], grid[key][-1])]
    return Cell(words, note=f"{', '.join(ends)} at the end of the grid" if ends else "")


def _shown(value: Any) -> str:
    return f"{value:g}" if is_number(value) else json.dumps(value)


def fit_table(fits: Sequence[Mapping[str, Any]]) -> Table:
    """Every selected fit: status, time, memory, size."""
    titles = [
        "Data set",
        "Method",
        "Fold",
        "Converged",
        "Relative gap",
        "Iterations",
        "Seconds",
        "Memory (MB)",
    ]
    rows = [
        [
            text(fit.get("dataset")),
            text(fit.get("method")),
            count(fit.get("fold")),
            _yes_no(fit.get("converged")),
            general(fit.get("relative_gap")),
            count(fit.get("n_iter")),
            general(fit.get("seconds")),
            count(fit.get("peak_memory_mb")),
            count(fit.get("n_docs")),
            count(fit.get("n_pairs")),
        ]
        for fit in fits
    ]
    return Table("fits", "Fits of the selected trials", [*titles, "Documents", "Pairs"], rows)


def _yes_no(value: bool | None) -> Cell:
    if value is None:
        return text(None)
    return Cell("yes") if value else Cell("no", style="warn")


def fit_warnings(fits: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each selected fit that did not converge."""
    return [_warning(fit) for fit in fits if fit.get("converged") is False]


def _warning(fit: Mapping[str, Any]) -> str:
    gap = fit.get("relative_gap")
    words = f"{fit.get('method')} on {fit.get('dataset')}, fold {fit.get('fold')}"
    return words + ("" if missing(gap) else f" (relative gap {gap:.2g})")


def trials_not_converged(trials: pd.DataFrame) -> tuple[int, int]:
    """How many of all trials did not converge, and how many there are."""
    return int((trials["converged"] == "false").sum()), len(trials)
