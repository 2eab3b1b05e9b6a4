"""The files of a data set folder, under whatever name they go: Fold<k>/{train,vali,test}, S1..S5, or one fold alone.

A root is a `pathlib.Path`, or a `zipfile.Path` into an archive: both are listed and read in the same way, so
a zip is never unpacked.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from letorlab.errors import InputError

Root = Path | zipfile.Path
SPLITS = ("train", "vali", "test")
PIECE = 1 << 20  # bytes

_SPLIT_NAMES = {
    "train": ("train", "training", "trainset", "trainingset"),
    "vali": ("vali", "val", "valid", "validation", "valiset", "validset", "validationset"),
    "test": ("test", "testing", "testset", "testingset"),
}
_SPLIT_OF = {name: split for split, names in _SPLIT_NAMES.items() for name in names}
_FOLD = re.compile(r"fold[ _-]?0*([1-9]\d*)", re.IGNORECASE)
_PART = re.compile(r"s([1-5])\.txt", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """Files of a data set: `parts` by number (S1..S5), `folds` by number and split."""

    parts: dict[int, Root]
    folds: dict[int, dict[str, Root]]

    def __bool__(self) -> bool:
        return bool(self.parts or self.folds)

    def files(self) -> dict[str, Root]:
        """Every file by its role, ``"S1"`` or ``"Fold1/train"``, in order."""
        parts = {f"S{number}": path for number, path in self.parts.items()}
        return parts | {f"Fold{fold}/{split}": path for fold, by in self.folds.items() for split, path in by.items()}


def fold_files(root: Root) -> Layout:
    """Find Fold1, Fold2, ... with their three files, and S1..S5, directly under `root`.

    Letter case does not matter; train may be called trainset or trainingset, vali validationset, and so on. Where
    neither is there, the three files in `root` itself are Fold1, also as Yahoo's set1.train.txt.

    Raises
    ------
    InputError
        If two files have the same role, or a fold lacks a file.
    """
    parts: dict[int, Root] = {}
    folds: dict[int, dict[str, Root]] = {}
    for entry in children(root):
        if (match := _PART.fullmatch(entry.name)) and entry.is_file():
            _check_new(int(match[1]) in parts, entry, f"S{match[1]}")
            parts[int(match[1])] = entry
        elif (match := _FOLD.fullmatch(entry.name)) and entry.is_dir():
            _check_new(int(match[1]) in folds, entry, f"Fold{match[1]}")
            folds[int(match[1])] = _splits(entry)
    if not parts and not folds and (alone := _splits(root)):
        folds[1] = alone
    for fold, by_split in folds.items():
        _check_complete(root, fold, by_split)
    return Layout(dict(sorted(parts.items())), dict(sorted(folds.items())))


def holds_data(folder: Root) -> bool:
    """Whether a Fold folder, one of S1..S5, or a train and a test file lie in `folder`; looks at names only."""
    entries = children(folder)
    return any(
        (_PART.fullmatch(entry.name) and entry.is_file()) or (_FOLD.fullmatch(entry.name) and entry.is_dir())
        for entry in entries
    ) or {"train", "test"} <= {_split_of(entry.name) for entry in entries}


def children(folder: Root) -> list[Root]:
    """Entries of a folder by name, without hidden ones and what macOS adds to archives; [] if unreadable."""
    try:
        entries: list[Root] = list(folder.iterdir())
    except (OSError, ValueError):
        return []
    seen = [entry for entry in entries if not entry.name.startswith((".", "__MACOSX"))]
    return sorted(seen, key=lambda entry: entry.name)


def read_pieces(path: Root) -> Iterator[bytes]:
    """The bytes of a file, on disk or in a zip, a piece at a time; what cannot be read is an `InputError`."""
    with readable(path):
        try:
            with path.open("rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


@contextmanager
def readable(path: Root | str) -> Iterator[None]:
    """Turn what a damaged or locked archive raises into an `InputError` that names `path`."""
    try:
        yield
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path}: the zip archive is damaged ({error}); fetch or copy it again") from error
    except NotImplementedError as error:
        raise InputError(f"{path}: packed in a way not supported here ({error}); unpack it by hand") from error
    except RuntimeError as error:  # zipfile's word for a password
        raise InputError(f"{path}: cannot be read ({error}); unpack it by hand") from error


def _splits(folder: Root) -> dict[str, Root]:
    found: dict[str, Root] = {}
    for entry in children(folder):
        split = _split_of(entry.name)
        if split and entry.is_file():
            _check_new(split in found, entry, f"the {split} file")
            found[split] = entry
    return {split: found[split] for split in SPLITS if split in found}


def _split_of(name: str) -> str | None:
    """``"trainingset.TXT"`` and ``"set1.train.txt"`` -> ``"train"``; None for a file of no split."""
    stem, _, suffix = name.lower().rpartition(".")
    return _SPLIT_OF.get(re.sub(r"^set\d|[ ._-]", "", stem)) if suffix == "txt" else None


def _check_new(taken: bool, entry: Root, role: str) -> None:
    if taken:
        raise InputError(f"{entry}: a second file or folder for {role}; leave only one of them there")


def _check_complete(root: Root, fold: int, by_split: dict[str, Root]) -> None:
    missing = [split for split in SPLITS if split not in by_split]
    if missing:
        found = ", ".join(path.name for path in by_split.values()) or "none of them"
        raise InputError(
            f"{root}: Fold{fold} holds no file for {', '.join(missing)}; "
            f"a fold needs train.txt, vali.txt and test.txt (found: {found})"
        )
