"""One set of pins: pyproject.toml, requirements.lock and environment.yml agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = {canonicalize_name(r.name): r for r in map(Requirement, (ROOT / "requirements.lock").read_text().splitlines())}
WANTED = [
    *PROJECT["dependencies"],
    *PROJECT["optional-dependencies"]["dev"],
    *PROJECT["optional-dependencies"]["lightgbm"],
]


@pytest.mark.parametrize("text", WANTED)
def test_the_lock_holds_every_dependency_in_its_range(text):
    wanted = Requirement(text)
    (pin,) = LOCK[canonicalize_name(wanted.name)].specifier
    assert pin.operator == "=="
    assert "+" not in pin.version  # a local build exists on one machine only
    assert wanted.specifier.contains(pin.version)


def test_conda_uses_the_same_lock_and_a_python_that_fits():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert pip == ["--requirement requirements.lock", "--editable ."]
    assert set(plain) == {"python=3.11", "pip"}
    assert SpecifierSet(PROJECT["requires-python"]).contains("3.11")


def test_no_file_names_a_package_registry_or_a_local_build():
    for name in ("requirements.lock", "environment.yml", "pyproject.toml", "Makefile"):
        assert not re.search(r"https?://|file:", (ROOT / name).read_text().replace("http://127.0.0.1", "")), name


def test_the_version_stands_in_one_place():
    import letorlab

    assert PROJECT["version"] == letorlab.__version__
