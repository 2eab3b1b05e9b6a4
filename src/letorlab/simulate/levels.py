"""Level curves of the tuned models and of the truth (Venuto et al., Figure 3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from letorlab.csvtable import write_table
from letorlab.queries import Floats
from letorlab.simulate.norms import SIDE, SQUARED_NORMS
from letorlab.simulate.svmcompare import MODELS, Grid, tune

NORM, N_PAIRS, SEED, POINTS = "l1", 100, 2, 41  # those of the figure


def write_levels(grid: Grid, folder: Path) -> None:
    """``fig3.csv``: x1, x2, model, r with r = 0 at the origin; ``fig3_pairs.csv``: the training comparisons."""
    tuned = tune(NORM, N_PAIRS, SEED, grid=grid, ties=0.5, select_on="error")
    axis = np.linspace(-SIDE, SIDE, POINTS)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    origin = np.zeros((1, 2))
    values: dict[str, Floats] = {model: tuned.scores(model, X) - tuned.scores(model, origin) for model in MODELS}
    values["truth"] = SQUARED_NORMS[NORM](X)
    tables = [pd.DataFrame({"x1": X[:, 0], "x2": X[:, 1], "model": name, "r": r}) for name, r in values.items()]
    write_table(pd.concat(tables, ignore_index=True), folder / "fig3.csv")
    pairs = np.hstack([tuned.train.X, tuned.train.X_prime])
    table = pd.DataFrame(pairs, columns=["x1", "x2", "x1'", "x2'"]).assign(y=tuned.train.y)
    write_table(table, folder / "fig3_pairs.csv")
