"""The judge: choose a trial on validation, measure it on test, write the result files of one method and fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from letorlab.atomic import atomic_path, write_json, write_text
from letorlab.csvtable import write_table
from letorlab.errors import InputError
from letorlab.metrics import measure, metric_named, parse_metric
from letorlab.prepared import load_split
from letorlab.profiles import profile_named
from letorlab.queries import Floats, Queries, query_of_docs
from letorlab.ranking import queries_with_ties
from letorlab.study import params_text
from letorlab.trials import SavedTrials
from letorlab.tuning import best_trial

POLICIES = ("zero", "one", "skip")  # for queries without relevant document


@dataclass(frozen=True)
class Evaluation:
    """How results are measured: metrics up to a cutoff, in a profile, and the metric that selects.

    ``select_on`` is a metric with its k, such as ``map`` or ``ndcg@10``. ``no_relevant`` is the policy for queries
    without relevant document: NDCG, AP and RR are 0 there (``zero``, as in the official tools) or 1 (``one``), or
    such queries are left out of all measures (``skip``).
    """

    metrics: Sequence[str]
    cutoff: int
    select_on: str
    profile: str
    no_relevant: str = "zero"

    def __post_init__(self) -> None:
        if self.no_relevant not in POLICIES:
            raise InputError(f"no_relevant must be one of {', '.join(POLICIES)}; got {self.no_relevant!r}")
        parse_metric(self.select_on)
        for name in self.metrics:
            metric_named(name)

    def selection_value(self, scores: Floats, queries: Queries) -> float:
        """Mean over the queries of the selecting metric."""
        name, k = parse_metric(self.select_on)
        counted = self._counted(queries)
        if not counted.any():
            raise InputError(
                f"none of the {queries.n_queries} queries has a relevant document, and no_relevant: skip leaves them "
                "out; choose zero or one"
            )
        return float(self._measure(name, scores, queries, k or 1)[counted].mean())

    def per_query(self, scores: Floats, queries: Queries, names: Mapping[str, Any]) -> pd.DataFrame:
        """All metrics, one row for a query, metric and k: columns of `names`, qid, metric, k (if any), value, expected.

        ``value`` keeps the file's order of equal scores. ``expected`` is the mean over all their orders, for queries
        in which documents of different relevance have equal scores; elsewhere it is missing, being the same.
        """
        cutoffs = np.arange(1, self.cutoff + 1)
        tied, counted = queries_with_ties(scores, queries.y, queries.offsets), self._counted(queries)
        blocks = []
        for name in self.metrics:
            values = self._measure(name, scores, queries, cutoffs)
            expected = np.full_like(values, np.nan)
            if tied.any():
                rows = np.repeat(tied, queries.sizes)
                expected[tied] = self._measure(name, scores[rows], queries.take(tied), cutoffs, ties="expected")
            ks = cutoffs if metric_named(name).takes_k else [None]
            for k, value, mean in zip(ks, values.T, expected.T, strict=True):
                columns = {**names, "qid": queries.qid, "metric": name, "k": k, "value": value, "expected": mean}
                blocks.append(pd.DataFrame(columns)[counted])
        return pd.concat(blocks, ignore_index=True).astype({"k": "Int64"})

    def _measure(self, name: str, scores: Floats, queries: Queries, cutoffs: Any, ties: str = "file") -> Floats:
        """(n_queries, n_cutoffs)."""
        undefined = 1.0 if self.no_relevant == "one" else 0.0
        options = {"profile": self.profile, "cutoffs": cutoffs, "ties": ties, "undefined": undefined}
        return measure(name, scores, queries.y, queries.offsets, **options)

    def _counted(self, queries: Queries) -> NDArray[np.bool_]:
        """Queries that are not left out, (n_queries,)."""
        if self.no_relevant != "skip":
            return np.ones(queries.n_queries, dtype=bool)
        best = np.maximum.reduceat(queries.y, queries.offsets[:-1])
        return best >= profile_named(self.profile).relevant_from


def evaluate_folds(
    trials: Sequence[str | Path],
    *,
    data: str | Path,
    evaluation: Evaluation,
    folds: Sequence[int],
    facts: Mapping[str, Any],
) -> None:
    """Evaluate the trials file of each fold; the result files lie beside it."""
    for fold, path in zip(folds, trials, strict=True):
        vali, test = load_split(data, fold, "vali"), load_split(data, fold, "test")
        evaluate_fold(SavedTrials(path), vali, test, evaluation, Path(path).parent, {**facts, "fold": fold})


def evaluate_fold(
    trials: SavedTrials,
    vali: Queries,
    test: Queries,
    evaluation: Evaluation,
    folder: str | Path,
    facts: Mapping[str, Any],
) -> None:
    """Write model.joblib, fit.json, scores.test.csv, run.trec, trials.csv and per_query.csv into `folder`.

    `facts` (dataset, method, fold, ranker, train_on) become columns of the tables and entries of fit.json.
    """
    _check_sizes(trials, vali, test)
    folder = Path(folder)
    validation = [evaluation.selection_value(scores, vali) for scores in trials.vali]
    best = best_trial(validation)
    scores, names = trials.test[best], {key: facts[key] for key in ("dataset", "method", "fold")}

    with atomic_path(folder / "model.joblib") as temporary:
        temporary.write_bytes(trials.model_bytes(best))
    extra = {"ranker": facts["ranker"], "train_on": facts["train_on"], "validation": validation[best]}
    write_json(folder / "fit.json", {**trials.fits[best], **names, **extra, "select_on": evaluation.select_on})
    write_text(folder / "run.trec", trec_run(scores, test, tag=facts["method"]))
    write_table(_scores_table(scores, test), folder / "scores.test.csv")
    write_table(evaluation.per_query(scores, test, names), folder / "per_query.csv")
    write_table(_trials_table(trials, validation, test, evaluation, names), folder / "trials.csv")


def trec_run(scores: Floats, queries: Queries, *, tag: str) -> str:
    """A TREC run file: lines ``qid Q0 docid rank score tag``, best first, equal scores in file order.

    The score written is the number of documents ranked at or below, not the model's: readers that keep scores in
    single precision would turn a small difference into a tie.
    """
    query = query_of_docs(queries.offsets)
    order = np.lexsort((-scores, query))
    rank = np.arange(queries.n_docs) - queries.offsets[query] + 1
    left = queries.sizes[query] - rank + 1
    docid = queries.docid[order]
    return "".join(f"{queries.qid[q]} Q0 {docid[row]} {rank[row]} {left[row]} {tag}\n" for row, q in enumerate(query))


def _scores_table(scores: Floats, test: Queries) -> pd.DataFrame:
    return pd.DataFrame({"qid": test.qid_of_docs, "docid": test.docid, "relevance": test.y, "score": scores})


def _trials_table(
    trials: SavedTrials,
    validation: Sequence[float],
    test: Queries,
    evaluation: Evaluation,
    names: Mapping[str, Any],
) -> pd.DataFrame:
    best = best_trial(validation)
    rows = [
        {
            **names,
            "trial": number,
            "params": params_text(fit["params"]),
            "selected": "true" if number == best else "false",
            "converged": "true" if fit["converged"] else "false",
            "relative_gap": fit["relative_gap"],
            "select_on": evaluation.select_on,
            "validation": validation[number],
            "test": evaluation.selection_value(trials.test[number], test),
        }
        for number, fit in enumerate(trials.fits)
    ]
    return pd.DataFrame(rows)


def _check_sizes(trials: SavedTrials, vali: Queries, test: Queries) -> None:
    if trials.vali.shape[1] != vali.n_docs or trials.test.shape[1] != test.n_docs:
        raise InputError(
            f"the trials score {trials.vali.shape[1]} validation and {trials.test.shape[1]} test documents, but the "
            f"prepared data has {vali.n_docs} and {test.n_docs}: delete the trials file and run again"
        )
