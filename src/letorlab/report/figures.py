"""The figures of a study as SVG: NDCG@k curves and l1 paths of each data set, and an overview of all of them.

The same tables give the same bytes: no date, fixed identifiers, and text drawn as outlines, so that the
figures also look the same on machines without our fonts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from letorlab.csvtable import read_table
from letorlab.report.curves import ndcg_figure
from letorlab.report.overview import overview_figure
from letorlab.report.paths import path_figure


def write_figures(
    summary: pd.DataFrame,
    published: pd.DataFrame,
    methods: Mapping[str, Any],
    folder: Path,
    l1_paths: Sequence[Path] = (),
) -> list[Path]:
    """Write ``overview.svg`` and, a data set, ``ndcg.<dataset>.svg`` and ``path.<dataset>.svg``; return their paths.

    Parameters
    ----------
    summary, published : DataFrame
        The tables of these names, as `letorlab.csvtable.read_table` gives them.
    methods : mapping
        The configuration's method blocks by name: their order fixes the colours, ``ranker`` says which are
        reference scorers (drawn grey), ``published`` names the published row of a method.
    folder : Path
        Where the files go.
    l1_paths : sequence of Path
        Tables ``<dataset>/<method>.csv`` of regularisation paths; a data set without one gets no such figure.
    """
    paths = [folder / "overview.svg"]
    overview_figure(summary, published, methods, paths[0])
    for dataset in summary["dataset"].unique():
        paths.append(folder / f"ndcg.{dataset}.svg")
        ndcg_figure(summary, dataset, methods, paths[-1])
        tables = {path.stem: read_table(path) for path in l1_paths if path.parent.name == dataset}
        if tables:
            paths.append(folder / f"path.{dataset}.svg")
            path_figure(tables, dataset, methods, paths[-1])
    return paths
