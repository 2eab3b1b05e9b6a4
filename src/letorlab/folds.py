"""How a data set falls into parts and folds.

Five parts S1..S5 make five folds by rotation: Fold1 trains on S1, S2, S3, validates on S4 and tests on S5;
Fold2 trains on S2, S3, S4, validates on S5 and tests on S1; and so on. Where only Fold folders are given, the
test files are the parts if this structure holds; otherwise every distinct file is a part of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from letorlab.errors import InputError
from letorlab.layout import SPLITS, Layout
from letorlab.queries import Queries, Text

Folds = dict[int, dict[str, list[str]]]  # fold -> split -> names of parts
ReadText = Callable[[str], Iterator[bytes]]


@dataclass(frozen=True)
class Plan:
    """What to read and how it makes folds.

    Parameters
    ----------
    parts : dict
        Name of a part -> role of the file that holds it.
    folds : dict
        Fold -> split -> names of the parts, in order.
    unequal : list of (fold, split)
        Fold files whose text is not that of their parts: they have to be compared after reading.
    """

    parts: dict[str, str]
    folds: Folds
    unequal: list[tuple[int, str]]


def make_plan(layout: Layout, text_digest: Mapping[str, str], read_text: ReadText) -> Plan:
    """Decide what the parts are.

    Parameters
    ----------
    layout : Layout
        The files that are there.
    text_digest : mapping
        Role of a file -> sha256 of its text (`letorlab.verify.text_pieces`).
    read_text : callable
        Role of a file -> that text, a piece at a time.

    Raises
    ------
    InputError
        If there are neither five parts nor a fold.
    """
    if len(layout.parts) == 5:
        parts = {f"S{number}": f"S{number}" for number in layout.parts}
        return Plan(parts, rotation(), _unequal(layout, parts, text_digest, read_text))
    if not layout.folds:
        found = ", ".join(f"S{number}" for number in layout.parts) or "none of them"
        raise InputError(f"needed: Fold1/train.txt, vali.txt, test.txt, ... or S1.txt to S5.txt; found: {found}")
    if set(layout.folds) == set(range(1, 6)):
        parts = {folds["test"][0]: f"Fold{fold}/test" for fold, folds in rotation().items()}
        if not _unequal(layout, parts, text_digest, read_text):
            return Plan(dict(sorted(parts.items())), rotation(), [])
    return _distinct_files(layout, text_digest)


def rotation() -> Folds:
    """The five folds of S1..S5."""
    names = [f"S{number}" for number in range(1, 6)]
    turned = {fold: names[fold - 1 :] + names[: fold - 1] for fold in range(1, 6)}
    return {fold: {"train": n[:3], "vali": n[3:4], "test": n[4:]} for fold, n in turned.items()}


def check_disjoint(folds: Folds, qids: Mapping[str, Text]) -> None:
    """Refuse folds in which a query stands twice: it would be trained and tested on.

    Parameters
    ----------
    folds : dict
    qids : mapping
        Name of a part -> its query identifiers (n_queries,).

    Raises
    ------
    InputError
        Naming the fold, the splits and the query.
    """
    for fold, by_split in folds.items():
        seen: dict[str, str] = {}
        for split in SPLITS:
            for qid in (qid for part in by_split[split] for qid in qids[part].tolist()):
                if qid in seen:
                    raise InputError(
                        f"Fold{fold}: query {qid} stands in {seen[qid]} and in {split}; train, vali and test "
                        "of a fold must share no query, or the test measures what was trained on"
                    )
                seen[qid] = split


def check_repeats(files: Mapping[str, Queries]) -> None:
    """Refuse a query that is not the same in every file that holds it, as folds of one data set have it.

    Parameters
    ----------
    files : mapping
        Role of a file -> its queries.

    Raises
    ------
    InputError
        Naming two files and the query.
    """
    first: dict[str, tuple[str, Queries, slice]] = {}
    for role, queries in files.items():
        for qid, start, stop in zip(queries.qid.tolist(), queries.offsets, queries.offsets[1:], strict=False):
            there, other, rows = first.setdefault(qid, (role, queries, slice(start, stop)))
            if there != role and not _same_rows(queries, slice(start, stop), other, rows):
                raise InputError(
                    f"query {qid} has other documents, features or labels in {role} than in {there}: "
                    "one of the two files is not the original; copy the data set again"
                )


def _same_rows(one: Queries, here: slice, other: Queries, there: slice) -> bool:
    return all(np.array_equal(getattr(one, key)[here], getattr(other, key)[there]) for key in ("X", "y", "docid"))


def _unequal(
    layout: Layout,
    parts: Mapping[str, str],
    text_digest: Mapping[str, str],
    read_text: ReadText,
) -> list[tuple[int, str]]:
    """Fold files that are not, byte for byte, their parts one after another."""
    if not layout.folds:
        return []
    return [
        (fold, split)
        for fold in layout.folds
        for split in SPLITS
        if text_digest[f"Fold{fold}/{split}"]
        != _digest_of(piece for part in _rotated(fold, split) for piece in read_text(parts[part]))
    ]


def _rotated(fold: int, split: str) -> list[str]:
    folds = rotation()
    if fold not in folds:
        raise InputError(f"S1..S5 make five folds, but there is a Fold{fold} beside them; remove one or the other")
    return folds[fold][split]


def _digest_of(pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _distinct_files(layout: Layout, text_digest: Mapping[str, str]) -> Plan:
    names: dict[str, str] = {}  # digest -> name of the part
    parts: dict[str, str] = {}
    folds: Folds = {fold: {split: [] for split in SPLITS} for fold in layout.folds}
    for fold, by_split in folds.items():
        for split in SPLITS:
            role = f"Fold{fold}/{split}"
            name = names.setdefault(text_digest[role], role.replace("/", "."))
            parts.setdefault(name, role)
            by_split[split].append(name)
    return Plan(parts, folds, [])
