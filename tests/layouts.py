"""Miniature data sets on disk, in all the layouts that LETOR copies have."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from letorlab.datasets import Dataset
from letorlab.prepare import prepare
from letorlab.sources import require_sources

Part = list[str]  # lines without line ends


def make_parts(seed: int = 0, *, n_parts: int = 5, queries: int = 3, features: int = 4, qid: str = "{}") -> list[Part]:
    """Lines of parts S1, S2, ...; query numbers ascend through the parts, as in LETOR."""
    rng = np.random.default_rng(seed)
    return [
        [
            _line(rng, features, qid.format(part * queries + query + 1), doc)
            for query in range(queries)
            for doc in range(int(rng.integers(2, 14)))
        ]
        for part in range(n_parts)
    ]


def _line(rng: np.random.Generator, features: int, qid: str, doc: int) -> str:
    values = " ".join(f"{i}:{value:.6f}" for i, value in enumerate(rng.random(features), 1))
    return f"{rng.integers(0, 3)} qid:{qid} {values} #docid = D{doc}"


def rotated(parts: Sequence[Part], fold: int, split: str) -> list[str]:
    """Lines of a fold file, written out as in the LETOR paper's table."""
    one = {  # fold -> train, vali, test
        1: ((1, 2, 3), (4,), (5,)),
        2: ((2, 3, 4), (5,), (1,)),
        3: ((3, 4, 5), (1,), (2,)),
        4: ((4, 5, 1), (2,), (3,)),
        5: ((5, 1, 2), (3,), (4,)),
    }[fold][("train", "vali", "test").index(split)]
    return [line for number in one for line in parts[number - 1]]


def write_lines(path: Path, lines: Iterable[str], *, end: str = "\n", final: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((end.join(lines) + (end if final else "")).encode())


def write_parts(folder: Path, parts: Sequence[Part], *, name: str = "S{}.txt", **how: Any) -> None:
    for number, lines in enumerate(parts, 1):
        write_lines(folder / name.format(number), lines, **how)


def write_folds(
    folder: Path,
    parts: Sequence[Part],
    *,
    folds: Iterable[int] = range(1, 6),
    name: str = "Fold{}",
    names: Sequence[str] = ("train.txt", "vali.txt", "test.txt"),
    **how: Any,
) -> None:
    for fold in folds:
        for split, file in zip(("train", "vali", "test"), names, strict=True):
            write_lines(folder / name.format(fold) / file, rotated(parts, fold, split), **how)


def zip_folder(folder: Path, archive: Path, under: str = "", mode: Literal["w", "a"] = "w") -> Path:
    """Pack the files of a folder, under a folder of the archive."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, mode, zipfile.ZIP_DEFLATED) as file:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            file.write(path, f"{under}{path.relative_to(folder).as_posix()}")
    return archive


def rar_folder(folder: Path, archive: Path) -> Path:
    """Pack the files of a folder without compression."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.txt"))}
    archive.write_bytes(stored_rar(files))
    return archive


def stored_rar(files: Mapping[str, bytes]) -> bytes:
    """A .rar (format 2.9) that holds files as they are: no free tool writes one."""
    blocks = [b"Rar!\x1a\x07\x00", _rar_block(0x73, 0, bytes(6))]
    for name, data in files.items():
        text = name.replace("/", "\\").encode()
        fields = (len(data), len(data), 3, zlib.crc32(data), 0x39810000, 20, 0x30, len(text), 0o100644)
        blocks += [_rar_block(0x74, 0x8000, struct.pack("<IIBIIBBHI", *fields) + text), data]
    return b"".join([*blocks, _rar_block(0x7B, 0x4000, b"")])


def _rar_block(kind: int, flags: int, body: bytes) -> bytes:
    head = struct.pack("<BHH", kind, flags, 7 + len(body)) + body
    return struct.pack("<H", zlib.crc32(head) & 0xFFFF) + head


def prepare_path(path: Path, out: Path, **kwargs: Any) -> dict[str, Any]:
    """Find and prepare a data set of one's own."""
    dataset = Dataset("mine", "mine", "standard_exp", path=str(path), features=kwargs.pop("features", None))
    return prepare(dataset, require_sources([dataset], None, out / "cache")["mine"], out, **kwargs)
