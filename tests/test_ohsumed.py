"""Data, folds, tuning and measures in one: the published OHSUMED rows, with the grids of config/ohsumed.yaml."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from letorlab.datasets import resolve
from letorlab.metrics import average_precision, ndcg
from letorlab.prepare import prepare
from letorlab.prepared import load_split
from letorlab.queries import Floats, Queries
from letorlab.rankers import ranker_class
from letorlab.sources import require_sources
from letorlab.study import methods_of
from letorlab.tuning import best_trial, fit_grid

pytestmark = pytest.mark.letor
CONFIG = yaml.safe_load((Path(__file__).parents[1] / "config/ohsumed.yaml").read_text())


@pytest.fixture(scope="module")
def data(tmp_path_factory, letor_home) -> Path:
    folder, dataset = tmp_path_factory.mktemp("ohsumed"), resolve("ohsumed", None)
    prepare(dataset, require_sources([dataset], letor_home, folder)["ohsumed"], folder)
    return folder


def mean_ap(scores: Floats, queries: Queries) -> float:
    return float(average_precision(scores, queries.y, queries.offsets).mean())


def five_folds(data: Path, name: str) -> tuple[float, float]:
    """NDCG@10 and MAP: means over folds of the test values of the trial with the best validation MAP."""
    method, values = methods_of(CONFIG)[name], []
    for fold in range(1, 6):
        train, vali, test = (load_split(data, fold, split) for split in ("train", "vali", "test"))
        trials = list(fit_grid(ranker_class(method.ranker), method.trials(), train, vali, test, seed=1))
        assert all(trial.fit["converged"] for trial in trials)
        scores = trials[best_trial([mean_ap(trial.vali, vali) for trial in trials])].test
        values.append((ndcg(scores, test.y, test.offsets, k=10).mean(), mean_ap(scores, test)))
    return tuple(np.mean(values, axis=0))


def test_least_squares_gives_the_published_row_to_all_its_digits(data):
    assert five_folds(data, "regression") == pytest.approx((0.41105, 0.42199), abs=5e-6)


def test_ridge_regression_is_near_the_published_row(data):
    assert five_folds(data, "regression_l2") == pytest.approx((0.4436, 0.4439), abs=0.003)


def test_ranksvm_reaches_its_published_level(data):
    value, mean_average_precision = five_folds(data, "ranksvm")
    assert value >= 0.4450
    assert mean_average_precision >= 0.4440
