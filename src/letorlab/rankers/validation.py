"""Checks at the door of every ranker, as scikit-learn makes them: shapes, finite numbers, a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from letorlab.queries import Floats


def fit_arrays(ranker: Any, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """X (n_docs, n_features) and y (n_docs,) as float64; notes the width on the ranker.

    Raises
    ------
    ValueError
        If a number is NaN or infinite, or the lengths differ.
    """
    features, relevance = validate_data(ranker, X, y, dtype=np.float64, y_numeric=True)
    return features, np.asarray(relevance, dtype=np.float64)


def predict_array(ranker: Any, X: ArrayLike) -> Floats:
    """X (n_docs, n_features) as float64, of the width that the ranker was fitted to.

    Raises
    ------
    NotFittedError, ValueError
        If there was no fit, a number is NaN or infinite, or the width differs.
    """
    check_is_fitted(ranker)
    features: Floats = validate_data(ranker, X, dtype=np.float64, reset=False)
    return features
