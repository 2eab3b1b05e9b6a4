"""Downloads against a real server on this machine."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from layouts import make_parts, rotated, stored_rar

from letorlab.datasets import resolve
from letorlab.download import download
from letorlab.errors import InputError
from letorlab.prepare import prepare
from letorlab.sources import require_sources


def _archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for split in ("train", "vali", "test"):
            file.writestr(f"td2003/Fold1/{split}.txt", "\n".join(rotated(make_parts(), 1, split)))
    return buffer.getvalue()


ARCHIVE = _archive()
SHA256 = hashlib.sha256(ARCHIVE).hexdigest()
PAGE = b"\n<!DOCTYPE html><html><body>Accept the agreement</body></html>"


class Server:
    """What each address answers, and which addresses were asked."""

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.asked: list[str] = []
        self.answers: dict[str, tuple[int, str, bytes, int | None]] = {}
        self.cut: int | None = None  # bytes after which a transfer ends
        self.ranges: list[str | None] = []
        self.knows_ranges = True

    def add(
        self,
        name: str,
        body: bytes,
        *,
        status: int = 200,
        kind: str = "application/zip",
        length: int | None = None,
    ) -> str:
        self.answers[f"/{name}"] = (status, kind, body, length)
        return f"{self.base}/{name}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            status, kind, body, length = served.answers.get(self.path, (404, "text/plain", b"no", None))
            served.ranges.append(self.headers.get("Range"))
            start = int((self.headers.get("Range") or "bytes=0-")[6:-1]) if served.knows_ranges else 0
            body, whole = body[start:], len(body)
            self.send_response(206 if start else status)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
            self.send_header("Content-Type", kind)
            if length != -1:
                self.send_header("Content-Length", str(length or len(body)))
            self.end_headers()
            self.wfile.write(body[: served.cut])

        def log_message(self, *args: object) -> None:
            pass

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("LETOR_HOME", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        served = Server(http.server_address[1])
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield served
        http.shutdown()
        thread.join()


@pytest.mark.parametrize("length", [None, -1])
def test_a_good_archive_is_fetched_once(server: Server, tmp_path: Path, length: int | None) -> None:
    url = server.add("a.zip", ARCHIVE, length=length)
    target = tmp_path / "cache" / "a.zip"
    assert download([url], SHA256, target) == target
    assert target.read_bytes() == ARCHIVE
    download([url], SHA256, target)
    assert server.asked == ["/a.zip"], "a file with the right sha256 is not fetched again"
    target.write_bytes(ARCHIVE[:-1])
    download([url], SHA256, target)
    assert target.read_bytes() == ARCHIVE, "one with another sha256 is"


def test_the_second_address_is_tried(server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    urls = [
        f"{server.base}/gone.zip",
        server.add("page.zip", PAGE, kind="text/html"),
        server.add("b.zip", ARCHIVE),
    ]
    with caplog.at_level("INFO"):
        download(urls, SHA256, tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == ARCHIVE
    assert server.asked == ["/gone.zip", "/page.zip", "/b.zip"]
    assert "HTTP 404" in caplog.text
    assert f"{len(ARCHIVE)} of {len(ARCHIVE)} bytes (100 %)" in caplog.text


CASES = {
    "status": ({"body": b"no", "status": 403}, "HTTP 403"),
    "html": (
        {"body": b"PK\3\4 sign in", "kind": "text/html; charset=utf-8"},
        "a web page instead of an archive",
    ),
    "html called zip": ({"body": PAGE}, "a web page instead of an archive"),
    "text": ({"body": b"quota exceeded"}, "no zip or rar archive (it begins with b'quota ex')"),
    "another file": ({"body": ARCHIVE + b"x"}, hashlib.sha256(ARCHIVE + b"x").hexdigest()),
    "cut": ({"body": ARCHIVE[:100], "length": len(ARCHIVE)}, str(len(ARCHIVE) - 100)),
    "empty": ({"body": b"", "length": -1}, "cut"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said_and_nothing_stays(server: Server, tmp_path: Path, case: str) -> None:
    answer, words = CASES[case]
    url = server.add("a.zip", **answer)
    target = tmp_path / "cache" / "a.zip"
    with pytest.raises(InputError) as error:
        download([url], SHA256, target)
    for text in (url, words, f"sha256 {SHA256}", f"save it as {target}"):
        assert text in str(error.value), str(error.value)
    assert not target.parent.exists() or not list(target.parent.iterdir())


LONG = ARCHIVE + bytes(300_000)


def test_a_cut_transfer_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    url, target = server.add("long.zip", LONG), tmp_path / "long.zip"
    server.cut = 150_000
    assert download([url], hashlib.sha256(LONG).hexdigest(), target).read_bytes() == LONG
    starts = [int((text or "bytes=0-")[6:-1]) for text in server.ranges]
    assert len(starts) >= 3
    assert starts == sorted(set(starts)), "each goes on further down"


def test_a_server_that_knows_no_ranges_is_not_asked_forever(server: Server, tmp_path: Path) -> None:
    url, target = server.add("long.zip", LONG), tmp_path / "cache/long.zip"
    server.cut, server.knows_ranges = 150_000, False
    with pytest.raises(InputError, match=rf"long\.zip: .*{len(LONG) - 150_000} more expected"):
        download([url], hashlib.sha256(LONG).hexdigest(), target)
    assert len(server.asked) == 2
    assert list(target.parent.iterdir()) == [], "no partial file stays"


def test_parts_that_make_another_file_are_refused(server: Server, tmp_path: Path) -> None:
    url = server.add("long.zip", LONG)
    server.cut = 150_000
    with pytest.raises(InputError, match="another sha256"):
        download([url], hashlib.sha256(LONG + b"x").hexdigest(), tmp_path / "cache/long.zip")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_rar_is_fetched_unpacked_and_prepared(server: Server, tmp_path: Path) -> None:
    body = stored_rar({f"td2003/S{part}.txt": "\n".join(lines).encode() for part, lines in enumerate(make_parts(), 1)})
    url = server.add("x.rar", body, kind="application/x-rar-compressed")
    dataset = resolve("mine", {"urls": [url], "sha256": hashlib.sha256(body).hexdigest()})
    root = require_sources([dataset], None, tmp_path / "cache")["mine"]
    assert prepare(dataset, root, tmp_path / "out")["queries"] == 15
    require_sources([dataset], None, tmp_path / "cache")
    assert server.asked == ["/x.rar"]


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:9/a\.zip: .*refused"):
        download(["http://127.0.0.1:9/a.zip"], SHA256, tmp_path / "a.zip")


def test_a_failed_attempt_leaves_the_old_file(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    target.write_bytes(b"old")
    with pytest.raises(InputError):
        download([server.add("a.zip", PAGE)], SHA256, target)
    assert target.read_bytes() == b"old"


def test_sources_download_into_the_cache_and_prepare_reads_it(server: Server, tmp_path: Path) -> None:
    block = {"urls": [server.add("own.zip", ARCHIVE)], "sha256": SHA256.upper()}
    own = resolve("own", block)
    for _ in range(2):
        source = require_sources([own], None, tmp_path / "cache")["own"]
        assert Path(source.root.filename).parent == tmp_path / "cache"
    assert server.asked == ["/own.zip"]
    card = prepare(own, source, tmp_path / "out", folds=[1])
    assert card["queries"] == 15


def test_a_copy_at_home_comes_before_a_download(server: Server, tmp_path: Path) -> None:
    (tmp_path / "td2003.zip").write_bytes(ARCHIVE)
    td2003 = resolve("td2003", {"urls": [server.add("a.zip", ARCHIVE)], "sha256": SHA256})
    source = require_sources([td2003], tmp_path, tmp_path / "cache")["td2003"]
    assert Path(source.root.filename) == tmp_path / "td2003.zip"
    assert server.asked == []


def test_data_sets_of_one_archive_share_the_download(server: Server, tmp_path: Path) -> None:
    block = {"urls": [server.add("gov.zip", ARCHIVE)], "sha256": SHA256}
    sets = [resolve(name, block) for name in ("td2003", "td2004")]
    with pytest.raises(InputError) as error:
        require_sources(sets, None, tmp_path)
    assert "1 data set(s)" in str(error.value)
    assert "holds no Fold1/train.txt and no S1.txt in Gov/QueryLevelNorm/2004_td_dataset" in str(error.value)
    assert server.asked == ["/gov.zip"]


@pytest.mark.letor
def test_the_real_archive_from_server_to_prepared_data(server: Server, tmp_path: Path, letor_home: Path) -> None:
    data = (letor_home / "OHSUMED.zip").read_bytes()
    block = {"urls": [server.add("OHSUMED.zip", data)], "sha256": hashlib.sha256(data).hexdigest()}
    ohsumed = resolve("ohsumed", block)
    source = require_sources([ohsumed], None, tmp_path / "cache")["ohsumed"]
    assert (Path(source.root.filename).parent, source.at) == (tmp_path / "cache", "OHSUMED/QueryLevelNorm/")
    card = prepare(ohsumed, source, tmp_path / "out", cache=tmp_path / "cache")
    assert (card["documents"], card["verified"]) == (16140, "digests")
