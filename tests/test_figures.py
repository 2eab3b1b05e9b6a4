"""Figures: the same bytes for the same tables, every method in them, the look of each method stable."""

import re

import matplotlib
import pandas as pd
import pytest
from synthetic_study import big_config, small_config, summary_table

from letorlab.report.drawing import GREY, method_looks, window
from letorlab.report.figures import write_figures
from letorlab.report.overview import overview_figure
from letorlab.report.published import published_rows


def typed(study):
    return summary_table(study).replace({"k": {"": None}}).astype({"k": "Int64"})


def drawn(study, folder):
    return write_figures(typed(study), published_rows(study["datasets"]), study["methods"], folder)


@pytest.mark.parametrize("study", [small_config(), big_config(25, 2)], ids=["3 methods", "25 methods"])
def test_same_tables_give_the_same_bytes(study, tmp_path):
    first, second = drawn(study, tmp_path / "a"), drawn(study, tmp_path / "b")
    assert [path.name for path in first] == [
        "overview.svg",
        *(f"ndcg.{d}.svg" for d in sorted(study["datasets"])),
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert b"<dc:date>" not in first[0].read_bytes()


def test_user_settings_neither_change_figures_nor_are_changed(tmp_path):
    before = drawn(small_config(), tmp_path / "a")[1].read_bytes()
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False, "lines.linewidth": 9}):
        settings = dict(matplotlib.rcParams)
        assert drawn(small_config(), tmp_path / "b")[1].read_bytes() == before
        assert dict(matplotlib.rcParams) == settings


def texts(path):
    """Text of an SVG whose letters are outlines: matplotlib leaves it in comments."""
    return re.findall(r"<!-- (.*?) -->", path.read_text())


def test_every_method_is_named_in_the_order_of_its_last_value(tmp_path):
    study = big_config(25, 1)
    path = drawn(study, tmp_path)[1]
    table = typed(study)
    ends = table[(table["metric"] == "ndcg") & (table["k"] == 10)].sort_values("mean", ascending=False)
    named = [text for text in texts(path) if text in study["methods"]]
    assert named == ends["method"].tolist()


def test_names_are_text_and_not_formulas(tmp_path):
    study = small_config()
    study["methods"] = {"regression": {}, r"$\frac$": {}, "<b>&--": {}}  # the second is no valid formula
    assert r"$\frac$" in texts(drawn(study, tmp_path)[1])


def test_published_value_is_a_mark_only_where_the_method_names_its_row(tmp_path):
    study = small_config()
    with_mark = drawn(study, tmp_path / "a")[0]
    assert "published value" in texts(with_mark)
    for block in study["methods"].values():
        block.pop("published", None)
    without = drawn(study, tmp_path / "b")[0]
    assert "published value" not in texts(without)


def test_a_missing_interval_is_no_error(tmp_path):
    study = small_config()
    table = typed(study).assign(ci_low=float("nan"), ci_high=float("nan"))
    overview_figure(table, published_rows([]), study["methods"], tmp_path / "a.svg")
    write_figures(table, published_rows([]), study["methods"], tmp_path)


def test_looks_tell_25_methods_apart_and_reference_scorers_are_grey():
    methods = big_config(25)["methods"] | {"shuffled": {"ranker": "random"}}
    looks = method_looks(methods, methods)
    assert len({str(look) for look in looks.values()}) == 26
    assert {name for name, look in looks.items() if look["color"] == GREY} == {
        "random",
        "constant",
        "shuffled",
    }


def test_looks_do_not_depend_on_which_methods_a_data_set_has():
    methods = big_config(25)["methods"]
    assert method_looks(methods, ["regression"])["method_07_l1"] == method_looks(methods, methods)["method_07_l1"]


@pytest.mark.parametrize(("chance", "shown"), [(0.38, True), (0.01, False)])
def test_axis_leaves_out_a_reference_scorer_that_would_squeeze_the_rest(chance, shown):
    low, high = window(pd.Series([0.40, 0.45, chance]), pd.Series([False, False, True]))
    assert (low < chance) == shown
    assert low < 0.40 < 0.45 < high
