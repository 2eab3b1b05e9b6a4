"""The curves of the simulations with comparisons, as MLflow shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from letorlab.runrecord import Point
from letorlab.simulate.records import Curve


def svmcompare_curves(folder: Path) -> Iterator[Curve]:
    """A run for each norm and model: test error (percent) over n, and AUC over the share of ties (percent)."""
    errors, aucs = (pd.read_csv(folder / f"{name}_summary.csv") for name in ("fig4", "fig5"))
    for (norm, model), rows in errors.groupby(["norm", "model"], sort=False):
        points = [*_points("test_error", rows, "n"), *_points("published_test_error", rows, "n", "published")]
        own = aucs[(aucs["norm"] == norm) & (aucs["model"] == model)]
        points += _points("auc_by_share_of_ties", own, "share")
        yield Curve(f"{model} · {norm}", {"norm": norm, "model": model}, points)


def _points(name: str, rows: pd.DataFrame, step: str, column: str = "mean") -> list[Point]:
    known = rows.dropna(subset=column)
    return [Point(name, int(at), float(value)) for at, value in zip(known[step], known[column], strict=True)]
