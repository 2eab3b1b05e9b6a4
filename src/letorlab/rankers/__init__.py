"""The ranking methods, by the name that a configuration uses.

A ranker is a scikit-learn style estimator with ``fit(X, y, qid)`` and ``predict(X, qid)``, see
`letorlab.rankers.protocol`. Entries are written ``module:Class`` and imported on demand, so that a study pays only
for the libraries of its own methods.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from letorlab.errors import InputError

if TYPE_CHECKING:
    from letorlab.rankers.protocol import Ranker

RANKERS = {
    "regression": "letorlab.rankers.regression:Regression",
    "ranksvm": "letorlab.rankers.ranksvm:RankSVM",
    "gaussian": "letorlab.rankers.gaussian:GaussianPairRanker",
    "pairkernel": "letorlab.rankers.pairkernel:PairKernelRanker",
    "l1": "letorlab.rankers.l1:L1PairRanker",
    "svmcompare": "letorlab.rankers.svmcompare:SVMCompare",
    "sinkprop": "letorlab.rankers.sinkprop:SinkProp",
    "listwise": "letorlab.rankers.listwise:ListwiseRanker",
    "adarank": "letorlab.rankers.adarank:AdaRank",
    "rankboost": "letorlab.rankers.rankboost:RankBoost",
    "coordinate_ascent": "letorlab.rankers.coordinate_ascent:CoordinateAscent",
    "lambdamart": "letorlab.rankers.lambdamart:LambdaMART",
    "lambdamart_xgboost": "letorlab.rankers.lambdamart_xgboost:XGBoostLambdaMART",
    "gbrt": "letorlab.rankers.trees:GBRT",
    "random_forest": "letorlab.rankers.trees:RandomForest",
    "best_feature": "letorlab.rankers.reference:BestFeature",
    "random": "letorlab.rankers.reference:RandomScores",
    "constant": "letorlab.rankers.reference:ConstantScores",
}

# Of the rankers that need an extra: the library, which is also the extra's name.
LIBRARIES = {"lambdamart": "lightgbm", "lambdamart_xgboost": "xgboost"}


def missing_library(name: str) -> str | None:
    """The optional library that a ranker needs, if it is not installed; nothing is imported."""
    library = LIBRARIES.get(name)
    return None if library is None or importlib.util.find_spec(library) else library


def ranker_module(name: str) -> str:
    """The module that defines a ranker; raises InputError with the known names if there is none."""
    if name not in RANKERS:
        raise InputError(f"unknown ranker {name!r}; known: {', '.join(RANKERS)}")
    return RANKERS[name].partition(":")[0]


def ranker_class(name: str) -> type[Ranker]:
    """The class behind a name of `RANKERS`, imported now."""
    module, class_name = ranker_module(name), RANKERS[name].partition(":")[2]
    return getattr(importlib.import_module(module), class_name)
