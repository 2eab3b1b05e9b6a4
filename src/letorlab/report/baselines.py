"""Our baselines beside their published rows, as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

MEASURES = (("ndcg", 10, "NDCG@10"), ("map", None, "MAP"))
TOO_FAR = 2.0  # standard errors over folds


def baselines_page(metrics: pd.DataFrame, published: pd.DataFrame, methods: Mapping[str, Any]) -> str:
    """Tables of every data set, a row a method, with a sentence for each difference above `TOO_FAR` standard errors.

    Parameters
    ----------
    metrics, published : DataFrame
        ``tables/metrics.csv`` and ``tables/published.csv``.
    methods : mapping
        The block ``methods`` of the configuration; ``published`` names the row to compare with.
    """
    names = {name: (block or {}).get("published") for name, block in methods.items()}
    parts = []
    for dataset, block in metrics.groupby("dataset", sort=False):
        known = published[published["dataset"] == dataset]
        parts.append("\n".join(_section(str(dataset), block, known, names)))
    return "\n\n".join(parts) + "\n"


def _section(
    dataset: str, metrics: pd.DataFrame, published: pd.DataFrame, names: Mapping[str, str | None]
) -> Iterator[str]:
    yield f"## {dataset}"
    yield ""
    yield "| method | published as | NDCG@10 | published | difference | MAP | published | difference |"
    yield "|---|---|---|---|---|---|---|---|"
    notes = []
    for method in [name for name in names if name in set(metrics["method"])]:
        cells = [method, names[method] or "-"]
        for metric, k, title in MEASURES:
            ours = _values(metrics[metrics["method"] == method], metric, k)
            theirs = _values(published[published["method"] == names[method]], metric, k)
            cells += _cells(ours, theirs)
            notes += _note(method, title, ours, theirs)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from notes or [f"No difference is larger than {TOO_FAR:g} standard errors over folds."]


def _values(rows: pd.DataFrame, metric: str, k: int | None) -> np.ndarray:
    chosen = rows[rows["metric"] == metric]
    return (chosen if k is None else chosen[chosen["k"] == k])["value"].to_numpy(dtype=float)


def _cells(ours: np.ndarray, theirs: np.ndarray) -> list[str]:
    if not len(theirs):
        return [_short(ours.mean()), "-", "-"]
    difference = ours.mean() - theirs[0]
    return [_short(ours.mean()), _short(theirs[0]), f"{difference:+.4f}".replace("0.", ".")]


def _note(method: str, title: str, ours: np.ndarray, theirs: np.ndarray) -> list[str]:
    if not len(theirs) or len(ours) < 2:
        return []
    difference, error = ours.mean() - theirs[0], ours.std(ddof=1) / np.sqrt(len(ours))
    if abs(difference) <= TOO_FAR * error:
        return []
    side = "above" if difference > 0 else "below"
    return [
        f"- {title} of `{method}` is {abs(difference) / error:.1f} standard errors over folds {side} the published."
    ]


def _short(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")
