"""Reading LETOR text: letorlab beside scikit-learn, in one process, in turns.

    python benchmarks/bench_reader.py

reads the training file of OHSUMED fold 1 if LETOR_HOME holds OHSUMED.zip, else made-up data of that shape.
"""

from __future__ import annotations

import io
import os
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_svmlight_file

from letorlab.letor import read_letor, write_letor
from letorlab.queries import Queries
from letorlab.toy import make_toy

REPEATS = 5
CHECKS = (
    "letorlab also checks that every line has a qid, that queries are contiguous, that docids differ within\n"
    "a query, that values are finite decimal numbers and labels 0 or more; it keeps qid and docid as text,\n"
    "names file and line in errors, and returns a dense matrix; scikit-learn a sparse one, without docids."
)


def sample() -> tuple[str, bytes]:
    """What is read, and its bytes: decompression is not timed."""
    home = os.environ.get("LETOR_HOME")
    if home and (archive := Path(home) / "OHSUMED.zip").exists():
        member = zipfile.Path(archive, "OHSUMED/QueryLevelNorm/Fold1/train.txt")
        return "OHSUMED fold 1 train", member.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        data = make_toy(queries=63, documents=[100, 193], features=45, grades=3, seed=1)
        write_letor(data, Path(folder) / "train.txt")
        return "made-up data of the shape of OHSUMED fold 1 train", (Path(folder) / "train.txt").read_bytes()


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def main() -> None:
    title, data = sample()

    def ours() -> Queries:
        return read_letor(io.BytesIO(data), n_features=45)

    def theirs() -> tuple:
        return load_svmlight_file(io.BytesIO(data), n_features=45, query_id=True, zero_based=False)

    queries, (X, y, _) = ours(), theirs()
    assert np.array_equal(queries.X, X.toarray()) and np.array_equal(queries.y, y)  # the same work
    times = [(seconds(ours), seconds(theirs)) for _ in range(REPEATS)]
    a, b = (median(column) for column in zip(*times, strict=True))
    print(f"{title}: {len(data) / 1e6:.1f} MB, {queries.n_docs:,} documents; medians of {REPEATS}, in turns\n")
    print(f"{'reader':<36}{'seconds':>8}{'MB/s':>8}")
    for name, value in (("letorlab read_letor", a), ("scikit-learn load_svmlight_file", b)):
        print(f"{name:<36}{value:>8.3f}{len(data) / 1e6 / value:>8.1f}")
    print(f"\nletorlab / scikit-learn = {a / b:.2f} of the time\n{CHECKS}")


if __name__ == "__main__":
    main()
