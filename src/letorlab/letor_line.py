"""One line of LETOR text: its label, qid, features and docid, or an error that says what is wrong with it.

Features are tried in three ways, from quick to exact, with the same result: nearly every line of LETOR names
all features in order (`dense_values`), the others some of them (`sparse_values`); whatever neither takes goes
to `exact_values`, which finds the fault.
"""

from __future__ import annotations

import math
import re

from letorlab.errors import InputError

WIDEST = 10_000  # features, where the caller did not say how many: one wrong number must not fill the memory

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # float() takes 1_0, nan, ...
_FEATURE = re.compile(r"[0-9]{1,18}")
_SPARSE_LINE = re.compile(r"(?:[0-9]++:[0-9.eE+-]++(?:\s++|$))++")
_DOCID = re.compile(r"\s*docid\s*=\s*(\S*)", re.IGNORECASE)


def head(body: str) -> tuple[float, str, str]:
    """Label, qid, and the text of the features."""
    label, *rest = body.split(None, 2)
    if not rest or not rest[0].startswith("qid:"):
        if "\0" in body:
            raise InputError("NUL characters: this is no UTF-8 text (UTF-16, perhaps); convert it")
        found = f"got {rest[0]!r}" if rest else "the line ends there (truncated?)"
        raise InputError(f"the label must be followed by qid:<id>; {found}")
    qid = rest[0][4:]
    if not qid:
        raise InputError("qid: has no value; write qid:<id> without a blank")
    return _label(label), qid, rest[1] if len(rest) > 1 else ""


def _label(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not math.isfinite(label := float(text)):
        raise InputError(f"label {text!r} is not a number; a relevance grade of 0 or more is needed")
    if label < 0:
        raise InputError(f"label {text} is negative; grades start at 0 (remove documents that are not judged)")
    return label


def docid_of(comment: str) -> str | None:
    """The docid in the text after ``#``; None if there is none."""
    match = _DOCID.match(comment)
    if match and not match[1]:
        raise InputError("docid = has no value (truncated?)")
    return match[1] if match else None


def dense_line(n: int) -> re.Pattern[str]:
    """Matches the features of nearly every line: 1, 2, ..., n in order, with plain numbers."""
    return re.compile(r"\s+".join(f"{feature}:([0-9.eE+-]++)" for feature in range(1, n + 1)) + r"\s*")


def dense_values(features: str, dense: re.Pattern[str]) -> list[float] | None:
    """The values of a line that matches; None for any other, left to `exact_values` and its errors."""
    match = dense.fullmatch(features)
    try:
        values = list(map(float, match.groups())) if match else []
    except ValueError:
        return None
    return values if values and math.isfinite(sum(values)) else None


def sparse_values(features: str, columns: dict[str, int]) -> dict[int, float] | None:
    """The values of a line without fault by feature number, quickly; None for any other."""
    if not _SPARSE_LINE.fullmatch(features):
        return None
    tokens = features.replace(":", " ").split()
    try:
        values = dict(zip(map(columns.__getitem__, tokens[::2]), map(float, tokens[1::2]), strict=True))
    except (KeyError, ValueError):
        return None
    return values if 2 * len(values) == len(tokens) and math.isfinite(sum(values.values())) else None


def exact_values(tokens: list[str], n_features: int | None, nulls: bool) -> dict[int, float]:
    """The values of any line by feature number, or an error that says what is wrong with it; NULL is NaN if allowed."""
    values: dict[int, float] = {}
    for token in tokens:
        name, colon, text = token.partition(":")
        if not colon:
            raise InputError(f"{token!r} is not <feature>:<value>{_if_last(token, tokens)}")
        feature = _feature(name, n_features)
        if feature in values:
            raise InputError(f"feature {feature} stands twice")
        values[feature] = math.nan if nulls and text == "NULL" else _value(feature, text)
    return values


def _feature(name: str, n_features: int | None) -> int:
    if not _FEATURE.fullmatch(name):
        raise InputError(f"{name!r} is not a feature number")
    if not 1 <= int(name) <= (n_features or WIDEST):
        hint = "features are numbered from 1" if int(name) == 0 else "is n_features right?"
        raise InputError(f"feature {name} is out of 1..{n_features or WIDEST}; {hint}")
    return int(name)


def _value(feature: int, text: str) -> float:
    if _NUMBER.fullmatch(text):
        if math.isfinite(value := float(text)):
            return value
        raise InputError(f"feature {feature} is {text}, too large for a 64-bit float")
    if not text:
        raise InputError(f"feature {feature} has no value (truncated?)")
    if text.upper() == "NULL":
        raise InputError(
            f"feature {feature} is NULL: this is the Feature-null version of the data; take Feature-min, "
            "which has the query's minimum instead, or QueryLevelNorm, which is normalised as well, or let NULL be "
            "replaced in the same way (nulls: query_min)"
        )
    raise InputError(f"feature {feature} has the value {text!r}; a finite decimal number is needed")


def _if_last(token: str, tokens: list[str]) -> str:
    return " (truncated?)" if token is tokens[-1] else ""


def feature_names(n: int) -> tuple[str, ...]:
    """1, 2, ..., n as they stand in a line."""
    return tuple(map(str, range(1, n + 1)))
