"""The mean of a listwise loss over queries as a function of the scores, and its slope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from letorlab.lists import Lists, batches_of
from letorlab.listwise import Loss
from letorlab.merged import Merged
from letorlab.queries import Ints


class ListwiseObjective:
    """Minus the mean loss, to be maximised: the counterpart of `letorlab.sinkhorn_objective.SinkhornObjective`.

    Parameters
    ----------
    merged : letorlab.merged.Merged
        From `letorlab.merged.unmerged`.
    loss : letorlab.listwise.Loss
    k : int or None
        Ranks that count, for losses that are NDCG; None: all.
    device : torch.device
    """

    dtype = torch.float64

    def __init__(self, merged: Merged, loss: Loss, *, k: int | None = None, device: torch.device | None = None) -> None:
        self.merged, self.loss, self.k = merged, loss, k
        self.device = device or torch.device("cpu")
        self._all = list(self.batches(np.arange(merged.n_queries)))

    def value_and_slope(
        self, scores: Tensor, smoothing: float, batches: Sequence[Lists] | None = None
    ) -> tuple[float, Tensor]:
        """The value and its slope in the scores, (n_documents,); over some batches only, if they are given."""
        chosen = self._all if batches is None else batches
        n_queries = sum(len(batch.labels) for batch in chosen)
        total, slope = 0.0, torch.zeros_like(scores)
        for batch in chosen:
            phi = scores.detach()[batch.documents].requires_grad_()
            losses = self.loss.loss(phi, batch, smoothing, self.k)
            (change,) = torch.autograd.grad(losses.sum(), phi)
            slope.index_add_(0, batch.documents.ravel(), change.ravel())
            total += float(losses.detach().sum())
        return -total / n_queries, -slope / n_queries

    def batches(self, queries: Ints) -> Iterator[Lists]:
        """Some queries, padded."""
        return batches_of(self.merged, queries, self.device)
