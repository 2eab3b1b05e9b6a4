"""The simulations of comparisons: data with a known truth, cells, summaries, figures, and the workflow's target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from project import Project

from letorlab.comparison_measures import comparison_errors
from letorlab.errors import InputError
from letorlab.hardcompare import compare_lp, compare_qp
from letorlab.rankers.svmcompare import SVMCompare
from letorlab.simulate.norms import SIDE, SQUARED_NORMS, draw_comparisons, true_outcomes
from letorlab.simulate.separable import GAP, separable_comparisons
from letorlab.simulate.svmcompare import MODELS, Grid, simulate_cell, tune
from letorlab.simulate.svmcompare_tables import auc_summary, error_summary

SMALL = Grid([0.1, 10.0, 1000.0], [0.05, 0.4], tol=1e-6)
TRUTH = {"l1": 6.2, "l2": 7.6, "linf": 8.3}  # percent, an independent Monte Carlo of the same code


@pytest.mark.parametrize("norm", SQUARED_NORMS)
def test_the_truth_errs_by_the_noise_alone(norm):
    test = draw_comparisons(norm, 5000, 5000, "test")
    assert np.sum(test.y == 0) == np.sum(test.y != 0) == 5000
    assert np.abs(test.X).max() <= SIDE
    error = 100 * comparison_errors(test.y, true_outcomes(norm, test)).share
    assert error == pytest.approx(TRUTH[norm], abs=1.0)


def test_draws_are_named_and_differ_by_name():
    first, again, other = (draw_comparisons("l1", 6, 4, *name) for name in ((1, "train"), (1, "train"), (2, "train")))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    with pytest.raises(InputError, match=r"unknown norm 'l3'; known: l1, l2, linf"):
        draw_comparisons("l3", 1, 1)


@pytest.mark.parametrize("model", MODELS)
def test_a_tuned_fit_is_that_of_the_estimator(model):
    """The grid shares its kernel matrices among models and values of C; the estimator computes everything anew."""
    tuned = tune("l2", 40, 1, grid=SMALL, ties=0.5, select_on="error")
    best = tuned.best[model]
    own = SVMCompare(model=model, sigma=best.gamma**-0.5, C=best.C, tol=1e-6).fit_comparisons(tuned.train)
    X = np.random.default_rng(0).uniform(-SIDE, SIDE, (30, 2))
    expected = own.predict(X)
    np.testing.assert_allclose(tuned.scores(model, X), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_the_first_of_the_fits_with_the_lowest_validation_error_is_taken():
    tuned = tune("l1", 40, 3, grid=SMALL, ties=0.5, select_on="error")
    for model, best in tuned.best.items():
        own = [fit for fit in tuned.fits if fit.model == model]
        lowest = min(fit.validation_error for fit in own)
        assert best is next(fit for fit in own if fit.validation_error == lowest)
    auc = tune("l1", 40, 3, grid=SMALL, ties=0.5, select_on="auc")
    assert all(
        best.validation_auc == max(f.validation_auc for f in auc.fits if f.model == m) for m, best in auc.best.items()
    )


def test_a_cell_has_a_row_a_model_and_learns():
    rows = simulate_cell("l2", 100, 1, grid=SMALL, n_test=2000)
    assert [row["model"] for row in rows] == [*MODELS, "truth"]
    errors = {row["model"]: row["test_error"] for row in rows}
    assert errors["truth"] < errors["compare"] < 0.2
    for row in rows:
        counts = row["false_positives"] + row["false_negatives"] + row["inversions"]
        assert counts == pytest.approx(2000 * row["test_error"])
    assert all(row["n_fits"] == 6 and row["n_at_limit"] == 0 for row in rows[:-1])
    assert simulate_cell("l2", 100, 1, grid=SMALL, n_test=2000) == rows


def test_fits_that_reach_the_limit_are_counted():
    grid = Grid([1e4], [1.0], max_iter=20)
    rows = simulate_cell("l1", 40, 1, grid=grid, n_test=200)
    assert {row["model"]: row["n_at_limit"] for row in rows[:-1]} == dict.fromkeys(MODELS, 1)


def test_the_summary_sets_ours_beside_the_published_values():
    cells = pd.DataFrame({"norm": "l1", "n": 100, "ties": 0.5, "model": "compare", "test_error": [0.15, 0.17, 0.16]})
    cells = cells.assign(n_fits=100, n_at_limit=[0, 3, 0])
    (row,) = error_summary(cells).to_dict("records")
    assert (row["mean"], row["sd"], row["n_seeds"]) == (pytest.approx(16.0), pytest.approx(1.0), 3)
    assert (row["published"], row["difference"]) == (16.0, pytest.approx(0.0))
    assert row["at_limit"] == pytest.approx(0.01)
    assert row["allowed"] == pytest.approx(2 * np.sqrt(1.8**2 / 4 + 1.0 / 3))
    shares = pd.DataFrame({"norm": "linf", "n": 400, "ties": 0.9, "model": "rank", "auc": [0.87, 0.88]})
    (row,) = auc_summary(shares).to_dict("records")
    assert (row["share"], row["mean"], row["published"]) == (90, pytest.approx(0.875), 0.873)


def test_the_separable_example_is_separable_and_scaling_changes_the_quadratic_program_alone():
    data = separable_comparisons(1)
    assert set(np.unique(data.y)) == {-1, 0, 1}
    lp, qp = compare_lp(data), compare_qp(data)
    assert lp.margin >= qp.margin > 0
    assert lp.margin >= GAP
    scaled = type(data)(data.X / [1.0, 0.25], data.X_prime / [1.0, 0.25], data.y)
    assert compare_lp(scaled).margin == pytest.approx(lp.margin, abs=1e-9)
    assert compare_qp(scaled).margin != pytest.approx(qp.margin, abs=1e-4)


@pytest.mark.workflow
def test_the_simulation_is_a_target_that_needs_no_data_and_goes_on_where_it_stopped(tmp_path):
    project = Project(tmp_path)
    small = {"norms": ["l1"], "n": [20, 40], "seeds": 2, "grid": 2, "ties": [20, 60], "ties_n": 20, "ties_seeds": 1}
    config = {
        "study": "none",
        "datasets": {"ohsumed": None},
        "methods": {"random": None},
        "simulate": {"folder": "results/none/simulate", "svmcompare": small},
    }
    name = project.write("none.yaml", config)
    project.run("simulate_svmcompare", config=name)
    folder = tmp_path / "results/none/simulate/svmcompare"
    errors = pd.read_csv(folder / "fig4.csv")
    assert set(errors.columns) >= {"norm", "n", "seed", "model", "test_error"}
    assert len(errors) == 2 * 2 * 4
    assert all((folder / f"{name}.svg").stat().st_size > 2000 for name in ("fig3", "fig4", "fig5", "hard"))
    assert project.planned("simulate_svmcompare", config=name) == {}
    (folder / "cells/l1.40.2.csv").unlink()
    assert project.planned("simulate_svmcompare", config=name)["simulate_svmcompare_cell"] == 1
    refused = project.snakemake(config=name)
    assert refused.returncode != 0
    assert "ohsumed" in refused.stdout + refused.stderr
