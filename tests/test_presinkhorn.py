"""Pre-Sinkhorn matrices: definitions, limits, invariances and slopes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from letorlab.betainc import beta_cdf
from letorlab.errors import InputError
from letorlab.presinkhorn import FAMILIES, partitioned, rank_edges, smoothed_indicator
from letorlab.sinkhorn import sinkhorn

seeds = st.integers(0, 10**6)


def scores(seed, *shape):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=shape))


def edges(n_docs):
    return rank_edges(torch.tensor(n_docs), n_docs, torch.float64)


# ---- smoothed indicator ----------------------------------------------------------------------------------------


@given(seeds, st.floats(0.2, 5))
def test_the_indicator_is_its_definition(seed, smoothing):
    phi = scores(seed, 6)
    A, falling = smoothed_indicator(phi, None, smoothing), sorted(phi.tolist(), reverse=True)
    for j in range(6):
        for k in range(6):
            expected = np.exp(-((float(phi[j]) - falling[k]) ** 2) / (2 * smoothing**2))
            assert float(A[j, k]) == pytest.approx(expected, abs=1e-14)


def test_its_slope_is_the_formula_with_the_order_fixed():
    phi, smoothing = scores(0, 5), 0.7
    g, order = scores(1, 5, 5), np.argsort(-phi.numpy())
    A = smoothed_indicator(phi, None, smoothing).numpy()
    delta = phi.numpy()[:, None] - phi.numpy()[order][None, :]
    B = g.numpy() * A * (-delta / smoothing**2)
    expected = B.sum(1)
    expected[order] -= B.sum(0)
    leaf = phi.clone().requires_grad_()
    (slope,) = torch.autograd.grad(smoothed_indicator(leaf, None, smoothing), leaf, g)
    np.testing.assert_allclose(slope, expected, atol=1e-13)
    assert torch.autograd.gradcheck(lambda x: smoothed_indicator(x, None, smoothing), (leaf,), atol=1e-8, rtol=1e-7)


@given(seeds)
def test_little_smoothing_gives_the_ranking_and_much_gives_indifference(seed):
    phi = scores(seed, 7)
    sharp = sinkhorn(smoothed_indicator(phi, None, 1e-5)).matrix
    ranking = np.argsort(-phi.numpy())
    np.testing.assert_allclose(sharp[ranking], np.eye(7), atol=1e-4)
    flat = sinkhorn(smoothed_indicator(phi, None, 1e4)).matrix
    np.testing.assert_allclose(flat, 1 / 7, atol=1e-6)


@given(seeds, st.floats(-5, 5), st.floats(0.1, 10))
def test_only_differences_in_units_of_the_smoothing_count(seed, shift, factor):
    phi = scores(seed, 6)
    A = smoothed_indicator(phi, None, 0.5)
    torch.testing.assert_close(smoothed_indicator(phi + shift, None, 0.5), A, rtol=0, atol=1e-11)
    torch.testing.assert_close(smoothed_indicator(phi * factor, None, 0.5 * factor), A, rtol=0, atol=1e-12)


# ---- partitioned measures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=25)
@given(seed=seeds, n_docs=st.integers(1, 9), smoothing=st.floats(0.05, 5))
def test_bins_are_a_distribution_over_ranks(family, seed, n_docs, smoothing):
    A = partitioned(scores(seed, n_docs), edges(n_docs), smoothing, family)
    np.testing.assert_allclose(A.sum(-1), 1.0, atol=1e-12)
    assert (A >= 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_higher_scores_stand_at_earlier_ranks_and_the_slope_is_right(family):
    phi = torch.linspace(-3, 3, 7, dtype=torch.float64).requires_grad_()
    expected_rank = partitioned(phi, edges(7), 0.6, family).detach() @ torch.arange(1.0, 8).double()
    assert (expected_rank.diff() < 0).all()
    assert float(expected_rank[3]) == pytest.approx(4.0, abs=1e-9)  # score 0 is the middle
    assert torch.autograd.gradcheck(lambda x: partitioned(x, edges(7), 0.6, family), (phi,), atol=1e-8, rtol=1e-7)


def test_the_logistic_family_has_the_density_of_the_paper():
    """The logit of u is logistic with location mu = -phi: density e^-z / (s u (1 - u) (1 + e^-z)^2)."""
    phi, s, h = torch.tensor([0.3], dtype=torch.float64), 0.8, 1e-5
    for u in (0.1, 0.5, 0.93):
        mass = partitioned(phi, torch.tensor([0.0, u - h, u + h, 1.0], dtype=torch.float64), s, "logistic")[0, 1]
        z = (np.log(u / (1 - u)) + 0.3) / s
        assert float(mass) / (2 * h) == pytest.approx(np.exp(-z) / (s * u * (1 - u) * (1 + np.exp(-z)) ** 2), rel=1e-6)


def test_the_probit_and_beta_families_are_those_of_scipy():
    phi, u = torch.tensor([0.4], dtype=torch.float64), np.array([0.2, 0.5, 0.9])
    bounds = torch.as_tensor(np.concatenate([[0.0], u, [1.0]]))
    probit = partitioned(phi, bounds, 0.7, "probit")[0].cumsum(0)[:3]
    np.testing.assert_allclose(probit, scipy.stats.norm.cdf((scipy.stats.norm.ppf(u) + 0.4) / 0.7), atol=1e-12)
    mean = 1 / (1 + np.exp(0.4))
    beta = partitioned(phi, bounds, 0.5, "beta")[0].cumsum(0)[:3]
    np.testing.assert_allclose(beta, scipy.stats.beta.cdf(u, 4 * mean, 4 * (1 - mean)), atol=1e-12)


@given(st.floats(0.01, 2000), st.floats(0.01, 2000))
def test_the_beta_distribution_function_is_that_of_scipy(a, b):
    u = np.linspace(0, 1, 23)
    pair = (torch.tensor(x, dtype=torch.float64) for x in (a, b))
    np.testing.assert_allclose(beta_cdf(torch.as_tensor(u), *pair), scipy.stats.beta.cdf(u, a, b), atol=1e-11)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("smoothing", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_partitioned_measures_are_finite_for_any_smoothing_and_score(family, smoothing, dtype):
    phi = torch.tensor([-300.0, -1.0, 0.0, 0.0, 2.0, 300.0], dtype=dtype, requires_grad=True)
    Z = sinkhorn(partitioned(phi, edges(6).to(dtype), smoothing, family)).matrix
    (slope,) = torch.autograd.grad(Z, phi, torch.ones_like(Z).cumsum(-1))
    assert torch.isfinite(Z).all()
    assert torch.isfinite(slope).all()


def test_shorter_queries_have_no_mass_beyond_their_end():
    bounds = rank_edges(torch.tensor([2, 4]), 4, torch.float64)
    np.testing.assert_allclose(bounds, [[0, 0.5, 1, 1, 1], [0, 0.25, 0.5, 0.75, 1]])
    A = partitioned(scores(0, 2, 4), bounds, 0.5, "logistic")
    assert (A[0, :, 2:] == 0).all()


def test_bad_arguments_are_named():
    with pytest.raises(InputError, match="smoothing must be a positive number; got 0"):
        smoothed_indicator(scores(0, 3), None, 0.0)
    with pytest.raises(
        InputError, match="unknown family of partitioned measures 'gamma'; known: logistic, probit, beta"
    ):
        partitioned(scores(0, 3), edges(3), 1.0, "gamma")
