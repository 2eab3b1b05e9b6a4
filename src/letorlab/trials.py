"""The file that a fit leaves for the evaluation: all trials of one method on one fold.

A zip, so that the evaluation can copy the selected model out of it without loading it: it needs neither the
libraries of the method, nor to execute a pickle.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from letorlab.atomic import atomic_path
from letorlab.queries import Floats
from letorlab.tuning import Trial

SPLITS = ("vali", "test")


def save_trials(path: str | Path, trials: Iterable[Trial]) -> None:
    """Write trials as they come, whole or not at all."""
    fits: list[dict[str, Any]] = []
    scores: dict[str, list[Floats]] = {split: [] for split in SPLITS}
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for number, trial in enumerate(trials):
            with file.open(f"model.{number}.joblib", "w") as member:
                joblib.dump(trial.model, member)
            fits.append(trial.fit)
            for split in SPLITS:
                scores[split].append(getattr(trial, split))
        file.writestr("fits.json", json.dumps(fits, allow_nan=False))
        for split in SPLITS:
            with file.open(f"{split}.npy", "w", force_zip64=True) as member:
                np.save(member, np.stack(scores[split]), allow_pickle=False)


class SavedTrials:
    """What `save_trials` wrote.

    Attributes
    ----------
    fits : list of dict
        One fit record a trial, in grid order.
    vali, test : (n_trials, n_docs) float64
        Scores.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        with zipfile.ZipFile(path) as file:
            self.fits: list[dict[str, Any]] = json.loads(file.read("fits.json"))
            self.vali, self.test = (
                np.load(io.BytesIO(file.read(f"{split}.npy")), allow_pickle=False) for split in SPLITS
            )

    def model_bytes(self, trial: int) -> bytes:
        """The joblib file of a trial's model."""
        with zipfile.ZipFile(self._path) as file:
            return file.read(f"model.{trial}.joblib")
