"""The report: one HTML page that holds everything it shows, and opens without a network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml
from markupsafe import Markup

from letorlab.atomic import read_json, write_text
from letorlab.csvtable import read_table, table_hash
from letorlab.errors import InputError
from letorlab.provenance import sha256_of
from letorlab.report.details import (
    comparison_table,
    fit_table,
    fit_warnings,
    query_table,
    tie_table,
    trials_not_converged,
    tuning_table,
)
from letorlab.report.facts import card_details, card_facts, derived_table, flat
from letorlab.report.results import answer, main_table
from letorlab.report.svg import inline_svg

PAPER = (
    "T. Qin, T.-Y. Liu, J. Xu, H. Li: LETOR: A benchmark collection for research on learning to rank for "
    "information retrieval. Information Retrieval 13(4), 2010, pages 346–374."
)


@dataclass(frozen=True)
class PageInput:
    """What the page is made of.

    Parameters
    ----------
    tables, figures : Path
        Folders ``results/<study>/tables`` and ``results/<study>/figures``.
    config : mapping
        The configuration with its defaults filled in.
    cards : sequence of Path
        ``data/<dataset>/card.json`` and, where there are any, ``data/<dataset>/derived/fold<k>.card.json``.
    fits : sequence of Path
        ``runs/<dataset>/fold<k>/<method>/fit.json``.
    provenance : mapping
        Names and values to show, such as the code's hash and the versions of packages; may be nested.
    skipped : sequence of str, or mapping from str to a reason
        Data sets of the configuration that were not found.
    absent : mapping from str to str
        Methods of the configuration whose optional library is not installed, with its name.
    """

    tables: Path
    figures: Path
    config: Mapping[str, Any]
    cards: Sequence[Path]
    fits: Sequence[Path]
    provenance: Mapping[str, Any]
    skipped: Sequence[str] | Mapping[str, str] = field(default_factory=tuple)
    absent: Mapping[str, str] = field(default_factory=dict)


def build_page(page: PageInput, output: Path) -> None:
    """Write the report to `output` (``results/<study>/report/index.html``).

    Raises
    ------
    InputError, OSError
        If a table, card or fit file is missing or malformed.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    write_text(output, environment.get_template("page.html.j2").render(**_content(page)))


def _content(page: PageInput) -> dict[str, Any]:
    names = ("summary", "published", "comparisons", "trials", "queries", "ties")
    tables = {name: _table(page.tables / f"{name}.csv") for name in names}
    fits = [_read_placed(path) for path in page.fits]
    return {
        "css": Markup(_resource("page.css")),
        "script": Markup(_resource("page.js")),
        "paper": PAPER,
        "config": page.config,
        "config_yaml": yaml.safe_dump(_plain(page.config), sort_keys=False, allow_unicode=True),
        "skipped": list(_skipped(page.skipped)),
        "absent": dict(page.absent),
        "figures": _figures(page.figures),
        "hashes": [(path.name, sha256_of(path)) for path in sorted(page.tables.glob("*.csv"))],
        "provenance": [*flat(page.provenance), ("SHA-256 of all tables", table_hash(page.tables))],
        "sources": sorted(set(tables["published"]["source"])),
        **_results(page.config, **tables),
        **_fits(fits, tables["trials"]),
        **_cards(page.cards),
    }


def _table(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InputError(f"{path} is missing: the page needs it; make the tables of the study first")
    return read_table(path)


def _results(
    config: Mapping[str, Any],
    summary: pd.DataFrame,
    published: pd.DataFrame,
    comparisons: pd.DataFrame,
    trials: pd.DataFrame,
    queries: pd.DataFrame,
    ties: pd.DataFrame,
) -> dict[str, Any]:
    reference = config["evaluation"]["reference"]
    present = set(summary["dataset"])
    datasets = [name for name in config["datasets"] if name in present]
    return {
        "answers": [answer(summary, comparisons, name, reference) for name in datasets],
        "results": [main_table(summary, published, config["methods"], name) for name in datasets],
        "comparisons": comparison_table(comparisons),
        "tuning": tuning_table(trials),
        "queries": query_table(queries),
        "ties": tie_table(ties),
    }


def _fits(fits: Sequence[Mapping[str, Any]], trials: pd.DataFrame) -> dict[str, Any]:
    return {
        "fits": fit_table(fits),
        "warnings": fit_warnings(fits),
        "trials_failed": trials_not_converged(trials),
    }


def _cards(paths: Sequence[Path]) -> dict[str, Any]:
    derived = [_read_placed(path) for path in paths if path.parent.name == "derived"]
    cards = [_read_placed(path) for path in paths if path.parent.name != "derived"]
    return {
        "cards": [
            {
                "dataset": card["dataset"],
                "title": card.get("title", ""),
                "facts": card_facts(card),
                "details": card_details(card),
            }
            for card in cards
        ],
        "derived": derived_table(derived) if derived else None,
    }


def _read_placed(path: Path) -> dict[str, Any]:
    """A card or fit file, with the data set, fold and method of its path unless it says them itself."""
    content: dict[str, Any] = read_json(path)
    place: dict[str, Any] = {}
    if match := re.search(r"/([^/]+)/fold(\d+)/([^/]+)/fit\.json$", path.as_posix()):
        place = {"dataset": match[1], "fold": int(match[2]), "method": match[3]}
    elif match := re.search(r"/([^/]+)/derived/fold(\d+)\.card\.json$", path.as_posix()):
        place = {"dataset": match[1], "fold": int(match[2])}
    else:
        place = {"dataset": path.parent.name}
    return place | content


def _figures(folder: Path) -> list[tuple[str, Markup]]:
    """(name, markup) of every figure, the overview first."""
    paths = sorted(folder.glob("*.svg"), key=lambda path: (path.stem != "overview", path.name))
    return [
        (_figure_title(path.stem), Markup(inline_svg(path.read_text(encoding="utf-8"), f"f{number}")))
        for number, path in enumerate(paths)
    ]


def _figure_title(stem: str) -> str:
    kind, _, dataset = stem.partition(".")
    if kind == "ndcg" and dataset:
        return f"NDCG at each k on {dataset}; names in the order of the curves' right ends"
    if kind == "path" and dataset:
        return (
            f"Regularisation paths of the l1 norm on {dataset}: first fold, other parameters as validation chose them"
        )
    return "All methods on all data sets" if stem == "overview" else stem


def _skipped(skipped: Sequence[str] | Mapping[str, str]) -> list[tuple[str, str]]:
    return list(skipped.items()) if isinstance(skipped, Mapping) else [(name, "") for name in skipped]


def _plain(value: Any) -> Any:
    """Mappings and sequences of any class as dict and list, which YAML can write."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _resource(name: str) -> str:
    return resources.files("letorlab.report").joinpath(name).read_text(encoding="utf-8")
