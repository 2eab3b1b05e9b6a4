"""The tables of a study against hand arithmetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layouts import make_parts, write_parts

from letorlab.csvtable import write_table
from letorlab.datasets import Dataset
from letorlab.errors import InputError
from letorlab.prepare import prepare
from letorlab.report.rarities import query_counts, tie_means
from letorlab.report.tables import collect, comparisons, fold_means, summary

VALUES = {
    "a": [0.1, 0.3, 0.8],
    "b": [0.2, 0.4, 0.9],
    "c": [0.5, 0.0, 0.7],
}  # two queries in fold 1, one in fold 2
RESAMPLING = {"resamples": 200, "seed": 1}


def per_query(methods="abc", metrics=(("map", None), ("ndcg", 10))) -> pd.DataFrame:
    rows = [
        {"dataset": "d", "method": m, "fold": fold, "qid": qid, "metric": metric, "k": k, "value": value}
        for m in methods
        for metric, k in metrics
        for fold, qid, value in zip([1, 1, 2], ["10", "9", "x"], VALUES[m], strict=True)
    ]
    return pd.DataFrame(rows).astype({"k": "Int64"})


def test_fold_means_and_their_mean():
    means = fold_means(per_query())
    a = means[(means["method"] == "a") & (means["metric"] == "map")]
    assert a["value"].tolist() == [pytest.approx(0.2), pytest.approx(0.8)]
    row = summary(per_query(), **RESAMPLING).query("method == 'a' and metric == 'map'").iloc[0]
    assert row["mean"] == pytest.approx((0.2 + 0.8) / 2)  # not the mean of the three queries
    assert (row["n_folds"], row["n_queries"]) == (2, 3)
    assert row["ci_low"] <= row["mean"] <= row["ci_high"]
    assert pd.isna(row["k"])


def test_a_row_does_not_depend_on_the_other_methods():
    full = summary(per_query(), **RESAMPLING)
    for method in "abc":
        alone = summary(per_query(method), **RESAMPLING)
        pd.testing.assert_frame_equal(full[full["method"] == method].reset_index(drop=True), alone)


def test_comparisons_are_paired_and_corrected():
    table = comparisons(per_query(), reference="a", cutoff=10, **RESAMPLING)
    assert table["method"].tolist() == ["b", "c"] * 2
    b = table.iloc[0]
    assert b["difference"] == pytest.approx(0.1)
    assert b["ci_low"] == pytest.approx(0.1)
    assert b["ci_high"] == pytest.approx(0.1)  # the same difference on every query
    c = table.query("method == 'c' and metric == 'ndcg'").iloc[0]
    assert c["difference"] == pytest.approx((0.4 - 0.3) / 2 / 2 + -0.1 / 2)
    assert 0 <= c["p_value"] <= c["p_holm"] <= 1
    assert comparisons(per_query(), reference="z", cutoff=10, **RESAMPLING).empty
    identical = pd.concat([per_query("a"), per_query("a").assign(method="copy")])
    assert comparisons(identical, reference="a", cutoff=10, **RESAMPLING)["p_value"].tolist() == [1.0, 1.0]


def test_missing_folds_of_a_method_are_an_error_not_a_number():
    table = per_query()
    with pytest.raises(InputError, match="some folds of it are missing or stale"):
        summary(table.drop(table.index[2]), **RESAMPLING)


def test_collect_keeps_methods_that_were_not_built_and_passes_over_absent_ones(tmp_path):
    for method in "ab":
        for fold, block in per_query(method).groupby("fold"):
            (tmp_path / f"d/fold{fold}/{method}").mkdir(parents=True)
            write_table(block, tmp_path / f"d/fold{fold}/{method}/per_query.csv")
    found = collect(tmp_path, "per_query.csv", ["d"], ["a", "b", "c"], [1, 2])
    assert sorted(set(found["method"])) == ["a", "b"]
    assert "10" in set(found["qid"])
    with pytest.raises(InputError, match="nothing has been evaluated yet"):
        collect(tmp_path, "per_query.csv", ["other"], ["a"], [1])


def test_ties_beside_the_value_in_the_files_order():
    """Method a has a tie in its first query, b none; means are means of fold means."""
    table = per_query("ab").assign(expected=np.nan)
    table.loc[(table["method"] == "a") & (table["qid"] == "10"), "expected"] = 0.5
    ties = tie_means(table, cutoff=10)
    assert ties["method"].tolist() == ["a", "a"]
    assert ties["metric"].tolist() == ["map", "ndcg"]
    assert ties["mean"].tolist() == pytest.approx([((0.1 + 0.3) / 2 + 0.8) / 2] * 2)
    assert ties["expected"].tolist() == pytest.approx([((0.5 + 0.3) / 2 + 0.8) / 2] * 2)
    assert ties["n_tied"].tolist() == [1, 1]
    assert ties["n_queries"].tolist() == [3, 3]
    assert tie_means(table[table["method"] == "b"], cutoff=10).empty


def test_queries_that_a_rule_decides_are_counted(tmp_path):
    """Per fold, as a plain loop over the test lines counts them; relevant from 2 on in mslr."""
    parts = make_parts(4, queries=20)
    write_parts(tmp_path / "d", parts)
    dataset = Dataset("mine", "mine", "mslr", path=str(tmp_path / "d"))
    prepare(dataset, Path(dataset.path), tmp_path / "data/mine")
    table = query_counts(tmp_path / "data", ["mine"], [1, 2], {"no_relevant": "skip", "cutoff": 6})
    assert table["fold"].tolist() == [1, 2]
    for row, part in zip(table.itertuples(), (parts[4], parts[0]), strict=True):
        labels: dict[str, list[int]] = {}
        for line in part:
            labels.setdefault(line.split()[1], []).append(int(line[0]))
        assert (row.profile, row.no_relevant, row.cutoff, row.n_queries) == ("mslr", "skip", 6, 20)
        assert row.without_relevant == sum(max(y) < 2 for y in labels.values())
        assert row.short == sum(len(y) < 6 for y in labels.values())
        assert row.all_equal == sum(len(set(y)) == 1 for y in labels.values())
    assert table[["without_relevant", "short", "all_equal"]].to_numpy().any(axis=0).all(), "else nothing was tested"
