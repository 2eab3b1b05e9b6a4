"""What the official rules decide silently, counted: queries without relevant document, short lists, equal scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from letorlab.prepared import load_card, load_split
from letorlab.profiles import profile_named


def query_counts(
    data: str | Path, datasets: Sequence[str], folds: Sequence[int], evaluation: Mapping[str, Any]
) -> pd.DataFrame:
    """queries.csv: the test queries of each fold, and how many of them are measured by a rule for rare cases.

    Columns ``dataset``, ``fold``, ``profile``, ``no_relevant`` (the policy), ``cutoff``, ``n_queries``, and the
    numbers of queries ``without_relevant`` document, with fewer documents than the cutoff (``short``), and with
    ``all_equal`` labels. A query may be in several.
    """
    rows = []
    for dataset in datasets:
        folder = Path(data) / dataset
        profile = load_card(folder)["profile"]
        for fold in folds:
            test = load_split(folder, fold, "test")
            best, worst = (f.reduceat(test.y, test.offsets[:-1]) for f in (np.maximum, np.minimum))
            rows.append(
                {
                    "dataset": dataset,
                    "fold": fold,
                    "profile": profile,
                    **{key: evaluation[key] for key in ("no_relevant", "cutoff")},
                    "n_queries": test.n_queries,
                    "without_relevant": int((best < profile_named(profile).relevant_from).sum()),
                    "short": int((test.sizes < evaluation["cutoff"]).sum()),
                    "all_equal": int((best == worst).sum()),
                }
            )
    return pd.DataFrame(rows).sort_values(["dataset", "fold"], ignore_index=True)


def tie_means(per_query: pd.DataFrame, *, cutoff: int) -> pd.DataFrame:
    """ties.csv: of methods with equal scores, the mean in the file's order beside the mean over all orders.

    Columns ``dataset``, ``method``, ``metric``, ``k``, ``mean`` (as in summary.csv), ``expected``, ``n_tied`` (queries
    in which documents of different relevance have equal scores) and ``n_queries``; at the cutoff and for metrics
    without k. Methods without such queries have no row.
    """
    headline = per_query[per_query["k"].isna() | (per_query["k"] == cutoff)]
    table = headline.assign(
        tied=headline["expected"].notna(), expected=headline["expected"].fillna(headline["value"])
    ).rename(columns={"value": "mean"})
    keys = ["dataset", "method", "metric", "k"]
    by_fold = table.groupby([*keys, "fold"], dropna=False)
    means = by_fold[["mean", "expected"]].mean().groupby(keys, dropna=False).mean()
    counts = table.groupby(keys, dropna=False)["tied"].agg(n_tied="sum", n_queries="size")
    both = means.join(counts)
    return both[both["n_tied"] > 0].reset_index().sort_values(keys, ignore_index=True)
