"""Data cards and provenance as names and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from letorlab.report.cells import Table, missing, text

# entries of a card in the order of the page; other plain entries follow under their own names
CARD_NAMES = {
    "queries": "Queries",
    "documents": "Documents",
    "features": "Features",
    "labels": "Labels",
    "queries_without_relevant": "Queries without relevant document",
    "constant_features": "Constant features",
    "profile": "Metric profile",
    "checksum": "Checksum",
}
DERIVED_NAMES = {
    "queries": "Queries",
    "skipped": "Skipped",
    "derived_queries": "Derived",
    "derived_documents": "Documents",
    "sizes": "Sizes",
    "redraws": "Redraws",
    "forced": "Forced",
    "relevant_before": "Relevant",
    "relevant_after": "after",
}
PLACE = ("dataset", "title", "fold")


def card_facts(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The plain entries of a card as (name, value) in words."""
    known = [key for key in CARD_NAMES if key in card]
    rest = [key for key in card if key not in CARD_NAMES and key not in PLACE and not _is_nested(card[key])]
    return [(CARD_NAMES.get(key, _title(key)), _words(card[key])) for key in known + rest]


def card_details(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The nested entries of a card, such as its files with their hashes: ("files S1 sha256", "...")."""
    return list(flat({key: value for key, value in card.items() if _is_nested(value)}))


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) and any(isinstance(inner, Mapping) for inner in value.values())


def _title(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_words(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list | tuple):
        shown = ", ".join(_words(item) for item in value[:10])
        return (shown + (f", ... ({len(value)} in all)" if len(value) > 10 else "")) or "none"
    if missing(value):
        return "n/a"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def derived_table(cards: Sequence[Mapping[str, Any]]) -> Table:
    """Cards of derived queries side by side, a row a fold."""
    facts = [{**card, "sizes": _range(card.get("sizes") or {})} for card in cards]
    rows = [
        [text(fact.get("dataset")), text(fact.get("fold")), *(text(_words(fact.get(key))) for key in DERIVED_NAMES)]
        for fact in facts
    ]
    return Table("derived", "Derived queries (training only)", ["Data set", "Fold", *DERIVED_NAMES.values()], rows)


def _range(sizes: Mapping[str, Any]) -> str:
    """``11 to 57, mean 30.1``."""
    low, high, mean = (_words(sizes.get(key)) for key in ("min", "max", "mean"))
    return f"{low} to {high}, mean {mean}"


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as (name, value): ``packages: {numpy: 2}`` gives ("packages numpy", "2")."""
    for key, value in values.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from flat(value, f"{name} ")
        else:
            yield name, _words(value)
