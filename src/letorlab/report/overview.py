"""All methods on all data sets in one figure: dots with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from letorlab.report.drawing import (
    ACCENT,
    COLOURS,
    GREY,
    WIDTH,
    grey_methods,
    paper_style,
    save_svg,
    short,
    text_inches,
    window,
)
from letorlab.report.rows import at, headline_k, records

PUBLISHED: dict[str, Any] = {"marker": "D", "ls": "", "mfc": "none", "mec": COLOURS[1], "ms": 4.6, "mew": 1.0}


def overview_figure(summary: pd.DataFrame, published: pd.DataFrame, methods: Mapping[str, Any], path: Path) -> None:
    """Mean NDCG@10 with its interval: a row a method, a panel a data set; hollow marks are published."""
    k = headline_k(summary)
    ours = at(summary, "ndcg", k)
    order = ours.groupby("method")["mean"].mean().sort_values(kind="stable").index  # the best on top
    theirs = _published_values(at(published, "ndcg", k), methods)
    grey = grey_methods(methods)
    with paper_style():
        figure, panels = _panels(list(ours["dataset"].unique()), list(order))
        for dataset, axes in panels.items():
            _draw_panel(axes, ours[ours["dataset"] == dataset], theirs, list(order), grey)
            axes.set_title(dataset)
        _key(figure, k, has_published=bool(theirs))
        save_svg(figure, path)


def _published_values(published: pd.DataFrame, methods: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """(data set, our method) -> published value."""
    values = {(row["dataset"], row["method"]): row["value"] for row in records(published)}
    pairs = [(name, (block or {}).get("published")) for name, block in methods.items()]
    sets = published["dataset"].unique()
    return {(s, name): values[s, row] for s in sets for name, row in pairs if (s, row) in values}


def _panels(datasets: list[str], order: list[str]) -> tuple[Figure, dict[str, Axes]]:
    """At most four panels side by side, names at the left of each line."""
    columns = min(4, len(datasets))
    lines = math.ceil(len(datasets) / columns)
    tall, gap, left = 0.17 * len(order) + 0.1, 0.55, text_inches(order) + 0.05
    height = lines * (tall + gap) + 0.35
    wide = (WIDTH - left - 0.12) / columns
    figure = Figure(figsize=(WIDTH, height))
    panels = {}
    for i, dataset in enumerate(datasets):
        x, y = left + (i % columns) * wide, height - (i // columns + 1) * (tall + gap) + 0.3
        axes = figure.add_axes((x / WIDTH, y / height, (wide - 0.14) / WIDTH, tall / height))
        names = [short(name) if i % columns == 0 else "" for name in order]
        axes.set_yticks(range(len(order)), names)
        panels[dataset] = axes
    return figure, panels


def _draw_panel(
    axes: Axes, ours: pd.DataFrame, theirs: Mapping[tuple[str, str], float], order: list[str], grey: set[str]
) -> None:
    flags = ours["method"].isin(grey)
    low, high = _limits(ours, theirs, flags)
    best = ours.loc[~flags, "mean"].max()
    for row in records(ours):
        y, colour = order.index(row["method"]), GREY if row["method"] in grey else ACCENT
        if row["mean"] < low:
            _off_the_axis(axes, y, row["mean"])
            continue
        axes.plot([row["ci_low"], row["ci_high"]], [y, y], color=colour, lw=1.2)
        axes.plot([row["mean"]], [y], "o", color=colour, ms=6 if row["mean"] == best else 4)
        if (row["dataset"], row["method"]) in theirs:
            axes.plot([theirs[row["dataset"], row["method"]]], [y], **PUBLISHED)
    axes.set(xlim=(low, high), ylim=(-0.7, len(order) - 0.3))
    axes.locator_params(axis="x", nbins=4)
    axes.spines["left"].set_visible(False)


def _limits(ours: pd.DataFrame, theirs: Mapping[tuple[str, str], float], flags: pd.Series) -> tuple[float, float]:
    published = [theirs.get((row["dataset"], row["method"]), row["mean"]) for row in records(ours)]
    ends = [ours["ci_low"].fillna(ours["mean"]), ours["ci_high"].fillna(ours["mean"])]
    return window(pd.concat([*ends, pd.Series(published, ours.index)]), pd.concat([flags] * 3))


def _off_the_axis(axes: Axes, y: float, value: float) -> None:
    style: dict[str, Any] = {"color": GREY, "size": 6.5, "va": "center"}
    axes.text(0.02, y, f"◂ {value:.3f}", transform=axes.get_yaxis_transform(), **style)


def _key(figure: Figure, k: int, has_published: bool) -> None:
    label = f"NDCG@{k} on test, mean and 95% interval (large dot: best)"
    handles = [Line2D([], [], color=ACCENT, marker="o", ms=4, lw=1.2, label=label)]
    if has_published:
        handles.append(Line2D([], [], label="published value", **PUBLISHED))
    figure.legend(handles=handles, loc="lower left", ncols=2, frameon=False, borderaxespad=0.2)
