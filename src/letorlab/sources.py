"""Where the files of a data set are: a folder, a zip read in place, or a download.

Order: the configuration's `path`; a folder or zip under the data home; the archive in the cache; the `urls`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from letorlab.datasets import Dataset, resolve
from letorlab.download import download
from letorlab.errors import InputError
from letorlab.layout import Root
from letorlab.search import (
    Home,
    archive_names,
    data_home,
    files_named,
    locate,
    open_place,
    places,
    usual_folders,
)


def available(
    name: str,
    block: Mapping[str, Any] | None,
    home: Home,
    cache: str | os.PathLike[str],
) -> bool:
    """Whether `require_sources` has something to try for a data set; looks at names of files, opens none."""
    dataset = resolve(name, block)
    if dataset.toy is not None or next(places(dataset, home), None) is not None:
        return True
    target = archive_in_cache(dataset, Path(cache))
    return target is not None  # there already, or to be fetched


def require_sources(datasets: Iterable[Dataset], home: Home, cache: str | os.PathLike[str]) -> dict[str, Root | None]:
    """Locate or download every data set before any work is done.

    Returns
    -------
    dict
        By name, the folder that holds the files, on disk or inside a zip; None for toy data, which is made.

    Raises
    ------
    InputError
        One error for all that is missing: what was looked for, where, and the steps to do by hand.
    """
    found: dict[str, Root | None] = {}
    problems: list[str] = []
    for dataset in datasets:
        try:
            root = None if dataset.toy is not None else _find(dataset, home, Path(cache))
        except InputError as error:
            problems.append(f"{dataset.name}: {error}")
            continue
        if root is None and dataset.toy is None:
            problems.append(_missing(dataset, home))
        found[dataset.name] = root
    if problems:
        raise InputError(
            f"{len(problems)} data set(s) cannot be used; nothing was computed.\n\n" + "\n\n".join(problems)
        )
    return found


def archive_in_cache(dataset: Dataset, cache: Path) -> Path | None:
    """Where the archive of `urls` is kept: named by its digest, so that data sets share it safely."""
    if not dataset.urls:
        return None
    rar = any(urlsplit(url).path.lower().endswith(".rar") for url in dataset.urls)
    return cache / f"{str(dataset.sha256)[:16]}{'.rar' if rar else '.zip'}"


def _find(dataset: Dataset, home: Home, cache: Path) -> Root | None:
    root = locate(dataset, home, cache)
    target = archive_in_cache(dataset, cache)
    if root is not None or target is None:
        return root
    root = open_place(dataset, download(dataset.urls, str(dataset.sha256), target), cache)
    if root is None:
        raise InputError(f"{target} (from {dataset.urls[0]}) {_holds_none(dataset)}")
    return root


def _holds_none(dataset: Dataset) -> str:
    where = f" in {dataset.folder}" if dataset.folder else ""
    return f"holds no Fold1/train.txt and no S1.txt{where}"


def _missing(dataset: Dataset, home: Home) -> str:
    """What was looked for, where, and what to do: one paragraph of the error."""
    if dataset.path is not None:
        path = Path(dataset.path).expanduser()
        state = _holds_none(dataset) if any(places(dataset, home)) else "does not exist"
        return f"{dataset.name}: path {path.absolute()} {state}"
    base = data_home(home)
    folders = ", ".join("/".join(tail) for tail in usual_folders(dataset)[:2])
    lines = [
        f"{dataset.name}: {dataset.title} is missing",
        f"  looked for: a folder {folders}, ... or {' or '.join(archive_names(dataset))}",
        f"  in: {_home_text(base)}",
        *_lies_there(dataset, base),
        f"  to do: {_steps(dataset, base)}",
    ]
    return "\n".join(lines)


def _home_text(base: Path | None) -> str:
    if base is None:
        return "no folder, since neither data.home nor the variable LETOR_HOME is set"
    return str(base.absolute()) + ("" if base.is_dir() else ", which does not exist")


def _lies_there(dataset: Dataset, base: Path | None) -> list[str]:
    """Archives that lie there and did not help."""
    if base is None:
        return []
    return [f"  found: {path}, which {_holds_none(dataset)}" for path in files_named(base, archive_names(dataset))]


def _steps(dataset: Dataset, base: Path | None) -> str:
    steps = dataset.steps.format(archive=dataset.archives[0], folder=dataset.folder, home=base or "a folder of yours")
    if base is None:
        steps += " Name that folder in the variable LETOR_HOME, or under data.home in the configuration."
    return steps
