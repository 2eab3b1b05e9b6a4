"""The documentation: its links lead somewhere, its imports exist, its examples run."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

from letorlab.rankers.gaussian import GaussianPairRanker
from letorlab.rankers.pairkernel import PairKernelRanker

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/*.md")),
    ROOT / "config/README.md",
    ROOT / "results/README.md",
]
EXAMPLES = ROOT / "docs/examples"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_imports_of_a_page_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        tree = ast.parse(block)
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(ast.Module(imports, []), str(page), "exec"), {})


def test_every_page_is_linked_from_the_first():
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)\)", (ROOT / "README.md").read_text()))
    assert linked == {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")}


def test_the_preferences_that_no_score_expresses_are_learnt():
    """What the picture of docs/gaussian.md shows, in numbers."""
    example = runpy.run_path(str(EXAMPLES / "preferences.py"))
    wrong = example["wrong_share"]
    data, unseen = example["ring"](40, "train"), example["ring"](200, "test")
    assert wrong(GaussianPairRanker(sigma=1.0, lam=1e-4).fit(*data), unseen) < 0.1
    assert wrong(PairKernelRanker(kernel="linear", lam=1e-4).fit(*data), unseen) > 0.35
    data, unseen = example["circular_pairs"](300, "train"), example["circular_pairs"](2000, "test")
    assert wrong(GaussianPairRanker(sigma=1.0, lam=1e-4).fit(*data), unseen) < 0.05
    assert wrong(PairKernelRanker(sigma=1.0, lam=1e-4).fit(*data), unseen) > 0.3
