"""Features with mean 0 and standard deviation 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats


@dataclass(frozen=True)
class Scaling:
    """Subtract the mean and divide by the standard deviation (of a sample); constant features are dropped.

    Attributes
    ----------
    kept : (n_kept,) int64
        The features that vary.
    mean, deviation : (n_kept,) float64
    """

    kept: np.ndarray
    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, X: Floats) -> Scaling:
        """From documents X (n_docs, n_features).

        Raises
        ------
        InputError
            If no feature varies.
        """
        deviation = X.std(axis=0, ddof=1) if len(X) > 1 else np.zeros(X.shape[1])
        # A constant column can have a deviation of rounding size.
        kept = np.flatnonzero(deviation > 1e-12 * np.maximum(np.abs(X).max(axis=0, initial=0.0), 1e-300))
        if len(kept) == 0:
            raise InputError(f"all {X.shape[1]} features are constant over {len(X)} documents: nothing to learn from")
        return cls(kept, X[:, kept].mean(axis=0), deviation[kept])

    def __call__(self, X: Floats) -> Floats:
        return (X[:, self.kept] - self.mean) / self.deviation
