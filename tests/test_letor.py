"""The LETOR reader and writer: what it accepts, what it refuses and how it says so."""

from __future__ import annotations

import io
import re
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letorlab.errors import InputError
from letorlab.letor import read_letor, write_letor
from letorlab.queries import Queries, offsets_from_sizes


def read(text: str | bytes, **options) -> Queries:
    data = text.encode() if isinstance(text, str) else text
    return read_letor(io.BytesIO(data), **{"name": "S1.txt"} | options)


def refused(text: str | bytes, **options) -> str:
    with pytest.raises(InputError) as caught:
        read(text, **options)
    return str(caught.value)


def sample(queries: int = 3, documents: int = 4, features: int = 5, comment: str = "#docid = D-{n}") -> str:
    """A made-up file in the format of LETOR: six decimals, here and there a bare 0."""
    rng = np.random.default_rng(7)
    lines = []
    for n in range(queries * documents):
        values = ["0" if v < 0.1 else f"{v:.6f}" for v in rng.random(features)]
        pairs = " ".join(f"{i}:{v}" for i, v in enumerate(values, 1))
        lines.append(f"{n % 3} qid:{101 + n // documents} {pairs} {comment.format(n=n)}".rstrip())
    return "\n".join(lines) + "\n"


def assert_same(a: Queries, b: Queries) -> None:
    for field in ("X", "y", "offsets", "qid", "docid"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


# What a file means


def test_a_line_becomes_a_row():
    q = read("2 qid:7 1:.5 2:-1e-3 3:0 #docid = A1\n0 qid:7 1:1.000000 2:2. 3:+3 #docid = A2\n1 qid:3 1:4 2:5 3:6\n")
    np.testing.assert_array_equal(q.X, [[0.5, -1e-3, 0], [1, 2, 3], [4, 5, 6]])
    assert q.X.dtype == q.y.dtype == np.float64
    assert q.X.flags.c_contiguous
    assert q.y.tolist() == [2, 0, 1]
    assert q.offsets.tolist() == [0, 2, 3]
    assert q.qid.tolist() == ["7", "3"]
    assert q.docid.tolist() == ["A1", "A2", "1"]


def test_groups_follow_file_order_not_the_sorted_qid():
    q = read("".join(f"0 qid:{qid} 1:{i}\n" for i, qid in enumerate([2, 2, 2, 1, 1])))
    assert q.qid.tolist() == ["2", "1"]
    assert q.sizes.tolist() == [3, 2]
    assert q.X[:, 0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "change",
    {
        "CRLF": lambda t: t.replace("\n", "\r\n"),
        "CR only": lambda t: t.replace("\n", "\r"),
        "byte-order mark": lambda t: "\ufeff" + t,
        "BOM and CRLF": lambda t: "\ufeff" + t.replace("\n", "\r\n"),
        "no final line end": lambda t: t.rstrip("\n"),
        "blank lines": lambda t: "\n" + t.replace("\n", "\n\n") + "\n\n",
        "lines of blanks": lambda t: " \n\t\n" + t + "  \t",
        "comment lines": lambda t: "# made by hand\n  # 1 qid:9 1:2\n" + t + "#\n",
        "tabs": lambda t: t.replace(" ", "\t").replace("\tqid", " qid"),
        "trailing blanks": lambda t: t.replace("\n", " \t \n"),
        "leading blanks": lambda t: "\n".join("  " + line for line in t.split("\n")),
        "double blanks": lambda t: t.replace(" ", "  "),
        "docid without blanks": lambda t: t.replace("#docid = ", "# docid="),
        "docid with inc and prob": lambda t: t.replace("\n", " inc = 1 prob = 0.086622\n"),
    }.items(),
    ids=lambda pair: pair[0],
)
def test_variants_parse_to_the_same(change):
    assert_same(read(change[1](sample())), read(sample()))


def test_docid_keeps_no_line_end_and_no_probability():
    q = read(b"1 qid:1 1:.5 #docid = GX1-2-3\r\n0 qid:1 1:.5 #docid = GX4 inc = 1 prob = 0.086622\r\n")
    assert q.docid.tolist() == ["GX1-2-3", "GX4"]


def test_absent_docid_is_the_position_in_the_query():
    q = read("1 qid:1 1:1\n0 qid:1 1:2 # no docid here\n0 qid:2 1:3\n")
    assert q.docid.tolist() == ["1", "2", "1"]


@pytest.mark.parametrize("qid", ["136966603278298187500", "WT04-170", "1.5", "01", "a:b", "q_1", "requête"])
def test_qid_is_text(qid):
    assert read(f"1 qid:{qid} 1:.5\n0 qid:{qid} 1:1").qid.tolist() == [qid]


def test_qids_that_are_equal_as_numbers_are_different():
    assert read("1 qid:1 1:1\n1 qid:01 1:1\n1 qid:1.0 1:1\n").n_queries == 3


def test_bytes_that_are_not_utf8_in_a_docid():
    assert read(b"1 qid:1 1:1 #docid = caf\xe9\n").docid.tolist() == ["caf\\xe9"]


def test_features_in_any_order_and_absent_ones_are_zero():
    q = read("1 qid:1 3:3 1:1\n0 qid:1 2:.3\n0 qid:1\n", n_features=4)
    np.testing.assert_array_equal(q.X, [[1, 0, 3, 0], [0, 0.3, 0, 0], [0, 0, 0, 0]])


def test_width_comes_from_the_caller_or_the_highest_number():
    text = "1 qid:1 1:1 2:1 3:1\n0 qid:1 1:1 2:1\n"
    assert read(text, n_features=5).X.shape == (2, 5)
    assert read(text).X.shape == (2, 3)


def test_a_file_that_widens_as_it_goes():
    q = read("0 qid:1\n0 qid:1\n1 qid:1 1:1\n1 qid:1 1:2 2:3\n0 qid:1 1:4\n1 qid:2 1:5 2:6 3:7\n0 qid:2 4:8\n")
    truth = [[0] * 4, [0] * 4, [1, 0, 0, 0], [2, 3, 0, 0], [4, 0, 0, 0], [5, 6, 7, 0], [0, 0, 0, 8]]
    np.testing.assert_array_equal(q.X, truth)


@given(st.lists(st.one_of(st.just("0"), st.floats(-1e9, 1e9).map(repr)), min_size=2, max_size=6))
def test_all_ways_of_reading_a_line_agree(values):
    """All features in order; with one feature more declared; in a spelling for the exact way only."""
    n = len(values)
    quick = " ".join(f"{i}:{v}" for i, v in enumerate(values, 1))
    exact = " ".join(f"0{i}:{v}" for i, v in enumerate(values, 1))
    for text, width in ((quick, n), (quick, n + 1), (exact, n)):
        X = read(f"1 qid:1 {text}\n", n_features=width).X
        assert X[:, :n].tolist() == [[float(v) for v in values]]


def test_half_grades_and_extreme_values_are_kept():
    q = read("0.5 qid:1 1:1.79769313486e+308 2:1.7e308 3:-5e-324\n")
    assert q.y.tolist() == [0.5]
    assert q.X.tolist() == [[1.79769313486e308, 1.7e308, -5e-324]]


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:2 1:0\n1 qid:2 1:1\n1 qid:1 1:0\n\n0 qid:1 1:1\n2 qid:2 1:9\n",
         r"S1.txt, line 6: qid 2 is not contiguous at line 6: .* line 5; put the lines of each query"),
        ("2 qid:1 1:.5\n0 1:.2\n", r"S1.txt, line 2: the label must be followed by qid:<id>; got '1:.2'"),
        ("2 qid:1 1:.5\n2\n", r"line 2: .* qid:<id>; the line ends there \(truncated\?\)"),
        ("2 qid: 1:.5\n", r"line 1: qid: has no value"),
        ("2 qid:1 1:NULL 2:0.1\n", r"line 1: feature 1 is NULL: .*Feature-min.*QueryLevelNorm"),
        ("2 qid:1 1:.5 2:\n", r"line 1: feature 2 has no value \(truncated\?\)"),
        ("2 qid:1 1:.5 2\n", r"line 1: '2' is not <feature>:<value> \(truncated\?\)"),
        ("2 qid:1 1 2:3\n", r"line 1: '1' is not <feature>:<value>$"),
        ("2 qid:1 1: .5\n", r"line 1: feature 1 has no value"),
        ("2 qid:1 1:.5 1:.9\n", r"line 1: feature 1 stands twice"),
        ("2 qid:1 01:.5 1:.9\n", r"line 1: feature 1 stands twice"),
        ("2 qid:1 0:.5\n", r"line 1: feature 0 is out of 1..*numbered from 1"),
        ("2 qid:1 -1:.5\n", r"line 1: '-1' is not a feature number"),
        ("2 qid:1 x:.5\n", r"line 1: 'x' is not a feature number"),
        ("2 qid:1 99999:.5\n", r"line 1: feature 99999 is out of 1..10000; is n_features right\?"),
        ("2 qid:1 " + "9" * 5000 + ":.5\n", r"line 1: '9+' is not a feature number"),
        ("2 qid:1 1:.5 #docid =\n", r"line 1: docid = has no value \(truncated\?\)"),
        ("-1 qid:1 1:.5\n", r"line 1: label -1 is negative"),
        ("rel qid:1 1:.5\n", r"line 1: label 'rel' is not a number"),
        ("nan qid:1 1:.5\n", r"line 1: label 'nan' is not a number"),
        ("1e999 qid:1 1:.5\n", r"line 1: label '1e999' is not a number"),
        ("1_0 qid:1 1:.5\n", r"line 1: label '1_0' is not a number"),
        ("2 qid:1 1:.5 #docid = a\n0 qid:1 1:.1 #docid = b\n0 qid:1 1:.5 #docid = a\n",
         r"line 3: docid a of query 1 stands on line 1 too"),
    ],
)  # fmt: skip
def test_faulty_lines_are_named(text, message):
    assert re.search(message, refused(text))


@pytest.mark.parametrize(
    "value", ["nan", "NaN", "inf", "-inf", "Infinity", "1_0", "0x1p3", "1e", "--1", "１", "a", "1:2"]
)
@pytest.mark.parametrize("position", [1, 2, 3])
def test_only_finite_decimal_numbers_are_values(value, position):
    pairs = " ".join(f"{i}:{value if i == position else '0.25'}" for i in (1, 2, 3))
    message = refused(f"1 qid:1 1:1 2:2 3:3\n0 qid:1 {pairs}\n", n_features=3)
    assert message.startswith(f"S1.txt, line 2: feature {position} has the value {value!r}")


@pytest.mark.parametrize("value", ["1e400", "-1e400", "1" + "0" * 400])
@pytest.mark.parametrize("n_features", [2, 3])
def test_overflow_is_not_infinity(value, n_features):
    message = refused(f"1 qid:1 1:1 2:{value}\n", n_features=n_features)
    assert re.search("line 1: feature 2 is .* too large for a 64-bit float", message)


def test_feature_beyond_the_declared_width():
    assert "S1.txt, line 2: feature 4 is out of 1..3" in refused("1 qid:1 3:1\n0 qid:1 4:1\n", n_features=3)


@pytest.mark.parametrize("text", ["", "\n \n", "# nothing\n#docid = 5\n", "\ufeff"])
def test_no_documents(text):
    assert refused(text).startswith("no documents in S1.txt")


def test_no_features():
    assert refused("1 qid:1\n").startswith("no features in S1.txt")


def test_utf16_is_named():
    assert "convert it" in refused("1 qid:1 1:1\n".encode("utf-16"))


def test_line_numbers_count_all_line_ends():
    for end in ("\n", "\r\n", "\r"):
        text = f"# head{end}{end}1 qid:1 1:1{end}0 qid:1 1:x{end}"
        assert refused(text).startswith("S1.txt, line 4:")


def test_n_features_must_be_positive():
    assert "at least 1; got 0" in refused("1 qid:1 1:1\n", n_features=0)


# Where it may come from


def test_paths_archives_and_open_files(tmp_path):
    text = sample()
    path = tmp_path / "S1.txt"
    path.write_text(text)
    with zipfile.ZipFile(tmp_path / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Fold1/S1.txt", text)
    member = zipfile.Path(tmp_path / "data.zip", "Fold1/S1.txt")
    for source in (path, str(path), member):
        assert_same(read_letor(source), read(text))
    with path.open("rb") as file:
        assert_same(read_letor(file), read(text))
        assert not file.closed


def test_errors_are_named_after_the_path(tmp_path):
    path = tmp_path / "broken.txt"
    path.write_text("1 1:2\n")
    with pytest.raises(InputError, match=re.escape(f"{path}, line 1:")):
        read_letor(path)
    with pytest.raises(InputError, match=r"^vali of fold 2, line 1:"):
        read_letor(path, name="vali of fold 2")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"absent.txt: cannot be read"):
        read_letor(tmp_path / "absent.txt")
    with pytest.raises(InputError, match="cannot be read"):
        read_letor(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("S1.txt", "")
    with pytest.raises(InputError, match=r"S2.txt: cannot be read \(no such file\)"):
        read_letor(zipfile.Path(tmp_path / "a.zip", "S2.txt"))


def test_damaged_archive(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("S1.txt", sample())
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        read_letor(zipfile.Path(path, "S1.txt"))


def test_memory_is_the_matrix_not_the_text():
    data = sample(queries=20, documents=100, features=40).encode()
    tracemalloc.start()
    try:
        q = read(data, n_features=40)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert q.X.nbytes < peak < 2 * q.X.nbytes  # boxed floats alone would be 4 times the matrix


# Writing


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="#"), min_size=1, max_size=8)


@st.composite
def any_queries(draw) -> Queries:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    width = draw(st.integers(1, 4))
    n = sum(sizes)
    values = draw(st.lists(FLOATS, min_size=n * width, max_size=n * width))
    grades = st.one_of(st.integers(0, 4).map(float), st.floats(0, 1e300))
    docids = [draw(st.lists(NAMES, min_size=size, max_size=size, unique=True)) for size in sizes]
    return Queries(
        X=np.array(values).reshape(n, width),
        y=np.array(draw(st.lists(grades, min_size=n, max_size=n))),
        offsets=offsets_from_sizes(sizes),
        qid=np.array(draw(st.lists(NAMES, min_size=len(sizes), max_size=len(sizes), unique=True))),
        docid=np.array([docid for names in docids for docid in names]),
    )


@given(queries=any_queries())
def test_round_trip_is_exact(queries, tmp_path_factory):
    path = tmp_path_factory.mktemp("letor") / "S1.txt"
    write_letor(queries, path)
    back = read_letor(path)
    assert_same(back, queries)
    assert back.X.tobytes() == queries.X.tobytes()  # negative zero included


def test_written_form(tmp_path):
    write_letor(read("2 qid:7 1:.5 2:0 #docid = A\n0.5 qid:7 1:1e-9 2:3 #docid = B"), tmp_path / "new" / "S1.txt")
    assert (tmp_path / "new" / "S1.txt").read_bytes() == (
        b"2 qid:7 1:0.5 2:0.0 #docid = A\n0.5 qid:7 1:1e-09 2:3.0 #docid = B\n"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": ["a b"]}, "qid 'a b' cannot be written"),
        ({"qid": ["a#"]}, "qid 'a#' cannot be written"),
        ({"docid": ["x", ""]}, "docid '' cannot be written"),
        ({"docid": ["x", "y z"]}, "docid 'y z' cannot be written"),
        ({"docid": ["x", "x"]}, "holds a docid twice"),
        ({"y": [0.0, -1.0]}, "label -1.0 cannot be written"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path, change, message):
    parts = {
        "X": [[1.0], [2.0]],
        "y": [0.0, 1.0],
        "offsets": [0, 2],
        "qid": ["1"],
        "docid": ["x", "y"],
    } | change
    queries = Queries(**{key: np.array(value) for key, value in parts.items()})
    with pytest.raises(InputError, match=message):
        write_letor(queries, tmp_path / "S1.txt")
    assert not list(tmp_path.iterdir())


# The real files


@pytest.fixture(scope="module")
def ohsumed(letor_home: Path) -> zipfile.Path:
    return zipfile.Path(letor_home / "OHSUMED.zip", "OHSUMED/")


@pytest.mark.letor
def test_ohsumed_counts(ohsumed):
    parts = [read_letor(ohsumed / "QueryLevelNorm" / f"S{k}.txt", n_features=45) for k in range(1, 6)]
    whole = Queries.concatenate(parts)
    assert (whole.n_docs, whole.n_queries, whole.n_features) == (16140, 106, 45)
    assert np.bincount(whole.y.astype(int)).tolist() == [11303, 2585, 2252]
    assert whole.qid.tolist() == [str(qid) for qid in range(1, 107)]
    assert [part.qid[[0, -1]].tolist() for part in parts] == [
        ["1", "21"], ["22", "42"], ["43", "63"], ["64", "84"], ["85", "106"],
    ]  # fmt: skip
    assert [part.n_docs for part in parts] == [2570, 3076, 3573, 3538, 3383]
    barren = [not whole.y[a:b].any() for a, b in zip(whole.offsets, whole.offsets[1:], strict=False)]
    assert np.flatnonzero(barren).max() < 21  # one, in S1
    assert sum(barren) == 1


@pytest.mark.letor
def test_ohsumed_line_ends_do_not_matter(ohsumed):
    data = (ohsumed / "QueryLevelNorm" / "S2.txt").read_bytes()
    assert b"\r" not in data
    lf = read(data)
    for variant in (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data):
        assert_same(read(variant), lf)


@pytest.mark.letor
def test_ohsumed_folds_concatenate_the_parts(ohsumed):
    folder = ohsumed / "QueryLevelNorm"
    parts = [read_letor(folder / f"S{k}.txt") for k in (1, 2, 3)]
    assert_same(read_letor(folder / "Fold1" / "train.txt"), Queries.concatenate(parts))


@pytest.mark.letor
def test_ohsumed_null_files_are_refused_with_advice(ohsumed):
    with pytest.raises(InputError, match=r"S1.txt, line \d+: feature \d+ is NULL: .*QueryLevelNorm"):
        read_letor(ohsumed / "Feature-null" / "S1.txt")


@pytest.mark.letor
def test_ohsumed_as_scikit_learn_reads_it(ohsumed):
    from sklearn.datasets import load_svmlight_file

    member = ohsumed / "QueryLevelNorm" / "Fold1" / "train.txt"
    with member.open("rb") as file:
        X, y, qid = load_svmlight_file(file, query_id=True)
    ours = read_letor(member)
    np.testing.assert_array_equal(ours.X, X.toarray())
    np.testing.assert_array_equal(ours.y, y)
    np.testing.assert_array_equal(ours.qid_of_docs.astype(int), qid)


@pytest.mark.letor
def test_mq2008_counts(letor_home):
    folder = zipfile.Path(letor_home / "MQ2008.zip", "MQ2008/")
    folds = [read_letor(folder / f"Fold{k}" / "test.txt", n_features=46) for k in range(1, 6)]
    whole = Queries.concatenate(folds)
    assert (whole.n_docs, whole.n_queries) == (15211, 784)
    assert all(re.fullmatch(r"GX\d+-\d+-\d+", docid) for docid in whole.docid.tolist())
