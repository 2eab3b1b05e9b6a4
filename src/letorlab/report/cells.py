"""The tables of the page as plain values: what the template needs, and no markup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SHORT = {
    "ndcg": "NDCG",
    "ndcg_standard_exp": "NDCG std-exp",
    "ndcg_standard_linear": "NDCG std-linear",
    "precision": "P",
    "map": "MAP",
    "mrr": "MRR",
    "dcg": "DCG",
    "mean_ndcg": "MeanNDCG",
    "err": "ERR",
    "rbp": "RBP",
}


@dataclass(frozen=True)
class Cell:
    """One cell: its text, small print beneath it, what it sorts by (the text unless given), and a style."""

    text: str
    note: str = ""
    sort: float | str | None = None
    style: str = ""

    @property
    def key(self) -> float | str:
        return self.text if self.sort is None else self.sort


@dataclass(frozen=True)
class Table:
    """A table: columns, rows of cells, and the numbers of the rows that are greyed."""

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    greyed: frozenset[int] = field(default_factory=frozenset)

    @property
    def numeric(self) -> set[int]:
        """Columns that hold numbers: set flush right, and sorted from the largest."""
        cells = ((i, cell) for row in self.rows for i, cell in enumerate(row))
        return {i for i, cell in cells if not isinstance(cell.key, str)}


def missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    return value is None or value != value or str(value) == "<NA>"


def text(value: Any) -> Cell:
    """Text as it is; a missing value is n/a."""
    return Cell("n/a", style="na") if missing(value) else Cell(str(value))


def number(value: Any, digits: int = 4, *, signed: bool = False) -> Cell:
    """A number with fixed digits."""
    return Cell("n/a", sort="", style="na") if missing(value) else Cell(fixed(value, digits, signed), sort=value)


def count(value: Any) -> Cell:
    """A whole number with thousands separated."""
    return Cell("n/a", sort="", style="na") if missing(value) else Cell(f"{value:,.0f}", sort=value)


def general(value: Any) -> Cell:
    """A number of any size in three significant digits."""
    return Cell("n/a", sort="", style="na") if missing(value) else Cell(f"{value:.3g}", sort=value)


def fixed(value: float, digits: int = 4, signed: bool = False) -> str:
    """``-0.0123`` with a true minus sign, ``+`` only on request; no sign where all digits shown are 0."""
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:{'+' if signed else ''}.{digits}f}".replace("-", "−")


def between(low: Any, high: Any, digits: int = 3) -> str:
    """``0.412 to 0.478``, or nothing where there is no interval."""
    return "" if missing(low) or missing(high) else f"{fixed(low, digits)} to {fixed(high, digits)}"


def p_text(p: float) -> str:
    """``= 0.012`` or ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def p_value(p: Any) -> Cell:
    return Cell("n/a", sort="", style="na") if missing(p) else Cell(p_text(p).removeprefix("= "), sort=p)


def metric_name(metric: str, k: Any) -> str:
    """``NDCG@10``, ``P@10``, ``MAP``, ``NDCG@10 std-exp``; other metrics keep their name."""
    short, _, variant = SHORT.get(metric, metric).partition(" ")
    return " ".join(filter(None, [short if missing(k) else f"{short}@{int(k)}", variant]))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
