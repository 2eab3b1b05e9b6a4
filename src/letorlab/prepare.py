"""From the files of a data set to parts, folds and a data card. The text is parsed once, here."""

from __future__ import annotations

import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from letorlab.atomic import write_json
from letorlab.card import counts, make_card
from letorlab.datasets import Dataset
from letorlab.errors import InputError
from letorlab.folds import Plan, check_disjoint, check_repeats, make_plan
from letorlab.layout import Layout, Root, fold_files, read_pieces
from letorlab.letor import read_letor
from letorlab.normalise import fold_scaling, normalised, save_scaling
from letorlab.prepared import SCALING
from letorlab.queries import Queries
from letorlab.toy import write_toy
from letorlab.verify import (
    Digests,
    check_counts,
    record_path,
    text_pieces,
    verify_files,
    write_record,
)

Log = Callable[[str], None]
_LOG = logging.getLogger(__name__)


def prepare(
    dataset: Dataset,
    root: Root | None,
    out_folder: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    folds: Sequence[int] = (),
    seed: int = 1,
    log: Log = _LOG.info,
) -> dict[str, Any]:
    """Write ``parts/<part>.npz``, ``folds.json`` and ``card.json`` of a data set into `out_folder`.

    Parameters
    ----------
    dataset : Dataset
    root : path, on disk or inside a zip, or None
        What `letorlab.sources.require_sources` found; None: toy data, to be made.
    out_folder : path
    cache : path or None
        Where digests of verified copies are kept; None: nowhere.
    folds : sequence of int
        Folds that the study needs.
    seed : int
        Seed, together with the data set's name, of toy data that has none of its own.
    log : callable
        Takes a line of text.

    Returns
    -------
    dict
        The card (see `letorlab.card.make_card`).

    Raises
    ------
    InputError
        If a file cannot be read, the folds and parts disagree, a query stands in two splits of a fold, a
        fold is missing, or the copy is not the data set that its name says.
    """
    with _text(dataset, root, seed) as folder:
        layout = fold_files(folder)
        _log_layout(dataset, folder, layout, log)
        return _prepare(dataset, folder, layout, Path(out_folder), Path(cache) if cache else None, folds, log)


@contextmanager
def _text(dataset: Dataset, root: Root | None, seed: int) -> Iterator[Root]:
    """The folder with the text; toy data is written to a temporary one and goes the same way."""
    if root is not None:
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="letorlab-toy-") as folder:
        # the name goes into the seed, so that two toy sets of a study differ
        write_toy(folder, **({"seed": [seed, dataset.name]} | (dataset.toy or {})))
        yield Path(folder)


def _prepare(
    dataset: Dataset,
    root: Root,
    layout: Layout,
    out: Path,
    cache: Path | None,
    folds: Sequence[int],
    log: Log,
) -> dict[str, Any]:
    paths = layout.files()
    files = {role: Digests.of(partial(read_pieces, path)) for role, path in paths.items()}
    record = record_path(dataset, cache)
    status = verify_files(dataset, paths, files, record)
    plan = _plan(root, layout, files)
    _check_folds(dataset, root, plan, folds)
    known = all(state == "known" for state in status.values())
    parts = _read_parts(dataset, root, plan, paths, known)
    _check_agreement(dataset, plan, paths, parts)
    check_disjoint(plan.folds, {name: part.qid for name, part in parts.items()})
    log(f"{dataset.name}: {_states(status)}" + ("; the counts agree" if dataset.counts and not known else ""))
    parts = _normalised(dataset, root, parts)
    card = make_card(dataset, plan, parts, files, status)
    for name, part in parts.items():
        part.save(out / "parts" / f"{name}.npz")
    if dataset.normalise == "global_standard":
        for fold, by_split in plan.folds.items():
            save_scaling(
                out / "parts" / SCALING.format(fold), fold_scaling([parts[name] for name in by_split["train"]])
            )
    write_json(out / "folds.json", plan.folds)
    write_json(out / "card.json", card)
    if record is not None and dataset.counts is not None:
        write_record(record, {role: files[role] for role in files if status[role] == "new"})
    return card


def _normalised(dataset: Dataset, root: Root, parts: Mapping[str, Queries]) -> dict[str, Queries]:
    try:
        return {name: normalised(part, dataset.normalise, largest=dataset.largest) for name, part in parts.items()}
    except InputError as error:
        raise InputError(f"{root}: {error}") from error


def _log_layout(dataset: Dataset, root: Root, layout: Layout, log: Log) -> None:
    found = [f"S{number}" for number in layout.parts] + [f"Fold{fold}" for fold in layout.folds]
    log(f"{dataset.name}: {root} holds {', '.join(found) or 'no parts and no folds'}")
    if 0 < len(layout.parts) < 5:
        log(f"{dataset.name}: fewer than five of S1..S5, so they are not used")


def _plan(root: Root, layout: Layout, files: Mapping[str, Digests]) -> Plan:
    paths = layout.files()
    try:
        return make_plan(
            layout,
            {role: digests.text for role, digests in files.items()},
            lambda role: text_pieces(read_pieces(paths[role])),
        )
    except InputError as error:
        raise InputError(f"{root}: {error}") from error


def _read_parts(dataset: Dataset, root: Root, plan: Plan, paths: Mapping[str, Root], known: bool) -> dict[str, Queries]:
    """The parts, all of one width; unless their files are `known`, the catalogue's counts must agree."""
    parts = {name: _read(dataset, paths[role]) for name, role in plan.parts.items()}
    width = max(part.n_features for part in parts.values())
    parts = {name: _widen(part, width) for name, part in parts.items()}
    if dataset.counts is not None and not known:
        check_counts(dataset, root, counts(parts), width)
        check_repeats({plan.parts[name]: part for name, part in parts.items()})
    return parts


def _read(dataset: Dataset, path: Root) -> Queries:
    # where the catalogue has counts, the width of the files is checked with them: LETOR 2.0 is narrower
    width = None if dataset.counts is not None else dataset.features
    return read_letor(path, n_features=width, null=dataset.null, null_zero=dataset.null_zero)


def _widen(queries: Queries, width: int) -> Queries:
    """Add features that no line of this file names: a feature that is absent is 0."""
    if queries.n_features == width:
        return queries
    return replace(queries, X=np.pad(queries.X, ((0, 0), (0, width - queries.n_features))))


def _check_agreement(dataset: Dataset, plan: Plan, paths: Mapping[str, Root], parts: Mapping[str, Queries]) -> None:
    """Compare, value by value, the fold files that differ in their bytes from S1..S5."""
    for fold, split in plan.unequal:
        path = paths[f"Fold{fold}/{split}"]
        names = plan.folds[fold][split]
        expected = Queries.concatenate([parts[name] for name in names])
        if not _same(_widen(_read(dataset, path), expected.n_features), expected):
            raise InputError(
                f"{path}: Fold{fold} {split} is not {', '.join(names)} one after another, as it must be "
                "where S1..S5 and Fold folders lie side by side; remove the ones that are wrong"
            )


def _same(one: Queries, other: Queries) -> bool:
    return all(np.array_equal(getattr(one, key), getattr(other, key)) for key in ("X", "y", "offsets", "qid", "docid"))


def _check_folds(dataset: Dataset, root: Root, plan: Plan, folds: Sequence[int]) -> None:
    missing = [str(fold) for fold in folds if fold not in plan.folds]
    if missing:
        raise InputError(
            f"{dataset.name}: the study asks for fold {', '.join(missing)}, but {root} makes only "
            f"{', '.join(map(str, plan.folds))}; name those under `folds:` in the configuration"
        )


def _states(status: Mapping[str, str]) -> str:
    numbers = Counter(status.values())
    words = {"known": "known originals", "recorded": "as recorded", "new": "without known digest"}
    return ", ".join(f"{numbers[state]} files {text}" for state, text in words.items() if numbers[state])
