"""A made-up results folder that follows the results contract, for the tests of the report."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from letorlab.atomic import write_json
from letorlab.report.published import published_rows

SETS = ["ohsumed", "td2003", "td2004", "np2003", "np2004", "hp2003", "hp2004"]
KEYS = {"precision": True, "ndcg": True, "map": False}


def config(datasets: list[str], methods: dict[str, Any], folds: int = 5) -> dict[str, Any]:
    return {
        "study": "made-up",
        "seed": 1,
        "datasets": {name: {} for name in datasets},
        "methods": methods,
        "folds": list(range(1, folds + 1)),
        "evaluation": {"cutoff": 10, "metrics": list(KEYS), "select_on": "map", "reference": "regression"},
    }


def small_config() -> dict[str, Any]:
    methods = {
        "regression": {"published": "Regression"},
        "ranksvm": {"published": "RankSVM-Primal", "grid": {"C": [0.001, 0.01, 0.1]}},
        "random": {},
    }
    return config(["ohsumed", "toy2"], methods)


def big_config(n_methods: int = 25, n_sets: int = 7) -> dict[str, Any]:
    names = ["regression", "random", "constant", *(f"method_{i:02d}_l1" for i in range(3, n_methods))]
    methods: dict[str, Any] = {name: {"grid": {"C": [0.1, 1.0, 10.0]}} for name in names}
    methods |= {"regression": {"published": "Regression"}, "random": {}, "constant": {}}
    methods["method_03_l1"]["published"] = "ListNet"
    methods["method_04_l1"]["published"] = "SmoothRank"
    return config(SETS[:n_sets], methods)


def level(method: str, position: int, n: int) -> float:
    return 0.21 if method in ("random", "constant") else 0.41 + 0.05 * position / n


def summary_table(study: dict[str, Any], seed: int = 0) -> pd.DataFrame:
    """tables/summary.csv: NDCG@k falls with k, the methods differ by up to .05."""
    rng = np.random.default_rng(seed)
    rows = []
    for dataset in study["datasets"]:
        shift = rng.uniform(0, 0.3)
        for i, method in enumerate(study["methods"]):
            base = level(method, i, len(study["methods"])) + shift + rng.normal(0, 0.006)
            for metric, k in _metrics():
                noise = 0.04 * np.exp(-(k or 1) / 3) + rng.normal(0, 0.003)
                mean = base + noise if metric == "ndcg" else 0.9 * base
                rows.append((dataset, method, metric, k, mean, mean - 0.035, mean + 0.034, 5, 106))
    columns = ["dataset", "method", "metric", "k", "mean", "ci_low", "ci_high", "n_folds", "n_queries"]
    return _sorted(pd.DataFrame(rows, columns=columns))


def comparisons_table(study: dict[str, Any], summary: pd.DataFrame, p_holm: float | str) -> pd.DataFrame:
    rows = []
    means = summary.set_index(["dataset", "method", "metric", "k"])["mean"].to_dict()
    for dataset in study["datasets"]:
        for method in study["methods"]:
            for metric, k in [("ndcg", 10), ("map", "")]:
                if method == "regression":
                    continue
                d = means[dataset, method, metric, k] - means[dataset, "regression", metric, k]
                bounds = (d, d - 0.01, d + 0.01, 106, 2.1, 0.011, p_holm)
                rows.append((dataset, metric, k, method, "regression", *bounds))
    names = "dataset,metric,k,method,reference,difference,ci_low,ci_high,n_queries,t_statistic,p_value,p_holm"
    return _sorted(pd.DataFrame(rows, columns=names.split(",")))


def trials_table(study: dict[str, Any]) -> pd.DataFrame:
    rows = []
    for dataset in study["datasets"]:
        for method, block in study["methods"].items():
            for fold in study["folds"]:
                for i, params in enumerate(_trials(block)):
                    picked = str(i == 0).lower()
                    results = (picked, "true", 1e-5, "map", 0.45 - 0.01 * i, 0.44)
                    rows.append((dataset, method, fold, i, json.dumps(params), *results))
    names = "dataset,method,fold,trial,params,selected,converged,relative_gap,select_on,validation,test"
    return pd.DataFrame(rows, columns=names.split(","))


def queries_table(study: dict[str, Any]) -> pd.DataFrame:
    rows = [(d, f, "letor3", "zero", 10, 21, 1, 2, 1) for d in study["datasets"] for f in study["folds"]]
    names = "dataset,fold,profile,no_relevant,cutoff,n_queries,without_relevant,short,all_equal"
    return pd.DataFrame(rows, columns=names.split(","))


def ties_table(study: dict[str, Any]) -> pd.DataFrame:
    """One method has equal scores."""
    rows = [(d, "random", "ndcg", 10, 0.31, 0.2084, 17, 106) for d in study["datasets"]]
    return pd.DataFrame(rows, columns=["dataset", "method", "metric", "k", "mean", "expected", "n_tied", "n_queries"])


def write_study(root: Path, study: dict[str, Any], *, p_holm: float | str = 0.02, diverged: int = 0) -> Path:
    """Write tables, cards and fit files under `root`; the first `diverged` fits did not converge."""
    tables = root / "tables"
    tables.mkdir(parents=True)
    summary = summary_table(study)
    _write(summary, tables / "summary.csv")
    _write(comparisons_table(study, summary, p_holm), tables / "comparisons.csv")
    _write(trials_table(study), tables / "trials.csv")
    _write(published_rows(study["datasets"]), tables / "published.csv")
    _write(queries_table(study), tables / "queries.csv")
    _write(ties_table(study), tables / "ties.csv")
    for dataset in study["datasets"]:
        write_json(root / "data" / dataset / "card.json", card(dataset))
    for i, path in enumerate(fit_paths(root, study)):
        write_json(path, fit(converged=i >= diverged))
    return root


def fit_paths(root: Path, study: dict[str, Any]) -> list[Path]:
    return [
        root / "runs" / dataset / f"fold{fold}" / method / "fit.json"
        for dataset in study["datasets"]
        for method in study["methods"]
        for fold in study["folds"]
    ]


def card_paths(root: Path) -> list[Path]:
    return sorted(root.glob("data/**/*card.json"))


def card(dataset: str) -> dict[str, Any]:
    digest = hashlib.sha256(dataset.encode()).hexdigest()
    return {
        "dataset": dataset,
        "title": f"Made-up {dataset}",
        "profile": "letor3",
        "queries": 106,
        "documents": 16140,
        "features": 45,
        "labels": {"0": 11303, "1": 2585, "2": 2252},
        "queries_without_relevant": 1,
        "constant_features": [],
        "folds": [1, 2, 3, 4, 5],
        "parts": {f"S{i}": {"queries": 21, "documents": 3228, "checksum": digest} for i in range(1, 6)},
        "files": {f"S{i}": {"sha256": digest, "status": "known"} for i in range(1, 6)},
        "verified": "digests",
        "checksum": digest,
    }


def fit(converged: bool = True) -> dict[str, Any]:
    return {
        "ranker": "ranksvm", "train_on": "original", "params": {"C": 0.01}, "converged": converged,
        "relative_gap": 3e-5, "factor_residual": None, "n_iter": 12, "seconds": 1.25, "peak_memory_mb": 310.5,
        "n_docs": 9219, "n_pairs": 367663, "n_atoms": None,
    }  # fmt: skip


def _metrics() -> list[tuple[str, Any]]:
    return [(m, k) for m, takes_k in KEYS.items() for k in (range(1, 11) if takes_k else [""])]


def _trials(block: dict[str, Any]) -> list[dict[str, Any]]:
    grid = block.get("grid", {})
    return [{key: value} for key, values in grid.items() for value in values] or [{}]


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    keys = [c for c in ("dataset", "method", "metric", "k", "reference") if c in table]
    return table.sort_values(keys, key=lambda c: c if c.name != "k" else pd.to_numeric(c)).reset_index(drop=True)


def _write(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, lineterminator="\n")
