"""What all figures share: paper size, colours, the look of each method, and deterministic SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib.style
import pandas as pd
from matplotlib.figure import Figure

from letorlab.atomic import atomic_path

INK, GREY, GRID, ACCENT = "#22262b", "#868d96", "#dde1e6", "#0072b2"
# Okabe and Ito's colours without black and yellow, the light ones darkened to show on white paper
COLOURS = (ACCENT, "#d55e00", "#009e73", "#b5629a", "#b8860b", "#4a9fd8")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (2.5, 1, 2.5, 1, 1, 1)))
MARKERS = "os^Dv>p"
STYLE: dict[str, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "letorlab",
    "text.parse_math": False,  # a method may be called $x$
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.solid_capstyle": "butt",
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}
WIDTH = 7.2  # inches: a full page of text
REFERENCE_SCORERS = ("random", "constant")


def paper_style() -> AbstractContextManager[None]:
    return matplotlib.style.context(["default", STYLE])


def save_svg(figure: Figure, path: Path) -> None:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": None}, facecolor="#ffffff")


def grey_methods(methods: Mapping[str, Any]) -> set[str]:
    """Names of the methods that are reference scorers."""
    rankers = {name: (block or {}).get("ranker", name) for name, block in methods.items()}
    return {name for name, ranker in rankers.items() if ranker in REFERENCE_SCORERS}


def method_looks(methods: Mapping[str, Any], present: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, dashes and marker of every method; the same in every figure of a study."""
    names = [*methods, *sorted(set(present) - set(methods))]
    grey = grey_methods({name: methods.get(name) for name in names})
    looks: dict[str, dict[str, Any]] = {
        name: {"color": GREY, "linestyle": DASHES[1 + i % 4], "marker": "x+12"[i % 4]}
        for i, name in enumerate(sorted(grey))
    }
    for i, name in enumerate(name for name in names if name not in grey):
        dashes = DASHES[i // len(COLOURS) % len(DASHES)]
        looks[name] = {"color": COLOURS[i % 6], "linestyle": dashes, "marker": MARKERS[i % 7]}
    return looks


def short(name: str, limit: int = 24) -> str:
    return name if len(name) <= limit else name[: limit - 1] + "…"


def text_inches(names: Iterable[str]) -> float:
    return 0.064 * max(len(short(name)) for name in names) + 0.08


def window(values: pd.Series, grey: pd.Series) -> tuple[float, float]:
    """Axis limits: all values, unless the reference scorers would take more than half of the axis."""
    shown = values[~grey] if (~grey).any() else values
    low, high = float(shown.min()), float(shown.max())
    if high - float(values.min()) < 2 * (high - low):
        low = float(values.min())
    margin = 0.06 * (high - low) or 0.01
    return low - margin, max(high, float(values.max())) + margin
