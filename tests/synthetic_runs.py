"""A made-up study with all the files of its runs, for the tests of MLflow; see `synthetic_study`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from synthetic_study import card, config, fit

from letorlab.atomic import write_json, write_text
from letorlab.csvtable import read_table, write_table

METHODS = {"regression": {}, "ranksvm": {"grid": {"C": [0.01, 1.0]}}, "random": {}}


def make_study(results, name, *, datasets=("toy2", "toy3"), methods=METHODS, folds=(1, 2, 3, 4, 5), seed=0):
    """Write a made-up study that follows the results contract; return its folder and configuration."""
    rng = np.random.default_rng(seed)
    folder = Path(results) / name
    study = {**config(datasets, dict(methods)), "study": name, "folds": list(folds)}
    metrics, trials = [], []
    for dataset in datasets:
        write_json(folder / "data" / dataset / "card.json", {**card(dataset), "checksum": f"{dataset}-checksum"})
        for method in methods:
            for fold in folds:
                names = {"dataset": dataset, "method": method, "fold": fold}
                metrics += [{**names, **row} for row in fold_metrics(rng)]
                trials.append({**names, **trial(fold, rng)})
                write_run(folder / "runs" / dataset / f"fold{fold}" / method, trials[-1], rng)
    metrics = pd.DataFrame(metrics).astype({"k": "Int64"})
    write_table(metrics, folder / "tables" / "metrics.csv")
    write_table(pd.DataFrame(trials), folder / "tables" / "trials.csv")
    write_summary(folder)
    write_text(folder / "figures" / "ndcg.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n")
    write_text(folder / "report" / "index.html", "<!doctype html><title>report</title>\n")
    return folder, study


def fold_metrics(rng):
    curves = [("ndcg", k) for k in range(1, 11)] + [("precision", k) for k in range(1, 11)]
    return [{"metric": m, "k": k, "value": rng.uniform()} for m, k in [*curves, ("map", None)]]


def trial(fold, rng):
    params = json.dumps({"C": 0.01 if fold < 3 else 1.0, "norm": "l2"})
    state = {"trial": 0, "params": params, "selected": "true", "converged": "true", "relative_gap": None}
    return {**state, "select_on": "map", "validation": rng.uniform(), "test": rng.uniform()}


def write_run(folder, row, rng):
    write_json(folder / "fit.json", {**fit(), "params": json.loads(row["params"]), "seconds": rng.uniform()})
    write_text(folder / "run.trec", "q1 Q0 d1 1 1 method\n")
    for name in ("scores.test.csv", "trials.csv", "per_query.csv"):
        write_text(folder / name, f"name,value\n{name},{rng.uniform()}\n")


def write_summary(folder):
    """tables/summary.csv as the means of tables/metrics.csv."""
    metrics = read_table(folder / "tables" / "metrics.csv")
    groups = metrics.groupby(["dataset", "method", "metric", "k"], dropna=False)["value"]
    summary = groups.mean().rename("mean").reset_index()
    summary["ci_low"], summary["ci_high"] = summary["mean"] - 0.03, summary["mean"] + 0.03
    write_table(summary.assign(n_folds=5, n_queries=60), folder / "tables" / "summary.csv")


def small_study(results, name, **options):
    methods = {"regression": {}, "ranksvm": {}}
    return make_study(results, name, **{"datasets": ["toy2"], "methods": methods, "folds": [1, 2], **options})
