"""MSLR, Yahoo and Istella text, by the blocks of config/README.md, on made-up miniatures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from layouts import write_folds, write_lines
from project import ROOT

from letorlab.datasets import catalogue, resolve
from letorlab.errors import InputError
from letorlab.evaluate import Evaluation
from letorlab.layout import fold_files
from letorlab.prepare import prepare
from letorlab.prepared import load_card, load_split
from letorlab.rankers.regression import Regression
from letorlab.sources import require_sources

SPLITS = ("train", "vali", "test")


def documented() -> dict[str, Any]:
    """The data sets of the YAML block that speaks of Yahoo."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "config/README.md").read_text(), re.DOTALL)
    return yaml.safe_load(next(block for block in blocks if "yahoo:" in block))["datasets"]


def lines(seed: int, first_qid: int, *, features: int, share: float, style: str = "{}:{:.6f}") -> list[str]:
    """Three queries of documents with grades 0..4, each naming a share of the features, without docid."""
    rng = np.random.default_rng(seed)
    result = []
    for qid in range(first_qid, first_qid + 3):
        for _ in range(int(rng.integers(3, 9))):
            named = np.flatnonzero(rng.random(features) < share) + 1
            words = " ".join(style.format(number, rng.random()) for number in named)
            result.append(f"{rng.integers(0, 5)} qid:{qid} {words} ")  # a blank at the end, as MSLR has it
    return result


def prepared(tmp_path: Path, block: dict[str, Any], folds: list[int]) -> Path:
    dataset = resolve("mine", {**block, "path": str(tmp_path / "d")})
    prepare(dataset, require_sources([dataset], None, tmp_path / "cache")["mine"], tmp_path / "out", folds=folds)
    return tmp_path / "out"


def evaluated(folder: Path, metrics: list[str]) -> Any:
    """Least squares on the training split of fold 1, measured on its test split under the card's profile."""
    train, test = load_split(folder, 1, "train"), load_split(folder, 1, "test")
    scores = Regression(lam=1.0).fit(train.X, train.y, train.qid_of_docs).predict(test.X)
    evaluation = Evaluation(metrics, 10, "map", load_card(folder)["profile"])
    return evaluation.per_query(scores, test, {})


def test_mslr_has_five_folds_136_features_and_its_own_measures(tmp_path):
    parts = [lines(part, 10 * part + 1, features=136, share=1.0) for part in range(5)]
    write_folds(tmp_path / "d", parts, end="\r\n")
    for name in ("mslr_web10k", "mslr_web30k"):
        known = catalogue()[name]
        assert (known.profile, known.features) == ("mslr", 136)
        assert sum(known.counts.labels.values()) == known.counts.documents
    assert documented()["mslr_web10k"] == {"folds_per_job": 1}
    folder = prepared(tmp_path, {"profile": "mslr", "features": 136}, [1, 2, 3, 4, 5])
    card = load_card(folder)
    assert (card["features"], card["queries"], len(card["labels"])) == (136, 15, 5)
    best = [max(int(line[0]) for line in part if f"qid:{q} " in line) for part in parts for q in qids(part)]
    assert card["queries_without_relevant"] == sum(grade < 2 for grade in best), "relevant from 2 on"
    assert set(load_split(folder, 1, "test").docid.tolist()) <= set("123456789"), "positions, where no docid is given"
    assert evaluated(folder, ["ndcg", "map", "mean_ndcg", "err"])["value"].between(0, 1).all()


def qids(part: list[str]) -> list[str]:
    return list(dict.fromkeys(re.search(r"qid:(\d+)", line)[1] for line in part))


def test_yahoo_is_one_fold_of_sparse_lines(tmp_path):
    block = documented()["yahoo"]
    parts = {
        split: lines(number, 10 * number + 1, features=699, share=0.2, style="{}:{:.4g}")
        for number, split in enumerate(SPLITS)
    }
    for split, name in zip(SPLITS, ("train", "valid", "test"), strict=True):
        write_lines(tmp_path / f"d/set1.{name}.txt", parts[split])
    folder = prepared(tmp_path, block, [1])
    card = load_card(folder)
    assert (card["features"], card["profile"], card["folds"]) == (700, "standard_exp", [1])
    test = load_split(folder, 1, "test")
    row = dict(word.split(":") for word in parts["test"][0].split()[2:])
    assert {str(number): value for number, value in enumerate(test.X[0], 1) if value} == {
        k: float(v) for k, v in row.items()
    }
    assert evaluated(folder, ["ndcg", "map", "err"])["value"].between(0, 1).all()
    (tmp_path / "d/set2.train.txt").write_text("1 qid:1 1:1\n")
    with pytest.raises(InputError, match=r"set2\.train\.txt: a second file or folder for the train file"):
        fold_files(tmp_path / "d")


def test_istella_has_values_that_no_method_can_square(tmp_path):
    block = documented()["istella"]
    for number, split in enumerate(SPLITS):
        text = lines(number, 10 * number + 1, features=220, share=0.9)
        rest = re.sub(r" 7:\S+| 8:\S+", "", text[0])
        text[0] = re.sub(r"qid:\d+", r"\g<0> 7:1.79769313486e+308 8:-3", rest)
        write_lines(tmp_path / f"d/{split}.txt", text)
    folder = prepared(tmp_path, block, [1])
    X = load_split(folder, 1, "train").X
    assert X.shape[1] == 220
    assert (X.min(), X.max()) == (0.0, 1.0)
    assert X[0, 6] == 1.0
    assert evaluated(folder, ["ndcg", "map"])["value"].between(0, 1).all()
    with pytest.raises(InputError, match=r"feature 7 holds 1\.79769e\+308"):
        prepared(tmp_path, {key: value for key, value in block.items() if key != "largest"}, [1])


def test_one_fold_lacks_no_file(tmp_path):
    write_lines(tmp_path / "d/train.txt", ["1 qid:1 1:1"])
    write_lines(tmp_path / "d/test.txt", ["1 qid:2 1:1"])
    with pytest.raises(InputError, match="Fold1 holds no file for vali"):
        prepared(tmp_path, {}, [1])
