"""The published LETOR rows: complete, and as printed."""

import pytest

from letorlab.report.published import published_rows

SETS = ["td2003", "td2004", "np2003", "np2004", "hp2003", "hp2004", "ohsumed"]


def test_no_value_is_missing():
    rows = published_rows(SETS)
    assert len(rows) == 12 * 7 * 4
    assert not rows.drop(columns="k").isna().any().any()
    names = rows["metric"] + "@" + rows["k"].fillna(0).astype("str")
    found = names.groupby([rows["dataset"], rows["method"]]).agg(lambda cell: " ".join(sorted(cell)))
    assert len(found) == 12 * 7
    assert set(found) == {"map@0 ndcg@10 ndcg@3 ndcg@5"}
    assert rows["value"].between(0.15, 0.9).all()


@pytest.mark.parametrize(
    ("dataset", "method", "metric", "k", "value"),
    [
        ("ohsumed", "Regression", "ndcg", 10, 0.4110),
        ("ohsumed", "Regression", "map", None, 0.4220),
        ("ohsumed", "SmoothRank", "ndcg", 3, 0.4964),
        ("td2003", "ListNet", "ndcg", 10, 0.348),
        ("td2004", "RankBoost", "ndcg", 5, 0.3878),
        ("hp2004", "AdaRank-MAP", "map", None, 0.7219),
        ("np2003", "FRank", "ndcg", 3, 0.7261),
        ("hp2003", "Regression+L2", "ndcg", 5, 0.8142),
    ],
)
def test_values_as_printed(dataset, method, metric, k, value):
    rows = published_rows([dataset])
    here = rows[(rows["method"] == method) & (rows["metric"] == metric)]
    here = here[here["k"].isna()] if k is None else here[here["k"] == k]
    assert here["value"].tolist() == [value]


def test_rows_are_sorted_and_other_sets_add_none():
    rows = published_rows(["toy2", "ohsumed"])
    assert set(rows["dataset"]) == {"ohsumed"}
    keys = [(r.dataset, r.method, r.metric, 0 if str(r.k) == "<NA>" else r.k) for r in rows.itertuples()]
    assert keys == sorted(keys)
    assert published_rows(["toy2"]).empty
    assert list(rows.columns) == ["dataset", "method", "metric", "k", "value", "source"]
