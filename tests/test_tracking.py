"""What MLflow holds after a sync: the real MLflow, a real database, real processes."""

import json
import logging
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st
from synthetic_runs import METHODS, make_study, small_study, write_summary

from letorlab import tracking
from letorlab.atomic import read_json, write_json, write_text
from letorlab.csvtable import read_table, write_table
from letorlab.errors import InputError
from letorlab.metrics import METRICS
from letorlab.runrecord import legal_name, metric_name, param_text
from letorlab.studyruns import study_records
from letorlab.tracking import sync

PROVENANCE = {"revision": "0123456789ab", "packages": {"numpy": "2.4.6"}}


def client_of(results):
    from mlflow import MlflowClient

    uri = f"sqlite:///{Path(results).resolve() / 'mlflow.db'}"
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def runs_of(results, study):
    client = client_of(results)
    experiment = client.get_experiment_by_name(study)
    return {
        run.data.tags.get("letorlab.key", run.info.run_id): run
        for run in client.search_runs([experiment.experiment_id], max_results=1000)
    }


def row_counts(results):
    with sqlite3.connect(Path(results) / "mlflow.db") as database:
        tables = ("experiments", "runs", "metrics", "params", "tags", "inputs")
        return {name: database.execute(f"select count(*) from {name}").fetchone()[0] for name in tables}


def edit_fit(folder, dataset, fold, method, **changes):
    path = folder / "runs" / dataset / f"fold{fold}" / method / "fit.json"
    write_json(path, {**read_json(path), **changes})


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A results folder, with signs in its name that an address must escape; all studies of this file in it."""
    return tmp_path_factory.mktemp("tracking") / "my résultats 50%"


@pytest.fixture(scope="module")
def whole(results):
    """A synced study of two data sets, three methods, five folds: folder, configuration, outcome, runs by key."""
    folder, config = make_study(results, "whole")
    outcome = sync(results, folder, config, PROVENANCE)
    return folder, config, outcome, runs_of(results, "whole")


def test_one_run_a_method_with_its_folds_nested_one_level(whole):
    _, _, outcome, runs = whole
    assert len(runs) == 1 + 2 * 3 * (1 + 5)
    assert {key: outcome[key] for key in ("kept", "created", "replaced", "removed")} == {
        "kept": 0, "created": 37, "replaced": 0, "removed": 0,
    }  # fmt: skip
    assert outcome["runs"] == {key: run.info.run_id for key, run in runs.items()}
    for key, run in runs.items():
        tags = run.data.tags
        parent = key.rpartition("/")[0] if tags["kind"] == "fold" else None
        assert tags.get("mlflow.parentRunId") == (runs[parent].info.run_id if parent else None)
        assert run.info.status == "FINISHED"


def test_folds_carry_the_tags_of_their_method(whole):
    runs = whole[3]
    shared = ("dataset", "method", "profile", "data_checksum", "config_hash", "code_version")
    parent, child = runs["toy2/ranksvm"], runs["toy2/ranksvm/fold3"]
    assert [child.data.tags[name] for name in shared] == [parent.data.tags[name] for name in shared]
    assert {name: parent.data.tags[name] for name in shared if name != "config_hash"} == {
        "dataset": "toy2", "method": "ranksvm", "profile": "letor3", "data_checksum": "toy2-checksum",
        "code_version": "0123456789ab",
    }  # fmt: skip
    assert (parent.data.tags["kind"], child.data.tags["kind"]) == ("method", "fold")
    assert "fold" not in parent.data.tags and child.data.tags["fold"] == "3"
    assert runs["toy2/random"].data.tags["config_hash"] != parent.data.tags["config_hash"]
    assert (parent.info.run_name, child.info.run_name) == ("ranksvm · toy2", "fold 3 · ranksvm · toy2")


@pytest.mark.parametrize("metric", ["ndcg", "precision"])
def test_curves_have_k_as_step(whole, results, metric):
    folder, _, _, runs = whole
    summary = read_table(folder / "tables" / "summary.csv").query(
        f"dataset == 'toy3' and method == 'ranksvm' and metric == '{metric}'"
    )
    run = runs["toy3/ranksvm"]
    history = client_of(results).get_metric_history(run.info.run_id, metric)
    means = dict(zip(summary["k"], summary["mean"], strict=True))
    assert {point.step: point.value for point in history} == means  # exact: double precision all the way
    assert sorted(means) == list(range(1, 11))
    assert {k: run.data.metrics[f"{metric}_at_{k}"] for k in (1, 3, 5, 10)} == {k: means[k] for k in (1, 3, 5, 10)}
    assert f"{metric}_at_4" not in run.data.metrics
    assert run.data.metrics[f"{metric}_at_10_ci_low"] == means[10] - 0.03


def test_a_fold_has_its_own_values_and_the_state_of_its_fit(whole):
    folder, _, _, runs = whole
    run = runs["toy2/random/fold4"].data
    table = read_table(folder / "tables" / "metrics.csv").query(
        "dataset == 'toy2' and method == 'random' and fold == 4"
    )
    assert run.metrics["map"] == table[table["metric"] == "map"]["value"].item()
    trials = read_table(folder / "tables" / "trials.csv").query(
        "dataset == 'toy2' and method == 'random' and fold == 4"
    )
    assert run.metrics["validation"] == trials["validation"].item()
    training = {name.removeprefix("training_"): v for name, v in run.metrics.items() if name.startswith("training_")}
    fit = read_json(folder / "runs/toy2/fold4/random/fit.json")
    known = ("converged", "relative_gap", "n_iter", "n_docs", "n_pairs", "seconds", "peak_memory_mb")
    assert training == {name: float(fit[name]) for name in known}  # n_atoms is null: not there


def test_parameters_are_one_text_where_the_folds_agree_and_a_list_where_not(whole):
    runs = whole[3]
    assert runs["toy2/ranksvm/fold1"].data.params["C"] == "0.01"
    parent = runs["toy2/ranksvm"].data.params
    assert (parent["C"], parent["norm"], parent["ranker"]) == ("0.01, 0.01, 1.0, 1.0, 1.0", "l2", "ranksvm")
    assert [param_text(v) for v in (1e-5, 0.1, True, None, "l1", 3)] == ["1e-05", "0.1", "true", "null", "l1", "3"]


def test_artifacts_lie_under_the_results_and_are_the_result_files(whole, results):
    folder, _, _, runs = whole
    client = client_of(results)
    experiment = client.get_experiment_by_name("whole")
    assert experiment.artifact_location == (results / "mlartifacts/whole").as_uri()
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    place = results / "mlartifacts/whole"
    run = place / runs["toy2/random/fold2"].info.run_id / "artifacts"
    assert (run / "run.trec").read_bytes() == (folder / "runs/toy2/fold2/random/run.trec").read_bytes()
    listed = {artifact.path for artifact in client.list_artifacts(runs["toy2/random/fold2"].info.run_id)}
    assert listed == {"fit.json", "trials.csv", "scores.test.csv", "run.trec", "per_query.csv"}
    study = place / runs["study"].info.run_id / "artifacts"
    found = {path.relative_to(study).as_posix() for path in study.rglob("*") if path.is_file()}
    tables = {f"tables/{name}.csv" for name in ("metrics", "summary", "trials")}
    assert found == {
        *tables, "figures/ndcg.svg", "report/index.html", "config.json", "data/toy2/card.json", "data/toy3/card.json",
    }  # fmt: skip


def test_the_list_of_runs_follows_the_configuration(whole):
    runs = whole[3]
    newest_first = sorted(runs, key=lambda key: -runs[key].info.start_time)
    parents = [key for key in newest_first if runs[key].data.tags["kind"] == "method"]
    assert newest_first[0] == "study"
    assert parents == [f"{dataset}/{method}" for dataset in ("toy2", "toy3") for method in METHODS]


def test_a_second_sync_adds_nothing(whole, results, monkeypatch):
    folder, config, outcome, _ = whole
    before = row_counts(results)
    monkeypatch.setattr(tracking, "PAGE", 7)  # a search that takes several pages
    again = sync(results, folder, config, PROVENANCE)
    assert again == {**outcome, "kept": 37, "created": 0}
    assert row_counts(results) == before


def test_times_memory_and_code_version_are_no_content(results):
    folder, config = small_study(results, "times")
    first = sync(results, folder, config, PROVENANCE)
    edit_fit(folder, "toy2", 1, "ranksvm", seconds=99.0, peak_memory_mb=1.0)
    write_text(folder / "report" / "index.html", "<!doctype html><title>new</title>\n")
    elsewhere = {**config, "data": {"home": "/elsewhere"}, "only": ["ranksvm"], "folds_per_job": 1}
    second = sync(results, folder, elsewhere, {"revision": "another"})
    assert second["kept"] == 7 and second["runs"] == first["runs"]
    page = results / "mlartifacts/times" / first["runs"]["study"] / "artifacts/report/index.html"
    assert "new" in page.read_text()  # a drawing is brought up to date in the same run


def test_a_changed_result_replaces_its_run_and_the_other_folds_follow_the_new_parent(results):
    folder, config = small_study(results, "changed")
    first = sync(results, folder, config, PROVENANCE)["runs"]
    metrics = read_table(folder / "tables" / "metrics.csv")
    here = (metrics["method"] == "ranksvm") & (metrics["fold"] == 2) & (metrics["metric"] == "map")
    write_table(metrics.assign(value=metrics["value"].where(~here, 0.5)), folder / "tables" / "metrics.csv")
    write_summary(folder)
    outcome = sync(results, folder, config, PROVENANCE)
    changed = {key for key, run in outcome["runs"].items() if run != first[key]}
    assert changed == {"study", "toy2/ranksvm", "toy2/ranksvm/fold2"}
    assert (outcome["kept"], outcome["replaced"]) == (4, 3)
    runs = runs_of(results, "changed")
    assert len(runs) == 7
    assert runs["toy2/ranksvm/fold2"].data.metrics["map"] == 0.5
    for fold in (1, 2):
        parent = runs[f"toy2/ranksvm/fold{fold}"].data.tags["mlflow.parentRunId"]
        assert parent == outcome["runs"]["toy2/ranksvm"]


def test_changed_predictions_alone_replace_their_fold(results):
    folder, config = small_study(results, "predictions")
    sync(results, folder, config, PROVENANCE)
    write_text(folder / "runs/toy2/fold1/ranksvm/scores.test.csv", "qid,docid,relevance,score\nq,d,0,1\n")
    outcome = sync(results, folder, config, PROVENANCE)
    assert (outcome["kept"], outcome["replaced"]) == (6, 1)


def test_what_is_gone_is_removed_and_what_others_made_is_not(results, whole):
    folder, config = small_study(results, "gone")
    sync(results, folder, config, PROVENANCE)
    client = client_of(results)
    mine = client.create_run(client.get_experiment_by_name("gone").experiment_id, run_name="mine").info.run_id
    for name in ("metrics", "summary", "trials"):
        table = read_table(folder / "tables" / f"{name}.csv")
        write_table(table[table["method"] != "ranksvm"], folder / "tables" / f"{name}.csv")
    outcome = sync(results, folder, config, PROVENANCE)
    assert (outcome["removed"], outcome["replaced"], outcome["kept"]) == (3, 1, 3)
    left = runs_of(results, "gone")
    assert set(left) == {"study", "toy2/regression", "toy2/regression/fold1", "toy2/regression/fold2", mine}
    assert {key: run.info.run_id for key, run in runs_of(results, "whole").items()} == whole[2]["runs"]


def test_lost_artifacts_are_written_again(results):
    folder, config = small_study(results, "lost")
    first = sync(results, folder, config, PROVENANCE)["runs"]
    shutil.rmtree(results / "mlartifacts/lost" / first["toy2/ranksvm/fold1"])
    outcome = sync(results, folder, config, PROVENANCE)
    assert (outcome["kept"], outcome["replaced"]) == (6, 1)
    assert outcome["runs"]["toy2/ranksvm/fold1"] != first["toy2/ranksvm/fold1"]


def test_runs_that_look_unfinished_or_double_are_replaced(results):
    folder, config = small_study(results, "double")
    first = sync(results, folder, config, PROVENANCE)
    client = client_of(results)
    tags = {"letorlab.key": "toy2/ranksvm"}
    client.create_run(first["experiment_id"], tags=tags)  # as if killed before its content tag
    client.delete_tag(first["runs"]["toy2/regression"], "letorlab.content")
    outcome = sync(results, folder, config, PROVENANCE)
    assert (outcome["kept"], outcome["replaced"]) == (6, 1)
    runs = client.search_runs([first["experiment_id"]])
    assert len(runs) == 7 and {run.info.status for run in runs} == {"FINISHED"}


@pytest.mark.parametrize("step", ["log_values", "log_data", "log_files"])
def test_a_sync_that_breaks_off_in_a_run_is_mended(results, monkeypatch, step):
    folder, config = small_study(results, f"broken_{step}")
    with monkeypatch.context() as patch:
        original = getattr(tracking._Writer, step)

        def breaks(self, run, *args):
            if self.client.get_run(run).data.tags["letorlab.key"] == "toy2/ranksvm":
                raise OSError("disk full")
            original(self, run, *args)

        patch.setattr(tracking._Writer, step, breaks)
        with pytest.raises(OSError, match="disk full"):
            sync(results, folder, config, PROVENANCE)
    outcome = sync(results, folder, config, PROVENANCE)
    assert (outcome["kept"], outcome["replaced"], outcome["created"]) == (4, 1, 2)
    run = runs_of(results, f"broken_{step}")["toy2/ranksvm"]
    assert {"ndcg", "map"} <= set(run.data.metrics) and run.info.status == "FINISHED"
    assert [data.dataset.name for data in run.inputs.dataset_inputs] == ["toy2"]


def test_a_deleted_experiment_comes_back_without_doubles(results, caplog):
    folder, config = small_study(results, "deleted")
    first = sync(results, folder, config, PROVENANCE)
    edit_fit(folder, "toy2", 1, "ranksvm", n_iter=13)
    second = sync(results, folder, config, PROVENANCE)  # leaves one deleted run, which a restore brings back too
    client_of(results).delete_experiment(first["experiment_id"])
    caplog.set_level(logging.INFO)
    third = sync(results, folder, config, PROVENANCE)
    assert "the experiment deleted had been deleted; it is restored" in caplog.text
    assert third["experiment_id"] == first["experiment_id"] and third["runs"] == second["runs"]
    assert len(client_of(results).search_runs([first["experiment_id"]])) == 7


def test_moved_results_begin_a_new_experiment(results, tmp_path, caplog):
    folder, config = small_study(results, "moved")
    old = sync(results, folder, config, PROVENANCE)
    shutil.copytree(folder, tmp_path / "moved")
    shutil.copy(results / "mlflow.db", tmp_path / "mlflow.db")
    new = sync(tmp_path, tmp_path / "moved", config, PROVENANCE)
    assert new["created"] == 7 and new["experiment_id"] != old["experiment_id"]
    assert "no longer the place of artifacts" in caplog.text
    client = client_of(tmp_path)
    assert client.get_experiment(old["experiment_id"]).lifecycle_stage == "deleted"
    assert client.get_experiment_by_name("moved").artifact_location == (tmp_path / "mlartifacts/moved").as_uri()
    assert sync(tmp_path, tmp_path / "moved", config, PROVENANCE)["kept"] == 7


def test_a_database_of_another_version_is_an_input_error(results, whole, tmp_path):
    shutil.copy(results / "mlflow.db", tmp_path / "mlflow.db")
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        database.execute("update alembic_version set version_num = '0123456789ab'")
    with pytest.raises(InputError, match=r"(?s)MLflow cannot use .*mlflow\.db.*mlflow db upgrade sqlite:"):
        sync(tmp_path, whole[0], whole[1], PROVENANCE)


def test_missing_results_are_input_errors_and_nothing_is_written(tmp_path):
    folder, config = small_study(tmp_path, "missing")
    (folder / "runs/toy2/fold1/ranksvm/fit.json").unlink()
    with pytest.raises(InputError, match=r"fold1/ranksvm/fit\.json is missing.*run the study again"):
        sync(tmp_path, folder, config, PROVENANCE)
    (folder / "tables" / "summary.csv").unlink()
    with pytest.raises(InputError, match=r"tables/summary\.csv is missing.*make them first"):
        sync(tmp_path, folder, config, PROVENANCE)
    assert not (tmp_path / "mlflow.db").exists()


def test_values_that_are_not_finite_are_left_out_and_named(tmp_path):
    folder, config = small_study(tmp_path, "nan")
    table = read_table(folder / "tables" / "metrics.csv")
    first = (table["method"] == "ranksvm") & (table["fold"] == 1) & (table["metric"] == "ndcg")
    table.loc[first & (table["k"] == 2), "value"] = math.inf
    table.loc[first & (table["k"] == 10), "value"] = math.nan
    write_table(table, folder / "tables" / "metrics.csv")
    records = {record.key: record for record in study_records(folder, config, PROVENANCE)}
    bad = records["toy2/ranksvm/fold1"]
    assert bad.tags["nan_metrics"] == "ndcg[2], ndcg[10], ndcg_at_10"
    assert {point.step for point in bad.points if point.name == "ndcg"} == {1, 3, 4, 5, 6, 7, 8, 9}
    assert all(
        type(point.value) is float and math.isfinite(point.value) for r in records.values() for point in r.points
    )
    assert "nan_metrics" not in records["toy2/ranksvm/fold2"].tags


def test_a_long_parameter_is_cut_with_a_note_and_kept_whole(results):
    folder, config = small_study(results, "long")
    whole_text = "x" * 7000
    edit_fit(folder, "toy2", 1, "ranksvm", params={"note": whole_text})
    ids = sync(results, folder, config, PROVENANCE)["runs"]
    shown = runs_of(results, "long")["toy2/ranksvm/fold1"].data.params["note"]
    assert shown == "x" * 200 + " ... (7000 characters, whole in artifact params.json)"
    kept = read_json(results / "mlartifacts/long" / ids["toy2/ranksvm/fold1"] / "artifacts/params.json")
    assert kept["note"] == whole_text


def test_more_values_than_a_batch_takes(results):
    folder, config = small_study(results, "batch", methods={"regression": {}}, folds=[1])
    curve = pd.DataFrame({"k": range(1, 1502), "value": 0.5, "metric": "ndcg", "dataset": "toy2", "fold": 1})
    curve = curve.assign(method="regression")
    write_table(curve, folder / "tables" / "metrics.csv")
    edit_fit(folder, "toy2", 1, "regression", params={f"p{i}": i for i in range(150)})
    run = sync(results, folder, config, PROVENANCE)["runs"]["toy2/regression/fold1"]
    client = client_of(results)
    assert len(client.get_metric_history(run, "ndcg")) == 1501
    assert len(client.get_run(run).data.params) == 150 + 3


def test_metric_names_are_legal_and_distinct():
    assert [metric_name("ndcg", 10), metric_name("map"), legal_name("NDCG (10)")] == ["ndcg_at_10", "map", "NDCG__10_"]
    names = [metric_name(m, k) for m, entry in METRICS.items() for k in (range(1, 21) if entry.takes_k else [None])]
    names += [m for m, entry in METRICS.items() if entry.takes_k]
    assert len(set(names)) == len(names)


@given(st.text(max_size=300))
def test_mlflow_takes_every_name(text):
    from mlflow.utils.validation import MAX_ENTITY_KEY_LENGTH, _validate_metric_name, _validate_param_name

    name = legal_name(text)
    _validate_metric_name(name)
    _validate_param_name(name)
    assert 1 <= len(name) <= MAX_ENTITY_KEY_LENGTH


def test_nothing_global_is_left_changed(results, whole, monkeypatch):
    import mlflow

    def state():
        loggers = {name: logging.getLogger(name).level for name in ("alembic", "mlflow", "")}
        return dict(os.environ), mlflow.get_tracking_uri(), mlflow.active_run(), loggers

    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY", raising=False)
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "raise")
    before = state()
    sync(results, whole[0], whole[1], PROVENANCE)
    assert state() == before


def test_importing_the_module_does_not_import_mlflow():
    code = "import sys, letorlab.tracking; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


SYNC = """
import json, sys
from letorlab.tracking import sync
results, study = sys.argv[1:]
print(json.dumps(sync(results, study, json.load(open(study + ".json")), {"revision": "x"})))
"""


def start_sync(results, folder, config, cwd):
    write_json(f"{folder}.json", config)
    words = [sys.executable, "-c", SYNC, str(results), str(folder)]
    return subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_on_a_new_database_lose_and_double_nothing(tmp_path):
    """Without the lock, the second one to come breaks on a half-made table."""
    one, other = small_study(tmp_path, "one"), small_study(tmp_path, "other", seed=1)
    (tmp_path / "cwd").mkdir()
    started = [start_sync(tmp_path, *study, tmp_path / "cwd") for study in (one, other, one)]
    outputs = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], outputs
    outcomes = [json.loads(output) for output, _ in outputs]
    assert sorted(outcome["created"] for outcome in outcomes) == [0, 7, 7]
    assert outcomes[0]["runs"] == outcomes[2]["runs"]
    for name in ("one", "other"):
        experiment = client_of(tmp_path).get_experiment_by_name(name)
        assert len(client_of(tmp_path).search_runs([experiment.experiment_id])) == 7
    assert list((tmp_path / "cwd").iterdir()) == []  # nothing lands in the working directory


def test_a_killed_sync_is_mended_by_the_next(results, whole, tmp_path):
    folder, config = make_study(results, "killed", datasets=["toy2"])
    process = start_sync(results, folder, config, tmp_path)
    deadline = time.monotonic() + 60
    while runs_in(results, "killed") < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL  # it had not ended by itself
    outcome = sync(results, folder, config, PROVENANCE)
    assert outcome["kept"] + outcome["created"] + outcome["replaced"] == 19
    assert outcome["kept"] >= 2 and outcome["created"] >= 1
    runs = client_of(results).search_runs([outcome["experiment_id"]])
    assert sorted(run.info.run_id for run in runs) == sorted(outcome["runs"].values())
    assert {run.info.status for run in runs} == {"FINISHED"}


def runs_in(results, study):
    query = "select count(*) from runs join experiments using (experiment_id) where experiments.name = ?"
    with sqlite3.connect(results / "mlflow.db") as database:
        return database.execute(query, [study]).fetchone()[0]


def test_waiting_for_the_lock_is_logged(results, whole, caplog):
    caplog.set_level(logging.INFO)
    done = []
    with FileLock(results / "mlflow.db.lock"):
        thread = threading.Thread(target=lambda: done.append(sync(results, whole[0], whole[1], PROVENANCE)))
        thread.start()
        deadline = time.monotonic() + 20
        while "waiting for another process" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.02)
        assert done == []
    thread.join(30)
    assert "waiting for another process that writes to the database" in caplog.text
    assert done[0]["kept"] == 37
