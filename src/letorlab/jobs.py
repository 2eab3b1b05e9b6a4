"""What every job of the workflow does around its one call: a log file, signs of life, readable errors."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from letorlab.errors import InputError

SECONDS_BETWEEN_LINES = 20.0


@contextmanager
def job(log_file: str | Path) -> Iterator[None]:
    """Send the log to a file, a line of it now and then to the terminal, and end with status 1 on an error.

    The job is called after its log: ``results/toy/logs/fit/toy2/ranksvm.1-2.log`` is "toy fit toy2 ranksvm.1-2". An
    `InputError` is printed without a traceback, since its message says what to do; any other error is a fault of the
    program and shows its traceback, on the terminal and in the log.
    """
    path, start = Path(log_file), time.perf_counter()
    path.parent.mkdir(parents=True, exist_ok=True)
    name = " ".join(part for part in path.with_suffix("").parts if part not in ("results", "logs"))
    _start_logging(path, name)
    try:
        yield
    except InputError as error:
        logging.error("%s", error)
        sys.exit(f"\n{name}: {error}\n")
    except Exception:
        logging.exception("failed")
        sys.exit(f"\n{name}: {traceback.format_exc()}\nThe log of this job is {path}\n")
    print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)


def watch(name: str) -> None:
    """Show the lines of a logger on the terminal: of what is done before any job, such as downloads."""
    logger = logging.getLogger(name)
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler())
    logger.setLevel(logging.INFO)


class _Occasionally(logging.Filter):
    """Let a line pass if none did for a while: long jobs show where they are, short ones stay silent."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds, self._last = seconds, time.perf_counter()

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.perf_counter()
        if now - self._last < self._seconds:
            return False
        self._last = now
        return True


def _start_logging(path: Path, name: str) -> None:
    file, terminal = logging.FileHandler(path, mode="w", encoding="utf-8"), logging.StreamHandler()
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    terminal.setFormatter(logging.Formatter(f"{name}: %(message)s"))
    terminal.addFilter(_Occasionally(SECONDS_BETWEEN_LINES))
    logging.basicConfig(level=logging.INFO, handlers=[file, terminal], force=True)
    logging.captureWarnings(True)
