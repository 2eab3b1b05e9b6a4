"""Tables of the simulations with comparisons: what the cells measured, beside what the paper shows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from letorlab.csvtable import write_table
from letorlab.simulate.svmcompare import MODELS

PERCENT = 100.0
PUBLISHED = Path(__file__).parent


def write_cell(rows: Iterable[dict[str, object]], path: str | Path) -> None:
    write_table(pd.DataFrame(rows), path)


def read_cells(paths: Iterable[str | Path]) -> pd.DataFrame:
    """All rows of all cells, in the order of the paths."""
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)


def write_tables(cells: pd.DataFrame, shares: pd.DataFrame, folder: Path) -> None:
    """``fig4.csv`` and ``fig5.csv`` with a row for each seed, and their summaries beside the published values."""
    write_table(cells, folder / "fig4.csv")
    write_table(error_summary(cells), folder / "fig4_summary.csv")
    write_table(shares, folder / "fig5.csv")
    write_table(auc_summary(shares), folder / "fig5_summary.csv")


def error_summary(cells: pd.DataFrame) -> pd.DataFrame:
    """Test errors in percent over the seeds: mean, sd, n_seeds, published mean and sd, and the difference allowed.

    ``allowed`` is 1.5 points, or two standard errors of the difference of two means (the paper's over 4 seeds) where
    that is more; ``at_limit`` is the share of the fits that libsvm's limit of steps ended.
    """
    table = _summary(cells, ["norm", "model", "n"], "test_error", PERCENT)
    fits = cells.groupby(["norm", "model", "n"], as_index=False)[["n_fits", "n_at_limit"]].sum()
    table = table.merge(fits.assign(at_limit=fits["n_at_limit"] / fits["n_fits"].where(fits["n_fits"] > 0)))
    known = pd.read_csv(PUBLISHED / "published_fig4.csv").rename(columns={"mean": "published", "sd": "published_sd"})
    table = table.drop(columns=["n_fits", "n_at_limit"]).merge(known, how="left")
    noise = 2.0 * np.sqrt(table["published_sd"] ** 2 / 4 + table["sd"] ** 2 / table["n_seeds"])
    return table.assign(difference=table["mean"] - table["published"], allowed=np.maximum(1.5, noise))


def auc_summary(shares: pd.DataFrame) -> pd.DataFrame:
    """AUC over the seeds by the share of ties, in percent: mean, sd, n_seeds, published."""
    models = shares[shares["model"].isin(MODELS)]
    table = _summary(models.assign(share=(PERCENT * models["ties"]).round().astype(int)), _BY_SHARE, "auc", 1.0)
    return table.merge(pd.read_csv(PUBLISHED / "published_fig5.csv").rename(columns={"auc": "published"}), how="left")


_BY_SHARE = ["norm", "model", "share"]


def _summary(rows: pd.DataFrame, by: list[str], value: str, unit: float) -> pd.DataFrame:
    """Mean, sd and number of seeds of a column, times a unit, in the order of first appearance."""
    groups = rows.assign(value=unit * rows[value]).groupby(by, sort=False)["value"]
    return groups.agg(mean="mean", sd="std", n_seeds="count").reset_index()
