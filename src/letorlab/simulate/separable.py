"""Separable comparisons, and the margins of the linear and the quadratic program on them and on rescaled features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from letorlab.comparisons import Comparisons
from letorlab.csvtable import write_table
from letorlab.hardcompare import compare_lp, compare_qp
from letorlab.queries import Floats
from letorlab.scaling import Scaling
from letorlab.seeds import stream

TRUE_W = np.array([1.0, 0.4])
GAP = 0.25  # no difference of true scores lies as near to +-1
N_PAIRS = 20
STRETCH = np.array([1.0, 0.25])  # units of the second feature, in the panel "as measured"


def separable_comparisons(seed: int) -> Comparisons:
    """20 comparisons that a linear score separates; the second feature is measured in larger units than the first."""
    rng = stream("separable", seed)
    difference = rng.normal(scale=1.6, size=(20 * N_PAIRS, 2))
    g = difference @ TRUE_W
    difference = difference[(np.abs(np.abs(g) - 1.0) > GAP) & (np.abs(g) < 3.0)][:N_PAIRS]
    X = rng.normal(size=(N_PAIRS, 2))
    g = difference @ TRUE_W
    y = np.where(np.abs(g) > 1.0, np.sign(g), 0.0).astype(np.int64)
    return Comparisons(X * STRETCH, (X + difference) * STRETCH, y)


def write_separable(seed: int, folder: Path) -> None:
    """``hard_pairs.csv``: the differences x' - x; ``hard.csv``: w and margin of LP and QP, for both scalings."""
    measured = separable_comparisons(seed)
    scaling = Scaling.of(measured.items)
    versions = {
        "as measured": measured,
        "standardised": Comparisons(scaling(measured.X), scaling(measured.X_prime), measured.y),
    }
    pairs, solutions = [], []
    for name, comparisons in versions.items():
        pairs.append(_differences(comparisons).assign(features=name))
        for program, solve in (("LP", compare_lp), ("QP", compare_qp)):
            found = solve(comparisons)
            row = {"features": name, "program": program, "w1": found.w[0], "w2": found.w[1], "margin": found.margin}
            solutions.append(row)
    write_table(pd.concat(pairs, ignore_index=True), folder / "hard_pairs.csv")
    write_table(pd.DataFrame(solutions), folder / "hard.csv")


def _differences(comparisons: Comparisons) -> pd.DataFrame:
    difference: Floats = comparisons.X_prime - comparisons.X
    return pd.DataFrame({"d1": difference[:, 0], "d2": difference[:, 1], "y": comparisons.y})
