"""CSV tables that read back to exactly what was written."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from letorlab.atomic import atomic_path

TEXT = (
    *("dataset", "method", "reference", "metric", "qid", "docid", "profile", "no_relevant"),
    *("params", "selected", "converged", "select_on", "source"),
)
NUMBERS = (
    *("value", "expected", "mean", "ci_low", "ci_high", "difference", "t_statistic", "p_value", "p_holm"),
    *("relative_gap", "validation", "test", "score", "relevance"),
)
TYPES = {**dict.fromkeys(TEXT, "str"), **dict.fromkeys(NUMBERS, "float64"), "k": "Int64"}


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table of the results: identifiers stay text ("007", "NA"), an empty number or k is missing."""
    empty = {name: [""] for name in (*NUMBERS, "k")}
    return pd.read_csv(path, dtype=TYPES, keep_default_na=False, na_values=empty)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table whole or not at all, LF line ends, floats as the shortest text that reads back exactly."""
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def table_hash(folder: str | Path) -> str:
    """SHA-256 over the names and bytes of all tables in a folder: equal for equal results."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.csv")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
