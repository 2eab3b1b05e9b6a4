"""Is a copy of a data set the original? By known digests, otherwise by counts, recorded for the next time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from letorlab.atomic import read_json, write_json
from letorlab.datasets import Counts, Dataset
from letorlab.errors import InputError
from letorlab.layout import Root

Read = Callable[[], Iterator[bytes]]  # reads a file from its beginning, a piece at a time


@dataclass(frozen=True)
class Digests:
    """Digests of a file: sha256 and git blob hash, of its bytes and of its bytes with LF line ends.

    `text` is the sha256 with LF line ends and a line end after the last line: the one that concatenates.
    """

    sha256: str
    sha256_lf: str
    git: str
    git_lf: str
    text: str

    @classmethod
    def of(cls, read: Read) -> Digests:
        """Of the file that `read()` gives piece by piece; it is read twice, since git hashes the length first."""
        size, size_lf = _sizes(read())
        whole, lf, git, git_lf = hashlib.sha256(), hashlib.sha256(), _git_blob(size), _git_blob(size_lf)

        def seen() -> Iterator[bytes]:
            for piece in read():
                whole.update(piece)
                git.update(piece)
                yield piece

        end = b"\n"
        for piece in lf_pieces(seen()):
            lf.update(piece)
            git_lf.update(piece)
            end = piece[-1:] or end
        text = lf.copy()
        text.update(b"" if end == b"\n" else b"\n")
        return cls(*(digest.hexdigest() for digest in (whole, lf, git, git_lf, text)))

    def entries(self) -> set[tuple[str, str]]:
        """(kind, digest) as in known_files.txt."""
        return {("sha256", self.sha256), ("sha256", self.sha256_lf), ("git", self.git), ("git", self.git_lf)}


def lf_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a file with CRLF line ends turned into LF."""
    held = b""
    for piece in pieces:
        piece = held + piece
        held = piece[-1:] if piece.endswith(b"\r") else b""  # its LF may begin the next piece
        yield piece.removesuffix(held).replace(b"\r\n", b"\n")
    yield held


def text_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces with LF line ends, ending in one, so that files can be put one after another."""
    end = b"\n"
    for piece in lf_pieces(pieces):
        end = piece[-1:] or end
        yield piece
    if end != b"\n":
        yield b"\n"


@cache
def known_digests() -> dict[tuple[str, str], frozenset[tuple[str, str]]]:
    """(data set, role) -> {(kind, digest)} of the original files."""
    text = resources.files("letorlab").joinpath("known_files.txt").read_text(encoding="utf-8")
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    known: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for name, role, kind, digest in rows:
        known.setdefault((name, role), set()).add((kind, digest))
    return {key: frozenset(entries) for key, entries in known.items()}


def verify_file(name: str, role: str, digests: Digests) -> bool:
    """Whether a file is the original of the data set `name` in its role (``"S1"``, ``"Fold1/train"``)."""
    return bool(known_digests().get((name, role), frozenset()) & digests.entries())


def verify_files(
    dataset: Dataset, paths: Mapping[str, Root], files: Mapping[str, Digests], record: Path | None
) -> dict[str, str]:
    """How each file stands: ``known`` (an original), ``recorded`` (as when its counts agreed) or ``new``.

    Raises
    ------
    InputError
        If a file changed since it was recorded.
    """
    recorded = read_json(record) if record is not None and record.exists() else {}
    status = {}
    for role, digests in files.items():
        if verify_file(dataset.name, role, digests):
            status[role] = "known"
        elif role not in recorded:
            status[role] = "new"
        elif recorded[role] == digests.sha256_lf:
            status[role] = "recorded"
        else:
            raise InputError(
                f"{paths[role]} changed since {dataset.name} was verified: expected sha256 {recorded[role]} "
                f"(with LF line ends), got {digests.sha256_lf}. Put the verified file back; or, if the "
                f"change is wanted, delete {record} and start again"
            )
    return status


def record_path(dataset: Dataset, cache_folder: Path | None) -> Path | None:
    """The file that keeps the digests of a verified copy; one a data set, so that jobs never share it."""
    return cache_folder / "verified" / f"{dataset.name}.json" if cache_folder is not None else None


def write_record(record: Path, files: Mapping[str, Digests]) -> None:
    """Remember files whose counts agreed."""
    if not files:
        return
    recorded = read_json(record) if record.exists() else {}
    write_json(record, recorded | {role: digests.sha256_lf for role, digests in files.items()})


def check_counts(dataset: Dataset, root: Root, found: Counts, features: int) -> None:
    """Compare a copy with the catalogue; `features` is the highest number that its lines name.

    Raises
    ------
    InputError
        If something differs: expected, got, and what to do.
    """
    if dataset.counts is None:
        return
    expected = _facts(dataset.counts, dataset.features)
    got = _facts(found, features)
    wrong = [f"{key}: expected {value}, got {got[key]}" for key, value in expected.items() if got[key] != value]
    if wrong:
        raise InputError(
            f"{root} is not a whole copy of {dataset.title}: {'; '.join(wrong)}. Take the QueryLevelNorm "
            "files of the original archive (LETOR 2.0 has the same names with other data); "
            "a variant of your own goes into the configuration under another name, with `path:`"
        )


def _facts(counts: Counts, features: int | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "queries": counts.queries,
        "documents": counts.documents,
        "features": features,
    }
    return facts | ({"labels": counts.labels} if counts.labels else {})


def _sizes(pieces: Iterable[bytes]) -> tuple[int, int]:
    """Length of a file, and of it with LF line ends."""
    size, crlf, last = 0, 0, b""
    for piece in pieces:
        size += len(piece)
        crlf += piece.count(b"\r\n") + (last == b"\r" and piece.startswith(b"\n"))
        last = piece[-1:]
    return size, size - crlf


def _git_blob(size: int) -> hashlib._Hash:
    """The beginning of what ``git hash-object`` prints, before the content."""
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
