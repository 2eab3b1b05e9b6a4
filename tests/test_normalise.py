"""Normalisations by hand, by their invariances, and as LETOR's own files have them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st
from layouts import make_parts, write_parts

from letorlab.datasets import Dataset
from letorlab.errors import InputError
from letorlab.letor import read_letor
from letorlab.normalise import NORMALISATIONS, normalised, query_minmax, query_standard
from letorlab.prepare import prepare
from letorlab.prepared import load_card, load_split

X = np.array([[1.0, 3, 5], [3, 3, -5], [2, 3, 0], [7, 0, 9]])
OFFSETS = np.array([0, 3, 4])


def test_by_hand():
    """Constant features and a single document become 0."""
    truth = [[0, 0, 1], [1, 0, 0], [0.5, 0, 0.5], [0, 0, 0]]
    np.testing.assert_array_equal(query_minmax(X, OFFSETS), truth)
    root = np.sqrt(1.5)
    truth = [[-root, 0, root], [root, 0, -root], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(query_standard(X, OFFSETS), truth, atol=1e-15)


def test_a_constant_that_sums_inexactly_is_0():
    """Three times 0.1 has a mean that is not 0.1."""
    np.testing.assert_array_equal(query_standard(np.full((3, 1), 0.1), np.array([0, 3])), np.zeros((3, 1)))


@given(st.integers(0, 10**6), st.sampled_from(["query_minmax", "query_standard"]))
def test_shift_and_scale_of_a_query_change_nothing(seed, how):
    queries = random_queries(seed)
    rng = np.random.default_rng(seed)
    shape = (queries.n_queries, queries.n_features)
    shift, scale = (np.repeat(a, queries.sizes, axis=0) for a in (rng.normal(size=shape), rng.uniform(0.5, 2, shape)))
    f = NORMALISATIONS[how]
    np.testing.assert_allclose(f(queries.X * scale + shift, queries.offsets), f(queries.X, queries.offsets), atol=1e-9)


def prepared(tmp_path: Path, **options) -> Path:
    write_parts(tmp_path / "d", make_parts(2))
    prepare(Dataset("mine", "mine", "letor3", path="d", **options), tmp_path / "d", tmp_path / "out")
    return tmp_path / "out"


def test_global_standardisation_is_that_of_the_training_documents_of_the_fold(tmp_path):
    """No statistic of validation or test queries goes in."""
    folder = prepared(tmp_path, normalise="global_standard")
    raw = {name: read_letor(tmp_path / f"d/{name}.txt").X for name in ("S1", "S2", "S3", "S4", "S5")}
    for fold, (train, test) in {1: (["S1", "S2", "S3"], "S5"), 2: (["S2", "S3", "S4"], "S1")}.items():
        seen = np.concatenate([raw[name] for name in train])
        np.testing.assert_allclose(load_split(folder, fold, "train").X.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(load_split(folder, fold, "train").X.std(axis=0), 1)
        np.testing.assert_allclose(load_split(folder, fold, "test").X, (raw[test] - seen.mean(0)) / seen.std(0))
    assert load_card(folder)["normalisation"] == "global_standard"


def test_the_step_is_named_and_changes_the_checksum(tmp_path):
    folder = prepared(tmp_path / "a", normalise="query_minmax")
    raw = read_letor(tmp_path / "a/d/S1.txt")
    np.testing.assert_array_equal(load_split(folder, 2, "test").X, query_minmax(raw.X, raw.offsets))
    cards = [load_card(folder), load_card(prepared(tmp_path / "b"))]
    assert [card["normalisation"] for card in cards] == ["query_minmax", "none"]
    assert cards[0]["checksum"] != cards[1]["checksum"]


def test_values_that_cannot_be_squared_need_a_bound(tmp_path):
    """Istella marks what is missing by the largest float."""
    text = b"1 qid:1 1:0.5 2:1.79769313486e+308\n0 qid:1 1:-1e19 2:3\n"
    queries = read_letor(io.BytesIO(text))
    with pytest.raises(InputError, match=r"feature 2 holds 1.79769e\+308, .*largest: 1.0e\+6"):
        normalised(queries, "query_minmax")
    np.testing.assert_array_equal(normalised(queries, "none", largest=1e6).X, [[0.5, 1e6], [-1e6, 3]])
    with pytest.raises(InputError, match="feature 1 holds 1e\\+19"):  # 1e38 is finite, but not in single precision
        normalised(queries, "none", largest=1e19)
    assert np.isfinite(np.square(normalised(queries, "none", largest=1e18).X.astype(np.float32))).all()


def test_null_is_the_least_value_of_the_query():
    text = b"1 qid:1 1:NULL 2:4 3:NULL\n0 qid:1 1:2 2:NULL\n0 qid:1 1:3 2:5 3:NULL\n1 qid:2 1:NULL 2:-1 3:7\n"
    truth = [[2, 4, 0], [2, 4, 0], [3, 5, 0], [0, -1, 7]]  # all NULL: 0; an absent feature is 0, not NULL
    np.testing.assert_array_equal(read_letor(io.BytesIO(text), null="query_min").X, truth)
    truth[0][0] = 0
    np.testing.assert_array_equal(read_letor(io.BytesIO(text), null="query_min", null_zero=[1, 9]).X, truth)
    with pytest.raises(InputError, match=r"line 1: feature 1 is NULL.*nulls: query_min"):
        read_letor(io.BytesIO(text))
    with pytest.raises(InputError, match="null must be one of refuse, query_min; got 'zero'"):
        read_letor(io.BytesIO(text), null="zero")


@pytest.mark.letor
def test_feature_null_normalises_to_query_level_norm(letor_home, tmp_path):
    """The versions of OHSUMED that LETOR ships are one, to the six digits of the files; Feature-min to the last."""
    root = zipfile.Path(letor_home / "OHSUMED.zip", "OHSUMED/")
    nulls = {"null": "query_min", "null_zero": (11, 12, 26, 27, 41, 42)}
    parts = [read_letor(root / "Feature-null" / f"S{part}.txt", n_features=45, **nulls) for part in (1, 2, 3)]
    least = read_letor(root / "Feature-min/Fold1/trainingset.txt")
    assert np.concatenate([part.docid for part in parts]).tolist() == least.docid.tolist()
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), least.X)
    dataset = Dataset("nulls", "nulls", "letor3", normalise="query_minmax", **nulls)
    prepare(dataset, root / "Feature-null", tmp_path)
    for split in ("train", "vali", "test"):
        expected, found = read_letor(root / f"QueryLevelNorm/Fold1/{split}.txt"), load_split(tmp_path, 1, split)
        assert found.docid.tolist() == expected.docid.tolist()
        np.testing.assert_allclose(found.X, expected.X, rtol=0, atol=1.1e-6)
