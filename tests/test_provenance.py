"""The hash that decides what is run anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from letorlab import provenance


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    """A copy of the package, as the hash sees it."""
    copy = tmp_path / "letorlab"
    shutil.copytree(provenance.SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(provenance, "SOURCE", copy)
    return copy


def fresh_hash(*modules: str) -> str:
    provenance._text.cache_clear()
    provenance._imports.cache_clear()
    return provenance.code_hash(*modules)


FIT = ("letorlab.fitting", "letorlab.rankers.ranksvm")


@pytest.mark.parametrize(
    ("file", "fit_changes", "evaluation_changes"),
    [
        ("metrics.py", False, True),
        ("solvers/ranksvm.py", True, False),
        ("pairwise.py", True, False),
        ("solvers/__init__.py", True, False),
        ("queries.py", True, True),
        ("rankers/regression.py", False, False),
        ("rankers/__init__.py", False, False),  # a new line in the registry
        ("report/tables.py", False, False),
        ("tracking.py", False, False),
        ("study.py", False, True),
    ],
)
def test_an_edit_re_runs_what_uses_the_file_and_nothing_else(source, file, fit_changes, evaluation_changes):
    before = fresh_hash(*FIT), fresh_hash("letorlab.evaluate")
    with (source / file).open("a") as edited:
        edited.write("\n# edited\n")
    after = fresh_hash(*FIT), fresh_hash("letorlab.evaluate")
    assert (before[0] != after[0], before[1] != after[1]) == (fit_changes, evaluation_changes)


def test_imports_inside_functions_count(source):
    (source / "one.py").write_text("def f():\n    from letorlab import two\n")
    (source / "two.py").write_text("import letorlab.three\n")
    (source / "three.py").write_text("x = 1\n")
    before = fresh_hash("letorlab.one")
    (source / "three.py").write_text("x = 2\n")
    assert fresh_hash("letorlab.one") != before


def test_revision_and_versions(tmp_path):
    assert provenance.git_revision(tmp_path) is None
    assert provenance.environment()["letorlab"] == "0.1.0"
