"""One fit job: a method's whole grid on a group of folds."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from letorlab.prepared import load_split
from letorlab.queries import Queries
from letorlab.rankers.protocol import Ranker
from letorlab.resample import Derived
from letorlab.trials import save_trials
from letorlab.tuning import fit_grid

log = logging.getLogger(__name__)


def fit_folds(
    cls: type[Ranker],
    trials: Sequence[Mapping[str, Any]],
    *,
    data: str | Path,
    folds: Sequence[int],
    train_on: str,
    seed: int,
    outputs: Sequence[str | Path],
) -> None:
    """Fit all trials on each fold of the prepared data, and write one trials file a fold."""
    for fold, output in zip(folds, outputs, strict=True):
        train = training_queries(data, fold, train_on)
        log.info("fold %d: %d queries, %d documents", fold, train.n_queries, train.n_docs)
        vali, test = load_split(data, fold, "vali"), load_split(data, fold, "test")
        save_trials(output, fit_grid(cls, trials, train, vali, test, seed=seed))


def training_queries(data: str | Path, fold: int, train_on: str) -> Queries:
    """The training queries of a fold, as they are (`original`) or Poisson-resampled (`derived`)."""
    train = load_split(data, fold, "train")
    if train_on == "original":
        return train
    return Derived.load(Path(data) / "derived" / f"fold{fold}.npz").apply(train)
