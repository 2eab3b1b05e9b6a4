"""The study of MQ2008 (LETOR 4.0) on the real data: CRLF text to tables, under its own profile."""

from __future__ import annotations

import json

import pytest
from project import Project

from letorlab.csvtable import read_table


@pytest.mark.letor
@pytest.mark.workflow
def test_from_text_to_tables_under_letor4(letor_home, tmp_path):
    """Least squares with an intercept; queries without relevant document and short lists are most of this set."""
    project = Project(tmp_path)
    tables = tmp_path / "results/mq2008/tables"
    project.run(
        *("--until", "tables", "--config", "only=[regression,constant]"),
        config="config/mq2008.yaml",
        LETOR_HOME=str(letor_home),
    )
    card = json.loads((tmp_path / "results/mq2008/data/mq2008/card.json").read_text())
    assert (card["profile"], card["queries"], card["documents"], card["features"]) == ("letor4", 784, 15211, 46)
    assert card["queries_without_relevant"] == 220
    assert card["queries_shorter_than_10"] == 403
    counts = read_table(tables / "queries.csv")
    assert counts["n_queries"].tolist() == [156, 157, 157, 157, 157]
    assert (counts["without_relevant"].sum(), counts["short"].sum()) == (220, 403)
    summary = read_table(tables / "summary.csv").set_index(["method", "metric", "k"])
    assert set(summary["n_queries"]) == {784}
    ndcg = summary.loc[("regression", "ndcg")]["mean"]
    assert ndcg[10] < ndcg[5] / 1.5, "lists shorter than k count 0 at k"
    assert summary.loc[("regression", "mean_ndcg")]["mean"].item() == pytest.approx(0.4685, abs=5e-5)
    ties = read_table(tables / "ties.csv").query("method == 'constant' and metric == 'map'")
    assert ties["n_tied"].item() == 784 - 220, "all documents tie, and only queries of one grade do not mind"
