"""The regularisation path of an l1-penalised method: from the weight at which nothing is in use downwards."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from letorlab.queries import Queries
from letorlab.rankers.l1 import L1PairRanker

SHARES = np.geomspace(1.0, 1e-3, 13)  # of lam_max: four to a factor of ten
log = logging.getLogger(__name__)


def path_rows(params: Mapping[str, Any], train: Queries, vali: Queries) -> list[dict[str, Any]]:
    """Fit along the path, each fit from the one before.

    Parameters
    ----------
    params : mapping
        Parameters of the ranker; lam and its unit are replaced.

    Returns
    -------
    list of dict
        ``lam_share``, ``lam``, ``n_atoms``, ``norm`` (sum |alpha_ij|), ``objective``, ``relative_gap``, ``converged``,
        ``clipped_risk`` on the training pairs, ``error`` and ``validation_error`` (share of ordered pairs in the wrong
        order), and ``seconds`` of the fit alone.
    """
    rows, previous = [], None
    for share in SHARES.tolist():
        model = L1PairRanker(**{**params, "lam": share, "lam_unit": "max"})
        start = time.perf_counter()
        model.fit(train.X, train.y, train.qid_of_docs, init=previous)
        seconds = time.perf_counter() - start
        rows.append(_row(share, model, train, vali) | {"seconds": seconds})
        previous = model
        log.info("lam = %.1e of its maximum: %d atoms, %.2f s", share, rows[-1]["n_atoms"], rows[-1]["seconds"])
    return rows


def _row(share: float, model: L1PairRanker, train: Queries, vali: Queries) -> dict[str, Any]:
    fitted, unseen = ((part.X, part.y, part.qid_of_docs) for part in (train, vali))
    return {
        "lam_share": share,
        "lam": model.lam_,
        "n_atoms": len(model.weights_),
        "norm": 2.0 * float(np.abs(model.weights_).sum()),
        "objective": model.result_.objective,
        "relative_gap": model.result_.relative_gap,
        "converged": "true" if model.result_.converged else "false",
        "clipped_risk": model.clipped_risk(*fitted),
        "error": model.score_risk(*fitted),
        "validation_error": model.score_risk(*unseen),
    }
