"""What a user sees of a job: its name, its errors, and signs of life."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from letorlab.jobs import watch

LOG = "results/toy/logs/fit/toy2/ranksvm.1-2.log"


def run(tmp_path: Path, body: str) -> tuple[int, str, str]:
    """Exit status, terminal and log of a job with this body, in a process of its own."""
    script = f"import logging\nfrom letorlab.errors import InputError\nfrom letorlab import jobs\n{body}"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    return done.returncode, done.stderr, (tmp_path / LOG).read_text()


def in_job(*lines: str) -> str:
    return f"with jobs.job({LOG!r}):\n" + "".join(f"    {line}\n" for line in lines)


def test_a_job_says_its_name_and_time_and_logs_to_its_file(tmp_path):
    status, terminal, log = run(tmp_path, in_job("logging.info('trial 1 of 3')"))
    assert status == 0
    assert terminal.startswith("toy fit toy2 ranksvm.1-2: ")
    assert terminal.count("\n") == 1
    assert log.endswith(" trial 1 of 3\n")


def test_a_mistake_of_the_user_is_a_message_without_traceback(tmp_path):
    status, terminal, log = run(tmp_path, in_job("raise InputError('C must be positive; got -1')"))
    assert status == 1
    assert terminal == "\ntoy fit toy2 ranksvm.1-2: C must be positive; got -1\n\n"
    assert "C must be positive" in log


def test_a_fault_of_the_program_shows_its_traceback_and_where_the_log_is(tmp_path):
    status, terminal, log = run(tmp_path, in_job("1 / 0"))
    assert status == 1
    assert "ZeroDivisionError" in terminal
    assert f"The log of this job is {LOG}" in terminal
    assert "Traceback" in log


@pytest.mark.parametrize(("seconds", "lines"), [(0.0, 3), (1e9, 0)])
def test_a_long_job_shows_a_line_of_its_log_now_and_then(tmp_path, seconds, lines):
    body = f"jobs.SECONDS_BETWEEN_LINES = {seconds}\n" + in_job("for i in range(3): logging.info('step %d', i)")
    assert run(tmp_path, body)[1].count(": step ") == lines


def test_downloads_before_any_job_are_shown(capsys):
    logger = logging.getLogger("letorlab.test-watch")
    watch(logger.name)
    watch(logger.name)
    logger.info("http://a/x.zip: 10 of 100 bytes (10 %)")
    assert capsys.readouterr().err == "http://a/x.zip: 10 of 100 bytes (10 %)\n"
    logger.handlers.clear()
