"""Comparisons with ties: the data, the flipped form, measures, and the tie threshold."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st

from letorlab.comparison_measures import comparison_errors, outcomes, tie_auc, tie_roc, tie_threshold
from letorlab.comparisons import (
    Comparisons,
    read_comparisons,
    score_differences,
    within_queries,
    write_comparisons,
)
from letorlab.errors import InputError


def random_comparisons(seed: int, n: int = 20, d: int = 3) -> Comparisons:
    rng = np.random.default_rng(seed)
    X, X_prime = rng.normal(size=(2, n, d))
    return Comparisons(X, X_prime, np.resize([1, 0, -1, 0], n))


def test_flipped_data_turn_inequalities_round_and_give_ties_twice():
    data = Comparisons(np.array([[3.0], [0.0], [1.0]]), np.array([[0.0], [-2.0], [0.0]]), np.array([-1, 1, 0]))
    X, X_prime, label = data.flipped()
    np.testing.assert_array_equal(label, [1, 1, -1, -1])
    np.testing.assert_array_equal(X[:, 0], [0, 0, 1, 0])  # the 1, the -1 turned round, the tie, the tie turned round
    np.testing.assert_array_equal(X_prime[:, 0], [-2, 3, 0, 1])


@given(st.integers(0, 1000))
def test_swapping_tells_the_same(seed):
    data = random_comparisons(seed)
    other = data.swapped(np.flatnonzero(np.random.default_rng(seed).random(data.n_pairs) < 0.5))

    def rows(comparisons):
        X, X_prime, label = comparisons.flipped()
        return sorted(map(tuple, np.column_stack([label, X, X_prime]).tolist()))

    assert rows(data) == rows(other)
    assert len(rows(data)) == np.sum(data.y != 0) + 2 * np.sum(data.y == 0)


def test_pairs_within_queries_are_all_pairs_once_with_their_outcome():
    queries = random_queries(3, n_queries=4)
    data = within_queries(queries)
    expected = [
        (tuple(queries.X[i]), tuple(queries.X[j]), float(np.sign(queries.y[j] - queries.y[i])))
        for a, b in zip(queries.offsets[:-1], queries.offsets[1:], strict=True)
        for i in range(a, b)
        for j in range(i + 1, b)
    ]
    found = [(tuple(x), tuple(z), float(y)) for x, z, y in zip(data.X, data.X_prime, data.y, strict=True)]
    assert sorted(found) == sorted(expected)
    difference, outcome = score_differences(queries.X[:, 0], queries.y, queries.offsets)
    np.testing.assert_array_equal(difference, data.X_prime[:, 0] - data.X[:, 0])
    np.testing.assert_array_equal(outcome, data.y)


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.parquet"])
def test_files_read_back_exactly(tmp_path, name):
    data = random_comparisons(1)
    write_comparisons(data, tmp_path / name)
    again = read_comparisons(tmp_path / name)
    for part in ("X", "X_prime", "y"):
        np.testing.assert_array_equal(getattr(data, part), getattr(again, part))


def test_faults_of_comparisons_are_named(tmp_path):
    X = np.zeros((2, 1))
    with pytest.raises(InputError, match=r"outcomes must be -1 .* got 2"):
        Comparisons(X, X, np.array([0, 2]))
    with pytest.raises(InputError, match="needs two items of the same features"):
        Comparisons(X, np.zeros((2, 3)), np.array([0, 1]))
    with pytest.raises(InputError, match="NaN or infinity"):
        Comparisons(X, X + np.nan, np.array([0, 1]))
    with pytest.raises(InputError, match=r"kept in \.csv or \.parquet"):
        write_comparisons(random_comparisons(0), tmp_path / "pairs.txt")
    (tmp_path / "some.csv").write_text("x1,x2,x1',y\n1,2,3,0\n")
    with pytest.raises(InputError, match="missing: x2'"):
        read_comparisons(tmp_path / "some.csv")
    (tmp_path / "odd.csv").write_text("x1,x1',y\n1,3,0.5\n")
    with pytest.raises(InputError, match=r"outcomes must be -1, 0 or 1; got 0\.5"):
        read_comparisons(tmp_path / "odd.csv")


# ---- measures --------------------------------------------------------------------------------------------------


def test_errors_by_kind_on_all_combinations():
    outcome, predicted = (grid.ravel() for grid in np.meshgrid([-1, 0, 1], [-1, 0, 1]))
    errors = comparison_errors(outcome, predicted)
    assert (errors.false_positives, errors.false_negatives, errors.inversions, errors.total) == (2, 2, 2, 6)
    assert errors.share == 6 / 9
    with pytest.raises(InputError, match="2 predictions were given for 3 comparisons"):
        comparison_errors(np.zeros(3), np.zeros(2))


@pytest.mark.parametrize(
    ("difference", "outcome", "false", "true", "area"),
    [
        ((2, 2, -2), (1, 1, 0), (0, 1, 1), (0, 1, 1), 0.5),  # all of one size: one jump
        ((3, -2.5, 2), (1, 1, 0), (0, 0, 0, 1, 1), (0, 0.5, 0.5, 0.5, 0.5), 0.5),  # a wrong sign is never right
        ((0.1, 0.2, -0.3, 0.4), (1, 0, -1, 0), (0, 0.5, 0.5, 1, 1, 1), (0, 0, 0.5, 0.5, 1, 1), 0.25),
        ((0.0, 2.0), (1, 0), (0, 1, 1), (0, 0, 0), 0.0),  # no difference: a tie at every threshold
    ],
)
def test_roc_curves_worked_out_by_hand(difference, outcome, false, true, area):
    difference, outcome = np.array(difference, dtype=float), np.array(outcome)
    found = tie_roc(difference, outcome)
    np.testing.assert_allclose(found[0], false)
    np.testing.assert_allclose(found[1], true)
    assert tie_auc(difference, outcome) == pytest.approx(area)


def test_roc_needs_both_kinds():
    with pytest.raises(InputError, match="got 0 ties and 2 inequalities"):
        tie_roc(np.ones(2), np.ones(2))


@given(st.lists(st.tuples(st.integers(-4, 4), st.sampled_from([-1, 0, 1])), min_size=1, max_size=12))
def test_the_tie_threshold_has_fewest_errors(pairs):
    difference, outcome = np.array(pairs, dtype=float).T
    outcome = outcome.astype(int)
    sizes = np.unique(np.abs(np.append(difference, 0.0)))
    candidates = np.concatenate([sizes, (sizes[1:] + sizes[:-1]) / 2])
    best = min(comparison_errors(outcome, outcomes(difference, t)).total for t in candidates)
    found = tie_threshold(difference, outcome)
    assert found >= 0
    assert comparison_errors(outcome, outcomes(difference, found)).total == best


def test_the_tie_threshold_lies_in_the_middle_of_the_best_interval():
    assert tie_threshold(np.array([1.0, -1.0, 3.0, -3.0]), np.array([0, 0, 1, -1])) == 2.0
