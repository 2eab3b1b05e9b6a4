"""The measures against the official tool's output, hand values and slow oracles."""

from __future__ import annotations

import csv
import zipfile
from math import log2
from pathlib import Path

import numpy as np
import oracles
import pytest
from conftest import random_queries
from hypothesis import given
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.letor import read_letor
from letorlab.metrics import (
    METRICS,
    average_precision,
    dcg,
    err,
    mean_ndcg,
    measure,
    ndcg,
    parse_metric,
    precision,
    rbp,
    reciprocal_rank,
)

LONG = [2, 0, 1, 0, 0, 1, 0, 2, 0, 0, 1] + [0] * 8 + [1]  # labels in ranked order


def in_order(labels: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores that rank one query's documents as they stand, with its labels and offsets."""
    return -np.arange(len(labels), dtype=float), np.array(labels, float), np.array([0, len(labels)])


# ---- hand values -----------------------------------------------------------------------------------------------


def test_letor3_ndcg_does_not_discount_ranks_one_and_two():
    got = ndcg(*in_order([0, 2, 1, 0, 1]), k=[1, 2, 3, 4, 5])[0]
    ideal = [3, 3 + 1, 3 + 1 + 1 / log2(3)]
    # gains 0, 3, 1, 0, 1; the best order is 2, 1, 1, 0, 0
    expected = [0, 3 / ideal[1], (3 + 1 / log2(3)) / ideal[2], (3 + 1 / log2(3)) / ideal[2]]
    expected.append((3 + 1 / log2(3) + 1 / log2(5)) / ideal[2])
    np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_three_definitions_of_ndcg_differ_on_the_same_list():
    example = in_order([0, 2, 1, 0, 2])
    np.testing.assert_allclose(ndcg(*example, k=[1, 2, 3, 5])[0], [0, 0.5, 0.5476, 0.7424], atol=5e-5)
    np.testing.assert_allclose(ndcg(*example, k=[3, 5], profile="standard_exp")[0], [0.4437, 0.6589], atol=5e-5)
    np.testing.assert_allclose(ndcg(*example, k=[3, 5], profile="standard_linear")[0], [0.4683, 0.6740], atol=5e-5)


def test_official_values_of_a_long_list():
    scores, labels, offsets = in_order(LONG)
    expected = [1, 0.5, 0.547575, 0.509180, 0.480180, 0.505479, 0.505479, 0.631290, 0.631290, 0.631290]
    np.testing.assert_allclose(ndcg(scores, labels, offsets, k=np.arange(1, 11))[0], expected, atol=5e-7)
    assert ndcg(scores, labels, offsets, k=16)[0] == pytest.approx(0.667657, abs=5e-7)
    np.testing.assert_allclose(precision(scores, labels, offsets, k=[10, 16])[0], [4 / 10, 5 / 16])
    assert average_precision(scores, labels, offsets)[0] == pytest.approx(0.570202, abs=5e-7)
    assert reciprocal_rank(scores, labels, offsets)[0] == 1


def test_a_list_shorter_than_k_counts_zero_in_letor3_and_itself_in_standard():
    labels, offsets = (
        np.array([1.0, 0, 1, 1, 0]),
        np.array([0, 2, 5]),
    )  # 2 and 3 documents, both in perfect order
    scores = -np.arange(5.0)
    np.testing.assert_allclose(ndcg(scores, labels, offsets, k=[1, 2, 3]).mean(0), [1, 1, 0.5])
    np.testing.assert_allclose(
        precision(scores, labels, offsets, k=[1, 2, 3]).mean(0), [1, (1 / 2 + 1) / 2, (2 / 3) / 2]
    )
    np.testing.assert_allclose(ndcg(scores, labels, offsets, k=[1, 2, 3, 9], profile="standard_exp"), 1)


def test_a_query_without_relevant_document_is_zero_and_stays_in_the_mean():
    labels, offsets = np.array([1.0, 0, 0, 0]), np.array([0, 2, 4])
    for values in (ndcg(np.zeros(4), labels, offsets, k=2), average_precision(np.zeros(4), labels, offsets)):
        np.testing.assert_array_equal(values, [1, 0])


def test_graded_labels_are_relevant_from_one_in_average_precision():
    assert average_precision(*in_order([2, 1, 0])) == [1.0]
    assert average_precision(*in_order([0, 2, 1, 0, 1])) == pytest.approx([0.588889], abs=5e-7)


def test_letor4_pads_precision_but_not_ndcg_and_averages_ndcg_over_the_list():
    labels, offsets, scores = np.array([1.0, 0, 1, 1, 0]), np.array([0, 2, 5]), -np.arange(5.0)
    options = {"k": [1, 2, 3], "profile": "letor4"}
    np.testing.assert_allclose(ndcg(scores, labels, offsets, **options), [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_allclose(precision(scores, labels, offsets, **options), [[1, 1 / 2, 1 / 3], [1, 1, 2 / 3]])
    example = in_order([0, 2, 1, 0, 1])
    by_rank = ndcg(*example, k=[1, 2, 3, 4, 5], profile="letor4")[0]
    assert mean_ndcg(*example)[0] == pytest.approx(by_rank.mean(), abs=1e-15)
    assert mean_ndcg(*example)[0] == pytest.approx(0.6390, abs=5e-5)


def test_mslr_has_five_grades_of_which_two_and_more_are_relevant():
    example = in_order([1, 4, 0, 2])
    ideal = 15 + 3 + 1 / log2(3)
    expected = [1 / 15, (1 + 15) / (15 + 3), (1 + 15 + 3 / log2(4)) / ideal]
    np.testing.assert_allclose(ndcg(*example, k=[1, 2, 4], profile="mslr")[0], expected, rtol=1e-14)
    np.testing.assert_allclose(precision(*example, k=[1, 2, 4, 5], profile="mslr")[0], [0, 1 / 2, 2 / 4, 2 / 5])
    assert average_precision(*example, profile="mslr") == pytest.approx([(1 / 2 + 2 / 4) / 2])
    assert reciprocal_rank(*example, profile="mslr") == [1 / 2]


def test_expected_reciprocal_rank_by_hand():
    """Grades 1, 0, 2 of at most 2 satisfy with probability 1/4, 0, 3/4."""
    expected = [1 / 4, 1 / 4, 1 / 4 + (3 / 4) * (3 / 4) / 3]
    np.testing.assert_allclose(err(*in_order([1, 0, 2]), k=[1, 2, 3])[0], expected)
    assert err(*in_order([1, 0, 2]), k=9) == pytest.approx([expected[-1]])  # a short list at its own length
    assert err(*in_order([1]), k=1, profile="mslr") == [1 / 16]


def test_rank_biased_precision_by_hand():
    assert rbp(*in_order([1, 0, 2]), persistence=0.5) == pytest.approx([0.5 * (1 + 0.25)])
    assert rbp(*in_order([1, 1]), persistence=0.0) == [1.0]
    assert rbp(*in_order([1, 0, 2])) == pytest.approx([0.2 * (1 + 0.64)])


# ---- the official tool -----------------------------------------------------------------------------------------


@pytest.mark.letor
def test_equal_to_the_official_tool_on_ohsumed(letor_home: Path):
    """225 rows: each of the 45 features as the score, on the test split of each fold."""
    archive = zipfile.Path(letor_home / "OHSUMED.zip")
    test = {f: read_letor(archive / f"OHSUMED/QueryLevelNorm/Fold{f}/test.txt", n_features=45) for f in range(1, 6)}
    with (letor_home / "golden-OHSUMED-single-feature-EvalScore3.0.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 225
    k = np.arange(1, 17)
    for row in rows:
        queries = test[int(row["fold"])]
        data = queries.X[:, int(row["feature"]) - 1], queries.y, queries.offsets
        golden = [np.array([float(row[f"{name}@{i}"]) for i in k]) for name in ("NDCG", "P")]
        np.testing.assert_allclose(ndcg(*data, k=k).mean(0), golden[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(precision(*data, k=k).mean(0), golden[1], rtol=0, atol=1e-12)
        assert average_precision(*data).mean() == pytest.approx(float(row["MAP"]), abs=1e-12)


@pytest.mark.letor
def test_equal_to_the_official_tool_query_by_query(letor_home: Path):
    queries = read_letor(zipfile.Path(letor_home / "OHSUMED.zip") / "OHSUMED/QueryLevelNorm/Fold1/test.txt")
    data = queries.X[:, 40], queries.y, queries.offsets
    golden = golden_per_query(letor_home / "golden-OHSUMED-Fold1-feature41-perquery.txt")
    k = np.arange(1, 17)
    np.testing.assert_allclose(precision(*data, k=k), golden["precision"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ndcg(*data, k=k), golden["NDCG"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(average_precision(*data)[:, None], golden["Map"], rtol=0, atol=1e-12)


@pytest.mark.letor
def test_equal_to_the_official_letor4_tool_on_mq2008(letor_home: Path):
    """Six features in turn as the score, on the test split of each fold; the tool's own output, to all digits."""
    archive = zipfile.Path(letor_home / "MQ2008.zip")
    test = {f: read_letor(archive / f"MQ2008/Fold{f}/test.txt", n_features=46) for f in range(1, 6)}
    with (Path(__file__).parent / "golden/mq2008-eval-score-4.0.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    k = np.arange(1, 11)
    for row in rows:
        queries = test[int(row["fold"])]
        data = queries.X[:, int(row["feature"]) - 1], queries.y, queries.offsets
        golden = [np.array([float(row[f"{name}@{i}"]) for i in k]) for name in ("NDCG", "P")]
        np.testing.assert_allclose(ndcg(*data, k=k, profile="letor4").mean(0), golden[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(precision(*data, k=k, profile="letor4").mean(0), golden[1], rtol=0, atol=1e-12)
        assert average_precision(*data, profile="letor4").mean() == pytest.approx(float(row["MAP"]), abs=1e-12)
        assert mean_ndcg(*data, profile="letor4").mean() == pytest.approx(float(row["MeanNDCG"]), abs=1e-12)


def golden_per_query(path: Path) -> dict[str, np.ndarray]:
    """Lines ``<measure> of query<i>: values`` -> measure: (n_queries, n_values)."""
    values: dict[str, list[list[float]]] = {}
    for line in path.read_text().splitlines():
        name, found, rest = line.partition(" of query")
        if found:
            values.setdefault(name, []).append([float(x) for x in rest.partition(":")[2].split()])
    return {name: np.array(rows) for name, rows in values.items()}


# ---- slow oracles and invariances ------------------------------------------------------------------------------

seeds = st.integers(0, 10**6)


@given(seeds)
def test_every_query_alone_gives_the_same_value(seed):
    """No value depends on the other queries, on padding, or on the batch."""
    queries = random_queries(seed)
    scores = np.random.default_rng(seed).normal(size=queries.n_docs).round(1)
    for name in METRICS:
        together = measure(name, scores, queries.y, queries.offsets, profile="letor3", cutoffs=[1, 3, 15])
        for q, (start, stop) in enumerate(zip(queries.offsets[:-1], queries.offsets[1:], strict=True)):
            one = np.array([0, stop - start])
            alone = measure(name, scores[start:stop], queries.y[start:stop], one, profile="letor3", cutoffs=[1, 3, 15])
            np.testing.assert_allclose(together[q], alone[0], rtol=1e-12)


@given(seeds, st.integers(1, 14))
def test_equal_to_the_slow_oracles(seed, k):
    queries = random_queries(seed)
    scores = np.random.default_rng(seed).normal(size=queries.n_docs).round()
    exponential, linear = (lambda label: 2**label - 1), (lambda label: label)
    for q, (start, stop) in enumerate(zip(queries.offsets[:-1], queries.offsets[1:], strict=True)):
        labels = oracles.ranked(scores[start:stop].tolist(), queries.y[start:stop].tolist())
        data = scores, queries.y, queries.offsets
        in_list = k <= len(labels)
        letor3 = oracles.ndcg(labels, k, oracles.letor3_discount, exponential) if in_list else 0
        assert ndcg(*data, k=k)[q] == pytest.approx(letor3, abs=1e-12)
        assert dcg(*data, k=k, profile="standard_linear")[q] == pytest.approx(
            oracles.dcg(labels, k, oracles.standard_discount, linear), abs=1e-12
        )
        assert ndcg(*data, k=k, profile="standard_exp")[q] == pytest.approx(
            oracles.ndcg(labels, k, oracles.standard_discount, exponential), abs=1e-12
        )
        hits = sum(label >= 1 for label in labels[:k]) / k
        assert precision(*data, k=k)[q] == pytest.approx(hits if in_list else 0)
        assert precision(*data, k=k, profile="standard_exp")[q] == pytest.approx(hits)
        assert average_precision(*data)[q] == pytest.approx(oracles.average_precision(labels), abs=1e-12)
        assert err(*data, k=k)[q] == pytest.approx(oracles.expected_reciprocal_rank(labels[:k], top=2), abs=1e-12)
        relevant = [rank for rank, label in enumerate(labels) if label >= 1]
        assert rbp(*data, persistence=0.7)[q] == pytest.approx(sum(0.3 * 0.7**rank for rank in relevant), abs=1e-12)
        by_rank = [oracles.ndcg(labels, i + 1, oracles.letor3_discount, exponential) for i in range(len(labels))]
        assert mean_ndcg(*data)[q] == pytest.approx(np.mean(by_rank), abs=1e-12)


@given(seeds, st.integers(1, 12))
def test_the_standard_profiles_equal_scikit_learn(seed, k):
    """scikit-learn has linear gain, of which the exponential is that of other labels, and takes the mean over ties."""
    from sklearn.metrics import average_precision_score, ndcg_score

    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))  # it refuses single documents
    labels, offsets = rng.integers(0, 5, n).astype(float), np.array([0, n])
    distinct, tied = rng.permutation(n).astype(float), rng.integers(0, 4, n).astype(float)
    for profile, gain in (("standard_linear", labels), ("standard_exp", 2**labels - 1)):
        in_order = ndcg(distinct, labels, offsets, k=k, profile=profile)[0]
        assert in_order == pytest.approx(ndcg_score([gain], [distinct], k=k), abs=1e-12)
        expected = ndcg(tied, labels, offsets, k=k, profile=profile, ties="expected")[0]
        assert expected == pytest.approx(ndcg_score([gain], [tied], k=k), abs=1e-12)
    if (labels >= 1).any():
        ours = average_precision(distinct, labels, offsets, profile="standard_exp")[0]
        assert ours == pytest.approx(average_precision_score(labels >= 1, distinct), abs=1e-12)


@given(seeds)
def test_only_the_order_of_scores_matters(seed):
    queries = random_queries(seed)
    scores = np.random.default_rng(seed).integers(-4, 5, queries.n_docs).astype(float)
    for name in METRICS.keys() - {"comparison_accuracy"}:  # which counts differences of at most 1 as ties
        values, moved = (
            measure(name, s, queries.y, queries.offsets, profile="letor3", cutoffs=[1, 5])
            for s in (scores, 3 * scores + 7)
        )
        np.testing.assert_array_equal(values, moved)


@given(seeds)
def test_the_best_order_has_value_one(seed):
    queries = random_queries(seed)
    best = queries.y, queries.y, queries.offsets
    has_gain = np.add.reduceat(queries.y, queries.offsets[:-1]) > 0
    np.testing.assert_allclose(ndcg(*best, k=4, profile="standard_exp"), has_gain)
    np.testing.assert_allclose(average_precision(*best), has_gain)
    np.testing.assert_allclose(reciprocal_rank(*best), has_gain)


def test_scores_that_differ_by_1e_9_are_not_a_tie():
    labels, offsets = np.array([0.0, 1]), np.array([0, 2])
    assert ndcg(np.array([1.0, 1 + 1e-9]), labels, offsets, k=1) == [1.0]


# ---- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "labels", "options", "message"),
    [
        ([1.0], [1.0, 0], {}, "one of each per document"),
        ([1.0, np.nan], [1.0, 0], {}, "1 scores are NaN"),
        ([1.0, 2], [3.0, 0], {}, r"labels must lie in \[0, 2\]"),
        ([1.0, 2], [-1.0, 0], {"profile": "standard_exp"}, "found -1 to 0"),
        ([1.0, 2], [59.0, 0], {"profile": "standard_exp"}, "Choose another profile"),
        ([1.0, 2], [1.0, 0], {"k": 0}, "k must be a whole number of at least 1"),
        ([1.0, 2], [1.0, 0], {"k": 2.5}, "k must be a whole number"),
        ([1.0, 2], [1.0, 0], {"ties": "random"}, "ties must be one of file, expected"),
        ([1.0, 2], [5.0, 0], {"profile": "mslr"}, r"labels must lie in \[0, 4\]"),
        ([1.0, 2], [1.0, 0], {"profile": "trec"}, "known: letor3, letor4, mslr, standard_exp"),
    ],
)
def test_bad_input_is_refused(scores, labels, options, message):
    with pytest.raises(InputError, match=message):
        ndcg(scores, labels, np.array([0, 2]), **{"k": 1, **options})


def test_err_and_rbp_refuse_what_has_no_probability():
    with pytest.raises(InputError, match="ERR knows grades up to 4 in the profile standard_exp; found 5"):
        err([1.0], [5.0], np.array([0, 1]), k=1, profile="standard_exp")
    with pytest.raises(InputError, match="persistence of RBP must lie in"):
        rbp([1.0], [1.0], np.array([0, 1]), persistence=1.0)


def test_metrics_are_written_with_their_k():
    assert parse_metric("ndcg@10") == ("ndcg", 10)
    assert parse_metric("map") == ("map", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndcg", "write it as in ndcg@10"),
        ("ndcg@ten", "write it as in ndcg@10"),
        ("ndcg@0", "write it as in ndcg@10"),
        ("map@3", "map takes no k"),
        ("auc@3", "unknown metric 'auc'"),
    ],
)
def test_a_metric_written_wrongly_says_how(text, message):
    with pytest.raises(InputError, match=message):
        parse_metric(text)


def test_unknown_metric_lists_the_known_ones():
    with pytest.raises(InputError, match="unknown metric 'auc'; known: ndcg, precision, map"):
        measure("auc", [0.0], [0.0], np.array([0, 1]), profile="letor3", cutoffs=1)
