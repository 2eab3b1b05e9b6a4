"""Files that are either whole or absent, however the process ends."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside `path`; rename it to `path` if the block ends well, else remove it.

    The temporary file lies in the same folder, so that the rename never crosses file systems, and has a
    name of its own, so that an orphan of a killed run and the next run never write the same file.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp gives 0600: readable by nobody else on a shared disk
        temporary.replace(target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text with LF line ends, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(text.encode())


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write JSON with sorted keys; NaN is refused, since no other reader of JSON accepts it."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(Path(path).read_text(encoding="utf-8"))
