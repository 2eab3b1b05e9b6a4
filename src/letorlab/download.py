"""Fetch an archive from the first address that serves it, whole and with the expected digest."""

from __future__ import annotations

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
_CHUNK = 1 << 16  # bytes; what has come of an unfinished one is lost when the transfer is cut
_TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two pieces of the answer
_ZIP_MAGIC, _RAR_MAGIC = b"PK\x03\x04", b"Rar!\x1a\x07"
ATTEMPTS = 5  # at one address, each going on where the one before was cut
_A_PAGE = "answered with a web page instead of an archive (moved, or an agreement has to be accepted first)"


def download(urls: Sequence[str], sha256: str, target: Path) -> Path:
    """Fetch a zip or rar into `target`, unless it is there already with the right digest.

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
        + f"\n  expected: an archive with sha256 {sha256}"
        + f"\n  to do: fetch the file in a browser, save it as {target.absolute()}, and start again"
    )


def _fetch(url: str, sha256: str, target: Path) -> None:
    import requests

    with atomic_path(target) as temporary:
        for attempt in range(ATTEMPTS):
            got = temporary.stat().st_size
            try:
                if _continued(url, temporary, got):
                    break
            except requests.RequestException as error:
                if attempt == ATTEMPTS - 1 or temporary.stat().st_size == got:  # no use in asking again
                    raise InputError(f"{url}: {error}") from error
            _LOG.warning("%s: the transfer was cut after %d bytes; going on", url, temporary.stat().st_size)
        else:
            raise InputError(f"{url}: the transfer was cut {ATTEMPTS} times, at last after {got} bytes")
        _check_digest(url, sha256_of(temporary), sha256)
    _LOG.info("%s: saved as %s", url, target)


def _continued(url: str, path: Path, got: int) -> bool:
    """Add to `path`, which holds the first `got` bytes, what the address answers; whether that is all of it."""
    import requests

    # identity: the length of the answer is then the length of the file
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={got}-"} if got else {})}
    with requests.get(url, stream=True, timeout=_TIMEOUT, headers=headers) as response:
        start = _start(url, response, got)
        length = response.headers.get("Content-Length", "")
        expected = start + int(length) if length.isdigit() else 0
        _receive(url, response, path, start, expected)
    received = path.stat().st_size
    if received == 0 or (expected and received < expected and received == got):
        raise InputError(f"{url}: the transfer was cut: expected {expected} bytes, got {received}")
    return not expected or received >= expected


def _start(url: str, response: requests.Response, got: int) -> int:
    """Where in the file the answer begins: a server may not know ranges, and send all of it again."""
    if response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {got}-"):
        return got
    if response.status_code != 200:
        raise InputError(f"{url}: answered HTTP {response.status_code} {response.reason}")
    if "html" in response.headers.get("Content-Type", "").lower():
        raise InputError(f"{url}: {_A_PAGE}")
    return 0


def _receive(url: str, response: requests.Response, path: Path, start: int, expected: int) -> None:
    """Write the answer into `path` from `start` on, a piece at a time."""
    received, shown = start, 0
    with path.open("r+b") as file:
        file.truncate(start)
        file.seek(start)
        for piece in response.iter_content(_CHUNK):
            if received == 0:
                _check_magic(url, piece)
            file.write(piece)
            received += len(piece)
            if expected and received * 10 // expected > shown:
                shown = received * 10 // expected
                _LOG.info("%s: %d of %d bytes (%d %%)", url, received, expected, shown * 10)


def _check_magic(url: str, piece: bytes) -> None:
    if piece.startswith((_ZIP_MAGIC, _RAR_MAGIC)):
        return
    start = piece[:512].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InputError(f"{url}: {_A_PAGE}")
    raise InputError(f"{url}: is no zip or rar archive (it begins with {piece[:8]!r})")


def _check_digest(url: str, got: str, expected: str) -> None:
    if got != expected:
        raise InputError(f"{url}: the file has another sha256: expected {expected}, got {got}")
