"""Which data set a name means: the catalogue, and what a configuration adds to it.

Reads no data; `letorlab.sources` finds the files, `letorlab.prepare` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from letorlab.errors import InputError

OWN_PROFILE = "standard_exp"  # any grades up to 31; what most libraries mean by NDCG
TOY_PROFILE = "letor3"  # toy data has grades as LETOR 3.0 has, as a rule
_TOY_NEEDS = {"queries", "documents", "features", "grades"}


@dataclass(frozen=True)
class Counts:
    """Size of a whole data set; `labels` maps a grade to its number of documents, where it is known."""

    queries: int
    documents: int
    labels: dict[int, int] | None = None


@dataclass(frozen=True)
class Dataset:
    """A data set of a study.

    Parameters
    ----------
    name, title : str
        The name in the configuration, and the one to show.
    profile : str
        What its measures mean: a name of `letorlab.profiles.PROFILES`.
    features : int or None
        Number of features; None: the largest number in the files.
    archives : tuple of str
        Names of the official archive.
    folder : str
        Folder of the files in that archive.
    counts : Counts or None
        What a copy without known digests must hold.
    steps : str
        What to do by hand to get the files.
    path : str or None
        The folder or zip to use, and no other.
    urls : tuple of str
        Addresses of one and the same zip, tried in order.
    sha256 : str or None
        Digest of that zip.
    toy : dict or None
        Arguments of `letorlab.toy.write_toy`: the data is made, not found.
    null, null_zero : str, tuple of int
        What the token NULL is, see `letorlab.letor.read_letor`.
    largest : float or None
        Features are clipped to -largest..largest.
    normalise : str
        A name of `letorlab.normalise.NORMALISATIONS`.
    """

    name: str
    title: str
    profile: str
    features: int | None = None
    archives: tuple[str, ...] = ()
    folder: str = ""
    counts: Counts | None = None
    steps: str = ""
    path: str | None = None
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    toy: dict[str, Any] | None = field(default=None)
    null: str = "refuse"
    null_zero: tuple[int, ...] = ()
    largest: float | None = None
    normalise: str = "none"


@cache
def catalogue() -> dict[str, Dataset]:
    """The data sets that need nothing but their name, by name."""
    import yaml

    text = resources.files("letorlab").joinpath("catalogue.yaml").read_text(encoding="utf-8")
    return {name: _from_catalogue(name, entry) for name, entry in yaml.safe_load(text)["datasets"].items()}


def resolve(name: str, block: Mapping[str, Any] | None) -> Dataset:
    """The data set that `name` and its block of the configuration mean.

    Parameters
    ----------
    name : str
        A name of the catalogue, or any other with `path`, `urls` or `toy` in the block.
    block : mapping or None
        Keys `path`, `features`, `profile`, `urls`, `sha256`, `toy`, `nulls`, `null_zero`, `largest`, `normalise`;
        others are left alone.

    Raises
    ------
    InputError
        If nothing says where the data comes from, two things say it, or a value cannot be meant.
    """
    block = block or {}
    _check_block(name, block)
    known = catalogue().get(name)
    own_profile = TOY_PROFILE if "toy" in block else OWN_PROFILE
    return Dataset(
        name=name,
        title=known.title if known else name,
        profile=block.get("profile") or (known.profile if known else own_profile),
        features=block.get("features") or (known.features if known else None),
        archives=known.archives if known else (),
        folder=known.folder if known else "",
        counts=known.counts if known else None,
        steps=known.steps if known else "",
        path=block.get("path"),
        urls=_urls(block),
        sha256=str(block["sha256"]).lower() if block.get("sha256") else None,
        toy=dict(block["toy"]) if block.get("toy") is not None else None,
        null=block.get("nulls", "refuse"),
        null_zero=tuple(block.get("null_zero", ())),
        largest=block.get("largest"),
        normalise=block.get("normalise", "none"),
    )


def _from_catalogue(name: str, entry: Mapping[str, Any]) -> Dataset:
    return Dataset(
        name=name,
        title=entry["title"],
        profile=entry["profile"],
        features=entry["features"],
        archives=tuple(entry["archive"]),
        folder=entry["folder"],
        counts=Counts(**entry["counts"]),
        steps=entry["steps"],
    )


def _urls(block: Mapping[str, Any]) -> tuple[str, ...]:
    urls = block.get("urls") or ()
    return (urls,) if isinstance(urls, str) else tuple(urls)


def _check_block(name: str, block: Mapping[str, Any]) -> None:
    given = [key for key in ("path", "urls", "toy") if block.get(key) is not None]
    known = catalogue()
    if name not in known and not given:
        raise InputError(
            f"data set {name!r} is not in the catalogue ({', '.join(known)}). Data of your own needs "
            "`path:` (a folder or zip with Fold*/{train,vali,test}.txt or S1.txt..S5.txt), `urls:` with "
            "`sha256:`, or `toy:`"
        )
    if "toy" in given and (len(given) > 1 or name in known):
        raise InputError(
            f"data set {name!r}: `toy:` makes the data, so it stands without path and urls, "
            "under a name that is not in the catalogue"
        )
    if "toy" in given:
        _check_toy(name, block["toy"])
    if "urls" in given and not re.fullmatch(r"[0-9a-fA-F]{64}", str(block.get("sha256", ""))):
        raise InputError(
            f"data set {name!r}: `urls:` needs `sha256:` with the 64 hexadecimal digits of the archive "
            f"(sha256sum FILE); got {block.get('sha256')!r}"
        )
    features = block.get("features")
    if features is not None and (not isinstance(features, int) or features < 1):
        raise InputError(f"data set {name!r}: features must be a whole number of at least 1; got {features!r}")


def _check_toy(name: str, toy: Mapping[str, Any]) -> None:
    missing, unknown = _TOY_NEEDS - toy.keys(), toy.keys() - _TOY_NEEDS - {"seed"}
    if missing or unknown:
        raise InputError(
            f"data set {name!r}: toy needs {', '.join(sorted(_TOY_NEEDS))} and takes seed; "
            f"missing: {', '.join(sorted(missing)) or 'nothing'}; "
            f"unknown: {', '.join(sorted(unknown)) or 'nothing'}"
        )
