"""Look for a data set among the user's folders and archives; only a .rar is unpacked.

In a data home these are found, in any letter case, for the example of TD2003: the folders
``Gov/QueryLevelNorm/2003_td_dataset``, ``QueryLevelNorm/2003_td_dataset``, ``2003_td_dataset``, ``td2003``;
the same one folder further down, and the same inside ``Gov``, ``2003_td_dataset`` and ``td2003``, each with ``.zip``
or ``.rar``.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from letorlab.datasets import Dataset
from letorlab.errors import InputError
from letorlab.layout import Root, children, holds_data, readable
from letorlab.rar import unpacked

Home = str | os.PathLike[str] | None


def data_home(home: Home) -> Path | None:
    """The folder of the user's copies: `data.home` of the configuration, else the variable LETOR_HOME."""
    chosen = home or os.environ.get("LETOR_HOME")
    return Path(chosen).expanduser() if chosen else None


def locate(dataset: Dataset, home: Home, cache: Path) -> Root | None:
    """The folder that holds the files of a data set, on disk or inside a zip; None if it lies nowhere.

    Parameters
    ----------
    dataset : Dataset
    home : path or None
        The data home; None: the variable LETOR_HOME.
    cache : Path
        Where .rar archives are unpacked.

    Raises
    ------
    InputError
        If an archive that should hold it is damaged, or `path` could mean several folders.
    """
    for place in places(dataset, home):
        root = open_place(dataset, place, cache)
        if root is not None:
            return root
    return None


def places(dataset: Dataset, home: Home) -> Iterator[Path]:
    """Folders that hold the data set and archives that may, best first; no file is opened."""
    if dataset.path is not None:
        path = Path(dataset.path).expanduser()
        yield from [path] if path.exists() or _archive_above(path) else []
        return
    base = data_home(home)
    if base is not None:
        folder = _search(dataset, base)
        yield from [folder] if isinstance(folder, Path) else []
        yield from files_named(base, archive_names(dataset))


def open_place(dataset: Dataset, place: Path, cache: Path) -> Root | None:
    """The folder in `place` that holds the files: `place` is a folder, an archive, or a folder in a zip."""
    top = _top(place, cache)
    if holds_data(top):
        return top
    found = _search(dataset, top)
    if found is None and (dataset.path is not None or not dataset.folder):
        found = _only_folder(top)
    return found


def _top(place: Path, cache: Path) -> Root:
    if place.is_dir():
        return place
    if place.suffix.lower() == ".rar":
        return unpacked(place, cache)
    archive = _archive_above(place) or place
    member = place.relative_to(archive).as_posix()
    with readable(archive):
        return zipfile.Path(archive, "" if member == "." else f"{member}/")


def _archive_above(path: Path) -> Path | None:
    """The zip that a path like ``data/OHSUMED.zip/OHSUMED/Feature-min`` leads into."""
    return next((p for p in path.parents if p.suffix.lower() == ".zip" and p.is_file()), None)


def _search(dataset: Dataset, top: Root) -> Root | None:
    """Look in `top`, then in its folders, for the usual places of a data set."""
    usual = usual_folders(dataset)
    for base in [top, *(entry for entry in children(top) if entry.is_dir())]:
        for names in usual:
            folder = _descend(base, names)
            if folder is not None and holds_data(folder):
                return folder
        usual = [names for names in usual if names != ("QueryLevelNorm",)]  # of what, further down?
    return None


def usual_folders(dataset: Dataset) -> list[tuple[str, ...]]:
    """The folder in the archive, ever shorter from the left, and the data set's name."""
    steps = tuple(step for step in dataset.folder.split("/") if step)
    tails = [steps[start:] for start in range(len(steps))]
    return list(dict.fromkeys([*tails, (dataset.name,), (dataset.name, "QueryLevelNorm")]))


def _descend(folder: Root, names: Iterable[str]) -> Root | None:
    """Follow folder names in any letter case."""
    for name in names:
        matches = [entry for entry in children(folder) if entry.name.lower() == name.lower() and entry.is_dir()]
        if not matches:
            return None
        folder = matches[0]
    return folder


def _only_folder(top: Root, depth: int = 3) -> Root | None:
    """The one folder below `top` with folds in it."""
    level, found = [top], []
    for _ in range(depth):
        level = [entry for folder in level for entry in children(folder) if entry.is_dir()]
        found += [folder for folder in level if holds_data(folder)]
        level = [folder for folder in level if folder not in found]
    if len(found) > 1:
        raise InputError(f"{top} holds several data sets: {', '.join(map(str, found))}; name one in `path:`")
    return found[0] if found else None


def archive_names(dataset: Dataset) -> list[str]:
    """Names of archives that may hold the data set; zips first, since they need not be unpacked."""
    stems = [Path(name).stem for name in dataset.archives] + [Path(dataset.folder).name, dataset.name]
    known = [stem for stem in dict.fromkeys(stems) if stem not in ("", "QueryLevelNorm")]
    return [f"{stem}{suffix}" for suffix in (".zip", ".rar") for stem in known]


def files_named(folder: Path, names: Iterable[str]) -> list[Path]:
    """Files of these names, in any letter case, in their order."""
    wanted = [name.lower() for name in names]
    there = [entry for entry in children(folder) if isinstance(entry, Path) and entry.is_file()]
    return sorted(
        (entry for entry in there if entry.name.lower() in wanted), key=lambda entry: wanted.index(entry.name.lower())
    )
