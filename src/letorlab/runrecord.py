"""A run as MLflow takes it: names, texts and finite values, and the hash that says whether it changed."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from letorlab.atomic import read_json
from letorlab.study import params_text

VOLATILE = ("seconds", "peak_memory_mb")  # differ from run to run although the result is the same
LONGEST_NAME, LONGEST_PARAM, LONGEST_TAG = 250, 6000, 5000  # what MLflow takes


class Point(NamedTuple):
    """A value of a metric; `step` is k on a curve, else 0."""

    name: str
    step: int
    value: float


@dataclass(frozen=True)
class Record:
    """One MLflow run: what is logged, under a key that is unique in its study.

    Parameters
    ----------
    key, name : str
        Identity within the study; the name that is shown.
    parent : str or None
        Key of the run it is nested under.
    origin : mapping
        Tags that say where the result came from; they are no part of the content.
    files, drawings : mapping from artifact path to file
        Drawings (figures, page) show what is in the tables: their names count as content, their bytes do not.
    texts : mapping from artifact path to text
    data : (str, str) or None
        Name and checksum of the data set.
    seconds : float
        Training time, which MLflow shows as the duration.
    """

    key: str
    name: str
    parent: str | None
    tags: Mapping[str, str]
    params: Mapping[str, str]
    points: Sequence[Point]
    origin: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    drawings: Mapping[str, Path] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    data: tuple[str, str] | None = None
    seconds: float = 0.0

    def content(self) -> str:
        """Hash of everything that is a result: no time, no memory, no code version."""
        points = [point for point in self.points if point.name not in map(fit_metric, VOLATILE)]
        files = {name: _digest(path) for name, path in self.files.items()}
        shown = [self.name, self.parent, self.tags, self.params, sorted(points), files, sorted(self.drawings)]
        return _sha256(json.dumps([*shown, self.texts], sort_keys=True).encode())


def make_record(
    key: str,
    name: str,
    parent: str | None,
    tags: Mapping[str, str],
    params: Mapping[str, Any],
    points: Iterable[Point],
    texts: Mapping[str, str] | None = None,
    **rest: Any,
) -> Record:
    """A record that MLflow takes: finite values only, nothing cut without a trace.

    Names of the values that are missing in the tables or not finite go to the tag ``nan_metrics``: MLflow
    would store infinity as 1.8e308, and its pages stumble over NaN.
    """
    points = list(points)
    finite = [point for point in points if math.isfinite(point.value)]
    bad = [f"{p.name}[{p.step}]" if p.step else p.name for p in points if not math.isfinite(p.value)]
    whole = {key: param_text(value) for key, value in params.items()}
    shown = {legal_name(key): _shown(text, LONGEST_PARAM, "params.json") for key, text in whole.items()}
    texts = dict(texts or {})
    if any(len(text) > LONGEST_PARAM for text in whole.values()):
        texts["params.json"] = pretty(dict(params))
    if bad:
        texts["nan_metrics.txt"] = "\n".join(bad) + "\n"
        tags = {**tags, "nan_metrics": _shown(", ".join(bad), LONGEST_TAG, "nan_metrics.txt")}
    return Record(key, name, parent, tags, shown, finite, texts=texts, **rest)


def metric_name(metric: str, k: int | None = None) -> str:
    """``("ndcg", 10)`` -> ``ndcg_at_10``, ``("map", None)`` -> ``map``."""
    return legal_name(metric if k is None else f"{metric}@{k}")


def legal_name(text: str) -> str:
    """A name that MLflow takes: ``ndcg@10`` -> ``ndcg_at_10``, other signs -> ``_``."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", text.replace("@", "_at_"))
    if not name or name.startswith("."):  # MLflow reads names as paths
        name = f"_{name}"
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 17]}_{_sha256(text.encode())}"


def param_text(value: Any) -> str:
    """One text for one value: text as it is, anything else as JSON (``1e-05``, ``true``, ``null``)."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def fit_metric(name: str) -> str:
    """Metric name of a value of fit.json: MLflow lists by the alphabet, and these come after the results."""
    return f"training_{legal_name(name)}"


def _shown(text: str, limit: int, where: str) -> str:
    """The text, or its beginning with a note where the whole is."""
    return text if len(text) <= limit else f"{text[:200]} ... ({len(text)} characters, whole in artifact {where})"


def _digest(path: Path) -> str:
    """Hash of a result file; of fit.json without its times and memory."""
    if path.name != "fit.json":
        return _sha256(path.read_bytes())
    return _sha256(params_text({k: v for k, v in read_json(path).items() if k not in VOLATILE}).encode())


def hash_of(value: Any) -> str:
    return _sha256(json.dumps(value, sort_keys=True).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def pretty(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
