"""Derived queries: every training query resampled, document by document, as for SinkProp.

Adams and Zemel, "Ranking via Sinkhorn Propagation", train on 20 derived queries per training query: documents
drawn with replacement, their number Poisson with a mean set by the size of the query, 200 at most. Three
things that the paper leaves open are set here: the mean is min(J, max_documents) for J documents; a query
without relevant document gives none, since no ranking of it is better than another; and every derived query
has a relevant document.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from letorlab.atomic import atomic_path
from letorlab.errors import InputError
from letorlab.queries import RELEVANT, Ints, Queries, Text, offsets_from_sizes
from letorlab.seeds import Seed, stream

TRIES = 100  # draws of one derived query before a relevant document is put in


@dataclass(frozen=True)
class Derived:
    """Derived queries as row numbers, many times smaller than their features.

    Parameters
    ----------
    rows : (n_derived_docs,) int64
        Rows of the training queries, derived query after derived query.
    offsets : (n_derived + 1,) int64
        Derived query d holds ``rows[offsets[d]:offsets[d + 1]]``.
    qid : (n_derived,) str
        ``<qid>~<copy>``, with copies 1, 2, ...
    source : str
        Fingerprint of the training queries that `rows` counts in.
    """

    rows: Ints
    offsets: Ints
    qid: Text
    source: str

    def apply(self, train: Queries) -> Queries:
        """The derived queries with their features and labels; docid ``<docid>~<draw>``, draws 1, 2, ...

        Raises
        ------
        InputError
            If `train` differs in a qid, size, label or docid from what the queries were drawn from. Its
            features may differ: they may have been scaled since.
        """
        if _fingerprint(train) != self.source:
            raise InputError(
                f"these derived queries were drawn from other training queries than the {train.n_queries} "
                f"given ({train.n_docs} documents): qids, sizes, labels or docids differ; draw them again"
            )
        draws = np.concatenate([np.arange(1, size + 1) for size in np.diff(self.offsets)])
        ids = zip(train.docid[self.rows].tolist(), draws.tolist(), strict=True)
        return Queries(
            X=train.X[self.rows],
            y=train.y[self.rows],
            offsets=self.offsets,
            qid=self.qid,
            docid=np.array([f"{docid}~{draw}" for docid, draw in ids]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an ``.npz`` without pickle, whole or not at all, the same bytes every time."""
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, rows=self.rows, offsets=self.offsets, qid=self.qid, source=np.array(self.source))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Derived:
        """Read what `save` wrote; nothing in the file is executed."""
        with np.load(path, allow_pickle=False) as file:
            return cls(file["rows"], file["offsets"], file["qid"], str(file["source"]))


def resample(train: Queries, *, copies: int, max_documents: int, seed: Seed) -> tuple[Derived, dict[str, Any]]:
    """Draw `copies` derived queries from every query that has a relevant document.

    A derived query of a query with J documents has Poisson(min(J, max_documents)) of them, clipped to
    [2, max_documents], drawn uniformly with replacement. A draw without relevant document is repeated at the
    same size; if `TRIES` draws had none, one relevant document replaces one document, both chosen uniformly.

    Every query has a random stream of its own, from `seed` and its qid: it gives the same derived queries in
    every fold and in any order of the queries.

    Parameters
    ----------
    train : Queries
        Training queries.
    copies : int
        Derived queries per query, at least 1.
    max_documents : int
        Most documents in a derived query, at least 2.
    seed : int, str or sequence of them
        Names the random streams.

    Returns
    -------
    derived : Derived
        Row numbers, in the order of `train`.
    card : dict
        What was done, fit for JSON: ``queries``, ``skipped`` (without relevant document) and their
        ``skipped_qids``, ``derived_queries``, ``derived_documents``, ``redraws`` (draws thrown away),
        ``forced`` (documents put in), ``sizes`` (min, mean, max), ``relevant_before`` and ``relevant_after``
        (shares of the documents), ``copies``, ``max_documents``, ``seed``.

    Raises
    ------
    InputError
        If no query has a relevant document, or a number is too small.
    """
    _check_arguments(copies, max_documents)
    draws: list[_Draw] = []
    names: list[str] = []
    skipped: list[str] = []
    for qid, (start, end) in zip(train.qid.tolist(), pairwise(train.offsets.tolist()), strict=True):
        relevant = np.flatnonzero(train.y[start:end] >= RELEVANT)
        if not len(relevant):
            skipped.append(qid)
            continue
        rng = stream(seed, "resample", qid)
        for copy in range(1, copies + 1):
            draw = _draw(rng, end - start, relevant, max_documents)
            draws.append(draw._replace(rows=draw.rows + start))
            names.append(f"{qid}~{copy}")
    if not draws:
        raise InputError(
            f"none of the {train.n_queries} training queries has a relevant document (label >= 1): "
            "nothing can be derived; train on the original queries or check the labels"
        )
    rows = np.concatenate([draw.rows for draw in draws])
    offsets = offsets_from_sizes([len(draw.rows) for draw in draws])
    derived = Derived(rows, offsets, np.array(names), _fingerprint(train))
    asked: dict[str, Any] = {"copies": copies, "max_documents": max_documents, "seed": seed}
    return derived, asked | _card(train, derived, draws, skipped)


class _Draw(NamedTuple):
    rows: Ints
    redraws: int
    forced: bool


def _draw(rng: np.random.Generator, n_docs: int, relevant: Ints, max_documents: int) -> _Draw:
    """One derived query of a query with rows 0..n_docs - 1, of which `relevant` are."""
    size = int(np.clip(rng.poisson(min(n_docs, max_documents)), 2, max_documents))
    is_relevant = np.zeros(n_docs, dtype=bool)
    is_relevant[relevant] = True
    for redraws in range(TRIES):
        rows = rng.integers(n_docs, size=size)
        if is_relevant[rows].any():
            return _Draw(rows, redraws, forced=False)
    rows[rng.integers(size)] = rng.choice(relevant)
    return _Draw(rows, TRIES - 1, forced=True)


def _card(train: Queries, derived: Derived, draws: list[_Draw], skipped: list[str]) -> dict[str, Any]:
    sizes = np.diff(derived.offsets)
    return {
        "queries": train.n_queries,
        "skipped": len(skipped),
        "skipped_qids": skipped,
        "derived_queries": len(sizes),
        "derived_documents": len(derived.rows),
        "redraws": sum(draw.redraws for draw in draws),
        "forced": sum(draw.forced for draw in draws),
        "sizes": {"min": int(sizes.min()), "mean": float(sizes.mean()), "max": int(sizes.max())},
        "relevant_before": float(np.mean(train.y >= RELEVANT)),
        "relevant_after": float(np.mean(train.y[derived.rows] >= RELEVANT)),
    }


def _check_arguments(copies: int, max_documents: int) -> None:
    if copies < 1:
        raise InputError(f"copies must be at least 1; got {copies}")
    if max_documents < 2:
        raise InputError(f"max_documents must be at least 2, to have a pair; got {max_documents}")


def _fingerprint(train: Queries) -> str:
    """Of everything but the features: they may be scaled without the rows losing their meaning."""
    digest = hashlib.sha256()
    for values in (train.offsets.astype("<i8"), train.y.astype("<f8")):
        digest.update(values.tobytes())
    for names in (train.qid, train.docid):
        digest.update("\n".join(names.tolist()).encode("utf-8", "surrogatepass") + b"\n\n")
    return digest.hexdigest()
