"""Document scores as torch modules, started from a least-squares regression on the relevance."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn

from letorlab.errors import InputError
from letorlab.merged import Merged
from letorlab.queries import Floats
from letorlab.seeds import Seed, stream
from letorlab.solvers.least_squares import ridge


class Linear(nn.Module):
    """w'x, without intercept: only differences of scores count."""

    def __init__(self, weights: Floats) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.as_tensor(weights, dtype=torch.float64))

    def forward(self, X: Tensor) -> Tensor:
        return X @ self.weights


class Network(nn.Module):
    """w'x plus one hidden layer of tanh units on standardised features, whose outgoing weights start at 0.

    At the start it is the linear score, so that a network begins where the regression ends.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, weights: Floats, mean: Floats, scale: Floats, hidden: Floats) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.as_tensor(weights, dtype=torch.float64))
        self.hidden = nn.Parameter(torch.as_tensor(hidden, dtype=torch.float64))
        self.bias = nn.Parameter(torch.zeros(len(hidden), dtype=torch.float64))
        self.out = nn.Parameter(torch.zeros(len(hidden), dtype=torch.float64))
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float64))
        self.register_buffer("scale", torch.as_tensor(scale, dtype=torch.float64))

    def forward(self, X: Tensor) -> Tensor:
        z = (X - self.mean) / self.scale
        return X @ self.weights + torch.tanh(z @ self.hidden.T + self.bias) @ self.out


def make_scorer(
    scorer: str | nn.Module, merged: Merged, *, start_lam: float | None = 0.0, n_hidden: int = 16, seed: Seed = 0
) -> nn.Module:
    """A new module from (n, n_features) to (n,) scores, in float64.

    Parameters
    ----------
    scorer : {"linear", "mlp"} or torch.nn.Module
        A module of the caller is copied, and starts from its own parameters; its scores may have shape (n, 1).
    merged : letorlab.merged.Merged
        Training documents.
    start_lam : float or None
        Ridge penalty of the regression that the two others start from; 0 is least squares, None starts them at 0.
    n_hidden : int
        Hidden units of "mlp".
    seed : int, str or sequence of them
        Of its hidden weights.
    """
    if isinstance(scorer, nn.Module):
        return copy.deepcopy(scorer).double()
    if scorer not in ("linear", "mlp"):
        raise InputError(f"unknown scorer {scorer!r}; known: linear, mlp, or a torch module")
    weights = regression_start(merged, start_lam)
    if scorer == "linear":
        return Linear(weights)
    if n_hidden < 1:
        raise InputError(f"n_hidden must be at least 1; got {n_hidden}")
    mean = np.average(merged.documents, axis=0, weights=merged.weight)
    scale = np.sqrt(np.average((merged.documents - mean) ** 2, axis=0, weights=merged.weight))
    n_features = merged.documents.shape[1]
    hidden = stream(seed, "sinkprop", "hidden").normal(size=(n_hidden, n_features)) / np.sqrt(n_features)
    return Network(weights, mean, np.where(scale > 0, scale, 1.0), hidden)


def regression_start(merged: Merged, start_lam: float | None) -> Floats:
    """Weights of the ridge regression (None: zeros), scaled so that the scores have unit spread within queries."""
    if start_lam is None:
        return np.zeros(merged.documents.shape[1])
    root = np.sqrt(merged.weight)
    X = np.column_stack([merged.documents, np.ones(len(root))])
    weights = ridge(X * root[:, None], merged.relevance * root, start_lam).coef[:-1]
    return weights / spread_within(merged, merged.documents @ weights)


def spread_within(merged: Merged, scores: Floats) -> float:
    """Root of the mean variance of the scores (n_documents,) within queries; 1 if they are constant there."""
    starts, phi = merged.offsets[:-1], scores[merged.document]
    sizes = np.add.reduceat(merged.mass, starts)
    mean = np.add.reduceat(merged.mass * phi, starts) / sizes
    apart = phi - np.repeat(mean, np.diff(merged.offsets))
    variance = float(np.mean(np.add.reduceat(merged.mass * apart**2, starts) / sizes))
    return float(np.sqrt(variance)) if variance > 1e-24 * max(float(np.mean(phi**2)), 1e-300) else 1.0
