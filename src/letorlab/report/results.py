"""The answer in words, and the table of results of a data set beside the published values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from letorlab.report.cells import Cell, Table, between, fixed, metric_name, missing, number, p_text
from letorlab.report.rows import at, headline_k, records

LEVEL = 0.05  # of significance, after Holm's correction
Column = tuple[str, int | None]


def answer(summary: pd.DataFrame, comparisons: pd.DataFrame, dataset: str, reference: str) -> dict[str, str]:
    """The best method of a data set in words: ``best``, ``result``, ``verdict`` and its ``kind``.

    ``kind`` is ``yes`` (significantly above the reference), ``no`` (not shown), or ``none`` (no test).
    """
    k = headline_k(summary)
    ours = at(summary[summary["dataset"] == dataset], "ndcg", k).sort_values(
        ["mean", "method"], ascending=[False, True]
    )
    best = records(ours)[0]
    interval = between(best["ci_low"], best["ci_high"])
    result = f"NDCG@{k} {fixed(best['mean'])}" + (f" (95% interval {interval})" if interval else "")
    tests = at(comparisons[comparisons["dataset"] == dataset], "ndcg", k)
    tests = tests[tests["reference"] == reference]
    if best["method"] == reference:
        kind, verdict = _nothing_better(records(ours)[1:], reference)
    else:
        kind, verdict = _against_reference(tests[tests["method"] == best["method"]], reference)
    return {"dataset": dataset, "best": best["method"], "result": result, "kind": kind, "verdict": verdict}


def _nothing_better(others: Sequence[Mapping[str, Any]], reference: str) -> tuple[str, str]:
    words = f"{reference} is the reference itself: no other method has a higher mean."
    if others:
        words += f" The next one is {others[0]['method']}, {fixed(others[0]['mean'])}."
    return "none", words


def _against_reference(tests: pd.DataFrame, reference: str) -> tuple[str, str]:
    if tests.empty:
        return "none", f"The difference from the reference {reference} was not tested."
    row = records(tests)[0]
    side = "above" if row["difference"] >= 0 else "below"
    interval = between(row["ci_low"], row["ci_high"])
    words = f"{fixed(abs(row['difference']))} {side} the reference {reference}"
    words += f" (95% interval of the difference {interval})" if interval else ""
    p = row["p_holm"]
    if missing(p):
        return "none", f"{words}; no test is possible here, so the difference may be chance."
    if p < LEVEL:
        return "yes", f"{words}; significant at the 5% level after Holm's correction (p {p_text(p)})."
    return "no", (
        f"{words}; not significant at the 5% level after Holm's correction (p {p_text(p)}): "
        "the test queries do not show a real difference."
    )


def main_columns(summary: pd.DataFrame) -> list[Column]:
    """NDCG@1, 3, 5, 10, P@10 and MAP: those that were measured, 10 lowered to the cutoff."""
    k = headline_k(summary)
    wanted: list[Column] = [("ndcg", i) for i in sorted({1, 3, 5, 10, k})] + [("precision", k), ("map", None)]
    return [column for column in wanted if not at(summary, *column).empty]


def main_table(summary: pd.DataFrame, published: pd.DataFrame, methods: Mapping[str, Any], dataset: str) -> Table:
    """Our methods, best first, each with its published value; then the other published rows, greyed."""
    columns = main_columns(summary)
    ours = summary[summary["dataset"] == dataset]
    theirs = _by_method(published[published["dataset"] == dataset], columns, "value")
    names = {name: (block or {}).get("published") for name, block in methods.items()}
    best = {column: at(ours, *column)["mean"].max() for column in columns}
    by_method = _by_method(ours, columns, None)
    order = sorted(by_method, key=lambda name: -_value(by_method[name].get(("ndcg", headline_k(summary)))))
    rows = []
    for name in order:
        beside = theirs.get(names.get(name) or "", {})
        cells = [_result(by_method[name].get(c), beside.get(c), best[c]) for c in columns]
        rows.append([Cell(name, note=f"published as {names[name]}" if beside else ""), *cells])
    others = sorted(set(theirs) - {names.get(name) for name in by_method})
    rows += [
        [Cell(name, note="published"), *(number(theirs[name].get(column)) for column in columns)] for name in others
    ]
    greyed = frozenset(range(len(order), len(rows)))
    titles = ["Method", *(metric_name(*column) for column in columns)]
    return Table(f"results-{dataset}", f"Test results on {dataset}", titles, rows, greyed)


def _by_method(table: pd.DataFrame, columns: Sequence[Column], value: str | None) -> dict[str, dict[Column, Any]]:
    """method -> column -> row, or the value in it."""
    found: dict[str, dict[Column, Any]] = {}
    for column in columns:
        for row in records(at(table, *column)):
            found.setdefault(row["method"], {})[column] = row if value is None else row[value]
    return found


def _value(row: Mapping[str, Any] | None) -> float:
    return -1.0 if row is None else float(row["mean"])


def _result(row: Mapping[str, Any] | None, published: float | None, best: float) -> Cell:
    if row is None:
        return number(None)
    notes = [between(row["ci_low"], row["ci_high"])]
    if published is not None:
        notes += [f"published {fixed(published)}", f"ours {fixed(row['mean'] - published, signed=True)}"]
    style = "best" if row["mean"] == best else ""
    return Cell(fixed(row["mean"]), "\n".join(filter(None, notes)), float(row["mean"]), style)
