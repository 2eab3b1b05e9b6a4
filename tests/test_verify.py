"""Is a copy the original: by digest, by counts, and unchanged since."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import Part, make_parts, rotated, write_folds, write_lines, write_parts

from letorlab import datasets, verify
from letorlab.datasets import Counts, Dataset
from letorlab.errors import InputError
from letorlab.prepare import prepare
from letorlab.sources import require_sources
from letorlab.verify import Digests, known_digests, text_pieces, verify_file


@pytest.fixture
def catalogued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Dataset, list[Part]]:
    """A miniature of the catalogue, known by its counts only."""
    parts = make_parts()
    labels = Counter(int(line[0]) for part in parts for line in part)
    counts = Counts(15, sum(map(len, parts)), dict(labels))
    dataset = Dataset("mini", "Mini (1.0)", "letor3", features=4, folder="mini", counts=counts, archives=("mini.zip",))
    monkeypatch.setattr(verify, "known_digests", dict)
    return dataset, parts


def prepare_home(dataset: Dataset, home: Path, out: Path, cache: Path) -> dict[str, Any]:
    return prepare(dataset, require_sources([dataset], home, cache)["mini"], out, cache=cache)


def test_counts_that_agree_are_recorded_and_a_later_change_is_an_error(
    tmp_path: Path, catalogued: tuple[Dataset, list[Part]]
) -> None:
    dataset, parts = catalogued
    home, cache = tmp_path / "home", tmp_path / "cache"
    write_parts(home / "mini", parts)
    card = prepare_home(dataset, home, tmp_path / "out", cache)
    assert card["verified"] == "counts"
    assert {file["status"] for file in card["files"].values()} == {"new"}
    record = cache / "verified" / "mini.json"
    assert sorted(json.loads(record.read_text())) == ["S1", "S2", "S3", "S4", "S5"]

    write_parts(home / "mini", parts, end="\r\n")  # line ends are no change
    again = prepare_home(dataset, home, tmp_path / "out", cache)
    assert {file["status"] for file in again["files"].values()} == {"recorded"}

    old = home / "mini" / "S3.txt"
    before = hashlib.sha256(old.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    old.write_bytes(old.read_bytes().replace(b" 1:0.", b" 1:1.", 1))  # the counts still agree
    after = hashlib.sha256(old.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    with pytest.raises(InputError) as error:
        prepare_home(dataset, home, tmp_path / "out", cache)
    assert all(text in str(error.value) for text in (str(old), before, after, f"delete {record}"))
    record.unlink()
    assert prepare_home(dataset, home, tmp_path / "out", cache)["verified"] == "counts"


def test_counts_that_do_not_agree_are_named_and_not_recorded(
    tmp_path: Path, catalogued: tuple[Dataset, list[Part]]
) -> None:
    dataset, parts = catalogued
    home, cache = tmp_path / "home", tmp_path / "cache"
    n_docs = sum(map(len, parts))
    write_folds(home / "mini", [*parts[:4], parts[4][:-1]])
    with pytest.raises(InputError, match=rf"Mini \(1\.0\): documents: expected {n_docs}, got {n_docs - 1}; labels: "):
        prepare_home(dataset, home, tmp_path / "out", cache)
    write_folds(home / "mini", [[line.split(" 4:")[0] for line in part] for part in parts])
    with pytest.raises(InputError, match=r"features: expected 4, got 3\. .*LETOR 2\.0"):
        prepare_home(dataset, home, tmp_path / "out", cache)
    assert not cache.exists()


def test_a_changed_fold_file_of_a_catalogue_set_is_found(
    tmp_path: Path, catalogued: tuple[Dataset, list[Part]]
) -> None:
    """A changed train file is a part of its own; the counts, each query once, would not see it."""
    dataset, parts = catalogued
    home, cache = tmp_path / "home", tmp_path / "cache"
    write_folds(home / "mini", parts)
    lines = rotated(parts, 3, "train")
    write_lines(home / "mini/Fold3/train.txt", [lines[0].replace(" 1:0.", " 1:1."), *lines[1:]])
    with pytest.raises(InputError, match=r"query 7 has other .* in Fold3/train than in Fold1/train"):
        prepare_home(dataset, home, tmp_path / "out", cache)
    assert not cache.exists()


def test_known_originals_need_no_counts(
    tmp_path: Path, catalogued: tuple[Dataset, list[Part]], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, parts = catalogued
    home, cache = tmp_path / "home", tmp_path / "cache"
    write_parts(home / "mini", parts)
    known = {
        ("mini", path.stem): frozenset({("sha256", hashlib.sha256(path.read_bytes()).hexdigest())})
        for path in (home / "mini").iterdir()
    }
    monkeypatch.setattr(verify, "known_digests", lambda: known)
    write_parts(home / "mini", parts, end="\r\n")
    card = prepare_home(dataset, home, tmp_path / "out", cache)
    assert card["verified"] == "digests"
    assert not cache.exists()


def test_a_file_is_known_by_its_bytes_with_either_line_end(monkeypatch: pytest.MonkeyPatch) -> None:
    crlf, lf = b"1 qid:1 1:0.5\r\n", b"1 qid:1 1:0.5\n"
    # echo '1 qid:1 1:0.5' | git hash-object --stdin
    blob = hashlib.sha1(b"blob 14\0" + lf).hexdigest()
    known = {
        ("a", "S1"): frozenset({("git", blob)}),
        ("b", "S1"): frozenset({("sha256", hashlib.sha256(crlf).hexdigest())}),
    }
    monkeypatch.setattr(verify, "known_digests", lambda: known)
    assert verify_file("a", "S1", Digests.of(lambda: iter([crlf])))
    assert verify_file("a", "S1", Digests.of(lambda: iter([lf])))
    assert verify_file("b", "S1", Digests.of(lambda: iter([crlf])))
    assert not verify_file("b", "S1", Digests.of(lambda: iter([lf]))), (
        "the digest of the original says nothing of an LF copy"
    )
    assert not verify_file("a", "S2", Digests.of(lambda: iter([lf]))), "a known file in another role is not known"


@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b"a\r\nb"]), max_size=8), st.integers(1, 4))
def test_digests_do_not_depend_on_how_the_file_is_cut(pieces, length):
    """Line ends may fall between two pieces; a CR alone stays."""
    data = b"".join(pieces)
    cut = [data[start : start + length] for start in range(0, len(data), length)]
    lf = data.replace(b"\r\n", b"\n")
    text = lf if lf.endswith(b"\n") or not lf else lf + b"\n"
    assert Digests.of(lambda: iter(cut)) == Digests(
        *(hashlib.sha256(content).hexdigest() for content in (data, lf)),
        *(hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() for content in (data, lf)),
        hashlib.sha256(text).hexdigest(),
    )
    assert b"".join(text_pieces(iter(cut))) == text


def test_known_files_name_catalogue_sets_and_are_well_formed() -> None:
    lengths = {"sha256": 64, "git": 40}
    for (name, role), entries in known_digests().items():
        assert name in datasets.catalogue()
        assert role.startswith(("Fold", "S"))
        assert all(len(digest) == lengths[kind] for kind, digest in entries)
    roles = {name: [role for other, role in known_digests() if other == name] for name in datasets.catalogue()}
    assert {name: len(found) for name, found in roles.items() if found} == {
        "td2003": 15,
        "td2004": 15,
        "mq2007": 20,
        "mq2008": 15,
        "ohsumed": 20,
    }


@pytest.mark.parametrize("name", ["td2003", "td2004", "mq2007", "mq2008"])
def test_known_digests_have_the_rotation_in_them(name: str) -> None:
    """The vali file of a fold is the test file of the fold before it, so their digests are the same."""
    known = known_digests()
    for fold in range(1, 6):
        before = (fold - 2) % 5 + 1
        assert known[name, f"Fold{fold}/vali"] == known[name, f"Fold{before}/test"]
