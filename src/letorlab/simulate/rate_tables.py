"""Fitted learning rates: slopes of the excess risks in log n, beside the theorems' exponents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from letorlab.csvtable import write_table
from letorlab.queries import Floats
from letorlab.seeds import stream
from letorlab.simulate.rate_settings import SETTINGS, Setting

RESAMPLES = 2000
TINY = 1e-12  # an excess risk of 0 in the means has no logarithm


def write_rate_tables(paths: Iterable[str | Path], folder: Path) -> None:
    """``risks.csv``: every seed; ``means.csv``: mean and standard error by n; ``slopes.csv``: the rates."""
    risks = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    write_table(risks, folder / "risks.csv")
    write_table(mean_risks(risks), folder / "means.csv")
    write_table(pd.DataFrame(list(slope_rows(risks))), folder / "slopes.csv")


def quantities(setting: Setting) -> list[str]:
    """Columns of the excess risks that a setting is measured by."""
    return ["ranking", *([setting.surrogate] if setting.surrogate else [])]


def mean_risks(risks: pd.DataFrame) -> pd.DataFrame:
    """setting, n, quantity, mean, se, n_seeds, and the share of fits that converged."""
    rows = []
    for (name, n), group in risks.groupby(["setting", "n"], sort=False):
        for quantity in quantities(SETTINGS[str(name)]):
            values = group[quantity]
            se = float(values.std() / np.sqrt(len(values))) if len(values) > 1 else np.nan
            row = {"setting": name, "n": n, "quantity": quantity, "mean": float(values.mean()), "se": se}
            rows.append({**row, "n_seeds": len(values), "converged": float(group["converged"].mean())})
    return pd.DataFrame(rows)


def slope_rows(risks: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A row for each setting and quantity, see `slope`; theory is minus the exponent."""
    for name, group in risks.groupby("setting", sort=False):
        setting = SETTINGS[str(name)]
        for quantity in quantities(setting):
            low, fitted, high = slope(group.pivot(index="seed", columns="n", values=quantity), str(name))
            theory = _theory(setting, quantity)
            yield {
                "setting": name,
                "distribution": setting.population.noise.name,
                "support": setting.population.support.name,
                "method": setting.method,
                "tuning": setting.tuning,
                "quantity": quantity,
                "slope": fitted,
                "ci_low": low,
                "ci_high": high,
                "theory": theory,
                "confirmed": None if theory is None else high <= theory,
                "n_seeds": group["seed"].nunique(),
                "n_max": group["n"].max(),
                "note": setting.note,
            }


def slope(values: pd.DataFrame, name: str) -> tuple[float, float, float]:
    """Least-squares slope of log mean excess in log n, and a 95 % bootstrap interval over the seeds.

    Parameters
    ----------
    values : (n_seeds, n_sizes) DataFrame
        Excess risks; columns are n. Samples of different n are independent, so that each n draws its own seeds.
    name : str
        Of the random stream.
    """
    log_n = np.log(np.array(values.columns, dtype=np.float64))
    table = values.to_numpy(dtype=np.float64)
    rng = stream("slopes", name)
    rows = rng.integers(len(table), size=(RESAMPLES, *table.shape))
    means = np.take_along_axis(table[None], rows, axis=1).mean(axis=1)
    slopes = _slopes(log_n, means)
    low, high = np.quantile(slopes, [0.025, 0.975])
    return float(low), float(_slopes(log_n, table.mean(axis=0)[None])[0]), float(high)


def _slopes(log_n: Floats, means: Floats) -> Floats:
    centred = log_n - log_n.mean()
    found: Floats = np.log(np.maximum(means, TINY)) @ centred / (centred @ centred)
    return found


def _theory(setting: Setting, quantity: str) -> float | None:
    if setting.rate is None:
        return None
    return -(setting.rate.ranking if quantity == "ranking" else setting.rate.surrogate)
