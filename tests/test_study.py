"""What a configuration means, and what it may not say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from letorlab.checks import check_parameters_of, check_study
from letorlab.errors import InputError
from letorlab.study import (
    Method,
    canonical,
    chosen_methods,
    fold_groups,
    methods_of,
    params_text,
)

ROOT = Path(__file__).parents[1]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
CONFIGS = sorted((ROOT / "config").glob("*.yaml"))
DEFAULTS = {
    "folds": [1, 2, 3, 4, 5],
    "folds_per_job": 5,
    "evaluation": {"cutoff": 10, "metrics": ["ndcg", "map"], "select_on": "map", "reference": None},
}


def study(**changes) -> dict:
    config = {"study": "s", "datasets": {"ohsumed": None}, "methods": {"regression": None, "random": None}}
    return {**DEFAULTS, **config, **changes}


def test_a_grid_is_written_in_one_spelling():
    method = Method.from_config("ranksvm", yaml.safe_load("{grid: {C: [0.00001, 1e-4, 1.0e-3]}, params: {tol: 1e-8}}"))
    assert method.grid == {"C": [1e-05, 1e-04, 1e-03]}  # YAML reads 1e-4 as text
    assert params_text(method.trials()[0]) == '{"C": 1e-05, "tol": 1e-08}'
    assert method.ranker == "ranksvm"


def test_trials_are_the_product_and_the_last_key_varies_fastest():
    method = Method.from_config("m", {"params": {"a": 1}, "grid": {"b": [1, 2], "c": ["x", "y"]}})
    assert [(t["b"], t["c"]) for t in method.trials()] == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert all(t["a"] == 1 for t in method.trials())
    assert Method.from_config("m", None).trials() == [{}]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"grid": {"C": [0.00001, "1e-5"]}}, "method m: grid value 1e-05 of C is given twice"),
        ({"grid": {"C": [1, 1.0]}}, "given twice"),
        ({"grid": {"C": [1]}, "params": {"C": 2}}, "C stands under both params and grid"),
        ({"params": {"C": [1, 2]}}, "a parameter must be text, a number"),
    ],
)
def test_a_bad_method_block_is_refused(block, message):
    with pytest.raises(InputError, match=message):
        Method.from_config("m", block)


def test_true_and_one_are_different_values():
    assert Method.from_config("m", {"grid": {"a": [True, 1]}}).grid["a"] == [True, 1]
    assert canonical("auto") == "auto"
    assert canonical(None) is None


def test_only_builds_a_subset_in_the_order_of_the_study():
    config = study(methods={"a": None, "b": None, "c": None})
    assert chosen_methods(config) == ["a", "b", "c"]
    assert chosen_methods({**config, "only": ["c", "a"]}) == ["a", "c"]
    assert chosen_methods({**config, "only": "b"}) == ["b"]
    with pytest.raises(InputError, match=r"only=\['x'\]: not methods of this study; known: a, b, c"):
        chosen_methods({**config, "only": ["x"]})


def test_folds_are_grouped_and_a_data_set_may_differ():
    config = study(datasets={"ohsumed": None, "td2003": {"folds_per_job": 2}})
    assert fold_groups(config, "ohsumed") == [[1, 2, 3, 4, 5]]
    assert fold_groups(config, "td2003") == [[1, 2], [3, 4], [5]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": {"../x": None}}, "a name becomes a folder"),
        ({"methods": {"m": {"ranker": "svm"}}}, "unknown ranker 'svm'"),
        ({"datasets": {"nowhere": None}}, "'nowhere' is not in the catalogue"),
        ({"datasets": {"ohsumed": {"profile": "trec"}}}, "unknown metric profile 'trec'"),
        ({"evaluation": {**DEFAULTS["evaluation"], "metrics": ["auc"]}}, "unknown metric 'auc'"),
        ({"evaluation": {**DEFAULTS["evaluation"], "select_on": "ndcg"}}, "ndcg takes a k; write it as in ndcg@10"),
        ({"evaluation": {**DEFAULTS["evaluation"], "select_on": "map@3"}}, "map takes no k; write map"),
        (
            {"evaluation": {**DEFAULTS["evaluation"], "reference": "ranksvm"}},
            "ranksvm is not a method of this study",
        ),
    ],
)
def test_names_that_no_job_could_use_are_refused_at_the_start(changes, message):
    with pytest.raises(InputError, match=message):
        check_study(study(**changes))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_configurations_of_the_project_are_valid(path):
    config = yaml.safe_load(path.read_text())
    Draft202012Validator(SCHEMA).validate(config)
    check_study({**DEFAULTS, **config, "evaluation": {**DEFAULTS["evaluation"], **config.get("evaluation", {})}})
    assert config["study"] == path.stem


def test_a_parameter_that_the_ranker_does_not_have_is_named_with_its_method():
    methods = methods_of(study(methods={"regression": None, "mine": {"ranker": "ranksvm", "grid": {"gamma": [1]}}}))
    with pytest.raises(InputError, match="method mine: RankSVM has no parameter gamma; it has: C, loss, tol, max_iter"):
        check_parameters_of(methods.values())


def test_every_published_name_exists():
    from letorlab.report.published import published_rows

    known = set(published_rows(["ohsumed"])["method"])
    for path in CONFIGS:
        blocks = yaml.safe_load(path.read_text())["methods"].values()
        assert {block["published"] for block in blocks if block and "published" in block} <= known


@pytest.mark.parametrize(
    "changes",
    [
        {"unknown": 1},
        {"methods": {"m": {"grd": {"C": [1]}}}},
        {"datasets": {"d": {"pth": "x"}}},
        {"data": {"hme": "x"}},
        {"methods": {"m": {"grid": {"C": []}}}},
    ],
)
def test_unknown_keys_and_empty_grids_are_refused_by_the_schema(changes):
    errors = list(Draft202012Validator(SCHEMA).iter_errors({"study": "s", **study(), **changes}))
    assert len(errors) == 1


def test_methods_of_a_study_keep_its_order():
    assert list(methods_of(study())) == ["regression", "random"]
