"""What `letorlab.prepare` wrote, for the jobs that come after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from letorlab.atomic import read_json
from letorlab.errors import InputError
from letorlab.layout import SPLITS
from letorlab.normalise import load_scaled
from letorlab.queries import Queries

SCALING = "fold{}.scaling.npz"  # beside the parts, where a normalisation depends on the fold


def load_split(folder: str | Path, fold: int, split: str) -> Queries:
    """Documents of one split of one fold, with the scaling of its training documents if the data set asks for it.

    Parameters
    ----------
    folder : path
        The prepared data set: ``results/<study>/data/<dataset>``.
    fold : int
    split : {"train", "vali", "test"}

    Raises
    ------
    InputError
        If the data set has no such fold or split.
    """
    folds = read_json(Path(folder) / "folds.json")
    if str(fold) not in folds:
        raise InputError(
            f"{folder} has no fold {fold}, only {', '.join(sorted(folds, key=int))}; "
            "name those under `folds:` in the configuration"
        )
    if split not in SPLITS:
        raise InputError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    queries = Queries.concatenate([load_part(folder, part) for part in folds[str(fold)][split]])
    return load_scaled(queries, Path(folder) / "parts" / SCALING.format(fold))


def load_part(folder: str | Path, part: str) -> Queries:
    """Documents of one part."""
    return Queries.load(Path(folder) / "parts" / f"{part}.npz")


def load_card(folder: str | Path) -> dict[str, Any]:
    """The data card: counts, digests and the metric profile (see `letorlab.card`)."""
    path = Path(folder) / "card.json"
    if not path.exists():
        raise InputError(f"{path} does not exist; prepare the data set first")
    card: dict[str, Any] = read_json(path)
    return card
