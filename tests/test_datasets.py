"""Names, catalogue, file names, and where data sets are found."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from layouts import make_parts, rar_folder, stored_rar, write_folds, write_lines, write_parts, zip_folder

from letorlab.datasets import Dataset, catalogue, resolve
from letorlab.errors import InputError
from letorlab.layout import fold_files, read_pieces
from letorlab.search import locate
from letorlab.sources import available, require_sources

GOV = "Gov/QueryLevelNorm/2003_td_dataset"
CACHE = Path("not-used")  # only .rar archives are unpacked
TOY = {"queries": 10, "documents": [5, 9], "features": 6, "grades": 2}


@pytest.fixture(autouse=True)
def _no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LETOR_HOME", raising=False)


# ---------------------------------------------------------------- catalogue and configuration


def test_catalogue_holds_the_sets_of_letor_3_and_4() -> None:
    sets = catalogue()
    gov = {f"{task}{year}" for task in ("td", "np", "hp") for year in (2003, 2004)}
    assert set(sets) == gov | {"ohsumed", "mq2007", "mq2008", "mslr_web10k", "mslr_web30k"}
    assert all(sets[name].features == 64 and sets[name].profile == "letor3" for name in gov)
    assert all(not dataset.urls for dataset in sets.values()), "LETOR's terms must be accepted first"
    assert sets["ohsumed"].counts.labels == {0: 11303, 1: 2585, 2: 2252}
    for dataset in sets.values():
        if dataset.counts.labels:
            assert sum(dataset.counts.labels.values()) == dataset.counts.documents


def test_a_catalogue_name_needs_nothing_else_and_a_block_overrides_it() -> None:
    assert resolve("td2003", None) == catalogue()["td2003"]
    changed = resolve("td2003", {"profile": "standard_exp", "path": "x", "folds_per_job": 1})
    assert (changed.profile, changed.path) == ("standard_exp", "x")
    assert changed.counts == catalogue()["td2003"].counts


def test_own_data_takes_features_and_profile() -> None:
    own = resolve("mine", {"path": "x", "features": 7})
    assert (own.features, own.profile, own.counts) == (7, "standard_exp", None)
    assert resolve("toy", {"toy": TOY}).profile == "letor3"


@pytest.mark.parametrize(
    ("name", "block", "words"),
    [
        ("td2005", {}, ["td2005", "td2003, td2004", "mq2008", "path:"]),
        ("td2005", {"path": None}, ["not in the catalogue"]),
        (
            "mine",
            {"toy": {"queries": 10, "docs": 4}},
            ["missing: documents, features, grades", "unknown: docs"],
        ),
        ("mine", {"toy": {}, "path": "x"}, ["toy", "without path"]),
        ("ohsumed", {"toy": {}}, ["toy", "catalogue"]),
        ("mine", {"urls": ["http://a/b.zip"]}, ["sha256", "None"]),
        ("mine", {"urls": "http://a/b.zip", "sha256": "abc"}, ["64", "abc"]),
        ("mine", {"path": "x", "features": 0}, ["features", "0"]),
    ],
)
def test_what_cannot_be_meant_is_refused(name: str, block: dict, words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        resolve(name, block)
    assert all(word in str(error.value) for word in words), str(error.value)


# ---------------------------------------------------------------- names of files


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "vali.txt", "test.txt"),
        ("trainingset.txt", "validationset.txt", "testset.txt"),
        ("trainingset.TXT", "validationset.TXT", "testset.TXT"),
        ("TRAIN.TXT", "VALID.TXT", "TEST.TXT"),
        ("training.txt", "validation.txt", "test.txt"),
        ("train_set.txt", "vali-set.txt", "Test Set.txt"),
    ],
)
def test_file_names_in_the_wild_are_found(tmp_path: Path, names: tuple[str, ...]) -> None:
    write_folds(tmp_path, make_parts(), names=names)
    write_parts(tmp_path, make_parts(), name="s{}.TXT")
    layout = fold_files(tmp_path)
    assert list(layout.parts) == [1, 2, 3, 4, 5] == list(layout.folds)
    assert tuple(path.name for path in layout.folds[3].values()) == names
    assert list(layout.files())[4:7] == ["S5", "Fold1/train", "Fold1/vali"]


def test_what_is_no_data_file_is_left_alone(tmp_path: Path) -> None:
    write_folds(tmp_path, make_parts(), folds=[1], name="FOLD{}")
    for name in (
        "FOLD1/._train.txt",
        "FOLD1/dummy.txt",
        "FOLD1/train.txt.bak",
        "__MACOSX/Fold2/train.txt",
        "S6.txt",
    ):
        write_lines(tmp_path / name, ["no data"])
    layout = fold_files(tmp_path)
    assert list(layout.files()) == ["Fold1/train", "Fold1/vali", "Fold1/test"]


def test_an_incomplete_or_ambiguous_fold_is_refused_by_name(tmp_path: Path) -> None:
    write_folds(tmp_path, make_parts(), folds=[1, 2])
    (tmp_path / "Fold2" / "vali.txt").unlink()
    with pytest.raises(InputError, match=r"Fold2 holds no file for vali.*found: train\.txt, test\.txt"):
        fold_files(tmp_path)
    write_lines(tmp_path / "Fold1" / "trainingset.txt", ["1 qid:1 1:1"])
    with pytest.raises(InputError, match=r"trainingset\.txt: a second file.*train"):
        fold_files(tmp_path)


# ---------------------------------------------------------------- where data lies


@pytest.mark.parametrize(
    "place",
    [
        GOV,
        GOV.upper(),
        "QueryLevelNorm/2003_td_dataset",
        "2003_td_dataset",
        "td2003",
        "TD2003/QueryLevelNorm",
        f"LETOR3.0/{GOV}",
    ],
)
@pytest.mark.parametrize("packed", ["", "zip", "rar"])
def test_every_usual_place_is_found(tmp_path: Path, place: str, packed: str) -> None:
    folder = tmp_path / ("plain" if packed else "home")
    write_folds(folder / place, make_parts(), folds=[1])
    write_folds(folder / "2004_td_dataset", make_parts(1), folds=[1])
    home = tmp_path / "home"
    if packed:
        (zip_folder if packed == "zip" else rar_folder)(folder, home / f"gov.{packed.upper()}")
    root = locate(resolve("td2003", None), home, tmp_path / "cache")
    assert root is not None
    assert fold_files(root).folds[1]["vali"].read_bytes() == (folder / place / "Fold1" / "vali.txt").read_bytes()
    assert locate(resolve("hp2003", None), home, tmp_path / "cache") is None


def test_query_level_norm_is_taken_and_not_its_neighbours(tmp_path: Path) -> None:
    for version in ("Feature-min", "Feature-null", "QueryLevelNorm"):
        write_parts(tmp_path / "OHSUMED" / version, make_parts())
    for home in (tmp_path, tmp_path / "OHSUMED"):
        assert locate(resolve("ohsumed", None), home, CACHE) == tmp_path / "OHSUMED" / "QueryLevelNorm"
    assert locate(resolve("ohsumed", {"path": str(tmp_path / "OHSUMED")}), None, CACHE) == (
        tmp_path / "OHSUMED" / "QueryLevelNorm"
    )


def test_another_sets_query_level_norm_is_not_ohsumed(tmp_path: Path) -> None:
    write_parts(tmp_path / "MQ2007" / "QueryLevelNorm", make_parts())
    assert locate(resolve("ohsumed", None), tmp_path, CACHE) is None
    assert locate(resolve("mq2007", None), tmp_path, CACHE) is not None


def test_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, other, mine = tmp_path / "home", tmp_path / "other", tmp_path / "mine"
    for folder in (home / "MQ2008", other / "MQ2008", mine):
        write_parts(folder, make_parts())
    zip_folder(mine, home / "MQ2008.zip")
    monkeypatch.setenv("LETOR_HOME", str(other))
    assert locate(resolve("mq2008", {"path": str(mine)}), home, CACHE) == mine
    assert locate(resolve("mq2008", None), home, CACHE) == home / "MQ2008"
    assert locate(resolve("mq2008", None), None, CACHE) == other / "MQ2008"
    assert locate(resolve("mq2008", {"path": str(tmp_path / "gone")}), home, CACHE) is None, "path is the only place"


def test_a_path_may_lead_into_a_zip(tmp_path: Path) -> None:
    write_parts(tmp_path / "plain" / "a" / "one", make_parts())
    write_parts(tmp_path / "plain" / "a" / "two", make_parts(1))
    archive = zip_folder(tmp_path / "plain", tmp_path / "both.zip")
    with pytest.raises(InputError, match=r"several data sets: .*a/one.*a/two"):
        locate(resolve("mine", {"path": str(archive)}), None, CACHE)
    root = locate(resolve("mine", {"path": f"{archive}/a/two"}), None, CACHE)
    assert root is not None
    assert fold_files(root).parts[1].read_bytes() == (tmp_path / "plain/a/two/S1.txt").read_bytes()
    assert locate(resolve("mine", {"path": f"{archive}/a/three"}), None, CACHE) is None


def test_sources_are_folders_on_disk_or_in_a_zip_or_to_be_made(tmp_path: Path) -> None:
    write_parts(tmp_path / "plain" / "deep" / "in", make_parts())
    zip_folder(tmp_path / "plain", tmp_path / "mine.zip")
    sets = [
        resolve("folder", {"path": str(tmp_path / "plain" / "deep")}),
        resolve("zipped", {"path": str(tmp_path / "mine.zip")}),
        resolve("made", {"toy": TOY}),
    ]
    sources = require_sources(sets, None, tmp_path)
    assert isinstance(sources["folder"], Path)
    assert isinstance(sources["zipped"], zipfile.Path)
    assert sources["made"] is None
    for name in ("folder", "zipped"):
        assert len(fold_files(sources[name]).parts) == 5


def test_one_error_lists_every_missing_set_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "Gov.rar").write_bytes(stored_rar({"Gov/readme.txt": b"hello"}))
    write_parts(tmp_path / "there", make_parts())
    with zipfile.ZipFile(tmp_path / "MQ2008.zip", "w") as file:
        file.writestr("readme.txt", "nothing")
    (tmp_path / "OHSUMED.zip").write_bytes(b"PK\3\4 cut off")
    sets = [
        resolve("td2003", None),
        resolve("mine", {"path": str(tmp_path / "nowhere")}),
        resolve("there", {"path": str(tmp_path / "there")}),
        resolve("mq2008", None),
        resolve("ohsumed", None),
    ]
    with pytest.raises(InputError) as error:
        require_sources(sets, tmp_path, tmp_path / "cache")
    text = str(error.value)
    assert text.startswith("4 data set(s)")
    for words in (
        "td2003: Topic distillation 2003",
        GOV,
        f"in: {tmp_path}",
        f"{tmp_path}/Gov.rar, which holds no Fold1/train.txt",
        f"{tmp_path}/{GOV}/Fold1/train.txt exists",
        f"mine: path {tmp_path}/nowhere does not exist",
        f"{tmp_path}/MQ2008.zip, which holds no Fold1/train.txt",
        f"ohsumed: {tmp_path}/OHSUMED.zip: the zip archive is damaged",
        "accept the agreement",
    ):
        assert words in text, text
    assert "there:" not in text


def test_without_any_home_the_error_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        require_sources([resolve("hp2004", None)], None, tmp_path)
    assert "neither data.home nor the variable LETOR_HOME is set" in str(error.value)
    assert "data.home in the configuration" in str(error.value)


def test_available_opens_no_file(tmp_path: Path) -> None:
    write_folds(tmp_path / "td2003", make_parts(), folds=[1])
    (tmp_path / "OHSUMED.zip").write_bytes(b"not looked into")
    answers = {name: available(name, None, tmp_path, tmp_path) for name in ("td2003", "td2004", "ohsumed")}
    assert answers == {"td2003": True, "td2004": False, "ohsumed": True}
    assert available("toy", {"toy": TOY}, None, tmp_path)
    assert available("x", {"urls": ["http://a/x.zip"], "sha256": "0" * 64}, None, tmp_path)
    assert not available("mine", {"path": str(tmp_path / "gone")}, None, tmp_path)


def test_a_rar_is_unpacked_once_and_again_when_it_changes(tmp_path: Path) -> None:
    write_parts(tmp_path / "plain", make_parts())
    archive = rar_folder(tmp_path / "plain", tmp_path / "mine.rar")
    dataset, cache = resolve("mine", {"path": str(archive)}), tmp_path / "cache"
    first = locate(dataset, None, cache)
    assert isinstance(first, Path)
    stamp = first.stat().st_mtime_ns
    assert locate(dataset, None, cache) == first
    assert first.stat().st_mtime_ns == stamp
    write_parts(tmp_path / "plain", make_parts(1, queries=4))
    rar_folder(tmp_path / "plain", archive)
    second = locate(dataset, None, cache)
    assert second not in (None, first)
    assert (second / "S1.txt").read_bytes() == (tmp_path / "plain/S1.txt").read_bytes()
    assert sorted((cache / "unpacked").iterdir()) == sorted([first, second]), "nothing half-unpacked stays"


@pytest.mark.parametrize(
    "damage", [lambda data: data[:200], lambda data: data.replace(b"1:0", b"1:9"), lambda data: b"Rar!"]
)
def test_a_damaged_rar_is_named_and_leaves_nothing(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    write_parts(tmp_path / "plain", make_parts())
    archive = rar_folder(tmp_path / "plain", tmp_path / "mine.rar")
    archive.write_bytes(damage(archive.read_bytes()))
    with pytest.raises(InputError, match=r"mine\.rar: the \.rar archive cannot be unpacked \(ERROR.*by hand"):
        locate(resolve("mine", {"path": str(archive)}), None, tmp_path / "cache")
    assert not list((tmp_path / "cache/unpacked").iterdir())


def test_a_rar_cannot_write_outside_of_its_folder(tmp_path: Path) -> None:
    archive = tmp_path / "home/mine.rar"
    archive.parent.mkdir()
    archive.write_bytes(stored_rar({"../../outside.txt": b"x", "S1.txt": b"1 qid:1 1:1"}))
    with contextlib.suppress(InputError):
        locate(resolve("mine", {"path": str(archive)}), None, tmp_path / "a/cache")
    found = [path.relative_to(tmp_path).parts[:3] for path in tmp_path.rglob("outside.txt")]
    assert all(parts == ("a", "cache", "unpacked") for parts in found)


def test_an_encrypted_zip_is_named(tmp_path: Path) -> None:
    write_parts(tmp_path / "plain", make_parts())
    archive = zip_folder(tmp_path / "plain", tmp_path / "mine.zip")
    data = bytearray(archive.read_bytes())
    for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # set the encryption bit of every entry
        start = data.find(magic)
        while start >= 0:
            data[start + at] |= 1
            start = data.find(magic, start + 4)
    archive.write_bytes(data)
    root = locate(Dataset("mine", "mine", "letor3", path=str(archive)), None, CACHE)
    assert root is not None
    with pytest.raises(InputError, match=r"mine\.zip.*S1\.txt.*encrypted.*unpack it by hand"):
        list(read_pieces(fold_files(root).parts[1]))


@pytest.mark.letor
def test_the_real_archives_are_read_in_place(letor_home: Path) -> None:
    for name, files in (("ohsumed", 20), ("mq2008", 15)):
        root = locate(resolve(name, None), letor_home, CACHE)
        assert isinstance(root, zipfile.Path)
        assert len(fold_files(root).files()) == files
