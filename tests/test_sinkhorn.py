"""Sinkhorn balancing: the paper's steps written out, limits, invariances, slopes, masses and padding."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.presinkhorn import smoothed_indicator
from letorlab.sinkhorn import FLOOR, expected_gain, log_sinkhorn, sinkhorn

seeds = st.integers(0, 10**6)


def random_matrix(seed, *shape, low=0.01):
    return torch.as_tensor(np.random.default_rng(seed).uniform(low, 1.0, shape))


def steps_written_out(A, n_iter):
    """Columns, then rows, as in the paper; one matrix."""
    Z = np.asarray(A, dtype=float)
    for _ in range(n_iter):
        Z = Z / Z.sum(0, keepdims=True)
        Z = Z / Z.sum(1, keepdims=True)
    return Z


def slope_written_out(A, slope, n_iter):
    """The paper's backward formula for every step: dU/dc = g / rho - (g . c) / rho^2, rows then columns."""
    inputs, Z = [], np.asarray(A, dtype=float)
    for _ in range(n_iter):
        for axis in (0, 1):
            inputs.append((Z, axis))
            Z = Z / Z.sum(axis, keepdims=True)
    for c, axis in reversed(inputs):
        rho = c.sum(axis, keepdims=True)
        slope = slope / rho - (slope * c).sum(axis, keepdims=True) / rho**2
    return slope


@given(seeds, st.integers(1, 7), st.integers(1, 6))
def test_the_matrix_is_that_of_the_paper_and_so_is_its_slope(seed, size, n_iter):
    A = random_matrix(seed, size, size).requires_grad_()
    g = random_matrix(seed + 1, size, size) - 0.5
    Z = sinkhorn(A, n_iter=n_iter).matrix
    written_out = A.detach().numpy() + FLOOR
    np.testing.assert_allclose(Z.detach(), steps_written_out(written_out, n_iter), atol=1e-14)
    (slope,) = torch.autograd.grad(Z, A, g)
    np.testing.assert_allclose(slope, slope_written_out(written_out, g.numpy(), n_iter), atol=1e-11)


@pytest.mark.parametrize("n_iter", [1, 5])
def test_slopes_equal_finite_differences_and_autograd_in_the_log_domain(n_iter):
    A = random_matrix(0, 2, 5, 5, low=0.1).requires_grad_()
    rows, cols = torch.tensor([[1.0, 2, 1, 3, 0]]).double(), torch.tensor([[2.0, 2, 0, 1, 2]]).double()
    masses = {"row_mass": rows.expand(2, 5), "col_mass": cols.expand(2, 5)}

    def balanced(A):
        return sinkhorn(A, n_iter=n_iter, **masses).matrix

    assert torch.autograd.gradcheck(balanced, (A,), eps=1e-6, atol=1e-8, rtol=1e-7)
    g = random_matrix(1, 2, 5, 5)
    in_logs = log_sinkhorn(A.log(), n_iter=n_iter, floor=FLOOR, **masses).matrix
    for ours, plain in zip(*(torch.autograd.grad(Z, A, g) for Z in (balanced(A), in_logs)), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-10, atol=1e-11)


def test_the_expected_gain_is_that_of_the_matrix_and_so_is_its_slope():
    A = random_matrix(3, 3, 6, 6).requires_grad_()
    rows = torch.tensor([[1.0, 2, 1, 0, 1, 3]] * 3).double()
    cols = torch.tensor([[2.0, 2, 1, 1, 2, 0]] * 3).double()
    gains, discounts = (
        random_matrix(4, 3, 6, 2) * (rows > 0)[..., None],
        random_matrix(5, 3, 6, 2) * (cols > 0)[..., None],
    )
    Z = sinkhorn(A, row_mass=rows, col_mass=cols).matrix
    slow = torch.einsum("njr,njk,nkr->n", gains, Z, discounts)
    fast = expected_gain(A, gains, discounts, row_mass=rows, col_mass=cols)
    torch.testing.assert_close(fast, slow, rtol=1e-13, atol=1e-13)
    weights = torch.tensor([0.3, -1.0, 2.0]).double()
    for ours, plain in zip(*(torch.autograd.grad(v, A, weights) for v in (fast, slow)), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-10, atol=1e-12)


@given(seeds, st.integers(1, 8))
def test_rows_are_exact_and_the_columns_come_ever_closer(seed, size):
    A = random_matrix(seed, size, size)
    errors = []
    for n_iter in range(1, 8):
        Z = sinkhorn(A, n_iter=n_iter).matrix
        np.testing.assert_allclose(Z.sum(1), 1.0, atol=1e-14)
        errors.append(float((Z.sum(0) - 1).abs().sum()))
    assert all(later <= earlier + 1e-13 for earlier, later in pairwise(errors))


@given(seeds, st.floats(1e-3, 1e3))
def test_without_a_floor_scaling_rows_and_columns_leaves_the_limit_and_one_factor_every_step(seed, factor):
    rng = np.random.default_rng(seed)
    log_A = torch.as_tensor(rng.normal(size=(4, 4)))
    log_r, log_c = (torch.as_tensor(rng.normal(size=4)) for _ in range(2))
    scaled = log_A + log_r[:, None] + log_c[None, :]
    limits = [log_sinkhorn(L, n_iter=2000, tol=1e-13).require(1e-12).matrix for L in (log_A, scaled)]
    torch.testing.assert_close(*limits, rtol=0, atol=1e-10)
    for n_iter in (1, 2, 5):
        pair = [log_sinkhorn(L, n_iter=n_iter).matrix for L in (log_A, log_A + np.log(factor))]
        torch.testing.assert_close(*pair, rtol=0, atol=1e-12)


def test_the_slope_is_orthogonal_to_the_matrix():
    """Z is homogeneous of degree 0 in A + floor (Euler)."""
    A = random_matrix(8, 2, 6, 6).requires_grad_()
    (slope,) = torch.autograd.grad(sinkhorn(A).matrix, A, random_matrix(9, 2, 6, 6))
    assert float(((A.detach() + FLOOR) * slope).sum()) == pytest.approx(0.0, abs=1e-12)


def test_doubly_stochastic_matrices_stay_and_two_by_two_has_a_closed_form():
    one = torch.eye(4, dtype=torch.float64)
    Z = 0.4 * one + 0.6 * one.roll(1, 0)
    torch.testing.assert_close(log_sinkhorn(Z.log()).matrix, Z, rtol=0, atol=1e-15)
    a, b, c, d = 0.9, 0.2, 0.5, 0.7
    limit = log_sinkhorn(torch.tensor([[a, b], [c, d]], dtype=torch.float64).log(), n_iter=500, tol=1e-15).matrix
    root = np.sqrt(a * d) / (np.sqrt(a * d) + np.sqrt(b * c))
    assert float(limit[0, 0]) == pytest.approx(root, abs=1e-12)


@given(seeds)
def test_permuting_documents_permutes_rows(seed):
    A, order = random_matrix(seed, 6, 6), np.random.default_rng(seed).permutation(6)
    torch.testing.assert_close(sinkhorn(A[order]).matrix, sinkhorn(A).matrix[order], rtol=0, atol=1e-14)


@given(seeds, st.floats(-4, 4))
def test_logarithms_and_products_agree(seed, log_smoothing):
    phi = torch.as_tensor(np.random.default_rng(seed).normal(size=(2, 6)))
    A = smoothed_indicator(phi, None, 10.0**log_smoothing)
    pair = sinkhorn(A).matrix, log_sinkhorn(A.log(), floor=FLOOR).matrix
    torch.testing.assert_close(*pair, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("smoothing", [1e-4, 1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_slopes_are_finite_for_any_smoothing(smoothing, dtype):
    rng = np.random.default_rng(0)
    phi = torch.as_tensor(np.append(rng.normal(size=40), [0.5, 0.5, 1e3]), dtype=dtype).requires_grad_()
    balanced = sinkhorn(smoothed_indicator(phi, None, smoothing))
    (slope,) = torch.autograd.grad(balanced.matrix, phi, torch.as_tensor(rng.normal(size=(43, 43)), dtype=dtype))
    assert torch.isfinite(balanced.matrix).all()
    assert torch.isfinite(slope).all()
    assert torch.isfinite(balanced.marginal_error)
    np.testing.assert_allclose(balanced.matrix.detach().sum(-1), 1.0, atol=1e-5 if dtype == torch.float32 else 1e-12)


# ---- masses and padding ----------------------------------------------------------------------------------------


def test_a_mass_stands_for_equal_rows_and_columns():
    rng = np.random.default_rng(1)
    small, counts = random_matrix(2, 3, 3), np.array([2, 1, 3])
    where = np.repeat(np.arange(3), counts)
    mass = torch.as_tensor(counts, dtype=torch.float64)
    large = sinkhorn(small[where][:, where]).matrix
    torch.testing.assert_close(sinkhorn(small, row_mass=mass, col_mass=mass).matrix[where][:, where], large)
    gains, discounts = torch.as_tensor(rng.normal(size=(6, 1))), torch.as_tensor(rng.normal(size=(6, 1)))
    summed = [torch.zeros(3, 1).double().index_add_(0, torch.as_tensor(where), x) for x in (gains, discounts)]
    merged = expected_gain(small[None], *(x[None] for x in summed), row_mass=mass[None], col_mass=mass[None])
    assert float(merged) == pytest.approx(float((gains.T @ large @ discounts).item()), abs=1e-13)


@pytest.mark.parametrize("rubbish", [0.0, 1.0, 1e6])
def test_padding_never_leaks(rubbish):
    sizes, width = [1, 3, 5], 5
    A, mass = torch.full((3, width, width), rubbish).double(), torch.zeros(3, width).double()
    for q, size in enumerate(sizes):
        A[q, :size, :size], mass[q, :size] = random_matrix(q, size, size), 1.0
    A.requires_grad_()
    balanced = sinkhorn(A, row_mass=mass, col_mass=mass)
    (slope,) = torch.autograd.grad(balanced.matrix, A, random_matrix(9, 3, width, width))
    logs = log_sinkhorn(A.detach().log(), floor=FLOOR, row_mass=mass, col_mass=mass).matrix
    torch.testing.assert_close(logs, balanced.matrix.detach(), rtol=1e-12, atol=1e-13)
    for q, size in enumerate(sizes):
        alone = A.detach()[q, :size, :size].clone().requires_grad_()
        Z = sinkhorn(alone)
        torch.testing.assert_close(balanced.matrix[q, :size, :size], Z.matrix, rtol=0, atol=1e-14)
        (alone_slope,) = torch.autograd.grad(Z.matrix, alone, random_matrix(9, 3, width, width)[q, :size, :size])
        torch.testing.assert_close(slope[q, :size, :size], alone_slope, rtol=1e-11, atol=1e-12)
        outside = torch.ones(width, width, dtype=bool)
        outside[:size, :size] = False
        assert (balanced.matrix[q][outside] == 0).all()
        assert (slope[q][outside] == 0).all()
        assert float(balanced.marginal_error[q]) == pytest.approx(float(Z.marginal_error), abs=1e-14)


# ---- what users of other Sinkhorn codes ran into -----------------------------------------------------------------

HALF, QUARTER = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.25, 0.75]).double()
COST = torch.tensor([[5.0, 9.0], [6.0, 8.0]]).double()


def plan(cost, smoothing, **options):
    balanced = log_sinkhorn(-cost / smoothing, row_mass=HALF, col_mass=QUARTER, **options)
    return HALF[:, None] * balanced.matrix * QUARTER, balanced


@pytest.mark.parametrize("smoothing", [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0])
def test_transport_plans_stay_finite_where_exp_underflows(smoothing):
    P, balanced = plan(COST, smoothing, n_iter=5000, tol=1e-9)
    assert torch.isfinite(P).all()
    if smoothing < 1e-3:  # so slow that it is not there yet, and says so
        assert float(balanced.marginal_error) > 0.1
        return
    balanced.require(1e-8)
    np.testing.assert_allclose(P.sum(1), HALF, atol=1e-8)
    np.testing.assert_allclose(P.sum(0), QUARTER, atol=1e-8)
    if smoothing <= 1e-2:
        np.testing.assert_allclose(P, [[0.25, 0.25], [0.0, 0.5]], atol=1e-8)


def test_a_plan_that_has_not_converged_is_never_accepted_silently():
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double()
    _, balanced = plan(swap, 1e-4, n_iter=5000, tol=1e-9)
    assert torch.isfinite(balanced.matrix).all()
    assert balanced.n_iter == 5000
    assert float(balanced.marginal_error) == pytest.approx(0.25, abs=0.01)
    with pytest.raises(InputError, match=r"stopped after 5000 steps with a marginal error of 0\.2.*allow more steps"):
        balanced.require(1e-6)


def test_a_constant_cost_gives_the_outer_product():
    P, _ = plan(torch.full((2, 2), 3.0).double(), 0.1)
    torch.testing.assert_close(P, torch.outer(HALF, QUARTER), rtol=0, atol=1e-15)


def test_twenty_steps_leave_exact_rows_and_a_reported_error_in_the_columns():
    A = smoothed_indicator(torch.as_tensor(np.random.default_rng(2).normal(size=30)), None, 0.05)
    balanced = sinkhorn(A, n_iter=20)
    np.testing.assert_allclose(balanced.matrix.sum(1), 1.0, atol=1e-13)
    assert float(balanced.marginal_error) == pytest.approx(float((balanced.matrix.sum(0) - 1).abs().max()))
    assert 0 < float(balanced.marginal_error) < 0.1


def test_what_can_not_be_balanced_is_refused():
    square = torch.ones(3, 3).double()
    with pytest.raises(InputError, match="n_iter, the number of Sinkhorn steps, must be at least 1; got 0"):
        sinkhorn(square, n_iter=0)
    with pytest.raises(InputError, match=r"floor must be a positive number; got 0.* use log_sinkhorn"):
        sinkhorn(square, floor=0.0)
    with pytest.raises(InputError, match="masses of the same positive total"):
        sinkhorn(torch.ones(2, 3).double())
    with pytest.raises(InputError, match="a row of the matrix has no positive entry"):
        log_sinkhorn(torch.tensor([[0.0, 0.0], [1.0, 1.0]]).log())
    with pytest.raises(InputError, match="a column of the matrix has no positive entry"):
        log_sinkhorn(torch.tensor([[0.0, 1.0], [0.0, 1.0]]).log())
