"""Queries of different sizes as padded lists of documents, on which listwise losses are computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from letorlab.merged import Merged
from letorlab.queries import Ints

ENTRIES = 2**14  # documents of a batch, padding included: its arrays stay in the cache of a CPU


@dataclass(frozen=True)
class Lists:
    """Padded queries of a batch.

    Parameters
    ----------
    documents : (n, J) int64
        Rows of the scores; padding repeats the first document of its query.
    labels : (n, J) float64
        0 in padding.
    there : (n, J) bool
        False in padding.
    """

    documents: Tensor
    labels: Tensor
    there: Tensor

    @cached_property
    def strict_pairs(self) -> tuple[Tensor, Tensor]:
        """Flat positions (m,) of the better and the worse document of every strict pair."""
        return self._pairs(self.labels.unsqueeze(2) > self.labels.unsqueeze(1))

    @cached_property
    def rivals(self) -> tuple[Tensor, Tensor]:
        """Flat positions (m,) of every document with a label above 0, and of each other document of its query."""
        apart = ~torch.eye(self.labels.shape[1], dtype=torch.bool, device=self.labels.device)
        return self._pairs((self.labels > 0).unsqueeze(2) & apart)

    def _pairs(self, wanted: Tensor) -> tuple[Tensor, Tensor]:
        query, first, second = torch.nonzero(wanted & self.there.unsqueeze(2) & self.there.unsqueeze(1), as_tuple=True)
        width = self.labels.shape[1]
        return query * width + first, query * width + second


def batches_of(merged: Merged, queries: Ints, device: torch.device) -> Iterator[Lists]:
    """Some queries, by size, as many in a batch as `ENTRIES` allows."""
    sizes = np.diff(merged.offsets)
    waiting = queries[np.argsort(sizes[queries], kind="stable")][::-1]
    while len(waiting):
        width = int(sizes[waiting[0]])
        together = max(1, ENTRIES // width)
        yield _lists(merged, waiting[:together], width, device)
        waiting = waiting[together:]


def _lists(merged: Merged, queries: Ints, width: int, device: torch.device) -> Lists:
    starts, stops = merged.offsets[queries, None], merged.offsets[queries + 1, None]
    items = starts + np.arange(width)
    there = items < stops
    items = np.where(there, items, starts)
    labels = np.where(there, merged.gains[items, 0], 0.0)
    return Lists(
        documents=torch.as_tensor(merged.document[items], device=device),
        labels=torch.as_tensor(labels, device=device),
        there=torch.as_tensor(there, device=device),
    )
