"""Picking rows out of the result tables."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as plain dictionaries."""
    return cast("list[dict[str, Any]]", table.to_dict("records"))


def at(table: pd.DataFrame, metric: str, k: int | None) -> pd.DataFrame:
    """The rows of one metric at one k (None for a metric without k)."""
    same_k = table["k"].isna() if k is None else (table["k"] == k).fillna(False)
    return table[(table["metric"] == metric) & same_k]


def headline_k(table: pd.DataFrame) -> int:
    """The k of the headline NDCG: 10, or the largest that was measured below it."""
    measured = table.loc[table["metric"] == "ndcg", "k"]
    return int(measured[measured <= 10].max())
