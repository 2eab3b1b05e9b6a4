"""Regularisation paths: atoms, risk, duality gap and time along the weight of the l1 norm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from letorlab.report.drawing import WIDTH, method_looks, paper_style, save_svg, short

PANELS = (
    ("n_atoms", "Atoms in use", "symlog"),
    ("validation_error", "Validation pairs in the wrong order", "linear"),
    ("relative_gap", "Relative duality gap", "log"),
    ("seconds", "Seconds a fit", "log"),
)
FLOOR = 1e-16  # a gap of 0 on a logarithmic axis


def path_figure(tables: Mapping[str, pd.DataFrame], dataset: str, methods: Mapping[str, Any], path: Path) -> None:
    """One panel for each of atoms, validation error, gap and time, one line a method.

    Parameters
    ----------
    tables : mapping
        By method, what `letorlab.l1path.path_rows` gives.
    """
    looks = method_looks(methods, tables)
    with paper_style():
        figure = Figure(figsize=(WIDTH, 4.2))
        axes = figure.subplots(2, 2, sharex=True, gridspec_kw={"hspace": 0.28, "wspace": 0.2})
        for panel, (column, title, scale) in zip(axes.flat, PANELS, strict=True):
            for name, table in tables.items():
                values = table[column].clip(lower=FLOOR) if column == "relative_gap" else table[column]
                panel.plot(table["lam_share"], values, lw=1.1, ms=2.8, mew=0.6, label=short(name), **looks[name])
            _dress(panel, title, scale)
        for panel in axes[1]:
            panel.set_xlabel("lam / lam_max")
        axes[0, 0].legend(frameon=False, loc="upper left")
        figure.suptitle(f"{dataset}: from no atom to many", x=0.125, ha="left", weight="bold")
        save_svg(figure, path)


def _dress(panel: Axes, title: str, scale: str) -> None:
    panel.set_title(title)
    panel.set_xscale("log")
    panel.set_yscale(scale)
    if not panel.xaxis_inverted():
        panel.invert_xaxis()
    if scale == "symlog":
        panel.set_ylim(bottom=-0.3)
