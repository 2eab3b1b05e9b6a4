"""The tables of a study, from the result files of its methods.

Tables hold nothing that differs between two runs of the same study: no time, memory, date or host; floats in their
shortest exact form, rows sorted, LF line ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from letorlab.compare import bootstrap_weights, holm, interval, paired_t_test, query_weights
from letorlab.csvtable import read_table, write_table
from letorlab.errors import InputError
from letorlab.queries import Floats
from letorlab.report.published import published_rows
from letorlab.report.rarities import query_counts, tie_means
from letorlab.seeds import stream

KEYS = ["dataset", "method", "metric", "k"]


def write_tables(
    runs: str | Path,
    data: str | Path,
    folder: str | Path,
    *,
    datasets: Sequence[str],
    methods: Sequence[str],
    folds: Sequence[int],
    evaluation: Mapping[str, Any],
    seed: int,
) -> None:
    """Write all tables of a study into `folder`, from its results and its prepared data.

    `evaluation` is that block of the configuration.
    """
    folder = Path(folder)
    per_query = collect(runs, "per_query.csv", datasets, methods, folds)
    trials = collect(runs, "trials.csv", datasets, methods, folds)
    resampling = {"resamples": evaluation["resamples"], "seed": seed}
    versus = {"reference": evaluation["reference"], "cutoff": evaluation["cutoff"]}

    tables = {
        "metrics": fold_means(per_query),
        "summary": summary(per_query, **resampling),
        "comparisons": comparisons(per_query, **versus, **resampling),
        "per_query": per_query.sort_values(["dataset", "method", "fold", "qid", "metric", "k"]),
        "trials": trials.sort_values(["dataset", "method", "fold", "trial"]),
        "published": published_rows(datasets),
        "queries": query_counts(data, datasets, folds, evaluation),
        "ties": tie_means(per_query, cutoff=evaluation["cutoff"]),
    }
    for name, table in tables.items():
        write_table(table, folder / f"{name}.csv")


def collect(
    runs: str | Path, name: str, datasets: Sequence[str], methods: Sequence[str], folds: Sequence[int]
) -> pd.DataFrame:
    """One table of the files `name` under ``<runs>/<dataset>/fold<k>/<method>/``; absent ones are passed over.

    With ``only=[methods]`` a run makes the files of some methods; those that others left earlier keep their rows.
    """
    paths = [Path(runs, d, f"fold{fold}", m, name) for d in datasets for m in methods for fold in folds]
    tables = [read_table(path) for path in paths if path.is_file()]
    if not tables:
        raise InputError(f"no {name} of any method under {runs}: nothing has been evaluated yet")
    return pd.concat(tables, ignore_index=True)


def fold_means(per_query: pd.DataFrame) -> pd.DataFrame:
    """metrics.csv: the mean over the test queries of each fold."""
    keys = ["dataset", "method", "fold", "metric", "k"]
    means = per_query.groupby(keys, dropna=False, sort=False)["value"].mean().reset_index()
    return means.sort_values(keys, ignore_index=True)


def summary(per_query: pd.DataFrame, *, resamples: int, seed: int) -> pd.DataFrame:
    """summary.csv: the mean of fold means with a 95 % bootstrap interval over queries."""
    rows = []
    for dataset, block in per_query.groupby("dataset"):
        fold, weights = _resampling(str(dataset), block, resamples, seed)
        for method, values, columns in _by_method(block):
            means = query_weights(fold) @ values
            low, high = interval(values, weights)
            rows.append(
                columns.assign(dataset=dataset, method=method, mean=means, ci_low=low, ci_high=high).assign(
                    n_folds=len(np.unique(fold)), n_queries=len(fold)
                )
            )
    order = [*KEYS, "mean", "ci_low", "ci_high", "n_folds", "n_queries"]
    return pd.concat(rows)[order].sort_values(KEYS, ignore_index=True)


def comparisons(per_query: pd.DataFrame, *, reference: str, cutoff: int, resamples: int, seed: int) -> pd.DataFrame:
    """comparisons.csv: each method against the reference, per data set, at the cutoff and for metrics without k.

    Holm's correction runs over the methods that one metric of one data set compares. The table is empty where the
    reference has no rows.
    """
    headline = per_query[per_query["k"].isna() | (per_query["k"] == cutoff)]
    rows: list[dict[str, Any]] = []
    for dataset, block in headline.groupby("dataset"):
        fold, weights = _resampling(str(dataset), block, resamples, seed)
        methods = {method: (values, columns) for method, values, columns in _by_method(block)}
        if reference not in methods:
            continue
        base, columns = methods.pop(reference)
        for place, (metric, k) in enumerate(zip(columns["metric"], columns["k"], strict=True)):
            names = {"dataset": dataset, "metric": metric, "k": k, "reference": reference}
            pairs = {method: (values[:, place], base[:, place]) for method, (values, _) in methods.items()}
            rows += _compare(names, pairs, fold, weights)
    return _comparison_frame(rows)


def _compare(
    names: Mapping[str, Any], pairs: Mapping[str, tuple[Floats, Floats]], fold: np.ndarray, weights: Floats
) -> Iterator[dict[str, Any]]:
    tests = {method: paired_t_test(a, b) for method, (a, b) in pairs.items()}
    corrected = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    for method, (a, b) in pairs.items():
        low, high = interval((a - b)[:, None], weights)
        yield {
            **names,
            "method": method,
            "difference": float(query_weights(fold) @ (a - b)),
            "ci_low": low[0],
            "ci_high": high[0],
            "n_queries": len(a),
            "t_statistic": tests[method].t_statistic,
            "p_value": tests[method].p_value,
            "p_holm": corrected[method],
        }


def _comparison_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = [
        *("dataset", "metric", "k", "method", "reference", "difference", "ci_low", "ci_high", "n_queries"),
        *("t_statistic", "p_value", "p_holm"),
    ]
    numbers = dict.fromkeys(["t_statistic", "p_value", "p_holm"], "float64")
    frame = pd.DataFrame(rows, columns=columns).astype({"k": "Int64", **numbers})
    return frame.sort_values(["dataset", "metric", "k", "method"], ignore_index=True)


def _resampling(dataset: str, block: pd.DataFrame, resamples: int, seed: int) -> tuple[np.ndarray, Floats]:
    """Fold of every query in sorted order, and the data set's own bootstrap weights."""
    fold = block[["fold", "qid"]].drop_duplicates().sort_values(["fold", "qid"])["fold"].to_numpy()
    return fold, bootstrap_weights(fold, resamples=resamples, rng=stream(seed, "bootstrap", dataset))


def _by_method(block: pd.DataFrame) -> Iterator[tuple[str, Floats, pd.DataFrame]]:
    """Values (n_queries, m) of each method, queries in sorted order, with the m metrics and their k.

    One product a method: its numbers do not depend on which other methods are in the table.
    """
    n_queries = len(block[["fold", "qid"]].drop_duplicates())
    for method, rows in block.groupby("method"):
        rows = rows.sort_values(["metric", "k", "fold", "qid"])
        columns = rows[["metric", "k"]].drop_duplicates(ignore_index=True)
        if len(rows) != len(columns) * n_queries:
            raise InputError(
                f"{method} has {len(rows)} per-query values on {block['dataset'].iloc[0]}, but {len(columns)} metrics "
                f"of {n_queries} queries make {len(columns) * n_queries}: some folds of it are missing or stale. "
                "Run the study again, or delete the method's folder under runs/"
            )
        yield (
            str(method),
            np.ascontiguousarray(rows["value"].to_numpy().reshape(len(columns), n_queries).T),
            columns,
        )
