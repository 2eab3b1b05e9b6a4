"""Derived queries: sizes, draws, and independence of the order of the work."""

from __future__ import annotations

import json
from math import exp, factorial

import numpy as np
import pytest

from letorlab.errors import InputError
from letorlab.queries import Queries, offsets_from_sizes
from letorlab.resample import TRIES, Derived, resample


def train_of(relevant: dict[str, tuple[int, int]]) -> Queries:
    """Queries by qid with (documents, relevant documents); relevant ones stand first, with grades 1, 2."""
    y = [[1.0 + i % 2 if i < r else 0.0 for i in range(n)] for n, r in relevant.values()]
    docid = [f"{qid}-{i}" for qid, (n, _) in relevant.items() for i in range(n)]
    return Queries(
        X=np.random.default_rng(0).random((len(docid), 3)),
        y=np.concatenate(y),
        offsets=offsets_from_sizes([n for n, _ in relevant.values()]),
        qid=np.array(list(relevant)),
        docid=np.array(docid),
    )


MIXED = {"q1": (30, 4), "q2": (12, 0), "q3": (400, 9), "q4": (2, 1), "q5": (1, 1), "q6": (50, 50)}


def derive(relevant: dict[str, tuple[int, int]] = MIXED, **changes) -> tuple[Queries, Derived, dict]:
    train = train_of(relevant)
    return train, *resample(train, **{"copies": 20, "max_documents": 200, "seed": 1} | changes)


def local_rows(train: Queries, derived: Derived) -> dict[str, list[int]]:
    """Positions within the training query, by derived qid."""
    start = dict(zip(train.qid.tolist(), train.offsets[:-1].tolist(), strict=True))
    pieces = np.split(derived.rows, derived.offsets[1:-1])
    names = derived.qid.tolist()
    return {name: (rows - start[name.rpartition("~")[0]]).tolist() for name, rows in zip(names, pieces, strict=True)}


def test_apply_takes_features_and_labels_of_the_source_rows():
    train, derived, _ = derive()
    q = derived.apply(train)
    np.testing.assert_array_equal(q.X, train.X[derived.rows])
    np.testing.assert_array_equal(q.y, train.y[derived.rows])
    for qid, docids, rows in zip(
        q.qid, np.split(q.docid, q.offsets[1:-1]), np.split(derived.rows, q.offsets[1:-1]), strict=True
    ):
        source = qid.rpartition("~")[0]
        for draw, (docid, row) in enumerate(zip(docids, rows, strict=True), 1):
            assert docid == f"{train.docid[row]}~{draw}"
            assert train.qid_of_docs[row] == source


def test_names_count_copies_from_one_and_skip_queries_without_relevant_document():
    _, derived, card = derive(copies=3)
    assert derived.qid.tolist() == [f"{q}~{c}" for q in ("q1", "q3", "q4", "q5", "q6") for c in (1, 2, 3)]
    assert (card["queries"], card["skipped"], card["skipped_qids"]) == (6, 1, ["q2"])


def test_every_derived_query_has_a_relevant_document_and_a_legal_size():
    train, derived, card = derive({"a": (3, 1), "b": (300, 1), "c": (150, 2)}, copies=200)
    q = derived.apply(train)
    assert all(y.max() >= 1 for y in np.split(q.y, q.offsets[1:-1]))
    assert q.sizes.min() == 2  # Poisson(3) falls below 2 in a fifth of the draws
    assert q.sizes.max() == 200  # Poisson(200) exceeds it in half of them
    assert card["redraws"] > 0


def test_a_label_of_a_half_is_not_relevant():
    train = Queries(
        np.zeros((4, 1)),
        np.array([0.5, 0, 0.5, 1]),
        np.array([0, 2, 4]),
        np.array(["a", "b"]),
        np.array(list("wxyz")),
    )
    derived, card = resample(train, copies=50, max_documents=5, seed=0)
    assert card["skipped_qids"] == ["a"]
    assert all((rows == 3).any() for rows in np.split(derived.rows, derived.offsets[1:-1]))


def test_sizes_are_poisson():
    n = 4000
    _, derived, _ = derive({"a": (40, 40)}, copies=n)
    sizes = np.diff(derived.offsets)
    assert sizes.mean() == pytest.approx(40, abs=4 * (40 / n) ** 0.5)
    assert sizes.var() == pytest.approx(40, abs=4 * 40 * (2 / n) ** 0.5)


def test_small_sizes_are_clipped_at_two():
    n = 4000
    _, derived, _ = derive({"a": (3, 3)}, copies=n)
    sizes = np.diff(derived.offsets)
    at_most_two = sum(exp(-3) * 3**k / factorial(k) for k in range(3))
    assert sizes.min() == 2
    assert (sizes == 2).mean() == pytest.approx(at_most_two, abs=4 * (at_most_two / n) ** 0.5)


def test_large_queries_have_mean_and_maximum_at_the_limit():
    _, derived, _ = derive({"a": (1000, 500)}, copies=2000, max_documents=50)
    sizes = np.diff(derived.offsets)
    assert sizes.max() == 50
    assert 0.45 < (sizes == 50).mean() < 0.62  # P(Poisson(50) >= 50) = .52
    assert sizes.min() >= 15


def test_draws_are_uniform_with_replacement():
    _, derived, _ = derive({"a": (10, 10)}, copies=3000)
    counts = np.bincount(derived.rows, minlength=10)
    expected = len(derived.rows) / 10
    assert ((counts - expected) ** 2 / expected).sum() < 27.9  # chi-square, 9 degrees: exceeded with p = .001
    pieces = np.split(derived.rows, derived.offsets[1:-1])
    assert np.mean([len(set(rows.tolist())) < len(rows) for rows in pieces]) > 0.9


def test_redrawing_conditions_on_a_relevant_document():
    """Given two draws from {relevant, other}, 1, 2 relevant come as 2:1, without a place preferred."""
    _, derived, card = derive({"a": (2, 1)}, copies=20000, max_documents=2)
    rows = derived.rows.reshape(-1, 2)
    n = len(rows)
    assert (rows == 0).all(axis=1).mean() == pytest.approx(1 / 3, abs=0.015)
    assert (rows[:, 0] == 0).mean() == pytest.approx(2 / 3, abs=0.015)
    assert (rows[:, 1] == 0).mean() == pytest.approx(2 / 3, abs=0.015)
    assert card["redraws"] / n == pytest.approx(1 / 3, abs=0.02)  # geometric: p/(1-p), p = 1/4
    assert card["relevant_after"] == pytest.approx(2 / 3, abs=0.015)


def test_forced_documents():
    """One relevant in 5,000: a draw of 200 misses it with .961, and 100 draws do with .018."""
    _, derived, card = derive({"a": (5000, 1)}, copies=500, seed=2)
    pieces = np.split(derived.rows, derived.offsets[1:-1])
    assert all((rows == 0).any() for rows in pieces)
    assert 1 <= card["forced"] <= 25  # 9 expected
    assert card["redraws"] >= card["forced"] * (TRIES - 1)
    assert card["redraws"] < 500 * TRIES


def test_forced_document_and_place_are_uniform(monkeypatch):
    """With a single try, every draw that misses is mended: 2 relevant in 40, three draws."""
    monkeypatch.setattr("letorlab.resample.TRIES", 1)
    _, derived, card = derive({"a": (40, 2)}, copies=9000, max_documents=3)
    sizes = np.diff(derived.offsets)
    rows = derived.rows[np.repeat(sizes == 3, sizes)].reshape(-1, 3)
    assert card["redraws"] == 0
    assert card["forced"] == pytest.approx(9000 * (38 / 40) ** 3, rel=0.03)
    assert np.mean(rows == 0) == pytest.approx(np.mean(rows == 1), rel=0.2)
    places = (rows <= 1).mean(axis=0)
    np.testing.assert_allclose(places, places.mean(), rtol=0.1)


def test_card():
    train, derived, card = derive()
    sizes = np.diff(derived.offsets)
    assert card["derived_queries"] == 100 == len(sizes)
    assert card["derived_documents"] == sizes.sum()
    assert card["sizes"] == {"min": sizes.min(), "mean": sizes.mean(), "max": sizes.max()}
    assert card["relevant_before"] == (4 + 9 + 1 + 1 + 50) / 495
    assert card["relevant_after"] == (derived.apply(train).y >= 1).mean()
    assert (card["copies"], card["max_documents"], card["seed"], card["forced"]) == (20, 200, 1, 0)
    assert json.loads(json.dumps(card, allow_nan=False)) == card


def test_a_query_gets_the_same_in_every_fold_and_order():
    train, derived, _ = derive()
    everything = local_rows(train, derived)
    for chosen in (["q6", "q3", "q1"], ["q2", "q5", "q4", "q1"]):
        fold, part, _ = derive({qid: MIXED[qid] for qid in chosen})
        for name, rows in local_rows(fold, part).items():
            assert rows == everything[name]


def test_queries_and_seeds_have_streams_of_their_own():
    train, derived, _ = derive({"a": (40, 40), "b": (40, 40)}, copies=2)
    pieces = local_rows(train, derived)
    assert len({tuple(rows) for rows in pieces.values()}) == 4
    for seed in (2, "1", [1, "x"]):
        assert not np.array_equal(derive({"a": (40, 40), "b": (40, 40)}, copies=2, seed=seed)[1].rows, derived.rows)


def test_more_copies_keep_the_first_ones():
    few, many = (local_rows(*derive(copies=copies)[:2]) for copies in (2, 5))
    assert all(many[name] == rows for name, rows in few.items())


def test_save_and_load(tmp_path):
    train, derived, _ = derive()
    for name in ("a.npz", "b.npz"):
        derived.save(tmp_path / "derived" / name)
    back = Derived.load(tmp_path / "derived" / "a.npz")
    assert back.rows.dtype == np.int64
    for field in ("rows", "offsets", "qid", "source"):
        np.testing.assert_array_equal(getattr(back, field), getattr(derived, field))
    np.testing.assert_array_equal(back.apply(train).X, derived.apply(train).X)
    assert (tmp_path / "derived" / "a.npz").read_bytes() == (tmp_path / "derived" / "b.npz").read_bytes()
    assert sorted(path.name for path in (tmp_path / "derived").iterdir()) == ["a.npz", "b.npz"]


def test_apply_knows_the_training_queries():
    train, derived, _ = derive()
    parts = {name: getattr(train, name) for name in ("X", "y", "offsets", "qid", "docid")}
    derived.apply(Queries(**parts | {"X": 2 * train.X}))  # scaled features are welcome
    for change in (
        {"y": train.y[::-1]},
        {"qid": np.array(["q1", "q3", "q2", "q4", "q5", "q6"])},
        {"docid": train.docid[::-1]},
        {"offsets": train.offsets + np.array([0, 1, 0, 0, 0, 0, 0])},
    ):
        with pytest.raises(InputError, match=r"drawn from other training queries than the 6 given \(495"):
            derived.apply(Queries(**parts | change))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"copies": 0}, "copies must be at least 1; got 0"),
        ({"max_documents": 1}, "max_documents must be at least 2, to have a pair; got 1"),
        ({"relevant": {"a": (5, 0), "b": (3, 0)}}, "none of the 2 training queries has a relevant document"),
    ],
)
def test_arguments_are_checked(changes, message):
    with pytest.raises(InputError, match=message):
        derive(**changes)


def test_the_chance_of_redrawing_in_the_sparse_sets():
    """What the text says: a draw of 200 misses the only relevant one of 1,000 with probability .82."""
    _, _, card = derive({"a": (1000, 1)}, copies=300)
    missed = (1 - 1 / 1000) ** 200
    assert abs(missed - 0.82) < 0.002
    assert card["redraws"] / 300 == pytest.approx(missed / (1 - missed), rel=0.25)
