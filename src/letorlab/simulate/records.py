"""What a simulation tells MLflow: a run for its tables and figures, and one for each curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from letorlab.runrecord import Point, Record, make_record


class Curve(NamedTuple):
    """A curve of a simulation: its name, what it belongs to, and its points."""

    name: str
    params: Mapping[str, Any]
    points: list[Point]


def simulation_records(
    name: str, folder: Path, settings: Mapping[str, Any], curves: Iterable[Curve], revision: str
) -> list[Record]:
    """Records of a simulation, for `letorlab.tracking.sync_records`.

    Parameters
    ----------
    name : str
        Of the simulation.
    folder : Path
        Holds its tables (csv) and figures (svg).
    settings : mapping
        Its block of the configuration.
    curves : iterable of Curve
    revision : str
        Of the code.
    """
    origin = {"code_version": revision}
    whole = make_record(
        name,
        f"tables and figures · {name}",
        None,
        {"kind": "simulation"},
        settings,
        [],
        origin=origin,
        files={path.name: path for path in sorted(folder.glob("*.csv"))},
        drawings={path.name: path for path in sorted(folder.glob("*.svg"))},
    )
    runs = [
        make_record(
            f"{name}/{curve.name}", curve.name, None, {"kind": "curve"}, curve.params, curve.points, origin=origin
        )
        for curve in curves
    ]
    return [whole, *runs]
