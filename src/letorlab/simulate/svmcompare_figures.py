"""The figures of the simulations with comparisons, ours beside what the paper shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from letorlab.report.drawing import ACCENT, COLOURS, GREY, INK, WIDTH, paper_style, save_svg

COLOUR = {"rank": COLOURS[1], "rank2": COLOURS[2], "compare": ACCENT, "truth": INK}
TITLES = {"l1": "r(x) = ||x||₁²", "l2": "r(x) = ||x||₂²", "linf": "r(x) = ||x||∞²"}


OUTCOMES = {-1: ("v", "x is better"), 0: ("o", "tie"), 1: ("^", "x' is better")}


def write_figures(folder: Path) -> None:
    """``fig3.svg``, ``fig4.svg``, ``fig5.svg`` and ``hard.svg`` from the tables of the folder."""
    tables = {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}
    with paper_style():
        save_svg(_levels(tables["fig3"], tables["fig3_pairs"]), folder / "fig3.svg")
        save_svg(_curves(tables["fig4_summary"], ERRORS), folder / "fig4.svg")
        save_svg(_curves(tables["fig5_summary"], AUCS), folder / "fig5.svg")
        save_svg(_margins(tables["hard"], tables["hard_pairs"]), folder / "hard.svg")


ERRORS = {"x": "n", "xlabel": "training comparisons n", "ylabel": "test error, %", "log": True}
AUCS = {"x": "share", "xlabel": "ties among them, %", "ylabel": "test AUC", "log": False}


def _curves(summary: pd.DataFrame, what: Mapping[str, Any]) -> Figure:
    """Mean and standard deviation over the seeds; hollow points are the paper's means."""
    norms = list(summary["norm"].unique())
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    panels = figure.subplots(1, len(norms), sharey=True, squeeze=False)[0]
    for axes, norm in zip(panels, norms, strict=True):
        here = summary[summary["norm"] == norm]
        for model, rows in here.groupby("model", sort=False):
            _curve(axes, str(model), rows, what["x"])
        axes.set(title=TITLES[norm], xlabel=what["xlabel"])
        if what["log"]:
            axes.set_xscale("log", base=2)
        ticks = sorted(here[what["x"]].unique())
        axes.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
    panels[0].set_ylabel(what["ylabel"])
    _key(figure, panels[-1], summary)
    return figure


def _curve(axes: Axes, model: str, rows: pd.DataFrame, x: str) -> None:
    look: dict[str, Any] = {"color": COLOUR[model], "lw": 1.2, "label": model}
    if model == "truth":
        axes.plot(rows[x], rows["mean"], ls=(0, (4, 2)), **look)
        return
    axes.errorbar(rows[x], rows["mean"], yerr=rows["sd"].fillna(0.0), marker="o", ms=3, elinewidth=0.7, **look)
    known = rows.dropna(subset="published")
    axes.plot(known[x], known["published"], "o", ms=5.5, mfc="none", mec=COLOUR[model], mew=0.8, ls="none")


def _key(figure: Figure, axes: Axes, summary: pd.DataFrame) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if summary["published"].notna().any():
        handles.append(axes.plot([], [], "o", ms=5.5, mfc="none", mec=GREY, mew=0.8, ls="none")[0])
        labels.append("published mean")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _levels(levels: pd.DataFrame, pairs: pd.DataFrame) -> Figure:
    """Curves of equal score, one unit apart: along the way from one to the next but one, x' is better."""
    figure = Figure(figsize=(WIDTH, 2.35), layout="constrained")
    models = list(levels["model"].unique())
    panels = figure.subplots(1, len(models), sharex=True, sharey=True)
    for axes, model in zip(panels, models, strict=True):
        grid = levels[levels["model"] == model].pivot(index="x2", columns="x1", values="r")
        heights = np.arange(np.floor(grid.min().min()), 12.0)
        axes.contour(grid.columns, grid.index, grid.to_numpy(), levels=heights, colors=COLOUR[model], linewidths=0.8)
        for is_strict, rows in pairs.groupby(pairs["y"] != 0):
            _segments(axes, rows, INK if is_strict else GREY, "-" if is_strict else (0, (2, 1)))
        axes.set(title=model, aspect="equal", xlim=(-2, 2), ylim=(-2, 2), xticks=(-2, 0, 2), yticks=(-2, 0, 2))
        axes.grid(visible=False)
    handles = [panels[0].plot([], [], color=INK)[0], panels[0].plot([], [], color=GREY, ls=(0, (2, 1)))[0]]
    labels = ["inequality of the training set", "tie"]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _segments(axes: Axes, rows: pd.DataFrame, colour: str, dashes: Any) -> None:
    ends = rows[["x1", "x1'"]].to_numpy().T, rows[["x2", "x2'"]].to_numpy().T
    axes.plot(*ends, color=colour, ls=dashes, lw=0.6, alpha=0.7)


def _margins(solutions: pd.DataFrame, pairs: pd.DataFrame) -> Figure:
    """Differences x' - x, and the lines w'd = +-1 with their margins, of the two programs for two scalings."""
    names = list(solutions["features"].unique())
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    panels = figure.subplots(1, len(names))
    for axes, name in zip(panels, names, strict=True):
        here = pairs[pairs["features"] == name]
        for outcome, (marker, label) in OUTCOMES.items():
            rows, colour = here[here["y"] == outcome], GREY if outcome == 0 else INK
            axes.plot(rows["d1"], rows["d2"], marker, ms=4, color=colour, mfc="none", mew=0.8, label=label)
        axes.set(title=f"features {name}", xlabel="difference in feature 1", ylabel="difference in feature 2")
        axes.set(xlim=_limits(here["d1"]), ylim=_limits(here["d2"]))
        for found in solutions[solutions["features"] == name].itertuples():
            _lines(axes, found)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _limits(values: pd.Series) -> tuple[float, float]:
    margin = 0.06 * float(values.max() - values.min())
    return float(values.min()) - margin, float(values.max()) + margin


def _lines(axes: Axes, found: Any) -> None:
    colour = {"LP": ACCENT, "QP": COLOURS[1]}[found.program]
    x = np.array(axes.get_xlim())
    for side in (-1.0, 1.0):
        for shift, look in (
            (0.0, {"lw": 1.3}),
            (-found.margin, {"lw": 0.7, "ls": ":"}),
            (found.margin, {"lw": 0.7, "ls": ":"}),
        ):
            label = f"{found.program}: decision and margin" if side > 0 and shift == 0 else None
            axes.plot(x, (side * (1.0 + shift) - found.w1 * x) / found.w2, color=colour, label=label, **look)
