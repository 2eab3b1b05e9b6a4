"""Metric profiles: what the measures of an evaluation tool mean.

Tools give one name to different numbers:

- ``letor3`` is the official LETOR 3.0 tool: gain 2^label - 1, ranks 1 *and* 2 undiscounted, rank i >= 3 divided by
  log2(i); NDCG and P of a list with fewer than k documents are 0 at k.
- ``letor4`` is the official LETOR 4.0 tool: as ``letor3``, but P@k takes a short list as padded with documents that
  are not relevant, and there is MeanNDCG.
- ``mslr`` is the same tool for the MSLR-WEB sets: grades up to 4, relevant from 2 on.
- ``standard_exp`` and ``standard_linear`` discount rank i by log2(1 + i), and measure a short list at its own length.

In every profile a query without relevant document is 0, unless a study says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from letorlab.errors import InputError
from letorlab.queries import RELEVANT, Floats


@dataclass(frozen=True)
class Profile:
    """What the measures of one evaluation tool mean.

    Parameters
    ----------
    exponential_gain : bool
        Gain 2^label - 1; otherwise the label itself.
    discount : callable
        Ranks 1, 2, ... (float array) -> weights of the gains.
    max_label : float
        Labels above it are refused: the tool has no gain for them, or the gain overflows.
    gain_of_short_lists, precision_of_short_lists : bool
        Whether DCG@k and NDCG@k (P@k) take a list of fewer than k documents as one that is padded with irrelevant
        documents; otherwise it is 0 at k.
    relevant_from : float
        Labels at or above it are relevant for precision, AP, RR and RBP.
    top_grade : float
        The grade that ERR takes as satisfying with probability 1 - 2^-top_grade; higher ones are refused there.
    """

    exponential_gain: bool
    discount: Callable[[Floats], Floats]
    max_label: float
    gain_of_short_lists: bool
    precision_of_short_lists: bool
    relevant_from: float = RELEVANT
    top_grade: float = 4.0

    def gain(self, labels: Floats) -> Floats:
        return np.exp2(labels) - 1.0 if self.exponential_gain else labels


def _letor_discount(ranks: Floats) -> Floats:
    return 1.0 / np.log2(np.maximum(ranks, 2.0))


def _standard_discount(ranks: Floats) -> Floats:
    return 1.0 / np.log2(1.0 + ranks)


def _letor(short_precision: bool, top: float, relevant_from: float = RELEVANT) -> Profile:
    return Profile(True, _letor_discount, top, False, short_precision, relevant_from, top_grade=top)


PROFILES = {
    "letor3": _letor(False, top=2.0),
    "letor4": _letor(True, top=2.0),
    "mslr": _letor(True, top=4.0, relevant_from=2.0),
    "standard_exp": Profile(True, _standard_discount, 31.0, True, True),
    "standard_linear": Profile(False, _standard_discount, np.inf, True, True),
}


def profile_named(name: str) -> Profile:
    if name not in PROFILES:
        raise InputError(f"unknown metric profile {name!r}; known: {', '.join(PROFILES)}")
    return PROFILES[name]
