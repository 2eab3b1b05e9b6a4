"""Intervals and paired tests against closed forms, libraries and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from letorlab.compare import bootstrap_weights, holm, interval, paired_t_test, query_weights
from letorlab.errors import InputError

FOLDS = np.repeat([1, 2, 3], [4, 6, 10])


def test_query_weights_give_the_mean_of_fold_means():
    values = np.random.default_rng(0).normal(size=20)
    expected = np.mean([values[fold == FOLDS].mean() for fold in (1, 2, 3)])
    assert query_weights(FOLDS) @ values == pytest.approx(expected, abs=1e-15)
    assert query_weights(FOLDS) @ values != pytest.approx(values.mean(), abs=1e-3)  # folds are unequal


def test_bootstrap_keeps_the_size_of_every_fold():
    weights = bootstrap_weights(FOLDS, resamples=500, rng=np.random.default_rng(0))
    for fold in (1, 2, 3):
        np.testing.assert_allclose(weights[:, fold == FOLDS].sum(axis=1), 1 / 3)
    np.testing.assert_allclose(weights.mean(axis=0), query_weights(FOLDS), atol=0.01)


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    fold = np.repeat([1, 2, 3, 4, 5], 20)
    weights = bootstrap_weights(fold, resamples=400, rng=rng)
    low, high = interval(rng.normal(size=(100, 600)), weights)  # 600 studies with mean 0
    covered = np.mean((low <= 0) & (high >= 0))
    assert 0.91 <= covered <= 0.97


def test_the_interval_of_a_constant_is_a_point():
    low, high = interval(np.ones((20, 1)), bootstrap_weights(FOLDS, resamples=100, rng=np.random.default_rng(0)))
    np.testing.assert_allclose([low[0], high[0]], 1)


@given(st.integers(0, 10**6))
def test_the_paired_test_is_the_one_sample_test_of_the_differences(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 9))
    expected = ttest_1samp(a - b, 0.0)
    result = paired_t_test(a, b)
    assert result.t_statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)


def test_identical_methods_one_query_and_equal_differences_do_not_crash():
    same, one, shifted = np.ones(5), np.ones(1), np.arange(5.0)
    assert paired_t_test(same, same) == paired_t_test(one, one)
    assert paired_t_test(same, same).p_value == 1.0
    assert paired_t_test(one, 2 * one).p_value is None
    assert paired_t_test(shifted + 1, shifted).p_value is None


def test_holm_by_hand():
    # sorted .005, .01, .03, .04 times 4, 3, 2, 1, made monotone; None is no test
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx([0.03, 0.06, None, 0.06, 0.02])
    assert holm([]) == []
    assert holm([None]) == [None]
    assert holm([1.0, 0.9]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_like_the_step_down_procedure(p_values):
    level, adjusted = 0.05, holm(p_values)
    rejected = set()
    for step, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] * (len(p_values) - step) > level:
            break
        rejected.add(place)
    assert {place for place, p in enumerate(adjusted) if p <= level} == rejected


def test_holm_refuses_what_is_no_p_value():
    with pytest.raises(InputError, match="or be None where there was no test"):
        holm([0.5, float("nan")])
