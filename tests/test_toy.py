"""Toy data: the shape of LETOR, and a nonlinear part that linear scorers miss."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from letorlab.errors import InputError
from letorlab.letor import read_letor
from letorlab.metrics import ndcg
from letorlab.queries import Queries
from letorlab.toy import make_toy, true_scores, write_toy

SHAPE = {"queries": 60, "documents": [20, 40], "features": 12}


def toy(**changes) -> Queries:
    return make_toy(**SHAPE | {"grades": 3, "seed": 1} | changes)


def ndcg10(scores, data: Queries) -> float:
    return ndcg(scores, data.y, data.offsets, k=10).mean()


def by_query(values, data: Queries) -> list:
    return np.split(values, data.offsets[1:-1])


@pytest.mark.parametrize(("grades", "share"), [(2, 0.13), (3, 0.23), (5, 0.43)])
def test_shape_and_shares(grades, share):
    q = toy(grades=grades)
    assert q.n_queries == 60
    assert q.n_features == 12
    assert q.sizes.min() >= 20
    assert q.sizes.max() <= 40
    assert len(set(q.sizes)) > 10
    counts = np.bincount(q.y.astype(int), minlength=grades)
    assert len(counts) == grades
    assert (np.diff(counts) < 0).all()  # higher grades are rarer
    assert (q.y > 0).mean() == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_features_are_those_of_query_level_norm(seed):
    q = toy(seed=seed)
    for X in by_query(q.X, q):
        assert (X[:, :-1].min(axis=0) == 0).all()
        assert (X[:, :-1].max(axis=0) == 1).all()
        assert (X[:, -1] == 0).all()  # the constant feature
    np.testing.assert_array_equal(q.X, np.round(q.X, 6))


@pytest.mark.parametrize("seed", range(4))
def test_one_or_two_queries_have_no_relevant_document(seed):
    for n, barren in ((5, 0), (10, 1), (59, 1), (60, 2)):
        q = toy(queries=n, seed=seed)
        assert sum(not y.any() for y in by_query(q.y, q)) == barren


def test_some_documents_are_copies_within_their_query():
    q = toy()
    copies = sum(len(X) - len(np.unique(X, axis=0)) for X in by_query(q.X, q))
    assert copies == len(q.X) // 40
    assert len(np.unique(q.docid)) == q.n_docs


@pytest.mark.parametrize("grades", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_nonlinear_part_beats_every_linear_fit(grades, seed):
    """Least squares on the labels and on the truth itself, both fitted on the data they are judged on."""
    q = toy(grades=grades, seed=seed)
    truth = true_scores(q.X, seed=seed)
    design = np.column_stack([q.X, np.ones(q.n_docs)])
    linear = max(ndcg10(design @ np.linalg.lstsq(design, target, rcond=None)[0], q) for target in (q.y, truth))
    single = max(ndcg10(sign * q.X[:, j], q) for j in range(q.n_features) for sign in (1, -1))
    chance = ndcg10(np.random.default_rng(0).random(q.n_docs), q)
    assert ndcg10(truth, q) > linear + 0.2
    assert linear > chance + 0.15  # yet there is something linear to learn
    assert single < linear


def test_query_level_effects_move_the_share_of_relevant_documents():
    q = toy(queries=300, documents=[40, 40], grades=2)
    relevant = np.array([y.sum() for y in by_query(q.y, q)])
    share = relevant.mean() / 40
    assert relevant.var() > 1.5 * 40 * share * (1 - share)  # more than 40 independent draws would vary


def test_seeds():
    assert_equal(toy(seed=[1, "a"]), toy(seed=[1, "a"]))
    different = [toy(seed=seed) for seed in (1, "1", 2, [1, "a"], [1, "b"], [2, "a"])]
    assert len({q.X.tobytes() for q in different}) == len(different)


def test_the_stream_stays_the_same_between_versions():
    """Toy results are compared across machines and releases, so the data must not drift unnoticed."""
    q = toy(queries=5, documents=[4, 6], features=5)
    digest = hashlib.sha256(np.round(q.X * 1e6).astype("<i8").tobytes() + q.y.astype("<i8").tobytes())
    assert digest.hexdigest()[:16] == "f2c3ed24a15f01db"


def test_five_parts_of_contiguous_queries(tmp_path):
    write_toy(tmp_path / "a", **SHAPE | {"queries": 12}, grades=2, seed=3)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [f"S{k}.txt" for k in range(1, 6)]
    parts = [read_letor(tmp_path / "a" / f"S{k}.txt") for k in range(1, 6)]
    assert sorted(part.n_queries for part in parts) == [2, 2, 2, 3, 3]
    assert_equal(Queries.concatenate(parts), toy(queries=12, grades=2, seed=3))


def test_same_seed_same_bytes(tmp_path):
    for folder in ("a", "b"):
        write_toy(tmp_path / folder, **SHAPE, grades=3, seed=[1, "toy3"])
    for k in range(1, 6):
        name = f"S{k}.txt"
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queries": 0}, "queries must be a whole number of at least 1; got 0"),
        ({"queries": 6.0}, "queries must be a whole number"),
        ({"features": 4}, "features must be a whole number of at least 5; got 4"),
        ({"grades": 1}, "grades must be a whole number of at least 2; got 1"),
        ({"grades": True}, "grades must be a whole number"),
        ({"documents": [5, 4]}, r"documents must be \[low, high\].*got \[5, 4\]"),
        ({"documents": [0, 4]}, r"documents must be \[low, high\]"),
        ({"documents": 20}, r"documents must be \[low, high\].*got 20"),
        ({"documents": "12"}, r"documents must be \[low, high\]"),
    ],
)
def test_arguments_are_checked(changes, message):
    with pytest.raises(InputError, match=message):
        toy(**changes)


def test_fewer_queries_than_parts(tmp_path):
    with pytest.raises(InputError, match="5 parts of at least one query; got queries: 4"):
        write_toy(tmp_path, **SHAPE | {"queries": 4}, grades=2, seed=1)


def test_tiny_data_is_whole():
    q = toy(queries=1, documents=[1, 1], features=5)
    assert q.X.tolist() == [[0.0] * 5]
    assert q.y.tolist() in ([1.0], [2.0])


def assert_equal(a: Queries, b: Queries) -> None:
    for field in ("X", "y", "offsets", "qid", "docid"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)
