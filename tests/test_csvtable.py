"""Tables read back to exactly what was written."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from letorlab.csvtable import read_table, table_hash, write_table


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_floats_round_trip(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    write_table(pd.DataFrame({"value": values}), path)
    np.testing.assert_array_equal(read_table(path)["value"].to_numpy(), np.array(values) + 0.0)


def test_identifiers_stay_text_and_empty_numbers_are_missing(tmp_path):
    table = pd.DataFrame(
        {
            "dataset": ["d", "d"],
            "qid": ["007", "NA"],
            "k": [1, None],
            "value": [0.1, None],
            "params": ["{}", "null"],
        }
    ).astype({"k": "Int64"})
    write_table(table, tmp_path / "t.csv")
    back = read_table(tmp_path / "t.csv")
    assert back["qid"].tolist() == ["007", "NA"]
    assert back["params"].tolist() == ["{}", "null"]
    assert back["k"].isna().tolist() == [False, True]
    assert back["value"].isna().tolist() == [False, True]
    assert b"\r" not in (tmp_path / "t.csv").read_bytes()


def test_the_hash_of_the_tables_sees_any_byte(tmp_path):
    table = pd.DataFrame({"qid": ["1"], "value": [0.5]})
    write_table(table, tmp_path / "x.csv")
    before = table_hash(tmp_path)
    assert table_hash(tmp_path) == before
    write_table(table.assign(value=np.nextafter(0.5, 1)), tmp_path / "x.csv")
    assert table_hash(tmp_path) != before
