"""The figures of the learning-rate laboratory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from letorlab.report.drawing import ACCENT, COLOURS, GREY, INK, WIDTH, paper_style, save_svg

COLOUR = {"ranking": ACCENT, "hinge": COLOURS[1], "square": COLOURS[2]}
COLUMNS = 4


def write_rate_figures(folder: Path) -> None:
    """``risks.svg``: excess risks over n, a panel a setting; ``slopes.svg``: the slopes beside the theorems'."""
    means, slopes = (pd.read_csv(folder / f"{name}.csv") for name in ("means", "slopes"))
    with paper_style():
        save_svg(_risks(means, slopes), folder / "risks.svg")
        save_svg(_slopes(slopes), folder / "slopes.svg")


def _risks(means: pd.DataFrame, slopes: pd.DataFrame) -> Figure:
    names = list(means["setting"].unique())
    n_rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(WIDTH, 1.55 * n_rows + 0.5), layout="constrained")
    panels = figure.subplots(n_rows, COLUMNS, squeeze=False, sharex=True).ravel()
    for axes, name in zip(panels, names, strict=False):
        for quantity, rows in means[means["setting"] == name].groupby("quantity", sort=False):
            found = slopes[(slopes["setting"] == name) & (slopes["quantity"] == quantity)].iloc[0]
            _curve(axes, rows, found)
        _log_scales(axes, sorted(means["n"].unique()))
        axes.set_title(name, size=7)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for axes in panels[max(0, len(names) - COLUMNS) : len(names)]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("documents n")
    handles = [panels[0].plot([], [], "o-", ms=3, color=colour)[0] for colour in COLOUR.values()]
    handles.append(panels[0].plot([], [], color=GREY, ls=(0, (4, 2)))[0])
    labels = [f"excess {name} risk" for name in COLOUR] + ["the theorem's exponent"]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _log_scales(axes: Axes, sizes: list[int]) -> None:
    axes.set(xscale="log", yscale="log")
    shown = sizes[:: 2 if len(sizes) > 4 else 1]
    axes.xaxis.set_major_locator(FixedLocator([float(n) for n in shown]))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=6))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())


def _curve(axes: Axes, rows: pd.DataFrame, found: pd.Series) -> None:
    n, mean = rows["n"].to_numpy(dtype=float), rows["mean"].to_numpy()
    colour = COLOUR[str(found["quantity"])]
    axes.errorbar(n, mean, yerr=2 * rows["se"].fillna(0.0), fmt="o-", ms=2.5, lw=0.9, elinewidth=0.7, color=colour)
    if pd.notna(found["theory"]):
        axes.plot(n, mean[0] * (n / n[0]) ** found["theory"], color=GREY, lw=0.9, ls=(0, (4, 2)), zorder=1)


def _slopes(slopes: pd.DataFrame) -> Figure:
    """Interval of each slope; a grey tick is minus the theorem's exponent, which an upper limit must not exceed."""
    figure = Figure(figsize=(WIDTH, 0.19 * len(slopes) + 0.8), layout="constrained")
    axes = figure.subplots()
    for row, found in enumerate(slopes.to_dict("records")):
        colour = COLOUR[found["quantity"]]
        axes.plot([found["ci_low"], found["ci_high"]], [row, row], color=colour, lw=1.3)
        axes.plot([found["slope"]], [row], "o", ms=3.6, color=colour)
        if pd.notna(found["theory"]):
            axes.plot([found["theory"]] * 2, [row - 0.35, row + 0.35], color=INK, lw=1.4)
    labels = [f"{found['setting']}, {found['quantity']}" for found in slopes.to_dict("records")]
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.set(ylim=(len(labels) - 0.4, -0.6), xlabel="slope of log excess risk in log n, 95% interval; | theorem")
    axes.grid(axis="y", visible=False)
    return figure
