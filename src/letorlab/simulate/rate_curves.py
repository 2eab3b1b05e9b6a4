"""The curves of the learning-rate laboratory, as MLflow shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from letorlab.runrecord import Point
from letorlab.simulate.records import Curve


def rate_curves(folder: Path) -> Iterator[Curve]:
    """A run for each setting: mean excess risks over n, their slopes and the theorem's."""
    means, slopes = (pd.read_csv(folder / f"{name}.csv", keep_default_na=False) for name in ("means", "slopes"))
    for name, rows in slopes.groupby("setting", sort=False):
        own = means[means["setting"] == name]
        points = [
            Point(f"excess_{row['quantity']}", int(row["n"]), float(row["mean"])) for row in own.to_dict("records")
        ]
        for row in rows.to_dict("records"):
            values = {key: row[key] for key in ("slope", "ci_low", "ci_high", "theory") if row[key] != ""}
            points += [Point(f"{key}_{row['quantity']}", 0, float(value)) for key, value in values.items()]
        facts = {key: rows.iloc[0][key] for key in ("distribution", "support", "method", "tuning", "note")}
        yield Curve(str(name), facts, points)
