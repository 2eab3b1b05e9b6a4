"""The job that draws the derived queries of a data set, once for all methods that train on them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from letorlab.atomic import write_json
from letorlab.prepared import load_split
from letorlab.resample import resample

log = logging.getLogger(__name__)


def derive_folds(
    data: str | Path, folder: str | Path, *, folds: Sequence[int], copies: int, max_documents: int, seed: int
) -> None:
    """Write ``fold<k>.npz`` (row numbers, see `letorlab.resample.Derived`) and ``fold<k>.card.json`` for each fold."""
    for fold in folds:
        train = load_split(data, fold, "train")
        derived, card = resample(train, copies=copies, max_documents=max_documents, seed=seed)
        derived.save(Path(folder) / f"fold{fold}.npz")
        write_json(Path(folder) / f"fold{fold}.card.json", {"fold": fold, **card})
        log.info("fold %d: %d derived queries", fold, card["derived_queries"])
