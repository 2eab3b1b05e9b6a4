"""The results that LETOR 3.0 publishes for its own baselines, to stand beside ours."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

import pandas as pd

KEYS = ["dataset", "method", "metric", "k"]


def published_rows(datasets: Iterable[str]) -> pd.DataFrame:
    """Published five-fold test means of the given data sets.

    They hold for the QueryLevelNorm features and the official tool (metric profile ``letor3``), with the
    model picked by validation MAP and never trained on validation.

    Parameters
    ----------
    datasets : iterable of str
        Names of data sets; one without published results (toy data, say) adds no row.

    Returns
    -------
    DataFrame
        Columns dataset, method, metric (``ndcg`` or ``map``), k (Int64, missing for map), value, source;
        sorted by the first four.
    """
    with resources.files("letorlab").joinpath("published.csv").open(encoding="utf-8") as file:
        rows = pd.read_csv(file, dtype={"k": "Int64"}, converters={"value": float})
    wanted = rows[rows["dataset"].isin(list(datasets))]
    return wanted.sort_values(KEYS, na_position="first").reset_index(drop=True)
