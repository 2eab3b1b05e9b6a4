"""Files are whole or absent, and their readers never see one that is being written."""

from __future__ import annotations

import json
import os
import stat

import pytest

from letorlab.atomic import atomic_path, read_json, write_json, write_text


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "new" / "file.txt"
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert list(target.parent.iterdir()) == []
    write_text(target, "whole\n")
    assert target.read_bytes() == b"whole\n"
    assert list(target.parent.iterdir()) == [target]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "file.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("new")
        raise RuntimeError
    assert target.read_text() == "old"


def test_who_has_the_old_file_open_goes_on_reading_it(tmp_path):
    """The new file is renamed into place, not copied over the old one."""
    target, link = tmp_path / "file.txt", tmp_path / "link"
    write_text(target, "old")
    os.link(target, link)
    write_text(target, "new")
    assert (target.read_text(), link.read_text()) == ("new", "old")


def test_two_writers_do_not_share_a_temporary_file(tmp_path):
    with atomic_path(tmp_path / "f") as one, atomic_path(tmp_path / "f") as other:
        assert one != other
        one.write_text("1")
        other.write_text("2")
    assert (tmp_path / "f").read_text() == "1"  # the outer block ends last


def test_permissions_are_those_of_any_new_file(tmp_path):
    write_text(tmp_path / "ours", "")
    (tmp_path / "plain").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "plain")]
    assert modes[0] == modes[1]


def test_json_is_sorted_readable_and_refuses_nan(tmp_path):
    write_json(tmp_path / "x.json", {"b": 1.5, "a": "é"})
    assert (tmp_path / "x.json").read_text() == '{\n "a": "é",\n "b": 1.5\n}\n'
    assert read_json(tmp_path / "x.json") == json.loads('{"a": "\u00e9", "b": 1.5}')
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "y.json", float("nan"))
    assert not (tmp_path / "y.json").exists()
