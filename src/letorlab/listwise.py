"""Listwise and pairwise losses of scores: pure functions from padded lists to one value a query.

Each has the signature ``loss(scores, lists, smoothing, k) -> (n,)`` with scores (n, J) of the documents of
`letorlab.lists.Lists`; lower is better, and what stands in padding does not count. Those that are NDCG count the first
k ranks, with gain 2^label - 1 and discount 1 / log2(1 + rank) as their papers have it. No loss depends on the order of
the documents: where the papers break ties of labels at random, tied documents are treated alike here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from letorlab.lists import Lists

FAR = -torch.inf  # score of padding where a softmax is taken


def listnet(scores: Tensor, lists: Lists, smoothing: float, k: int | None) -> Tensor:
    """Cross entropy of the top-one probabilities of the labels and of the scores (Cao and others 2007)."""
    wanted = torch.softmax(lists.labels.masked_fill(~lists.there, FAR), dim=1)
    normaliser = torch.logsumexp(scores.masked_fill(~lists.there, FAR), dim=1)
    return normaliser - (wanted * scores).sum(1)


def listmle(scores: Tensor, lists: Lists, smoothing: float, k: int | None) -> Tensor:
    """Minus the log-likelihood of the order of the labels under Plackett and Luce's model (Xia and others 2008).

    A document is drawn from all of at most its grade, itself included, as Breslow does with ties in Cox's likelihood;
    the lowest grade, whose inner order says nothing, adds no term. Divided by the number of terms.
    """
    total, n_terms = torch.zeros_like(scores[:, 0]), torch.zeros_like(scores[:, 0])
    lowest = lists.labels.masked_fill(~lists.there, torch.inf).amin(1, keepdim=True)
    for grade in lists.labels[lists.there].unique():
        drawn = (lists.there & (lists.labels == grade) & (grade > lowest)).to(scores.dtype)
        pool = (lists.there & (lists.labels <= grade)) | ~drawn.any(1, keepdim=True)  # of nothing: any pool will do
        normaliser = torch.logsumexp(scores.masked_fill(~pool, FAR), dim=1)
        total = total + drawn.sum(1) * normaliser - (drawn * scores).sum(1)
        n_terms = n_terms + drawn.sum(1)
    return total / n_terms


def ranknet(scores: Tensor, lists: Lists, smoothing: float, k: int | None) -> Tensor:
    """Mean logistic loss of the strict pairs (Burges and others 2005)."""
    better, worse = lists.strict_pairs
    flat = scores.reshape(-1)
    losses = softplus(flat[worse] - flat[better])
    return _sum_of(losses, better, lists) / _sum_of(torch.ones_like(losses), better, lists)


def lambdarank(scores: Tensor, lists: Lists, smoothing: float, k: int | None) -> Tensor:
    """Logistic loss of the strict pairs, each weighted by the NDCG that swapping the two would change.

    The weights belong to the present ranks and are constant in the slope, which is LambdaRank's (Burges 2010, section
    4): there is no function with this slope, so it needs an optimiser without a line search.
    """
    better, worse = lists.strict_pairs
    flat, gain = scores.reshape(-1), _gain(lists).reshape(-1)
    discount = _discount(_ranks(scores.detach(), lists), k).reshape(-1)
    weight = (gain[better] - gain[worse]) * (discount[better] - discount[worse]).abs()
    return _sum_of(weight * softplus(flat[worse] - flat[better]), better, lists) / _ideal(lists, k)


def approxndcg(scores: Tensor, lists: Lists, smoothing: float, k: int | None) -> Tensor:
    """Minus the NDCG at smooth ranks 1 + sum_j sigmoid((s_j - s_i) / smoothing) (Qin, Liu and Li 2010)."""
    document, rival = lists.rivals
    flat = scores.reshape(-1)
    beaten = torch.sigmoid((flat[rival] - flat[document]) / smoothing)
    ranks = 1.0 + torch.zeros_like(flat).index_add(0, document, beaten).reshape(scores.shape)
    return -(_gain(lists) * _discount(ranks, k)).sum(1) / _ideal(lists, k)


def neuralsort(scores: Tensor, lists: Lists, smoothing: float, k: int | None) -> Tensor:
    """Minus the expected NDCG under the relaxed sorting of NeuralSort (Grover and others 2019, equation 5).

    Row k of the relaxation is the softmax over j of ((n + 1 - 2 k) s_j - sum_i |s_j - s_i|) / smoothing.
    """
    sizes = lists.there.sum(1, keepdim=True)
    ranks = torch.arange(1, _last(k, lists) + 1, device=scores.device)
    slope = (sizes + 1 - 2 * ranks).to(scores.dtype)  # (n, K)
    logits = slope.unsqueeze(2) * scores.unsqueeze(1) - _distances(scores, lists).unsqueeze(1)
    return -_expected_ndcg(logits / smoothing, lists)


def smoothrank(scores: Tensor, lists: Lists, smoothing: float, k: int | None) -> Tensor:
    """Minus the NDCG with a softmax over documents in place of the one at each rank (Chapelle and Wu 2010, eq. 5).

    Document j stands at rank k with a probability proportional to exp(-(s_j - s_d(k))^2 / smoothing), d(k) the
    document that is at rank k now.
    """
    last = _last(k, lists)
    falling = scores.masked_fill(~lists.there, FAR).sort(dim=1, descending=True).values[:, :last]
    at_rank = torch.where(falling > FAR, falling, 0.0)
    return -_expected_ndcg(-((scores.unsqueeze(1) - at_rank.unsqueeze(2)) ** 2) / smoothing, lists)


def _expected_ndcg(logits: Tensor, lists: Lists) -> Tensor:
    """Expected NDCG (n,) where rank k holds document j with the softmax of logits (n, K, J) over j."""
    chance = torch.softmax(logits.masked_fill(~lists.there.unsqueeze(1), FAR), dim=2)
    gained = (chance @ _gain(lists).unsqueeze(2)).squeeze(2)  # (n, K)
    ranks = torch.arange(1.0, logits.shape[1] + 1, dtype=logits.dtype, device=logits.device)
    inside = ranks <= lists.there.sum(1, keepdim=True)
    return (gained * _discount(ranks) * inside).sum(1) / _ideal(lists, logits.shape[1])


def _distances(scores: Tensor, lists: Lists) -> Tensor:
    """sum_i |s_j - s_i| of every document j, from one sort and cumulated sums."""
    there = lists.there
    falling, order = scores.masked_fill(~there, FAR).sort(dim=1, descending=True)
    inside = there.gather(1, order)
    falling = torch.where(inside, falling, 0.0)
    before = falling.cumsum(1) - falling
    place = torch.arange(scores.shape[1], device=scores.device)
    after = falling.sum(1, keepdim=True) - before - falling
    n_after = there.sum(1, keepdim=True) - place - 1
    distances = torch.where(inside, before - after + (n_after - place) * falling, 0.0)
    return torch.zeros_like(scores).scatter(1, order, distances)


def _ranks(scores: Tensor, lists: Lists) -> Tensor:
    """Ranks 1, 2, ... (n, J) of the documents; equal scores in the order of the list."""
    order = scores.masked_fill(~lists.there, FAR).argsort(dim=1, descending=True, stable=True)
    ranks = torch.arange(1.0, scores.shape[1] + 1, dtype=scores.dtype, device=scores.device)
    return torch.zeros_like(scores).scatter(1, order, ranks.expand_as(scores))


def _gain(lists: Lists) -> Tensor:
    return torch.exp2(lists.labels) - 1.0


def _discount(ranks: Tensor, k: int | None = None) -> Tensor:
    """1 / log2(1 + rank), and 0 beyond rank k."""
    return (1.0 / torch.log2(1.0 + ranks)) * (1.0 if k is None else (ranks < k + 1).to(ranks.dtype))


def _last(k: int | None, lists: Lists) -> int:
    """The last rank that counts."""
    width = lists.labels.shape[1]
    return width if k is None else min(k, width)


def _ideal(lists: Lists, k: int | None) -> Tensor:
    """DCG@k of the best order, (n,)."""
    gains = _gain(lists).sort(dim=1, descending=True).values
    ranks = torch.arange(1.0, gains.shape[1] + 1, dtype=gains.dtype, device=gains.device)
    return (gains * _discount(ranks, k)).sum(1)


def _sum_of(values: Tensor, positions: Tensor, lists: Lists) -> Tensor:
    """Sums (n,) over the queries of values (m,) at flat positions."""
    n, width = lists.labels.shape
    return torch.zeros(n, dtype=values.dtype, device=values.device).index_add(0, positions // width, values)


@dataclass(frozen=True)
class Loss:
    """An entry of `LOSSES`: whether its smoothing is annealed, and whether it is a function (LambdaRank is not)."""

    loss: Callable[[Tensor, Lists, float, int | None], Tensor]
    smoothed: bool = False
    line_search: bool = True


LOSSES = {
    "listnet": Loss(listnet),
    "listmle": Loss(listmle),
    "ranknet": Loss(ranknet),
    "lambdarank": Loss(lambdarank, line_search=False),
    "approxndcg": Loss(approxndcg, smoothed=True),
    "neuralsort": Loss(neuralsort, smoothed=True),
    "smoothrank": Loss(smoothrank, smoothed=True),
}
