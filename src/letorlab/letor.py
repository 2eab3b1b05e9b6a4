"""Read and write LETOR text, the format of LETOR 3.0 and 4.0: one document a line.

::

    <label> qid:<id> 1:<value> 2:<value> ... #docid = <id>

- A query is a run of lines with one qid; queries keep the order of the file. Qid and docid are text.
- Feature numbers start at 1. They may come in any order; an absent feature is 0.
- The docid is read from ``docid = <id>``; what follows it, as in LETOR 4.0, is not. Without one, the docid is
  the document's position in its query: 1, 2, ...
- Line ends may be LF, CRLF or CR; a byte-order mark, blank lines and lines that start with ``#`` are skipped.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from letorlab.atomic import atomic_path
from letorlab.errors import InputError
from letorlab.layout import readable
from letorlab.letor_line import (
    WIDEST,
    dense_line,
    dense_values,
    docid_of,
    exact_values,
    feature_names,
    head,
    sparse_values,
)
from letorlab.normalise import fill_nulls
from letorlab.queries import Floats, Queries, offsets_from_sizes

Source = str | os.PathLike[str] | zipfile.Path | BinaryIO

NULLS = ("refuse", "query_min")

_QID_TEXT = re.compile(r"[^\s#\0\ud800-\udfff]+")
_DOCID_TEXT = re.compile(r"[^\s\0\ud800-\udfff]+")


def read_letor(
    source: Source,
    *,
    n_features: int | None = None,
    name: str | None = None,
    null: str = "refuse",
    null_zero: Sequence[int] = (),
) -> Queries:
    """Read a LETOR file; only the matrix is held in memory, never the text.

    Parameters
    ----------
    source : path, `zipfile.Path` or open binary file
        Read from where it stands; a file that the caller opened stays open.
    n_features : int, optional
        Columns of the result, the same for every file of a data set; without it, the highest number in the
        file, which another file of the set may not reach.
    name : str, optional
        What errors call the file; its path by default.
    null : {"refuse", "query_min"}
        What the token NULL of Feature-null files is: an error, or the least value of its feature in the query.
    null_zero : sequence of int
        Numbers of the features whose NULL is 0 instead, see `letorlab.normalise.fill_nulls`.

    Returns
    -------
    Queries
        ``X`` is (n_docs, n_features).

    Raises
    ------
    InputError
        If the file cannot be read, holds no document, or a line is not as described above; the message begins
        with file and line. Refused are, among others: a line without qid, a qid whose lines do not stand
        together, a docid twice in a query, a feature twice in a line or out of 1..n_features, a label that is
        negative or no number, and a value that is NULL, NaN, infinite, too large for a float, or cut off.
    """
    name = name or str(
        source if isinstance(source, str | os.PathLike | zipfile.Path) else getattr(source, "name", "the file")
    )
    if null not in NULLS:
        raise InputError(f"null must be one of {', '.join(NULLS)}; got {null!r}")
    if n_features is not None and n_features < 1:
        raise InputError(f"n_features must be at least 1; got {n_features}")
    with _opened(source, name) as binary, _as_text(binary) as lines:
        table = _read(lines, name, n_features, null == "query_min")
    if not table.labels:
        raise InputError(f"no documents in {name}: it is empty or all comments; fetch or copy it again")
    if not table.width:
        raise InputError(f"no features in {name}: lines need <feature>:<value> after the qid")
    return table.queries(null_zero if null == "query_min" else None)


def write_letor(queries: Queries, path: str | os.PathLike[str]) -> None:
    """Write LETOR text that `read_letor` reads back exactly, whole or not at all; LF line ends.

    Raises
    ------
    InputError
        If a qid or docid cannot stand in a line, a docid stands twice in its query, or a label is negative.
    """
    _check_writable(queries)
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_lines(queries))


@dataclass
class _Table:
    """What has been read so far. A block is a run of rows of one width; a file has one, as a rule."""

    width: int
    labels: array[float] = field(default_factory=lambda: array("d"))
    docids: list[str] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)  # qid -> its first row
    blocks: list[tuple[int, array[float]]] = field(default_factory=list)

    def append(self, values: list[float]) -> None:
        if not self.blocks or self.blocks[-1][0] != len(values) or not values:
            self.blocks.append((len(values), array("d")))
        self.blocks[-1][1].fromlist(values)

    def queries(self, null_zero: Sequence[int] | None) -> Queries:
        X, offsets = self._matrix(), offsets_from_sizes(np.diff([*self.starts.values(), len(self.labels)]))
        if null_zero is not None:
            fill_nulls(X, offsets, zero=null_zero)
        return Queries(
            X=X,
            y=np.frombuffer(self.labels),
            offsets=offsets,
            qid=np.array(list(self.starts)),
            docid=np.array(self.docids),
        )

    def _matrix(self) -> Floats:
        if len(self.blocks) == 1:
            return np.frombuffer(self.blocks[0][1]).reshape(-1, self.width)
        X, row = np.zeros((len(self.labels), self.width)), 0
        for width, values in self.blocks:
            n_rows = len(values) // width if width else 1  # a row without any feature is a block of its own
            X[row : row + n_rows, :width] = np.reshape(values, (n_rows, width))
            row += n_rows
        return X


def _read(lines: Iterable[str], name: str, n_features: int | None, nulls: bool) -> _Table:
    table = _Table(width=n_features or 0)
    dense = dense_line(table.width)
    columns = {name: feature for feature, name in enumerate(feature_names(n_features or WIDEST), 1)}
    qid, last = None, 0  # the present query, and the line of its last document
    seen: dict[str, int] = {}  # its docids, with their lines
    for number, line in enumerate(lines, 1):
        body, _, comment = line.partition("#")
        if not body or body.isspace():
            continue
        try:
            label, this_qid, features = head(body)
            if this_qid != qid:
                _check_new_query(this_qid, table.starts, number, last)
                qid, seen = this_qid, {}
                table.starts[qid] = len(table.labels)
            docid = docid_of(comment) or str(len(seen) + 1)
            if seen.setdefault(docid, number) != number:
                raise InputError(f"docid {docid} of query {qid} stands on line {seen[docid]} too; remove one")
            values = dense_values(features, dense)
            if values is None:
                given = sparse_values(features, columns) or exact_values(features.split(), n_features, nulls)
                if max(given, default=0) > table.width:
                    table.width = max(given)
                    if len(given) == table.width:  # sparse lines would not profit
                        dense = dense_line(table.width)
                values = list(map(given.get, range(1, table.width + 1), repeat(0.0)))
        except InputError as error:
            raise InputError(f"{name}, line {number}: {error}") from None
        table.labels.append(label)
        table.docids.append(docid)
        table.append(values)
        last = number
    return table


def _check_new_query(qid: str, starts: dict[str, int], number: int, last: int) -> None:
    if qid in starts:
        raise InputError(
            f"qid {qid} is not contiguous at line {number}: other queries stand between its lines, up to "
            f"line {last}; put the lines of each query together"
        )


@contextmanager
def _opened(source: Source, name: str) -> Iterator[BinaryIO]:
    with readable(name):
        try:
            if isinstance(source, zipfile.Path):
                with source.open("rb") as member:
                    yield cast(BinaryIO, member)
            elif isinstance(source, str | os.PathLike):
                with Path(source).open("rb") as file:
                    yield file
            else:
                yield source
        except OSError as error:
            reason = error.strerror or "no such file"
            raise InputError(f"{name}: cannot be read ({reason}); a LETOR text file is needed") from error


@contextmanager
def _as_text(binary: BinaryIO) -> Iterator[io.TextIOWrapper]:
    """Lines with any line end; bytes that are not UTF-8 (in a docid) become a backslash and their code."""
    text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline=None, errors="backslashreplace")
    try:
        yield text
    finally:
        text.detach()  # else the wrapper, when collected, would close the caller's file


def _lines(queries: Queries) -> Iterator[str]:
    names = feature_names(queries.n_features)
    for qid, (start, end) in zip(queries.qid, pairwise(queries.offsets), strict=True):
        for row in range(start, end):
            values = zip(names, queries.X[row].tolist(), strict=True)
            features = " ".join(f"{name}:{value!r}" for name, value in values)
            yield f"{_label_text(float(queries.y[row]))} qid:{qid} {features} #docid = {queries.docid[row]}\n"


def _label_text(label: float) -> str:
    return str(int(label)) if label.is_integer() and label < 1e15 else repr(label)


def _check_writable(queries: Queries) -> None:
    for kind, names, legal in (("qid", queries.qid, _QID_TEXT), ("docid", queries.docid, _DOCID_TEXT)):
        for text in names.tolist():
            if not legal.fullmatch(text):
                raise InputError(f"{kind} {text!r} cannot be written: it must be text without blanks or '#'")
    if (queries.y < 0).any():
        raise InputError(f"label {queries.y.min()} cannot be written: grades start at 0")
    for qid, (start, end) in zip(queries.qid, pairwise(queries.offsets), strict=True):
        if len(set(queries.docid[start:end].tolist())) < end - start:
            raise InputError(f"query {qid} holds a docid twice and could not be read again; rename one")
