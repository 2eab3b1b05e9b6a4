"""The page of baselines: means over folds, differences, and the sentence where one is large."""

from __future__ import annotations

import pandas as pd

from letorlab.report.baselines import baselines_page


def metrics(values):
    rows = [
        {"dataset": "d", "method": method, "fold": fold, "metric": metric, "k": k, "value": value}
        for method, folds in values.items()
        for fold, value in enumerate(folds, start=1)
        for metric, k in (("ndcg", 10), ("ndcg", 3), ("map", None))
    ]
    return pd.DataFrame(rows)


PUBLISHED = pd.DataFrame(
    [
        {"dataset": "d", "method": "A", "metric": "ndcg", "k": 10, "value": 0.45},
        {"dataset": "d", "method": "A", "metric": "map", "k": None, "value": 0.5},
    ]
)


def test_means_stand_beside_the_published_and_large_differences_get_a_sentence():
    # mean .4, standard error .1 / sqrt(3): .45 is near, .5 is 1.7 errors off
    near = baselines_page(
        metrics({"ours": [0.3, 0.4, 0.5], "free": [0.2, 0.2]}), PUBLISHED, {"ours": {"published": "A"}, "free": None}
    )
    assert "| ours | A | .4000 | .4500 | -.0500 | .4000 | .5000 | -.1000 |" in near
    assert "| free | - | .2000 | - | - | .2000 | - | - |" in near
    assert "No difference is larger than 2 standard errors" in near
    # standard error .01 / sqrt(3): .1 below is 17.3 of them
    far = baselines_page(metrics({"ours": [0.39, 0.4, 0.41]}), PUBLISHED, {"ours": {"published": "A"}})
    assert "- NDCG@10 of `ours` is 8.7 standard errors over folds below the published." in far
    assert "- MAP of `ours` is 17.3 standard errors over folds below the published." in far
