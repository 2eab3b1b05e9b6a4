"""The workflow, run for real: what it writes, what it re-runs, and what it survives."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
import yaml
from project import ROOT, TINY, Project

from letorlab.csvtable import read_table, table_hash
from letorlab.rankers import missing_library

pytestmark = pytest.mark.workflow

FIT, EVALUATE = "fit_a_1-2", "evaluate_a_1-2"
REPORT = {"tables": 1, "figures": 1, "page": 1, "mlflow": 1, "all": 1}


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Project:
    """A project in which the tiny study was run on two cores."""
    project = Project(tmp_path_factory.mktemp("done"))
    project.run()
    return project


@pytest.fixture
def fresh(tmp_path) -> Project:
    return Project(tmp_path)


# ---- what it writes --------------------------------------------------------------------------------------------


def test_the_toy_study_keeps_the_results_contract(tmp_path):
    """`make demo`, as a user runs it: every file and column that others may rely on."""
    project = Project(tmp_path)
    project.run(config="config/toy.yaml")
    results = tmp_path / "results/toy"
    columns = {
        "metrics": "dataset method fold metric k value",
        "summary": "dataset method metric k mean ci_low ci_high n_folds n_queries",
        "per_query": "dataset method fold qid metric k value expected",
        "trials": "dataset method fold trial params selected converged relative_gap select_on validation test",
        "comparisons": "dataset metric k method reference difference ci_low ci_high n_queries"
        " t_statistic p_value p_holm",
        "published": "dataset method metric k value source",
        "queries": "dataset fold profile no_relevant cutoff n_queries without_relevant short all_equal",
        "ties": "dataset method metric k mean expected n_tied n_queries",
    }
    config = yaml.safe_load((ROOT / "config/toy.yaml").read_text())
    for name, expected in columns.items():
        assert list(read_table(results / f"tables/{name}.csv").columns) == expected.split(), name
    metrics = read_table(results / "tables/metrics.csv")
    assert set(metrics["dataset"]) == set(config["datasets"])
    assert set(metrics["method"]) == set(config["methods"])
    assert set(metrics["fold"]) == {1, 2, 3, 4, 5}
    for dataset in config["datasets"]:
        for method in config["methods"]:
            for fold in range(1, 6):
                folder = results / f"runs/{dataset}/fold{fold}/{method}"
                for file in ("model.joblib", "fit.json", "scores.test.csv", "run.trec"):
                    assert (folder / file).stat().st_size > 0
                fit = json.loads((folder / "fit.json").read_text())
                assert fit["converged"]
        assert (results / f"data/{dataset}/derived/fold5.npz").exists()
        assert (results / f"figures/ndcg.{dataset}.svg").exists()
    assert "<html" in (results / "report/index.html").read_text()
    assert list(results.glob("logs/fit/*/*.log"))
    assert list(results.glob("benchmarks/fit/*/*.tsv"))
    assert not list(results.rglob("*.tmp"))
    better = (
        read_table(results / "tables/summary.csv").query("metric == 'map'").set_index(["dataset", "method"])["mean"]
    )
    for dataset in config["datasets"]:
        assert better[dataset, "ranksvm"] > better[dataset, "best_feature"] > better[dataset, "random"]


def test_derived_queries_are_trained_on(done):
    folder = done.folder / "results/tiny"
    cards = [json.loads((folder / f"data/a/derived/fold{fold}.card.json").read_text()) for fold in (1, 2)]
    for fold, card in zip((1, 2), cards, strict=True):
        fits = {
            method: json.loads((folder / f"runs/a/fold{fold}/{method}/fit.json").read_text())
            for method in ("derived", "ranksvm")
        }
        assert fits["derived"]["n_docs"] == card["derived_documents"] > fits["ranksvm"]["n_docs"]


# ---- what it re-runs -------------------------------------------------------------------------------------------


def test_a_second_run_has_nothing_to_do_wherever_the_data_home_is(done):
    assert done.planned() == {}
    assert done.planned(LETOR_HOME="/elsewhere") == {}


@pytest.mark.parametrize(
    ("file", "jobs"),
    [
        ("src/letorlab/metrics.py", {EVALUATE: 4, **REPORT}),
        ("src/letorlab/solvers/ranksvm.py", {FIT: 2, EVALUATE: 2, **REPORT}),
        ("src/letorlab/rankers/regression.py", {FIT: 1, EVALUATE: 1, **REPORT}),
        ("src/letorlab/rankers/__init__.py", {}),
        ("src/letorlab/report/page.css", {"page": 1, "mlflow": 1, "all": 1}),
        ("src/letorlab/tracking.py", {"mlflow": 1, "all": 1}),
    ],
)
def test_an_edit_re_runs_what_depends_on_it(done, file, jobs):
    with done.edited(file):
        assert done.planned() == jobs


def test_a_grid_value_a_method_a_data_set_re_run_themselves_only(done):
    methods = TINY["methods"]
    grid = done.write("grid.yaml", {**TINY, "methods": {**methods, "ranksvm": {"grid": {"C": [0.01, 0.1, 1.0]}}}})
    assert done.planned(config=grid) == {FIT: 1, EVALUATE: 1, **REPORT}
    method = done.write("method.yaml", {**TINY, "methods": {**methods, "constant": None}})
    assert done.planned(config=method) == {FIT: 1, EVALUATE: 1, **REPORT}
    dataset = done.write("dataset.yaml", {**TINY, "datasets": {**TINY["datasets"], "b": TINY["datasets"]["a"]}})
    new = {"prepare": 1, "derive": 1, "fit_b_1-2": 4, "evaluate_b_1-2": 4}
    assert done.planned(config=dataset) == {**new, **REPORT}


def test_the_spelling_of_a_number_is_no_change(done):
    text = (done.folder / "tiny.yaml").read_text().replace("0.01", "1e-2")
    (done.folder / "spelling.yaml").write_text(text)
    jobs = done.planned(config="spelling.yaml")
    assert FIT not in jobs
    assert EVALUATE not in jobs


def test_a_deleted_output_re_runs_its_job_and_what_sums_it_up(done):
    victim = done.folder / "results/tiny/runs/a/fold1/random/fit.json"
    content = victim.read_bytes()
    victim.unlink()
    assert done.planned() == {EVALUATE: 1, **REPORT}
    victim.write_bytes(content)


def test_touching_files_re_runs_scripts_only_and_touch_accepts_the_results(done):
    """Inputs are compared by content, scripts by time, as after a fresh clone: docs/workflow.md says what to do."""
    os.utime(done.folder / "results/tiny/data/a/folds.json")
    os.utime(done.folder / "results/tiny/runs/a/fold1/random/per_query.csv")
    assert done.planned() == {}
    os.utime(done.folder / "workflow/scripts/evaluate.py")
    assert done.planned() == {EVALUATE: 4, **REPORT}
    done.run("--touch")
    assert done.planned() == {}


def test_only_builds_a_subset_and_keeps_the_rows_of_the_others(done):
    before = table_hash(done.tables)
    shutil.rmtree(done.folder / "results/tiny/runs/a/fold1/random")
    jobs = done.planned("--config", "only=[random]")
    assert jobs == {FIT: 1, EVALUATE: 1, **REPORT}
    done.run("--config", "only=[random]")
    assert table_hash(done.tables) == before
    done.run()
    assert table_hash(done.tables) == before


def test_a_forced_second_sync_adds_no_run_to_mlflow(done):
    def runs() -> list[str]:
        with sqlite3.connect(done.folder / "results/mlflow.db") as database:
            return sorted(row[0] for row in database.execute("select run_uuid from runs"))

    before = runs()
    assert len(before) == 4 + 4 * 2 + 1
    done.run("--forcerun", "mlflow")
    assert runs() == before
    synced = json.loads((done.folder / "results/tiny/mlflow.synced.json").read_text())
    assert (synced["kept"], synced["created"], synced["replaced"], synced["removed"]) == (13, 0, 0, 0)


# ---- what it survives ------------------------------------------------------------------------------------------


def test_tables_are_the_same_bytes_on_one_core_and_with_other_groups_of_folds(done, fresh):
    config = fresh.write("grouped.yaml", {**TINY, "folds_per_job": 1})
    fresh.run("results/tiny/tables/metrics.csv", config=config, cores=1)
    assert table_hash(fresh.tables) == table_hash(done.tables)


@pytest.mark.parametrize(
    ("stage", "with_its_jobs"), [("data/a/parts", True), ("runs/a/fold2", True), ("runs/a/fold2", False)]
)
def test_killed_in_mid_job_it_finishes_after_unlock_with_the_same_tables(done, fresh, stage, with_its_jobs):
    """kill -9 when the first file of a stage appears: of Snakemake with its jobs, or so that its jobs go on alone."""
    process = subprocess.Popen(
        fresh.command(), cwd=fresh.folder, env=fresh.environment(), start_new_session=True, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not (fresh.folder / "results/tiny" / stage).exists():
        assert process.poll() is None, "ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (os.killpg if with_its_jobs else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    locked = fresh.snakemake()
    assert "unlock" in locked.stdout + locked.stderr
    fresh.run("--unlock")
    fresh.run()
    assert table_hash(fresh.tables) == table_hash(done.tables)
    assert fresh.planned() == {}


def test_a_failing_fit_names_the_mistake_and_leaves_no_file(fresh):
    methods = {"ranksvm": {"grid": {"C": [1.0, -1.0]}}}
    done = fresh.snakemake(config=fresh.write("bad.yaml", {**TINY, "methods": methods}))
    assert done.returncode == 1
    assert "tiny fit a ranksvm.1-2: C must be a positive number; got -1.0" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not list((fresh.folder / "results/tiny/runs").rglob("*.zip"))


# ---- what it refuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metods": {}}, "metods"),
        ({"methods": {"regression": {"grd": {"lam": [1]}}}}, "grd"),
        ({"methods": {"m": {"ranker": "svm"}}}, "unknown ranker 'svm'"),
        ({"evaluation": {"select_on": "ndcg"}}, "ndcg takes a k; write it as in ndcg@10"),
        ({"methods": {"ranksvm": {"grid": {"C": [0.00001, "1e-5"]}}}}, "grid value 1e-05 of C is given twice"),
    ],
)
def test_a_mistake_in_the_configuration_is_named_before_any_job(fresh, change, message):
    done = fresh.snakemake("--dry-run", config=fresh.write("bad.yaml", {**TINY, **change}))
    assert done.returncode == 1
    assert message in done.stdout + done.stderr


def test_a_parameter_that_the_ranker_does_not_have_stops_the_run_before_any_job(fresh):
    methods = {"random": None, "ranksvm": {"grid": {"gamma": [1.0]}}}
    done = fresh.snakemake(config=fresh.write("bad.yaml", {**TINY, "methods": methods}))
    assert done.returncode == 1
    assert "method ranksvm: RankSVM has no parameter gamma" in done.stdout + done.stderr
    assert not (fresh.folder / "results").exists()


def test_all_missing_data_sets_stand_in_one_message_before_any_work(fresh, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    datasets = {**TINY["datasets"], "ohsumed": None, "td2003": None}
    done = fresh.snakemake(config=fresh.write("m.yaml", {**TINY, "datasets": datasets}), LETOR_HOME=str(empty))
    assert done.returncode == 1
    text = done.stdout + done.stderr
    assert text.count("2 data set(s) cannot be used") == 1
    assert "OHSUMED.zip" in text
    assert "2003_td_dataset" in text
    assert not (fresh.folder / "results/tiny/data/a").exists()


def test_missing_data_sets_can_be_skipped(fresh):
    datasets = {**TINY["datasets"], "ohsumed": None}
    config = fresh.write("skip.yaml", {**TINY, "datasets": datasets, "data": {"on_missing": "skip"}})
    assert fresh.planned(config=config)["prepare"] == 1
    only_missing = fresh.write("none.yaml", {**TINY, "datasets": {"ohsumed": None}, "data": {"on_missing": "skip"}})
    done = fresh.snakemake("--dry-run", config=only_missing)
    assert "none of the data sets of this study was found" in done.stdout + done.stderr


def test_a_method_without_its_library_is_left_out_with_a_line_in_the_report(fresh):
    registry = fresh.folder / "src/letorlab/rankers/__init__.py"
    registry.write_text(registry.read_text().replace('"lambdamart": "lightgbm"', '"lambdamart": "no_such_library"'))
    config = fresh.write("absent.yaml", {**TINY, "methods": {"regression": None, "lambdamart": None}})
    fresh.run(config=config)
    page = (fresh.folder / "results/tiny/report/index.html").read_text()
    assert "<strong>lambdamart</strong> (pip install" in page
    assert set(read_table(fresh.tables / "metrics.csv")["method"]) == {"regression"}
    nothing = fresh.write("nothing.yaml", {**TINY, "methods": {"lambdamart": None}})
    done = fresh.snakemake("--dry-run", config=nothing)
    assert "no method is left: install no_such_library" in done.stdout + done.stderr


# ---- style -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_study_of_the_project_has_a_dry_run_without_data(fresh, path):
    assert fresh.planned(config=f"config/{path.name}")["tables"] == 1


def test_the_default_study_is_the_full_letor3(fresh):
    jobs = fresh.planned(config="")
    methods = yaml.safe_load((ROOT / "config/letor3.yaml").read_text())["methods"]
    rankers = [(block or {}).get("ranker", name) for name, block in methods.items()]
    assert jobs["fit_td2003_1"] == sum(missing_library(ranker) is None for ranker in rankers)
    assert jobs["prepare"] == 7


def test_lint_wishes_for_nothing_but_conda_environments(fresh):
    """One environment serves all rules: environment.yml."""
    done = fresh.snakemake("--lint", config="config/toy.yaml")
    wishes = re.findall(r"^    \* (.*)$", done.stdout + done.stderr, re.MULTILINE)
    assert wishes, done.stdout + done.stderr
    assert set(wishes) == {"Specify a conda environment or container for each rule.:"}


def test_snakefmt_has_nothing_to_change():
    files = [str(ROOT / "Snakefile"), *map(str, (ROOT / "workflow/rules").glob("*.smk"))]
    done = subprocess.run([sys.executable, "-m", "snakefmt", "--check", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
