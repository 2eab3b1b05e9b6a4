"""Queries: the checks at the door, grouping, joining, saving."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.queries import Queries, group_rows, offsets_from_sizes, query_of_docs


def parts(**changes) -> dict:
    values = {
        "X": np.array([[1.0, 2], [3, 4], [5, 6]]),
        "y": np.array([0.0, 2, 1]),
        "offsets": np.array([0, 2, 3]),
        "qid": np.array(["7", "b"]),
        "docid": np.array(["x", "y", "z"]),
    }
    return values | {name: np.array(value) for name, value in changes.items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": [0, 2, 2, 3], "qid": ["a", "b", "c"]}, "increase strictly"),
        ({"offsets": [0, 2]}, "number of documents"),
        ({"offsets": [1, 2, 3]}, "increase strictly from 0"),
        ({"offsets": [0], "X": np.zeros((0, 2)), "y": [], "docid": [], "qid": []}, "offsets"),
        ({"X": [1.0, 2, 3]}, "two dimensions"),
        ({"X": [[1.0], [2]]}, "one row per document"),
        ({"docid": ["x"]}, "one row per document"),
        ({"qid": ["a"]}, "1 qids were given for 2 queries"),
        ({"qid": ["a", "a"]}, "qid a names two queries"),
        ({"X": [[1.0, np.nan], [3, 4], [5, 6]]}, "finite"),
        ({"y": [0.0, np.inf, 1]}, "finite"),
    ],
)
def test_checked_at_the_door(changes, message):
    with pytest.raises(InputError, match=message):
        Queries(**parts(**changes))


def test_sizes_and_rows():
    q = Queries(**parts())
    assert (q.n_docs, q.n_queries, q.n_features) == (3, 2, 2)
    assert q.sizes.tolist() == [2, 1]
    assert q.qid_of_docs.tolist() == ["7", "7", "b"]
    assert query_of_docs(q.offsets).tolist() == [0, 0, 1]
    assert offsets_from_sizes([2, 1]).tolist() == [0, 2, 3]


@given(st.lists(st.sampled_from(["1", "10", "2", "b", "WT04-170"]), min_size=1, max_size=30))
def test_grouping_keeps_the_order_of_first_appearance(qids):
    order, offsets, names = group_rows(qids)
    assert names.tolist() == list(dict.fromkeys(qids))
    for name, rows in zip(names, np.split(order, offsets[1:-1]), strict=True):
        assert rows.tolist() == [row for row, qid in enumerate(qids) if qid == name]


def test_from_rows_merges_a_qid_wherever_it_stands():
    q = Queries.from_rows([[0.0], [1], [2], [3]], [3, 2, 1, 0], [1, 2, 1, 2], docid=list("abcd"))
    assert q.qid.tolist() == ["1", "2"]
    assert q.X[:, 0].tolist() == [0, 2, 1, 3]
    assert q.y.tolist() == [3, 1, 2, 0]
    assert q.docid.tolist() == list("acbd")


@pytest.mark.parametrize("short", ["X", "y", "qid", "docid"])
def test_from_rows_needs_one_of_each(short):
    rows = {"X": [[0.0], [1], [2]], "y": [0, 1, 2], "qid": [1, 1, 2], "docid": ["a", "b", "c"]}
    with pytest.raises(InputError, match="each document needs one of each"):
        Queries.from_rows(**rows | {short: rows[short][:2]})


def test_concatenate():
    first, second = Queries(**parts()), Queries(**parts(qid=["8", "c"]))
    q = Queries.concatenate([first, second])
    assert q.qid.tolist() == ["7", "b", "8", "c"]
    assert q.offsets.tolist() == [0, 2, 3, 5, 6]
    np.testing.assert_array_equal(q.X, np.vstack([first.X, second.X]))


def test_concatenate_refuses_a_shared_qid_other_features_and_nothing():
    first = Queries(**parts())
    with pytest.raises(InputError, match="qid 7 names two queries"):
        Queries.concatenate([first, first])
    with pytest.raises(InputError, match=r"same features are needed; got \[1, 2\]"):
        Queries.concatenate([first, Queries(**parts(qid=["8", "c"], X=np.zeros((3, 1))))])
    with pytest.raises(InputError, match="same features"):
        Queries.concatenate([])


def test_save_and_load(tmp_path):
    q = Queries(**parts(qid=["WT04-170", "ü"]))
    q.save(tmp_path / "a.npz")
    q.save(tmp_path / "b.npz")
    back = Queries.load(tmp_path / "a.npz")
    for name, value in parts(qid=["WT04-170", "ü"]).items():
        np.testing.assert_array_equal(getattr(back, name), value)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
