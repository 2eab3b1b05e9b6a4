"""Two preferences that no linear score can express, and what the pairwise Gaussian model makes of them.

    python docs/examples/preferences.py [picture.svg]

Top: a document is better the nearer it lies to a ring. Bottom: places on a circle, of which each beats those up to half
a turn behind it; rock, paper and scissors are three of them. There are no scores behind such a preference, so its
training data are pairs: queries of two documents.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from letorlab.pairblocks import PairBlocks
from letorlab.queries import Floats, Queries, Text
from letorlab.rankers.gaussian import GaussianPairRanker
from letorlab.rankers.pairkernel import PairKernelRanker
from letorlab.report.drawing import INK, WIDTH, paper_style, save_svg
from letorlab.seeds import stream

Data = tuple[Floats, Floats, Text]


def ring(n_queries: int, name: str) -> Data:
    """Queries of 20 documents in the square; three grades by the distance to the circle of radius 1."""
    X = stream("ring", name).uniform(-2, 2, (20 * n_queries, 2))
    distance = np.abs(np.hypot(*X.T) - 1)
    return X, np.digitize(-distance, [-0.5, -0.2]).astype(float), np.repeat(np.arange(n_queries), 20).astype(str)


def circle(angle: Floats) -> Floats:
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def circular_pairs(n_pairs: int, name: str) -> Data:
    """Queries of two places on the circle; the one ahead, by less than half a turn, is relevant."""
    angle = stream("circle", name).uniform(0, 2 * np.pi, (n_pairs, 2))
    ahead = np.sin(angle[:, 0] - angle[:, 1]) > 0
    y = np.stack([ahead, ~ahead], axis=1).astype(float)
    return circle(angle.ravel()), y.ravel(), np.repeat(np.arange(n_pairs), 2).astype(str)


def wrong_share(ranker: GaussianPairRanker | PairKernelRanker, data: Data) -> float:
    """Share of the strict pairs that a rule orders wrongly."""
    queries = Queries.from_rows(*data)
    return ranker.score_risk(*data) / PairBlocks(queries.y, queries.offsets, "pairs").total


def ring_row(row: list[Axes]) -> None:
    data, unseen = ring(40, "train"), ring(200, "test")
    linear = PairKernelRanker(kernel="linear", lam=1e-4).fit(*data)
    gaussian = GaussianPairRanker(sigma=1.0, lam=1e-4).fit(*data)
    side = np.linspace(-2, 2, 101)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    scores = [-np.abs(np.hypot(*grid.T) - 1), linear.predict(grid), gaussian.predict(grid)]
    titles = titled("nearer the ring is better", "linear score", "pairwise Gaussian", linear, gaussian, unseen)
    for axes, values, title in zip(row, scores, titles, strict=True):
        centred = values - np.median(values)
        show(axes, centred.reshape(101, 101), title, extent=(-2, 2, -2, 2))
        axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor=INK, linewidth=0.6, linestyle="--"))
        axes.set_xlabel("feature 1")
    row[0].set_ylabel("feature 2")


def circle_row(row: list[Axes]) -> None:
    data, unseen = circular_pairs(300, "train"), circular_pairs(2000, "test")
    score = PairKernelRanker(sigma=1.0, lam=1e-4).fit(*data)
    gaussian = GaussianPairRanker(sigma=1.0, lam=1e-4).fit(*data)
    angle = np.linspace(0, 2 * np.pi, 101)
    first, second = (part.ravel() for part in np.meshgrid(angle, angle, indexing="ij"))
    rules = [rule.decision(circle(first), circle(second)) for rule in (score, gaussian)]
    titles = titled(
        "ahead by less than half a turn wins", "score difference", "pairwise Gaussian", score, gaussian, unseen
    )
    for axes, values, title in zip(row, [np.sin(first - second), *rules], titles, strict=True):
        show(axes, np.sign(values).reshape(101, 101), title, extent=(0, 360, 0, 360))
        axes.set_xticks([0, 120, 240, 360])
        axes.set_yticks([0, 120, 240, 360])
        axes.set_xlabel("place of x', degrees")
    row[0].set_ylabel("place of x, degrees")


def titled(
    truth: str, first: str, second: str, one: PairKernelRanker, other: GaussianPairRanker, unseen: Data
) -> list[str]:
    """Panel titles, with the share of unseen pairs that each rule orders wrongly."""
    shares = [f"{name}: {wrong_share(rule, unseen):.1%} wrong" for name, rule in ((first, one), (second, other))]
    return [truth, *shares]


def show(axes: Axes, values: Floats, title: str, *, extent: tuple[float, float, float, float]) -> None:
    limit = np.abs(values).max()
    axes.imshow(values, origin="lower", extent=extent, cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
    axes.set_title(title, fontweight="normal")
    axes.grid(visible=False)


def picture(path: Path) -> None:
    with paper_style():
        figure = Figure(figsize=(WIDTH, 5.0), layout="constrained")
        rows = figure.subplots(2, 3).tolist()
        ring_row(rows[0])
        circle_row(rows[1])
        save_svg(figure, path)


if __name__ == "__main__":
    picture(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/preferences.svg"))
