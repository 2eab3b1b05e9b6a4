"""The data card: what a prepared data set holds, in numbers that can be checked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from letorlab.datasets import Counts, Dataset
from letorlab.folds import Plan
from letorlab.profiles import profile_named
from letorlab.queries import Floats, Ints, Queries
from letorlab.verify import Digests


def make_card(
    dataset: Dataset,
    plan: Plan,
    parts: Mapping[str, Queries],
    files: Mapping[str, Digests],
    status: Mapping[str, str],
) -> dict[str, Any]:
    """Facts about a data set, as plain JSON without paths, dates or hosts.

    Queries that stand in several parts (folds that are no rotation) are counted once. Feature numbers count
    from 1, as in the files.
    """
    labels, sizes, best = _whole(parts)
    sums = {name: checksum(part) for name, part in parts.items()}
    return {
        "dataset": dataset.name,
        "title": dataset.title,
        "profile": dataset.profile,
        "queries": len(sizes),
        "documents": len(labels),
        "features": next(iter(parts.values())).n_features,
        "labels": {f"{grade:g}": int(n) for grade, n in zip(*np.unique(labels, return_counts=True), strict=True)},
        "queries_without_relevant": int((best < profile_named(dataset.profile).relevant_from).sum()),
        "queries_shorter_than_10": int((sizes < 10).sum()),
        "smallest_query": int(sizes.min()),
        "largest_query": int(sizes.max()),
        "constant_features": constant_features(parts),
        "normalisation": dataset.normalise,
        "folds": sorted(plan.folds),
        "parts": {
            name: {"queries": part.n_queries, "documents": part.n_docs, "checksum": sums[name]}
            for name, part in parts.items()
        },
        "files": {role: {"sha256": files[role].sha256, "status": status[role]} for role in files},
        "verified": _verified(dataset, status),
        "checksum": _sha256(*(f"{name} {sums[name]}\n".encode() for name in sorted(sums))),
    }


def checksum(queries: Queries) -> str:
    """sha256 of the parsed content: the same for CRLF and LF files, on every machine."""
    return _sha256(
        repr(queries.X.shape).encode(),
        np.ascontiguousarray(queries.X, dtype="<f8").tobytes(),
        queries.y.astype("<f8").tobytes(),
        queries.offsets.astype("<i8").tobytes(),
        "\n".join(queries.qid.tolist()).encode(),
        "\n".join(queries.docid.tolist()).encode(),
    )


def counts(parts: Mapping[str, Queries]) -> Counts:
    """Counts of the whole set, in the form of the catalogue."""
    labels, sizes, _ = _whole(parts)
    grades, numbers = np.unique(labels, return_counts=True)
    return Counts(len(sizes), len(labels), {int(g): int(n) for g, n in zip(grades, numbers, strict=True)})


def constant_features(parts: Mapping[str, Queries]) -> list[int]:
    """Numbers, from 1, of the features with one value in the whole set."""
    low = np.min([part.X.min(axis=0) for part in parts.values()], axis=0)
    high = np.max([part.X.max(axis=0) for part in parts.values()], axis=0)
    return [int(column) + 1 for column in np.flatnonzero(low == high)]


def _whole(parts: Mapping[str, Queries]) -> tuple[Floats, Ints, Floats]:
    """Labels (n_docs,), sizes and best labels (n_queries,) of the whole set, every query once."""
    labels, sizes, best = [], [], []
    seen: set[str] = set()
    for part in parts.values():
        new = np.array([qid not in seen for qid in part.qid.tolist()])
        seen.update(part.qid.tolist())
        labels.append(part.y[np.repeat(new, part.sizes)])
        sizes.append(part.sizes[new])
        best.append(np.maximum.reduceat(part.y, part.offsets[:-1])[new])
    return np.concatenate(labels), np.concatenate(sizes), np.concatenate(best)


def _verified(dataset: Dataset, status: Mapping[str, str]) -> str:
    if all(state == "known" for state in status.values()):
        return "digests"
    return "counts" if dataset.counts else "no"


def _sha256(*pieces: bytes) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "little"))  # so that moving a byte between pieces shows
        digest.update(piece)
    return digest.hexdigest()
