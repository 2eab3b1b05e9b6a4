"""The single writer into MLflow: makes the database say what the result files say, and nothing else.

The only import of mlflow, which takes seconds to load: inside the functions. The whole database can be
deleted and written anew from the result files.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from letorlab.errors import InputError
from letorlab.runrecord import Record
from letorlab.studyruns import study_records

KEY, CONTENT, PARENT = "letorlab.key", "letorlab.content", "mlflow.parentRunId"
KIND, NOTE = "mlflow.experimentKind", "mlflow.note.content"
STUDY_NOTE = (
    "One run a method and data set (means over the folds), with a run for each fold "
    "nested in it. `ndcg` and `precision` are curves: the step is k. *tables and report* holds the rest."
)
PAGE = 1000  # runs that one search returns
DIGEST = 12  # characters of a checksum that the list of runs shows
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_CONFIGURE_LOGGING": "false",  # its messages go to our log, not to the terminal
    "GIT_PYTHON_REFRESH": "quiet",
}


def sync(
    results: str | Path,
    study: str | Path,
    config: Mapping[str, Any],
    provenance: Mapping[str, Any],
    log: logging.Logger | None = None,
) -> dict[str, Any]:
    """Bring the experiment of a study in ``<results>/mlflow.db`` in line with its result files.

    A run whose content is unchanged keeps its id; a changed one is deleted and made anew; a run whose result
    is gone is deleted; runs made by others, and the other experiments, are left alone. Processes that call
    this at the same time take turns.

    Parameters
    ----------
    results : path
        Folder that holds the database, ``mlflow.db``, and the artifacts, ``mlartifacts``.
    study : path
        Folder of the study, ``results/<study>``.
    config, provenance : mapping
        The configuration with its defaults; ``revision`` of the code and whatever else belongs to the origin.
    log : Logger, optional

    Returns
    -------
    dict
        ``experiment``, ``experiment_id``, the counts ``kept``, ``created``, ``replaced``, ``removed``, and
        ``runs``: run ids by key.

    Raises
    ------
    InputError
        If a result file is missing, or the database cannot be used by this version of MLflow.
    """
    return sync_records(results, config["study"], STUDY_NOTE, study_records(Path(study), config, provenance), log)


def sync_records(
    results: str | Path, experiment: str, note: str, records: Sequence[Record], log: logging.Logger | None = None
) -> dict[str, Any]:
    """Bring the experiment of a name in line with records; the note says on its page how to read it. See `sync`."""
    log = log or logging.getLogger(__name__)
    root = Path(results).resolve()
    with _one_writer(root / "mlflow.db.lock", log), _quiet():
        writer = _Writer(_client(root / "mlflow.db"), root / "mlartifacts" / experiment, note, log)
        return writer.write(experiment, records)


class _Writer:
    """Writes records into one experiment."""

    def __init__(self, client: Any, artifacts: Path, note: str, log: logging.Logger) -> None:
        self.client, self.artifacts, self.note, self.log = client, artifacts, note, log

    def write(self, name: str, records: Sequence[Record]) -> dict[str, Any]:
        experiment = self.experiment(name)
        there = self.runs_by_key(experiment)
        counts = Counter(kept=0, created=0, replaced=0, removed=0)
        ids: dict[str, str] = {}
        now = _milliseconds()
        for place, record in enumerate(records):
            # MLflow lists the newest first: start times a millisecond apart keep the order of the config
            outcome, ids[record.key] = self.put(experiment, record, there.pop(record.key, []), ids, start=now - place)
            counts[outcome] += 1
        for runs in there.values():
            self.delete(runs)
            counts["removed"] += 1
        self.log.info("mlflow: %s", ", ".join(f"{number} {word}" for word, number in counts.items()))
        return {"experiment": name, "experiment_id": experiment, **counts, "runs": ids}

    def put(
        self, experiment: str, record: Record, runs: list[Any], ids: Mapping[str, str], *, start: int
    ) -> tuple[str, str]:
        """Keep, replace or create the run of a record; what happened, and the run's id."""
        content = record.content()
        parent = {PARENT: ids[record.parent]} if record.parent else {}
        same = [run for run in runs if run.data.tags.get(CONTENT) == content and self.whole(run, record)][:1]
        self.delete([run for run in runs if run not in same])
        if same:
            self.refresh(same[0], record, parent)
            return "kept", same[0].info.run_id
        tags = {**record.tags, **record.origin, **parent, KEY: record.key}
        run = self.client.create_run(experiment, start_time=start, tags=tags, run_name=record.name).info.run_id
        self.log_values(run, record)
        self.log_data(run, record)
        self.log_files(run, {**record.files, **record.drawings}, record.texts)
        self.client.set_terminated(run, end_time=start + round(1000 * record.seconds))
        self.client.set_tag(run, CONTENT, content)  # last: a run without it was cut short, and is replaced
        return ("replaced" if runs else "created"), run

    def refresh(self, run: Any, record: Record, tags: Mapping[str, str]) -> None:
        """What may change in a run that is kept: the run it is nested under, and the drawings."""
        for name, value in tags.items():
            if run.data.tags.get(name) != value:
                self.client.set_tag(run.info.run_id, name, value)
        folder = self.folder(run)
        stale = {
            name: path for name, path in record.drawings.items() if (folder / name).read_bytes() != path.read_bytes()
        }
        self.log_files(run.info.run_id, stale, {})

    def log_values(self, run: str, record: Record) -> None:
        """All metrics and parameters in one call: ten times faster than one by one."""
        from mlflow.entities import Metric, Param

        now = _milliseconds()
        metrics = [Metric(point.name, point.value, now, point.step) for point in record.points]
        params = [Param(key, text) for key, text in record.params.items()]
        self.client.log_batch(run, metrics=metrics, params=params)

    def log_data(self, run: str, record: Record) -> None:
        from mlflow.entities import Dataset, DatasetInput

        if record.data:
            name, checksum = record.data
            dataset = Dataset(name, checksum[:DIGEST], source_type="letorlab", source=name)
            self.client.log_inputs(run, [DatasetInput(dataset)])

    def log_files(self, run: str, files: Mapping[str, Path], texts: Mapping[str, str]) -> None:
        for name, path in files.items():
            folder = Path(name).parent.as_posix()
            self.client.log_artifact(run, str(path), None if folder == "." else folder)
        for name, text in texts.items():
            self.client.log_text(run, text, name)

    def experiment(self, name: str) -> str:
        """Id of the study's experiment, made or restored where need be."""
        location = self.artifacts.as_uri()
        found = self.client.get_experiment_by_name(name)
        if found and found.lifecycle_stage == "deleted":
            self.log.info("mlflow: the experiment %s had been deleted; it is restored", name)
            self.client.restore_experiment(found.experiment_id)
        if found and found.artifact_location != location:
            # MLflow keeps absolute paths, and cannot change them: begin anew, leave the old one in the bin
            self.log.warning("mlflow: %s is no longer the place of artifacts of %s", found.artifact_location, name)
            self.client.rename_experiment(found.experiment_id, f"{name} (moved, {found.experiment_id})")
            self.client.delete_experiment(found.experiment_id)
            found = None
        if found:
            return str(found.experiment_id)
        tags = {KIND: "custom_model_development", NOTE: self.note}  # not an experiment with language models
        return str(self.client.create_experiment(name, artifact_location=location, tags=tags))

    def runs_by_key(self, experiment: str) -> dict[str, list[Any]]:
        """Runs that an earlier sync made and nobody deleted."""
        runs: dict[str, list[Any]] = {}
        token = None
        while True:
            page = self.client.search_runs([experiment], max_results=PAGE, page_token=token)
            for run in page:
                if KEY in run.data.tags:
                    runs.setdefault(run.data.tags[KEY], []).append(run)
            token = page.token
            if not token:
                return runs

    def whole(self, run: Any, record: Record) -> bool:
        """Whether the run's artifacts still lie where they were put."""
        names = (*record.files, *record.drawings, *record.texts)
        return all((self.folder(run) / name).is_file() for name in names)

    def folder(self, run: Any) -> Path:
        return self.artifacts / run.info.run_id / "artifacts"

    def delete(self, runs: Sequence[Any]) -> None:
        """To MLflow's bin: `mlflow gc` empties it."""
        for run in runs:
            self.client.delete_run(run.info.run_id)


def _client(database: Path) -> Any:
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    uri = f"sqlite:///{database}"
    try:
        # makes the tables of a new database, checks those of an old one
        return MlflowClient(tracking_uri=uri, registry_uri=uri)
    except MlflowException as error:
        raise InputError(
            f"MLflow cannot use {database}: {error}\nEither `mlflow db upgrade {uri}` (keep a copy), or "
            "delete it and run each study with `--forcerun mlflow`: all of it comes from the result files."
        ) from error


@contextmanager
def _one_writer(lock_file: Path, log: logging.Logger) -> Iterator[None]:
    """Hold the lock of the database: two processes that make its tables at once would break it."""
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(lock_file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.info("mlflow: waiting for another process that writes to the database (%s)", lock_file)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _quiet() -> Iterator[None]:
    """No telemetry, no warnings about git, no page of migrations in the log; all as before afterwards."""
    before = {name: os.environ.get(name) for name in QUIET}
    migrations = logging.getLogger("alembic")
    level = migrations.level
    os.environ.update(QUIET)
    migrations.setLevel(logging.WARNING)
    try:
        yield
    finally:
        migrations.setLevel(level)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _milliseconds() -> int:
    return int(time.time() * 1000)
