"""Which code, which packages, which files made a result."""

from __future__ import annotations

import ast
import hashlib
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

SOURCE = Path(__file__).resolve().parent


def code_hash(*modules: str, resources: Iterable[str] = ()) -> str:
    """Hash of the text of letorlab modules, of all letorlab modules that they import, and of `resources`.

    Snakemake does not see changes in imported modules: a rule carries this hash as a parameter, and is run anew
    when the code that it uses changes, and only then. `resources` are package files that no import shows. Package
    ``__init__`` files count only where something is imported from them, so that a new line in a registry does not
    touch the methods already there.
    """
    files: set[Path] = set()
    waiting = [_file_of(name) for name in modules]
    while waiting:
        file = waiting.pop()
        if file not in files:
            files.add(file)
            waiting.extend(_imports(file))
    digest = hashlib.sha256()
    for file in sorted(files | {SOURCE / name for name in resources}):
        digest.update(f"{file.relative_to(SOURCE).as_posix()}\0".encode() + _text(file) + b"\0")
    return digest.hexdigest()[:16]


def sha256_of(path: str | Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git_revision(folder: Path = SOURCE) -> str | None:
    """Commit of the checkout that holds the code, with ``+`` if files differ from it; None outside git."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def environment() -> dict[str, str]:
    """Versions of Python and of the packages that can change a number."""
    names = ("letorlab", "numpy", "scipy", "scikit-learn", "torch", "pandas", "snakemake", "mlflow")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


@cache
def _text(file: Path) -> bytes:
    return file.read_bytes()


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Files of the letorlab modules that a file imports, at its top or inside functions."""
    found = []
    for node in ast.walk(ast.parse(_text(file))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import name`: the name may be a module or something defined in the package
            found += [
                f"{node.module}.{alias.name}" if _exists(f"{node.module}.{alias.name}") else node.module
                for alias in node.names
            ]
    return tuple(_file_of(name) for name in found if name.split(".")[0] == "letorlab")


def _exists(module: str) -> bool:
    return module.split(".")[0] == "letorlab" and any(path.is_file() for path in _candidates(module))


def _file_of(module: str) -> Path:
    return next(path for path in _candidates(module) if path.is_file())


def _candidates(module: str) -> tuple[Path, Path]:
    path = SOURCE.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py"), path / "__init__.py"
