"""Early stopping: the best model on validation queries, and how long ago it was found."""

from __future__ import annotations

from typing import Any

from letorlab.metrics import measure, parse_metric
from letorlab.queries import Floats, Queries


class EarlyStopping:
    """Keeps what had the highest mean of a metric; every metric of `letorlab.metrics.METRICS` is better when higher.

    Parameters
    ----------
    queries : Queries
        Validation queries.
    metric : str
        ``"ndcg@10"``, ``"map"``, ...
    profile : str
        A name of `letorlab.profiles.PROFILES`.

    Attributes
    ----------
    best : object
        What was offered with the highest value, the first of equals; None before the first offer.
    value : float
        That value.
    """

    def __init__(self, queries: Queries, metric: str, *, profile: str) -> None:
        self._queries, self._profile = queries, profile
        self._name, self._k = parse_metric(metric)
        self.best: Any = None
        self.value = float("-inf")

    def offer(self, candidate: Any, scores: Floats) -> bool:
        """Keep the candidate if its scores (n_docs,) of the validation queries are better than all before."""
        q = self._queries
        values = measure(self._name, scores, q.y, q.offsets, profile=self._profile, cutoffs=[self._k or 1])
        mean = float(values.mean())
        if mean <= self.value:
            return False
        self.best, self.value = candidate, mean
        return True
