"""The learning-rate laboratory: populations with known truth, the theorems' exponents, fitted slopes, the target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from project import Project
from scipy.spatial.distance import pdist

from letorlab.errors import InputError
from letorlab.simulate.label_noise import Bipartite, BradleyTerryLuce, Contaminated, PowerNoise
from letorlab.simulate.population import Population, bayes_risk, excess_risks
from letorlab.simulate.rate_settings import D1, SETTINGS, cells_of
from letorlab.simulate.rate_tables import slope, slope_rows
from letorlab.simulate.rate_theory import hinge_rate, square_rate
from letorlab.simulate.rates import LAM_FLOOR, empirical_risk, fitted, rate_rows, schedule
from letorlab.simulate.supports import cantor, cube, helix, triangle, two_waves, weierstrass

NOISES = [Contaminated(0.3), PowerNoise(0.25), PowerNoise(1.0), Bipartite(), BradleyTerryLuce(4.0)]
N = 10**6


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
@pytest.mark.parametrize("g", [(0.7, 0.2), (0.4, 0.45), (0.1, 0.9)])
def test_probabilities_are_those_of_a_million_draws(noise, g):
    rng = np.random.default_rng(0)
    y, y_prime = (noise.draw(np.full(N, value), rng) for value in g)
    first, second = np.array([g[0]]), np.array([g[1]])
    drawn = np.sign(y - y_prime)
    for exact, seen in (
        (noise.difference(first, second)[0], drawn),
        (noise.tied(first, second)[0], (drawn == 0).astype(float)),
    ):
        assert seen.mean() == pytest.approx(exact, abs=3 * seen.std() / np.sqrt(N) + 1e-9)
    assert noise.difference(second, first) == pytest.approx(-noise.difference(first, second))


@pytest.mark.parametrize("noise", [n for n in NOISES if np.isfinite(n.noise_exponent)], ids=lambda noise: noise.name)
def test_noise_and_margin_exponents_are_as_stated(noise):
    """P(|d| < s) ~ s^q and E |d| 1{|g - g'| < s} ~ s^beta, for a utility with a uniform distribution."""
    rng = np.random.default_rng(1)
    g, g_prime = rng.random((2, 4 * N))
    size, apart = np.abs(noise.difference(g, g_prime)), np.abs(g - g_prime)
    s = np.array([0.01, 0.03, 0.1]) if noise.noise_exponent < 2 else np.array([0.06, 0.12, 0.24])
    shares = [np.mean(size < bound) for bound in s]
    assert np.polyfit(np.log(s), np.log(shares), 1)[0] == pytest.approx(noise.noise_exponent, abs=0.1)
    s = np.array([0.003, 0.01, 0.03])
    masses = [np.mean(size * (apart < bound)) for bound in s]
    assert np.polyfit(np.log(s), np.log(masses), 1)[0] == pytest.approx(noise.margin_exponent, abs=0.1)


def test_contamination_keeps_every_pair_decided():
    rng = np.random.default_rng(2)
    d = Contaminated(0.3).difference(*rng.random((2, N)))
    assert np.abs(d).min() >= 0.7**2
    assert Contaminated(0.3).margin_exponent == 1.0


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_the_best_rule_reaches_the_bayes_risk(noise):
    population = Population(helix(), triangle, noise)
    sample = population.draw(2 * N, np.random.default_rng(3))
    (g, g_prime), (y, y_prime) = np.split(sample.g, 2), np.split(sample.y, 2)
    d, strict = noise.difference(g, g_prime), 1 - noise.tied(g, g_prime)
    wrong = np.sign(d) * np.sign(y - y_prime) < 0
    assert wrong.mean() == pytest.approx(bayes_risk(d, strict), abs=3 * wrong.std() / np.sqrt(N))
    few = sample.g[:300]
    excess = population.excess(np.sign(noise.difference(few[:, None], few[None, :])), few)
    assert (excess.ranking, excess.hinge) == (0.0, 0.0)


def test_excess_risks_of_simple_rules():
    d, strict = np.array([0.5, -0.2, 0.8]), np.array([1.0, 0.4, 0.9])
    nothing = excess_risks(np.zeros(3), d, strict)
    assert nothing.ranking == pytest.approx(0.5 * np.mean(np.abs(d)))
    assert nothing.hinge == pytest.approx(np.mean(np.abs(d)))
    assert nothing.square == pytest.approx(np.mean(d**2 / strict))
    reversed_rule = excess_risks(-np.sign(d), d, strict)
    assert reversed_rule.ranking == pytest.approx(np.mean(np.abs(d)))
    assert excess_risks(d / strict, d, strict).square == 0.0
    assert excess_risks(5 * np.sign(d), d, strict).hinge == 0.0  # f is clipped


@given(st.integers(0, 10**6))
def test_calibration_holds_for_every_rule(seed):
    """The excess ranking risk is at most that of the hinge, and at most the root of that of the square."""
    rng = np.random.default_rng(seed)
    strict = rng.random(50)
    d, f = strict * rng.uniform(-1, 1, 50), rng.normal(size=50)
    excess = excess_risks(f, d, strict)
    assert excess.ranking <= excess.hinge + 1e-12
    assert excess.ranking <= np.sqrt(excess.square) + 1e-12


def test_the_surrogates_have_their_minimum_where_the_formulas_say():
    """Against risks written out with the losses, over a grid of values f in [-1, 1]."""
    for up, down in ((0.7, 0.2), (0.1, 0.6), (0.5, 0.5)):
        f = np.linspace(-1, 1, 2001)
        d, strict = np.full(2001, up - down), np.full(2001, up + down)
        for power, name in ((1, "hinge"), (2, "square")):
            risk = up * np.maximum(0, 1 - f) ** power + down * np.maximum(0, 1 + f) ** power
            pointwise = [
                getattr(excess_risks(*map(np.atleast_1d, row)), name) for row in zip(f, d, strict, strict=True)
            ]
            np.testing.assert_allclose(risk - risk.min(), pointwise, atol=1e-6)


def test_supports_and_utilities_are_what_they_are_called():
    t = np.random.default_rng(4).random((200, 1))
    np.testing.assert_allclose(pdist(helix(20).embed(t)), pdist(helix(3).embed(t)), atol=1e-12)
    assert helix(20).embed(t).shape == (200, 20)
    square = np.random.default_rng(5).random((50, 2))
    np.testing.assert_allclose(pdist(cube(2, 3).embed(square)), pdist(square), atol=1e-12)
    points = cantor().latent(20_000, np.random.default_rng(6))[:, 0]
    boxes = [len(np.unique(np.floor(points * 3.0**k + 1e-9))) for k in (2, 4, 6)]
    assert boxes == [2**2, 2**4, 2**6]
    np.testing.assert_allclose(triangle(np.array([[0.0], [0.25], [0.5], [1.0]])), [0, 0.5, 1, 0])
    np.testing.assert_allclose(two_waves(np.array([[0.0], [0.25], [0.5], [0.75]])), [0, 1, 0, 1])
    g, steps = weierstrass(0.5), 2.0 ** -np.arange(4.0, 13.0)
    x = np.random.default_rng(7).random((5000, 1))
    rises = [np.sqrt(np.mean((g(x + h) - g(x)) ** 2)) for h in steps]
    assert np.polyfit(np.log(steps), np.log(rises), 1)[0] == pytest.approx(0.5, abs=0.05)


def test_exponents_of_the_theorems():
    """methods of Lei and Shi: q = inf gives beta / (beta + 2 rho); square alpha / (alpha + rho)."""
    assert hinge_rate(D1).ranking == pytest.approx(1 / 3)
    assert hinge_rate(D1).lam == pytest.approx(7 / 3)
    bipartite = hinge_rate(Population(helix(), triangle, Bipartite()))
    assert bipartite.ranking == pytest.approx(2 * 2 / (2 * 3 + 2 * 2))
    btl = square_rate(Population(helix(), triangle, BradleyTerryLuce(4.0)))
    assert (btl.surrogate, btl.ranking, btl.lam) == (pytest.approx(1 / 2), pytest.approx(1 / 3), pytest.approx(2.0))
    rough = square_rate(Population(cube(1, 1), weierstrass(0.5), BradleyTerryLuce(1.0), 0.5))
    assert rough.surrogate == pytest.approx(1 / 3)


def test_a_lambda_that_floating_point_can_not_resolve_is_floored():
    high = SETTINGS["d1_20_hinge"]
    assert 0.3 * 3200**-high.rate.lam < 1e-48
    assert schedule(high, 3200)[1] == LAM_FLOOR
    low = SETTINGS["d1_20_hinge_lam3"]
    assert schedule(low, 3200) == (pytest.approx(3200 ** (-1 / 3)), pytest.approx(0.3 * 3200 ** (-7 / 3)))


def test_validation_takes_the_fit_with_the_lowest_empirical_risk():
    setting = SETTINGS["d4_square_tuned"]
    rng = np.random.default_rng(8)
    train, validation = setting.population.draw(60, rng), setting.population.draw(60, rng)
    best = fitted(setting, train, validation)
    risk = empirical_risk(best.decision_matrix(validation.X), validation.y)
    assert risk == pytest.approx(best.score_risk(validation.X, validation.y, np.zeros(60)))
    weak = type(best)(loss="square", sigma=2.0, lam=1e-2, weighting="pairs").fit(train.X, train.y, np.zeros(60))
    assert risk <= empirical_risk(weak.decision_matrix(validation.X), validation.y)


def test_rows_are_seeded_and_the_risk_falls():
    rows = rate_rows("d4_square", 40, [1, 2], n_test=100)
    assert rate_rows("d4_square", 40, [2], n_test=100) == rows[1:]
    many = rate_rows("d4_square", 400, [1, 2], n_test=100)
    assert np.mean([row["square"] for row in many]) < np.mean([row["square"] for row in rows])


def test_a_power_law_has_its_slope():
    n = np.array([25, 100, 400])
    noise = 1 + 0.1 * np.random.default_rng(9).normal(size=(20, 3))
    exact = pd.DataFrame(np.tile(3.0 * n**-0.4, (5, 1)), columns=n)
    assert slope(exact, "x") == (pytest.approx(-0.4), pytest.approx(-0.4), pytest.approx(-0.4))
    low, middle, high = slope(pd.DataFrame(noise * n**-0.4, columns=n), "x")
    assert low < middle < high
    assert low - 0.02 < -0.4 < high + 0.02
    risks = pd.DataFrame({"setting": "d1_hinge", "n": np.tile(n, 2), "seed": np.repeat([1, 2], 3)})
    risks = risks.assign(ranking=1.0 * risks["n"] ** -0.5, hinge=1.0 * risks["n"] ** -0.1)
    ranking, hinge = slope_rows(risks)
    assert (ranking["confirmed"], hinge["confirmed"]) == (True, False)


def test_cells_stop_at_the_largest_size_of_their_kind():
    block = {"n": [100, 1600], "largest_tuned": 800}
    cells = cells_of(block)
    assert ("d1_hinge", 1600) in cells
    assert ("d1_hinge_tuned", 100) in cells
    assert ("d1_hinge_tuned", 1600) not in cells
    with pytest.raises(InputError, match=r"unknown d9; known: d1_hinge"):
        cells_of({**block, "only": ["d9"]})


@pytest.mark.workflow
def test_the_laboratory_is_a_target(tmp_path):
    project = Project(tmp_path)
    config = {
        "study": "none",
        "datasets": {"ohsumed": None},
        "methods": {"random": None},
        "simulate": {
            "folder": "results/none/simulate",
            "rates": {"n": [20, 40], "seeds": 2, "n_test": 50, "only": ["d1_hinge"]},
        },
    }
    name = project.write("none.yaml", config)
    project.run("simulate_rates", config=name)
    folder = tmp_path / "results/none/simulate/rates"
    slopes = pd.read_csv(folder / "slopes.csv")
    wanted = {"distribution", "support", "method", "tuning", "quantity"}
    wanted |= {"slope", "ci_low", "ci_high", "theory", "n_seeds", "note"}
    assert set(slopes.columns) >= wanted
    assert list(slopes["quantity"]) == ["ranking", "hinge"]
    assert all((folder / f"{figure}.svg").stat().st_size > 2000 for figure in ("risks", "slopes"))
    assert project.planned("simulate_rates", config=name) == {}
