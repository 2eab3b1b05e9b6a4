"""Fetch an archive from the first address that serves it, whole and with the expected digest."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from letorlab.atomic import atomic_path
from letorlab.errors import InputError
from letorlab.provenance import sha256_of

if TYPE_CHECKING:
    import requests

_LOG = logging.getLogger(__name__)
_CHUNK = 1 << 20  # bytes
_TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two pieces of the answer
_ZIP_MAGIC = b"PK\x03\x04"
_A_PAGE = "answered with a web page instead of an archive (moved, or an agreement has to be accepted first)"


def download(urls: Sequence[str], sha256: str, target: Path) -> Path:
    """Fetch a zip into `target`, unless it is there already with the right digest.

    Parameters
    ----------
    urls : sequence of str
        Addresses of the same file, tried in order.
    sha256 : str
        Expected digest, 64 hexadecimal digits.
    target : Path
        Where the file goes. It appears there whole and verified, or not at all.

    Returns
    -------
    Path
        `target`.

    Raises
    ------
    InputError
        If no address serves it: every address with what went wrong, the expected digest, and what to do.
    """
    if target.exists() and sha256_of(target) == sha256:
        _LOG.info("%s is there already, with the right sha256", target)
        return target
    failures = []
    for url in urls:
        try:
            _fetch(url, sha256, target)
        except InputError as error:
            _LOG.warning("%s", error)
            failures.append(str(error))
        else:
            return target
    raise InputError(
        "\n  ".join(["no address served the archive:", *failures])
        + f"\n  expected: a zip with sha256 {sha256}"
        + f"\n  to do: fetch the file in a browser, save it as {target.absolute()}, and start again"
    )


def _fetch(url: str, sha256: str, target: Path) -> None:
    import requests

    try:
        # identity: the length of the answer is then the length of the file
        headers = {"Accept-Encoding": "identity"}
        with requests.get(url, stream=True, timeout=_TIMEOUT, headers=headers) as response:
            _check_answer(url, response)
            with atomic_path(target) as temporary:
                _check_digest(url, _receive(url, response, temporary), sha256)
    except requests.RequestException as error:
        raise InputError(f"{url}: {error}") from error
    _LOG.info("%s: saved as %s", url, target)


def _check_answer(url: str, response: requests.Response) -> None:
    if response.status_code != 200:
        raise InputError(f"{url}: answered HTTP {response.status_code} {response.reason}")
    if "html" in response.headers.get("Content-Type", "").lower():
        raise InputError(f"{url}: {_A_PAGE}")


def _receive(url: str, response: requests.Response, path: Path) -> str:
    """Write the answer to `path`, a piece at a time; return its sha256."""
    length = response.headers.get("Content-Length", "")
    expected = int(length) if length.isdigit() else 0
    digest, received, shown = hashlib.sha256(), 0, 0
    with path.open("wb") as file:
        for piece in response.iter_content(_CHUNK):
            if received == 0:
                _check_magic(url, piece)
            file.write(piece)
            digest.update(piece)
            received += len(piece)
            if expected and received * 10 // expected > shown:
                shown = received * 10 // expected
                _LOG.info("%s: %d of %d bytes (%d %%)", url, received, expected, shown * 10)
    if received == 0 or (expected and received != expected):
        raise InputError(f"{url}: the transfer was cut: expected {expected} bytes, got {received}")
    return digest.hexdigest()


def _check_magic(url: str, piece: bytes) -> None:
    if piece.startswith(_ZIP_MAGIC):
        return
    start = piece[:512].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InputError(f"{url}: {_A_PAGE}")
    if piece.startswith(b"Rar!"):
        raise InputError(f"{url}: is a .rar, which is not read here; unpack it by hand and name the folder in `path:`")
    raise InputError(f"{url}: is no zip archive (it begins with {piece[:8]!r})")


def _check_digest(url: str, got: str, expected: str) -> None:
    if got != expected:
        raise InputError(f"{url}: the file has another sha256: expected {expected}, got {got}")
