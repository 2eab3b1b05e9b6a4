"""The mean expected gain of many queries as a function of the scores, and its slope: the inner loop of SinkProp.

Queries of similar size are padded to one batch; what is not there has mass 0. A batch is small enough for its matrices
to stay in the cache of a CPU, and its slope is taken before the next one is begun, so that memory does not grow
with the number of queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from letorlab.errors import InputError
from letorlab.merged import Merged
from letorlab.presinkhorn import FAMILIES, partitioned, rank_edges, smoothed_indicator
from letorlab.queries import Floats, Ints
from letorlab.sinkhorn import FLOOR, STEPS, expected_gain, sinkhorn

ENTRIES = {"cpu": 2**19, "cuda": 2**26}  # of the matrices of a batch
LOGIT_SPREAD = float(np.pi / np.sqrt(3.0))  # standard deviation of the logit of a uniform rank
PRE_SINKHORN = ("indicator", *FAMILIES)


@dataclass(frozen=True)
class Batch:
    """Padded queries: documents (n, J) as rows of the scores, masses (n, J), gains (n, J, R), sizes (n,)."""

    documents: Tensor
    mass: Tensor
    gains: Tensor
    sizes: Tensor


@dataclass(frozen=True)
class SinkhornModel:
    """How scores, of about unit spread within queries, become a doubly stochastic matrix.

    Parameters
    ----------
    matrix : {"indicator", "logistic", "probit", "beta"}
        The smoothed indicator, or a family of partitioned measures, see `letorlab.presinkhorn`.
    n_iter : int
        Sinkhorn steps.
    floor : float
    """

    matrix: str
    n_iter: int = STEPS
    floor: float = FLOOR

    def __post_init__(self) -> None:
        if self.matrix not in PRE_SINKHORN:
            raise InputError(f"unknown pre-Sinkhorn matrix {self.matrix!r}; known: {', '.join(PRE_SINKHORN)}")
        if not (self.n_iter >= 1 and self.floor > 0):
            raise InputError(
                f"n_iter, the number of Sinkhorn steps, must be at least 1 and floor positive; "
                f"got {self.n_iter} and {self.floor}"
            )

    def expected(self, phi: Tensor, batch: Batch, cumulated: Tensor, smoothing: float) -> Tensor:
        """Expected gain of the queries of a batch, (n,), at scores phi (n, J)."""
        A, rows, cols, gains, discounts = self.lay_out(phi, batch, cumulated, smoothing)
        return expected_gain(A, gains, discounts, row_mass=rows, col_mass=cols, n_iter=self.n_iter, floor=self.floor)

    def lay_out(self, phi: Tensor, batch: Batch, cumulated: Tensor, smoothing: float) -> Layout:
        """The pre-Sinkhorn matrix, the masses of its rows and columns, the gains and the discounts."""
        kind = _at_merged_ranks if self.matrix == "indicator" else _at_all_ranks
        return kind(self, phi, batch, cumulated, smoothing)

    def pre_sinkhorn(self, phi: Tensor, mass: Tensor, edges: Tensor, smoothing: float) -> Tensor:
        """A partitioned matrix; scores are centred on each query, and a standard deviation of 1 spans the ranks."""
        centre = (mass * phi).sum(-1, keepdim=True) / mass.sum(-1, keepdim=True)
        z = (phi - centre) * LOGIT_SPREAD
        return partitioned(z, edges, smoothing, self.matrix)

    def balance(self, phi: Floats, smoothing: float) -> Floats:
        """The balanced matrix Z of one query with scores phi (n_docs,): document j at rank k, (n_docs, n_docs)."""
        scores = torch.as_tensor(phi, dtype=torch.float64)
        if self.matrix == "indicator":
            A = smoothed_indicator(scores, None, smoothing)
        else:
            edges = rank_edges(torch.tensor(len(phi)), len(phi), scores.dtype)
            A = self.pre_sinkhorn(scores, torch.ones_like(scores), edges, smoothing)
        return sinkhorn(A, n_iter=self.n_iter, floor=self.floor).matrix.numpy()


Layout = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def _at_merged_ranks(model: SinkhornModel, phi: Tensor, batch: Batch, cumulated: Tensor, smoothing: float) -> Layout:
    """Smoothed indicator: equal documents fill consecutive ranks, whose columns are equal and become one."""
    phi, order = phi.sort(dim=-1, descending=True, stable=True)
    mass = batch.mass.gather(1, order)
    gains = batch.gains.gather(1, order.unsqueeze(-1).expand_as(batch.gains))
    last = mass.cumsum(1).long()
    first = torch.nn.functional.pad(last[:, :-1], (1, 0))
    discounts = (cumulated[last] - cumulated[first]).to(phi.dtype)
    A = smoothed_indicator(phi, phi, smoothing)
    return A, mass, mass, gains, discounts


def _at_all_ranks(model: SinkhornModel, phi: Tensor, batch: Batch, cumulated: Tensor, smoothing: float) -> Layout:
    """Partitioned measures: every rank has its own column."""
    n_ranks = int(batch.sizes.max())
    edges = rank_edges(batch.sizes, n_ranks, phi.dtype)
    A = model.pre_sinkhorn(phi, batch.mass, edges, smoothing)
    there = (torch.arange(n_ranks, device=phi.device) < batch.sizes.unsqueeze(-1)).to(phi.dtype)
    discounts = cumulated[: n_ranks + 1].diff(dim=0).to(phi.dtype) * there.unsqueeze(-1)
    return A, batch.mass, there, batch.gains, discounts


class SinkhornObjective:
    """Mean over queries of the expected gain of merged training queries.

    Parameters
    ----------
    merged : letorlab.merged.Merged
    model : SinkhornModel
    dtype : torch.dtype
        Of the matrices; the values of the queries are added in float64.
    device : torch.device
    """

    def __init__(
        self, merged: Merged, model: SinkhornModel, *, dtype: torch.dtype, device: torch.device | None = None
    ) -> None:
        self.merged, self.model, self.dtype = merged, model, dtype
        self.device = device or torch.device("cpu")
        table = np.concatenate([np.zeros((1, merged.discounts.shape[1])), np.cumsum(merged.discounts, axis=0)])
        self._cumulated = torch.as_tensor(table, device=self.device)
        self._all = list(self.batches(np.arange(merged.n_queries)))

    def value(self, scores: Tensor, smoothing: float) -> float:
        """At the scores of the distinct documents, (n_documents,)."""
        with torch.no_grad():
            values = [self._expected(scores[batch.documents], batch, smoothing) for batch in self._all]
        return float(torch.cat(values).double().mean())

    def marginal_error(self, scores: Tensor, smoothing: float) -> float:
        """Largest column sum's distance from 1 that the incomplete balancing leaves, over all queries."""
        with torch.no_grad():
            return max(self._error(scores[batch.documents], batch, smoothing) for batch in self._all)

    def _error(self, phi: Tensor, batch: Batch, smoothing: float) -> float:
        A, rows, cols, _, _ = self.model.lay_out(phi, batch, self._cumulated, smoothing)
        balanced = sinkhorn(A, row_mass=rows, col_mass=cols, n_iter=self.model.n_iter, floor=self.model.floor)
        return float(balanced.marginal_error.max())

    def value_and_slope(
        self, scores: Tensor, smoothing: float, batches: Sequence[Batch] | None = None
    ) -> tuple[float, Tensor]:
        """The value and its slope in the scores, (n_documents,); over some batches only, if they are given."""
        chosen = self._all if batches is None else batches
        n_queries = sum(len(batch.sizes) for batch in chosen)
        total, slope = 0.0, torch.zeros_like(scores)
        for batch in chosen:
            phi = scores.detach()[batch.documents].requires_grad_()
            values = self._expected(phi, batch, smoothing)
            (change,) = torch.autograd.grad(values.sum(), phi)
            slope.index_add_(0, batch.documents.ravel(), change.ravel())
            total += float(values.detach().double().sum())
        return total / n_queries, slope / n_queries

    def _expected(self, phi: Tensor, batch: Batch, smoothing: float) -> Tensor:
        return self.model.expected(phi, batch, self._cumulated, smoothing)

    def batches(self, queries: Ints) -> Iterator[Batch]:
        """Some queries, by size, as many in a batch as `ENTRIES` allows."""
        sizes = np.diff(self.merged.offsets)
        waiting = queries[np.argsort(sizes[queries], kind="stable")][::-1]
        while len(waiting):
            width = int(sizes[waiting[0]])
            together = max(1, ENTRIES.get(self.device.type, ENTRIES["cpu"]) // width**2)
            yield self._batch(waiting[:together], width)
            waiting = waiting[together:]

    def _batch(self, queries: Ints, width: int) -> Batch:
        """Padding repeats the first document of its query, with mass and gain 0."""
        starts, stops = self.merged.offsets[queries, None], self.merged.offsets[queries + 1, None]
        items = starts + np.arange(width)
        inside = items < stops
        items = np.where(inside, items, starts)
        mass = np.where(inside, self.merged.mass[items], 0.0)
        gains = np.where(inside[:, :, None], self.merged.gains[items], 0.0)
        return Batch(
            documents=torch.as_tensor(self.merged.document[items], device=self.device),
            mass=torch.as_tensor(mass, dtype=self.dtype, device=self.device),
            gains=torch.as_tensor(gains, dtype=self.dtype, device=self.device),
            sizes=torch.as_tensor(mass.sum(1).astype(np.int64), device=self.device),
        )
