"""A copy of the project in which tests run the workflow for real."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]

TINY = {
    "study": "tiny",
    "datasets": {"a": {"toy": {"queries": 15, "documents": [5, 9], "features": 6, "grades": 3}}},
    "methods": {
        "regression": None,
        "ranksvm": {"grid": {"C": [0.01, 1.0]}},
        "derived": {"ranker": "ranksvm", "train_on": "derived"},
        "random": None,
    },
    "folds": [1, 2],
    "evaluation": {"metrics": ["ndcg", "map"], "resamples": 100},
}


class Project:
    """A copy of the project, so that its files can be edited, with a way to call Snakemake in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("Snakefile", "workflow", "src", "config", "profiles"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
        self.write("tiny.yaml", TINY)
        self.tables = folder / "results/tiny/tables"

    def write(self, name: str, config: dict) -> str:
        (self.folder / name).write_text(yaml.safe_dump(config, sort_keys=False))
        return name

    def command(self, *words: str, config: str = "tiny.yaml", cores: int = 2) -> list[str]:
        start = [sys.executable, "-m", "snakemake", *words, "--cores", str(cores)]
        return [*start, *(["--configfile", config] if config else [])]

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key != "LETOR_HOME"}
        return {**kept, "PYTHONPATH": str(self.folder / "src"), **more}

    def snakemake(self, *words: str, config: str = "tiny.yaml", cores: int = 2, **environment: str):
        return subprocess.run(
            self.command(*words, config=config, cores=cores),
            cwd=self.folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
        )

    def run(self, *words: str, **options) -> str:
        done = self.snakemake(*words, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def planned(self, *words: str, **options) -> dict[str, int]:
        """Jobs of a dry run, by rule; empty if there is nothing to be done."""
        text = self.run("--dry-run", *words, **options)
        stats = text.partition("Job stats:")[2].partition("total")[0]
        return {rule: int(count) for rule, count in re.findall(r"^(\S+)\s+(\d+)$", stats, re.MULTILINE)}

    @contextmanager
    def edited(self, name: str, text: str = "\n# edited\n") -> Iterator[None]:
        path = self.folder / name
        before = path.read_text()
        path.write_text(before + text)
        try:
            yield
        finally:
            path.write_text(before)
