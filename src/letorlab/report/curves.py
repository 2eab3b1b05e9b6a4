"""NDCG@k curves of one data set, readable from three methods to twenty-five."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from letorlab.report.drawing import (
    GREY,
    WIDTH,
    method_looks,
    paper_style,
    save_svg,
    short,
    text_inches,
    window,
)
from letorlab.report.rows import records


def ndcg_figure(summary: pd.DataFrame, dataset: str, methods: Mapping[str, Any], path: Path) -> None:
    """NDCG@k curves of a data set, each led to its name; beside the names, the intervals at the last k.

    The names stand in the order of the curves' right ends, so the figure reads without a colour key.
    """
    here = summary[(summary["dataset"] == dataset) & (summary["metric"] == "ndcg")]
    last = int(here["k"].max())
    ends = here[here["k"] == last].sort_values(["mean", "method"], ascending=[False, True])
    looks = method_looks(methods, summary["method"].unique())
    with paper_style():
        figure, curves, rows = _curve_axes(ends["method"])
        _draw_curves(curves, here, looks, last)
        curves.set_title(f"{dataset}: NDCG@k on the test queries")
        _draw_rows(rows, ends, looks, last)
        _lead(figure, curves, rows, ends, looks, last)
        save_svg(figure, path)


def _curve_axes(names: pd.Series) -> tuple[Figure, Axes, Axes]:
    """A figure with the curves on the left and one row a method on the right."""
    height = max(2.9, 0.16 * len(names) + 0.75)
    left, leaders, intervals = 0.42, 0.72, 1.55
    text = text_inches(names)
    bottom, tall = 0.42 / height, 1 - 0.75 / height
    figure = Figure(figsize=(WIDTH, height))
    room = WIDTH - left - leaders - text - intervals - 0.42
    curves = figure.add_axes((left / WIDTH, bottom, room / WIDTH, tall))
    rows = figure.add_axes(((WIDTH - intervals - 0.42) / WIDTH, bottom, intervals / WIDTH, tall))
    return figure, curves, rows


def _draw_curves(axes: Axes, here: pd.DataFrame, looks: Mapping[str, Any], last: int) -> None:
    grey = here["method"].map(lambda name: looks[name]["color"] == GREY)
    low, high = window(here["mean"], grey)
    by_method = {str(name): curve.sort_values("k") for name, curve in here.groupby("method")}
    for name in sorted(by_method, key=lambda name: looks[name]["color"] != GREY):  # grey lies under the others
        axes.plot(by_method[name]["k"], by_method[name]["mean"], lw=1.1, ms=2.8, mew=0.6, **looks[name])
    below = [name for name, curve in by_method.items() if (curve["mean"] < low).all()]
    if below:
        note = "below this axis: " + ", ".join(map(short, below))
        axes.annotate(note, (0, 0), (0, -17), "axes fraction", "offset points", color=GREY, size=6.5, va="top")
    axes.set(xlim=(0.7, last + 0.15), ylim=(low, high), xlabel="k")
    axes.set_xticks(_ticks(last))
    axes.grid(axis="x", visible=False)


def _ticks(last: int) -> list[int]:
    step = math.ceil(last / 10)
    return sorted({1, *range(step, last + 1, step)})


def _draw_rows(axes: Axes, ends: pd.DataFrame, looks: Mapping[str, Any], last: int) -> None:
    """One row a method: sample and name left of the axes, interval in them, value on the right."""
    for row, end in enumerate(records(ends)):
        look = looks[end["method"]]
        axes.plot([end["ci_low"], end["ci_high"]], [row, row], color=look["color"], lw=1.3)
        axes.plot([end["mean"]], [row], color=look["color"], marker=look["marker"], ms=3.6, mew=0.8)
    _name_rows(axes, ends, looks)
    _row_limits(axes, len(ends))
    axes.set_xlim(*_interval_limits(ends, looks))
    axes.set_title(f"NDCG@{last}, 95% interval")
    axes.locator_params(axis="x", nbins=4)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.set_yticks([])


def _name_rows(axes: Axes, ends: pd.DataFrame, looks: Mapping[str, Any]) -> None:
    """Line sample, name and value of every row, outside the axes."""
    text, inches = text_inches(ends["method"]), axes.get_position().width * WIDTH
    sample = np.array([-text - 0.34, -text - 0.2, -text - 0.06]) / inches
    side: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "clip_on": False}
    for row, end in enumerate(records(ends)):
        axes.plot(sample, [row] * 3, lw=1.1, ms=2.8, markevery=[1], **looks[end["method"]], **side)
        axes.text(-text / inches, row, short(end["method"]), va="center", **side)
        axes.text(1.05, row, f"{end['mean']:.3f}", va="center", **side)


def _interval_limits(ends: pd.DataFrame, looks: Mapping[str, Any]) -> tuple[float, float]:
    grey = ends["method"].map(lambda name: looks[name]["color"] == GREY)
    columns = [ends["ci_low"].fillna(ends["mean"]), ends["ci_high"].fillna(ends["mean"])]
    return window(pd.concat(columns), pd.concat([grey, grey]))


def _row_limits(axes: Axes, n_rows: int) -> None:
    """Rows from the top down, at most 0.5 inches apart and centred."""
    inches = axes.get_window_extent().height / axes.figure.dpi
    spread = max(n_rows, inches / 0.5)
    middle = (n_rows - 1) / 2
    axes.set_ylim(middle + spread / 2, middle - spread / 2)


def _lead(figure: Figure, curves: Axes, rows: Axes, ends: pd.DataFrame, looks: Mapping[str, Any], last: int) -> None:
    """Thin lines from the right end of each curve to its row."""
    start = -(text_inches(ends["method"]) + 0.37) / (rows.get_position().width * WIDTH)
    low = curves.get_ylim()[0]
    for row, end in enumerate(records(ends)):
        if end["mean"] < low:
            continue
        line = ConnectionPatch(
            (last + 0.1, end["mean"]), (start, row), curves.transData, rows.get_yaxis_transform(),
            color=looks[end["method"]]["color"], lw=0.5, alpha=0.7,
        )  # fmt: skip
        figure.add_artist(line)
