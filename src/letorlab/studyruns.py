"""What a study tells MLflow, read from its result files: one record a run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from letorlab.atomic import read_json
from letorlab.csvtable import read_table
from letorlab.errors import InputError
from letorlab.runrecord import (
    VOLATILE,
    Point,
    Record,
    fit_metric,
    hash_of,
    make_record,
    metric_name,
    param_text,
    pretty,
)

PLAIN_KS = (1, 3, 5, 10)  # k that also get a metric of their own, for sorting and filtering
FOLD_FILES = ("fit.json", "trials.csv", "scores.test.csv", "run.trec", "per_query.csv")
FIT_VALUES = ("converged", "relative_gap", "n_iter", "n_docs", "n_pairs", "n_atoms", "factor_residual")
NO_RESULT = ("only", "data", "folds_per_job", "path", "urls", "published")  # config that changes no number


def study_records(folder: Path, config: Mapping[str, Any], provenance: Mapping[str, Any]) -> list[Record]:
    """Records of a study, each parent before its children: the study, then every method on every data set.

    Parameters
    ----------
    folder : Path
        ``results/<study>``.
    config : mapping
        The configuration with its defaults.
    provenance : mapping
        ``revision`` of the code, and anything else worth keeping.

    Raises
    ------
    InputError
        If a result file that the tables speak of is missing.
    """
    tables = {name: _table(folder, name) for name in ("summary", "metrics", "trials")}
    origin = {"code_version": str(provenance.get("revision") or "unknown")}
    summary, metrics = (_groups(tables[name], ["dataset", "method"]) for name in ("summary", "metrics"))
    trials = tables["trials"][tables["trials"]["selected"] == "true"]
    chosen: dict[Any, Any] = {(row.dataset, row.method, row.fold): row for row in trials.itertuples()}
    records = [_study_record(folder, config, provenance, origin)]
    for dataset, method in sorted(summary, key=_order(config)):
        if (dataset, method) not in metrics:
            raise InputError(
                f"{folder}/tables: summary.csv has {method} on {dataset}, metrics.csv not: make them again"
            )
        task = Task(folder, config, dataset, method, origin)
        rows = _groups(metrics[dataset, method], "fold")
        fits = {fold: task.fit(fold) for fold in rows}
        picked = {fold: chosen.get((dataset, method, fold)) for fold in rows}
        records.append(_parent_record(task, summary[dataset, method], fits, picked))
        records += [_fold_record(task, fold, rows[fold], fits[fold], picked[fold]) for fold in rows]
    return records


@dataclass(frozen=True)
class Task:
    """A method on a data set: names, files and tags that its runs share."""

    folder: Path
    config: Mapping[str, Any]
    dataset: str
    method: str
    origin: Mapping[str, str]

    @property
    def key(self) -> str:
        return f"{self.dataset}/{self.method}"

    @property
    def name(self) -> str:
        return f"{self.method} · {self.dataset}"

    def run_folder(self, fold: int) -> Path:
        return self.folder / "runs" / self.dataset / f"fold{fold}" / self.method

    def fit(self, fold: int) -> dict[str, Any]:
        return dict(_json(self.run_folder(fold) / "fit.json"))

    @property
    def card(self) -> dict[str, Any]:
        return dict(_json(self.folder / "data" / self.dataset / "card.json"))

    @property
    def data(self) -> tuple[str, str]:
        return self.dataset, str(self.card.get("checksum") or self.card.get("sha256") or "unknown")

    def tags(self, kind: str) -> dict[str, str]:
        blocks = {
            group: {name: _results_only(self.config[group].get(name) or {})}
            for group, name in (("datasets", self.dataset), ("methods", self.method))
        }
        return {
            "dataset": self.dataset,
            "method": self.method,
            "kind": kind,
            "profile": str(self.card.get("profile", "unknown")),
            "data_checksum": self.data[1],
            "config_hash": hash_of({**_results_only(self.config), **blocks}),
        }


def _parent_record(
    task: Task, summary: pd.DataFrame, fits: Mapping[int, Mapping[str, Any]], picked: Mapping[int, Any]
) -> Record:
    all_fits, rows = list(fits.values()), list(picked.values())
    seconds = math.fsum(_known(fit.get("seconds") for fit in all_fits))
    values = {
        "validation": _mean(row.validation for row in rows if row),
        fit_metric("converged"): _mean(fit.get("converged") for fit in all_fits),
        fit_metric("relative_gap"): max(_known(fit.get("relative_gap") for fit in all_fits), default=None),
        fit_metric("seconds"): seconds,
    }
    sizes = {"n_folds": len(all_fits), "n_queries": int(summary["n_queries"].max())}
    return make_record(
        task.key,
        task.name,
        None,
        task.tags("method"),
        {**_params(all_fits, rows), **sizes},
        [*_curves(summary, "mean"), *_intervals(summary), *_plain(values)],
        origin=task.origin,
        data=task.data,
        seconds=seconds,
    )


def _fold_record(task: Task, fold: int, rows: pd.DataFrame, fit: Mapping[str, Any], picked: Any) -> Record:
    values = {
        "validation": picked.validation if picked else None,
        **{fit_metric(name): fit.get(name) for name in (*FIT_VALUES, *VOLATILE)},
    }
    folder = task.run_folder(fold)
    return make_record(
        f"{task.key}/fold{fold}",
        f"fold {fold} · {task.name}",
        task.key,
        {**task.tags("fold"), "fold": str(fold)},
        _params([fit], [picked]),
        [*_curves(rows, "value"), *_plain(values)],
        origin=task.origin,
        files={name: folder / name for name in FOLD_FILES if (folder / name).is_file()},
        data=task.data,
        seconds=fit.get("seconds") or 0.0,
    )


def _study_record(
    folder: Path, config: Mapping[str, Any], provenance: Mapping[str, Any], origin: Mapping[str, str]
) -> Record:
    """The run that holds what belongs to the study as a whole."""
    files = [*sorted(folder.glob("tables/*.csv")), *sorted(folder.glob("data/*/card.json"))]
    drawings = [*sorted(folder.glob("figures/*.svg")), *sorted(folder.glob("report/*.html"))]
    drawings += sorted(folder.glob("paths/*/*.csv"))  # with times, so they are shown but no part of the content
    settings = {"seed": config.get("seed"), **{key: list(config[key]) for key in ("datasets", "methods")}}
    return make_record(
        "study",
        f"tables and report · {config['study']}",
        None,
        {"kind": "study", "config_hash": hash_of(_results_only(config))},
        {**settings, **(config.get("evaluation") or {})},
        [],
        origin={**origin, "provenance": json.dumps(provenance, sort_keys=True)},
        files={path.relative_to(folder).as_posix(): path for path in files},
        drawings={path.relative_to(folder).as_posix(): path for path in drawings},
        texts={"config.json": pretty(_results_only(config))},
    )


def _curves(rows: pd.DataFrame, column: str) -> list[Point]:
    """Each metric over k, and single values at the usual k and at the cutoff."""
    plain = {*PLAIN_KS, _cutoff(rows)}
    points = []
    for metric, k, value in zip(rows["metric"], rows["k"], rows[column], strict=True):
        at = None if pd.isna(k) else int(k)
        points.append(Point(metric_name(metric), at or 0, float(value)))
        if at in plain:
            points.append(Point(metric_name(metric, at), 0, float(value)))
    return points


def _intervals(summary: pd.DataFrame) -> list[Point]:
    """Ends of the intervals of NDCG and precision at 10 (or the cutoff, if lower) and of MAP."""
    top = min(_cutoff(summary) or 10, 10)
    names = [("ndcg", top), ("precision", top), ("map", None)]
    return [
        Point(f"{metric_name(metric, k)}_{end}", 0, float(row[end]))
        for metric, k in names
        for _, row in summary[_at(summary, metric, k)].iterrows()
        for end in ("ci_low", "ci_high")
    ]


def _at(rows: pd.DataFrame, metric: str, k: int | None) -> pd.Series:
    return (rows["metric"] == metric) & (rows["k"].isna() if k is None else (rows["k"] == k).fillna(False))


def _cutoff(rows: pd.DataFrame) -> int | None:
    largest = rows["k"].max()
    return None if pd.isna(largest) else int(largest)


def _plain(values: Mapping[str, Any]) -> list[Point]:
    """Values without a k; those that do not exist (None) are left out."""
    return [Point(name, 0, float(value)) for name, value in values.items() if value is not None]


def _params(fits: Sequence[Mapping[str, Any]], picked: Sequence[Any]) -> dict[str, Any]:
    """Parameters of the selected trials: one value where all folds agree, else the values in fold order."""
    rows = [
        {
            **{key: fit.get(key) for key in ("ranker", "train_on")},
            **({"select_on": row.select_on} if row else {}),
            **fit["params"],
        }
        for fit, row in zip(fits, picked, strict=True)
    ]
    params = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        texts = [param_text(row.get(key)) for row in rows]
        params[key] = texts[0] if len(set(texts)) == 1 else ", ".join(texts)
    return params


def _known(values: Iterable[Any]) -> list[float]:
    return [float(value) for value in values if value is not None]


def _mean(values: Iterable[Any]) -> float | None:
    known = _known(values)
    return math.fsum(known) / len(known) if known else None


def _groups(table: pd.DataFrame, by: Any) -> dict[Any, pd.DataFrame]:
    return dict(list(table.groupby(by)))


def _order(config: Mapping[str, Any]) -> Callable[[tuple[str, str]], Any]:
    """Sort key of (dataset, method): as in the configuration, names that it lacks last."""
    datasets, methods = list(config["datasets"]), list(config["methods"])

    def place(names: list[str], name: str) -> tuple[int, str]:
        return (names.index(name) if name in names else len(names), name)

    return lambda pair: (place(datasets, pair[0]), place(methods, pair[1]))


def _results_only(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in NO_RESULT}


def _table(folder: Path, name: str) -> pd.DataFrame:
    path = folder / "tables" / f"{name}.csv"
    if not path.is_file():
        raise InputError(f"{path} is missing: MLflow shows the tables of a study; make them first")
    return read_table(path)


def _json(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"{path} is missing, though the tables have results of it: run the study again")
    return read_json(path)
