"""From files to parts, folds and card: every layout gives the same data; wrong data is refused by name."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layouts import (
    Part,
    make_parts,
    prepare_path,
    rotated,
    write_folds,
    write_lines,
    write_parts,
    zip_folder,
)

from letorlab import verify
from letorlab.datasets import Counts, resolve
from letorlab.errors import InputError
from letorlab.folds import rotation
from letorlab.layout import PIECE
from letorlab.letor import read_letor
from letorlab.prepare import prepare
from letorlab.prepared import load_card, load_part, load_split
from letorlab.queries import Queries
from letorlab.sources import require_sources
from letorlab.toy import make_toy


def expected_split(tmp_path: Path, parts: list[Part], fold: int, split: str) -> Queries:
    path = tmp_path / "expected.txt"
    write_lines(path, rotated(parts, fold, split))
    return read_letor(path)


def assert_equal(one: Queries, other: Queries) -> None:
    for key in ("X", "y", "offsets", "qid", "docid"):
        np.testing.assert_array_equal(getattr(one, key), getattr(other, key), err_msg=key)


# ---------------------------------------------------------------- layouts


def _s_only(folder: Path, parts: list[Part]) -> Path:
    write_parts(folder, parts)
    return folder


def _folds_only(folder: Path, parts: list[Part]) -> Path:
    write_folds(folder, parts)
    return folder


def _both(folder: Path, parts: list[Part]) -> Path:
    write_parts(folder, parts)
    write_folds(folder, parts)
    return folder


def _crlf(folder: Path, parts: list[Part]) -> Path:
    write_parts(folder, parts, end="\r\n")
    return folder


def _mixed_ends(folder: Path, parts: list[Part]) -> Path:
    write_parts(folder, parts, end="\r\n")
    write_folds(folder, parts)
    return folder


def _no_final_line_end(folder: Path, parts: list[Part]) -> Path:
    write_folds(folder, parts, final=False, end="\r\n")
    return folder


def _other_spelling(folder: Path, parts: list[Part]) -> Path:
    """Bytes differ, values do not: 0.5000000 for 0.500000, and blanks."""
    write_parts(folder, parts)
    write_folds(folder, [[line.replace(" #", "0  #") for line in part] for part in parts])
    return folder


def _upper_case(folder: Path, parts: list[Part]) -> Path:
    write_folds(folder, parts, name="FOLD{}", names=("TRAININGSET.TXT", "VALIDATIONSET.TXT", "TESTSET.TXT"))
    return folder


def _zip(folder: Path, parts: list[Part]) -> Path:
    write_parts(folder, parts)
    return zip_folder(folder, folder.parent / "flat.zip")


def _nested_zip(folder: Path, parts: list[Part]) -> Path:
    write_folds(folder, parts)
    write_folds(folder.parent / "macos", [["not LETOR"]] * 5)  # what macOS puts beside the files
    archive = zip_folder(folder, folder.parent / "nested.zip", under="a/deep/folder/")
    return zip_folder(folder.parent / "macos", archive, under="__MACOSX/deep/", mode="a")


def _some_s_and_folds(folder: Path, parts: list[Part]) -> Path:
    write_folds(folder, parts)
    write_lines(folder / "S1.txt", parts[0])
    return folder


LAYOUTS = [
    _s_only,
    _folds_only,
    _both,
    _crlf,
    _mixed_ends,
    _no_final_line_end,
    _other_spelling,
    _upper_case,
    _zip,
    _nested_zip,
    _some_s_and_folds,
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__[1:])
@pytest.mark.parametrize("qid", ["{}", "WT04-{}"])
def test_every_layout_gives_the_same_folds_and_checksum(tmp_path: Path, layout: Any, qid: str) -> None:
    parts = make_parts(qid=qid)
    reference = prepare_path(_s_only(tmp_path / "reference", parts), tmp_path / "out-reference")
    out = tmp_path / "out"
    card = prepare_path(layout(tmp_path / "data", parts), out)
    assert card["checksum"] == reference["checksum"]
    assert sorted(card["parts"]) == ["S1", "S2", "S3", "S4", "S5"]
    for fold in range(1, 6):
        for split in ("train", "vali", "test"):
            assert_equal(load_split(out, fold, split), expected_split(tmp_path, parts, fold, split))


def test_rotation_is_letors() -> None:
    assert rotation()[1] == {"train": ["S1", "S2", "S3"], "vali": ["S4"], "test": ["S5"]}
    assert rotation()[3] == {"train": ["S3", "S4", "S5"], "vali": ["S1"], "test": ["S2"]}
    for split, times in (("train", 3), ("vali", 1), ("test", 1)):
        used = Counter(part for folds in rotation().values() for part in folds[split])
        assert set(used.values()) == {times}
        assert len(used) == 5


def test_checksum_sees_every_field_and_no_line_end(tmp_path: Path) -> None:
    parts = make_parts()
    line = parts[2][0]
    changed = [
        line.replace("qid:7", "qid:77"),
        line.replace("#docid = D0", "#docid = E0"),
        line.replace(" 1:0.", " 1:1."),
        str((int(line[0]) + 1) % 3) + line[1:],
    ]
    sums = set()
    for number, other in enumerate([line, *changed]):
        query = [other if old == line else old for old in parts[2]]
        if number == 1:
            query = [old.replace("qid:7 ", "qid:77 ") for old in parts[2]]
        sums.add(
            prepare_path(_s_only(tmp_path / f"d{number}", [*parts[:2], query, *parts[3:]]), tmp_path / f"o{number}")[
                "checksum"
            ]
        )
    assert len(sums) == 5


def test_prepared_files_are_the_same_bytes_on_every_run(tmp_path: Path) -> None:
    folder = _s_only(tmp_path / "data", make_parts())
    digests = []
    for out in (tmp_path / "one", tmp_path / "two"):
        prepare_path(folder, out)
        files = sorted(path for path in out.rglob("*") if path.is_file())
        digests.append([(p.relative_to(out), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files])
    assert digests[0] == digests[1]
    assert len(digests[0]) == 7


# ---------------------------------------------------------------- other folds than five by rotation


def test_folds_that_are_no_rotation_keep_their_files(tmp_path: Path) -> None:
    parts = make_parts(n_parts=6)
    chosen = {1: ([0, 1], [2], [3]), 2: ([2, 3], [1], [4]), 3: ([5, 0], [4], [3])}
    for fold, numbers in chosen.items():
        for split, which in zip(("train", "vali", "test"), numbers, strict=True):
            write_lines(tmp_path / f"d/Fold{fold}/{split}.txt", [line for n in which for line in parts[n]])
    card = prepare_path(tmp_path / "d", tmp_path / "out", folds=[1, 2, 3])
    assert card["folds"] == [1, 2, 3]
    assert len(card["parts"]) == 7, "nine files; two of them stand twice"
    assert (card["queries"], card["documents"]) == (18, sum(map(len, parts))), "every query once"
    write_lines(tmp_path / "train.txt", parts[2] + parts[3])
    assert_equal(load_split(tmp_path / "out", 2, "train"), read_letor(tmp_path / "train.txt"))
    with pytest.raises(InputError, match="has no fold 4, only 1, 2, 3"):
        load_split(tmp_path / "out", 4, "train")
    with pytest.raises(InputError, match="no split 'dev'; there are train, vali, test"):
        load_split(tmp_path / "out", 1, "dev")


def test_five_folds_that_are_no_rotation_are_not_taken_for_one(tmp_path: Path) -> None:
    parts = make_parts()
    for fold in range(1, 6):
        for split, which in (("train", (1, 2)), ("vali", (3,)), ("test", (4,))):  # S(fold) is left out
            lines = [line for n in which for line in parts[(fold - 1 + n) % 5]]
            write_lines(tmp_path / f"d/Fold{fold}/{split}.txt", lines)
    card = prepare_path(tmp_path / "d", tmp_path / "out")
    assert len(card["parts"]) == 10, "five trains, five single parts"
    write_lines(tmp_path / "train.txt", parts[4] + parts[0])
    assert_equal(load_split(tmp_path / "out", 4, "train"), read_letor(tmp_path / "train.txt"))


def test_folds_that_the_study_asks_for_must_be_there(tmp_path: Path) -> None:
    write_folds(tmp_path / "d", make_parts(), folds=[1, 3])
    with pytest.raises(InputError, match=r"asks for fold 2, 4, 5, but .* makes only 1, 3; .*`folds:`"):
        prepare_path(tmp_path / "d", tmp_path / "out", folds=[1, 2, 3, 4, 5])
    lines: list[str] = []
    prepare_path(tmp_path / "d", tmp_path / "out", folds=[1, 3], log=lines.append)
    assert any("holds Fold1, Fold3" in line for line in lines)


@pytest.mark.parametrize("split", ["train", "vali", "test"])
def test_folds_that_disagree_with_the_parts_are_named(tmp_path: Path, split: str) -> None:
    parts = make_parts()
    _both(tmp_path / "d", parts)
    lines = rotated(parts, 2, split)
    lines[0] = lines[0].replace("#docid = D0", "#docid = other")
    write_lines(tmp_path / f"d/Fold2/{split}.txt", lines)
    with pytest.raises(InputError, match=rf"Fold2/{split}\.txt: Fold2 {split} is not S"):
        prepare_path(tmp_path / "d", tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.json")), "nothing is written"


def test_too_few_parts_and_a_sixth_fold_are_refused(tmp_path: Path) -> None:
    parts = make_parts()
    for number in (1, 2, 4):
        write_lines(tmp_path / f"few/S{number}.txt", parts[number])
    with pytest.raises(InputError, match=r"S1\.txt to S5\.txt; found: S1, S2, S4"):
        prepare_path(tmp_path / "few", tmp_path / "out")
    _both(tmp_path / "six", parts)
    write_folds(tmp_path / "six", parts, folds=[1], name="Fold6")
    with pytest.raises(InputError, match="there is a Fold6 beside them"):
        prepare_path(tmp_path / "six", tmp_path / "out")


@pytest.mark.parametrize("layout", [_s_only, _folds_only, _both])
def test_a_query_in_two_splits_of_a_fold_is_refused(tmp_path: Path, layout: Any) -> None:
    parts = make_parts()
    parts[4] = [*parts[4], parts[0][0]]  # query 1 trains and tests in Fold1
    with pytest.raises(InputError, match=r"Fold1: query 1 stands in train and in test; .*share no query"):
        prepare_path(layout(tmp_path / "d", parts), tmp_path / "out")


def test_splits_are_disjoint_and_cover_the_whole_in_every_fold(tmp_path: Path) -> None:
    prepare_path(_s_only(tmp_path / "d", make_parts()), tmp_path / "out")
    for fold in range(1, 6):
        qids = [set(load_split(tmp_path / "out", fold, split).qid) for split in ("train", "vali", "test")]
        assert sum(map(len, qids)) == len(set.union(*qids)) == 15


# ---------------------------------------------------------------- card


def test_card_counts_what_a_plain_loop_counts(tmp_path: Path) -> None:
    parts = make_parts(3, queries=6)
    parts[1] = [line.replace(line.split()[4], "3:0.25") for line in parts[1]]
    lines = [line for part in parts for line in part]
    for part in parts:  # feature 5 is 0.5 everywhere
        part[:] = [line.replace(" #", " 5:0.5 #") for line in part]
    out = tmp_path / "out"
    card = prepare_path(_folds_only(tmp_path / "d", parts), out)
    by_query: dict[str, list[int]] = {}
    for line in lines:
        by_query.setdefault(line.split()[1], []).append(int(line.split()[0]))
    assert card["queries"] == len(by_query) == 30
    assert card["documents"] == len(lines)
    assert card["features"] == 5
    assert card["labels"] == {str(k): v for k, v in Counter(int(line[0]) for line in lines).items()}
    assert card["queries_without_relevant"] == sum(max(labels) == 0 for labels in by_query.values())
    assert card["queries_shorter_than_10"] == sum(len(labels) < 10 for labels in by_query.values())
    assert card["smallest_query"] == min(map(len, by_query.values()))
    assert card["largest_query"] == max(map(len, by_query.values()))
    assert card["constant_features"] == [5]
    assert {name: part["documents"] for name, part in card["parts"].items()} == {
        f"S{number}": len(part) for number, part in enumerate(parts, 1)
    }
    assert (card["verified"], card["profile"], card["folds"]) == ("no", "standard_exp", [1, 2, 3, 4, 5])
    assert str(tmp_path) not in json.dumps(card)
    assert load_card(out) == card
    with pytest.raises(InputError, match="prepare the data set first"):
        load_card(tmp_path)


def test_all_parts_have_the_width_of_the_widest_or_the_given_one(tmp_path: Path) -> None:
    parts = make_parts(features=3)
    parts[3] = make_parts(features=5)[3]
    folder = _s_only(tmp_path / "d", parts)
    assert prepare_path(folder, tmp_path / "out")["features"] == 5
    assert load_part(tmp_path / "out", "S1").X.shape[1] == 5
    assert (load_part(tmp_path / "out", "S1").X[:, 3:] == 0).all()
    assert prepare_path(folder, tmp_path / "wide", features=9)["features"] == 9
    with pytest.raises(InputError, match=r"S4\.txt, line 1: feature 5"):
        prepare_path(folder, tmp_path / "narrow", features=4)


def test_memory_is_the_matrix_not_the_text(tmp_path: Path) -> None:
    """Neither the digests nor the comparison of folds with parts holds a file: numbers of 20 digits, 8 bytes each."""
    data = make_toy(queries=50, documents=[40, 60], features=30, grades=3, seed=1)
    long = [f"{label:.0f} qid:{qid} " + " ".join(f"{i}:{x:.20f}" for i, x in enumerate(row, 1))
            for label, qid, row in zip(data.y, data.qid_of_docs, data.X, strict=True)]  # fmt: skip
    parts = [[line for line in long if (int(line.split()[1][4:]) - 1) // 10 == part] for part in range(5)]
    write_parts(tmp_path / "d", parts)
    write_folds(tmp_path / "d", parts)
    text = sum(path.stat().st_size for path in (tmp_path / "d").glob("S*.txt"))
    tracemalloc.start()
    try:
        prepare_path(tmp_path / "d", tmp_path / "out")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert text > 2.8 * data.X.nbytes
    assert peak < 2 * data.X.nbytes + 2 * PIECE


def test_null_tokens_give_the_readers_message(tmp_path: Path) -> None:
    parts = make_parts()
    parts[1][2] = parts[1][2].replace(" 2:0.", " 2:NULL 9:0.")
    with pytest.raises(InputError, match=r"S2\.txt, line 3: feature 2 is NULL.*QueryLevelNorm"):
        prepare_path(_s_only(tmp_path / "d", parts), tmp_path / "out")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    _s_only(tmp_path / "d", make_parts(queries=9))
    archive = zip_folder(tmp_path / "d", tmp_path / "mine.zip")
    data = bytearray(archive.read_bytes())
    middle = data.find(b"S3.txt") + 200
    data[middle : middle + 20] = bytes(20)
    archive.write_bytes(data)
    with pytest.raises(InputError, match=r"mine\.zip/S3\.txt: the zip archive is damaged"):
        prepare_path(archive, tmp_path / "out")


def test_toy_data_goes_the_same_way(tmp_path: Path) -> None:
    toy = resolve("toy", {"toy": {"queries": 15, "documents": [4, 9], "features": 6, "grades": 3}})
    sources = require_sources([toy], None, tmp_path)
    other = resolve("other", {"toy": toy.toy})
    cards = [prepare(toy, sources["toy"], tmp_path / str(seed), folds=range(1, 6), seed=seed) for seed in (1, 1, 2)]
    assert cards[0] == cards[1]
    assert cards[0]["checksum"] != cards[2]["checksum"]
    assert cards[0]["checksum"] != prepare(other, sources["toy"], tmp_path / "o", seed=1)["checksum"]
    assert (cards[0]["queries"], cards[0]["features"], cards[0]["profile"]) == (15, 6, "letor3")


# ---------------------------------------------------------------- real files


@pytest.mark.letor
@pytest.mark.parametrize("name", ["ohsumed", "mq2008"])
def test_real_sets(tmp_path: Path, letor_home: Path, name: str) -> None:
    dataset = resolve(name, None)
    card = prepare(dataset, require_sources([dataset], letor_home, tmp_path)[name], tmp_path / name, cache=tmp_path)
    counts = dataset.counts
    assert (card["queries"], card["documents"], card["features"]) == (
        counts.queries,
        counts.documents,
        dataset.features,
    )
    assert card["labels"] == {str(grade): number for grade, number in counts.labels.items()}
    assert card["verified"] == "digests"
    verify.check_counts(
        dataset, letor_home, Counts(card["queries"], card["documents"], counts.labels), card["features"]
    )
    sizes = [part["documents"] for part in card["parts"].values()]
    if name == "ohsumed":
        assert sizes == [2570, 3076, 3573, 3538, 3383]
        assert card["parts"]["S1"]["queries"] == 21
        assert card["queries_without_relevant"] == 1
        assert load_split(tmp_path / name, 1, "train").n_docs == 9219
    else:
        assert sizes == [2933, 3635, 3062, 2707, 2874]
        assert card["queries_shorter_than_10"] > 0


@pytest.mark.letor
def test_real_ohsumed_with_crlf_and_folds_only_is_the_same_data(tmp_path: Path, letor_home: Path) -> None:
    dataset = resolve("ohsumed", None)
    sources = require_sources([dataset], letor_home, tmp_path)
    lf = prepare(dataset, sources["ohsumed"], tmp_path / "lf")
    from letorlab.layout import fold_files

    for role, path in fold_files(sources["ohsumed"]).files().items():
        if role.startswith("Fold"):
            target = tmp_path / "copy" / "OHSUMED" / f"{role}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    sources = require_sources([dataset], tmp_path / "copy", tmp_path)
    crlf = prepare(dataset, sources["ohsumed"], tmp_path / "crlf")
    assert crlf["checksum"] == lf["checksum"]
    assert crlf["verified"] == "digests"
    assert crlf["parts"] == lf["parts"]


@pytest.mark.letor
def test_real_feature_null_files_say_what_to_take(tmp_path: Path, letor_home: Path) -> None:
    with pytest.raises(InputError, match=r"Feature-null/S1\.txt, line \d+: feature \d+ is NULL.*QueryLevelNorm"):
        prepare_path(letor_home / "OHSUMED.zip" / "OHSUMED" / "Feature-null", tmp_path)


@pytest.mark.letor
def test_real_feature_min_has_the_same_labels(tmp_path: Path, letor_home: Path) -> None:
    card = prepare_path(letor_home / "OHSUMED.zip" / "OHSUMED" / "Feature-min", tmp_path, folds=[1])
    assert card["labels"] == {"0": 11303, "1": 2585, "2": 2252}
