"""How well comparisons with ties are predicted: errors by kind, and the ROC curve of the tie threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import Floats, Ints


@dataclass(frozen=True)
class ComparisonErrors:
    """Wrong outcomes by kind, as counts.

    Attributes
    ----------
    false_positives : int
        A tie that was predicted as an inequality.
    false_negatives : int
        An inequality that was predicted as a tie.
    inversions : int
        An inequality that was predicted the other way round.
    n_pairs : int
    """

    false_positives: int
    false_negatives: int
    inversions: int
    n_pairs: int

    @property
    def total(self) -> int:
        return self.false_positives + self.false_negatives + self.inversions

    @property
    def share(self) -> float:
        """Zero-one error, a fraction."""
        return self.total / self.n_pairs


def comparison_errors(outcome: Ints, predicted: Ints) -> ComparisonErrors:
    """Compare predicted outcomes (n_pairs,) in {-1, 0, 1} with the true ones."""
    if len(outcome) != len(predicted):
        raise InputError(f"{len(predicted)} predictions were given for {len(outcome)} comparisons")
    return ComparisonErrors(
        false_positives=int(np.sum((outcome == 0) & (predicted != 0))),
        false_negatives=int(np.sum((outcome != 0) & (predicted == 0))),
        inversions=int(np.sum(outcome * predicted == -1)),
        n_pairs=len(outcome),
    )


def outcomes(difference: Floats, threshold: float) -> Ints:
    """t(difference): the sign of r(x') - r(x), and 0 where it is at most the threshold in size."""
    return np.where(np.abs(difference) > threshold, np.sign(difference), 0.0).astype(np.int64)


def tie_threshold(difference: Floats, outcome: Ints) -> float:
    """The threshold of `outcomes` with fewest errors; the middle one of equally good intervals.

    The number of errors is constant between neighbouring sizes of the differences, so those intervals are all
    the candidates there are; the threshold is the middle of its interval.
    """
    size, order = np.abs(difference), np.argsort(np.abs(difference), kind="stable")
    # Raising the threshold over a pair turns its prediction from the sign to a tie.
    wrong_sign = (outcome != np.sign(difference)) & (size > 0) | (outcome != 0) & (size == 0)
    change = (outcome != 0).astype(np.int64) - wrong_sign
    errors = np.concatenate([[0], np.cumsum(change[order])])
    edges = np.concatenate([[0.0], size[order]])
    # The interval after the k smallest pairs is empty where the next pair is of the same size.
    possible = np.append(edges[1:] > edges[:-1], True)
    best = np.flatnonzero(possible & (errors == errors[possible].min()))
    k = int(best[(len(best) - 1) // 2])
    return float(edges[k] if k + 1 == len(edges) else 0.5 * (edges[k] + edges[k + 1]))


def tie_roc(difference: Floats, outcome: Ints) -> tuple[Floats, Floats]:
    """ROC curve as the threshold falls from infinity to 0: ties taken for inequalities, and right inequalities.

    Returns
    -------
    false_positive_rate : (n_points,) float64
        Share of the ties with a difference above the threshold.
    true_positive_rate : (n_points,) float64
        Share of the inequalities whose difference is above it and has the right sign; it can end below 1.

    Raises
    ------
    InputError
        If there is no tie, or no inequality.
    """
    ties, inequalities = int(np.sum(outcome == 0)), int(np.sum(outcome != 0))
    if ties == 0 or inequalities == 0:
        raise InputError(f"a ROC curve needs ties and inequalities; got {ties} ties and {inequalities} inequalities")
    size = np.abs(difference)
    order = np.argsort(-size, kind="stable")
    last = np.append(np.diff(size[order]) != 0, True) & (size[order] > 0)  # pairs of one size come at once
    false = np.cumsum(outcome[order] == 0)[last] / ties
    true = np.cumsum((outcome * np.sign(difference) > 0)[order])[last] / inequalities
    end = true[-1] if len(true) else 0.0
    return np.concatenate([[0.0], false, [1.0]]), np.concatenate([[0.0], true, [end]])


def tie_auc(difference: Floats, outcome: Ints) -> float:
    """Area under `tie_roc`, by trapezoids."""
    false, true = tie_roc(difference, outcome)
    return float(np.trapezoid(true, false))
