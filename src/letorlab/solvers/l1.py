"""Convex margin risks plus an l1 norm on pair atoms: working sets, Newton steps, and a certified duality gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from letorlab.atoms import Atoms, Dictionary, chunks
from letorlab.losses import MarginLoss, PowerHinge, SmoothHinge, SmoothLoss, Square
from letorlab.pairblocks import Block, PairBlocks
from letorlab.pairmaps import Risk, Values, risk
from letorlab.queries import Floats
from letorlab.solvers import Result, relative_gap
from letorlab.solvers.lasso_quadratic import lasso_quadratic

WIDTHS = 2.0 * 0.3 ** np.arange(17)  # of the rounded kink of the hinge, from 2 to 1e-8
ADDED = 16  # the fewest atoms that join at a time
SHARE = 0.1  # of the gap of the whole problem, to which the problem on the working set is solved
STEPS = 200  # of Newton's method on one working set
PATIENCE = 10  # working sets without a smaller gap
HALVINGS = 8  # of a step; then the reach is what was wrong
NEAREST, FARTHEST = 1e-6, 4.0  # reach
SUFFICIENT = 1e-4  # share of the expected decrease that a step must reach


def largest_lam(dictionary: Dictionary, loss: MarginLoss) -> float:
    """The smallest lam at which the solution is 0: |psi'(0)| times the largest entry of 1/2 sum_p c_p D_ij(p)."""
    slopes = risk(dictionary, np.zeros(dictionary.shape), loss).gradient
    return float(np.abs(slopes).max())


def minimise_l1_risk(
    dictionary: Dictionary,
    loss: MarginLoss,
    lam: float,
    *,
    init: Floats | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Result:
    """Minimise P(alpha) = sum_p c_p psi(f_p) + lam sum_ij |alpha_ij| over antisymmetric alpha (m, m).

    One structured product gives the gradient Gamma over all atoms. Those that violate |Gamma_ij| <= lam the most join
    the working set, on which Newton steps solve the problem, each a quadratic with an l1 norm. The hinge is descended
    on through `SmoothHinge` with a width that shrinks until the gap of the hinge itself is small enough.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms, and the weights c of the pairs.
    loss : MarginLoss
    lam : float
        More than 0.
    init : (m, m) float64, optional
        Start, for example the solution at a larger lam.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        The most gradients over all atoms.

    Returns
    -------
    Result
        ``n_iter`` counts gradients over all atoms. The gap is that of the best point and the best dual point seen: any
        u with |Gamma(c u)_ij| <= lam gives D(u) = -sum_p c_p psi*(-u_p) <= min P, and u = -psi'(f) is scaled to that.
    """
    start = np.zeros(dictionary.shape) if init is None else init
    search = _Search(dictionary, loss, lam, tol, max_iter, start)
    for psi in _smoothings(loss):
        search.solve(psi)
        if search.finished:
            break
    return search.result()


def _smoothings(loss: MarginLoss) -> list[SmoothLoss]:
    if isinstance(loss, Square | PowerHinge):
        return [loss]
    return [SmoothHinge(float(width)) for width in WIDTHS]


@dataclass
class _Search:
    """The path of working sets, and the best primal and dual values on it."""

    dictionary: Dictionary
    loss: MarginLoss
    lam: float
    tol: float
    max_iter: int
    alpha: Floats  # the point
    best: Floats = field(init=False)
    n_iter: int = 0
    primal: float = np.inf
    dual: float = 0.0  # u = 0: no convex loss is negative

    def __post_init__(self) -> None:
        self.best = self.alpha

    def solve(self, psi: SmoothLoss) -> None:
        """Grow the working set until the smoothed problem's own gap no longer matters, or nothing improves."""
        smoothing, reach, least, idle = None if psi is self.loss else psi, 1.0, np.inf, 0
        while not self.finished:
            at = self._look(smoothing)
            smooth_gap = _gap_bound(at, self.alpha, self.lam)
            if self.finished or (smoothing is not None and smooth_gap <= 0.3 * self.gap):
                return
            idle = 0 if smooth_gap < 0.9 * least else idle + 1
            if idle >= PATIENCE:
                return  # rounding error is all that is left
            least = min(least, smooth_gap)
            atoms = self._working_set(at.gradient)
            problem = _Restricted(self.dictionary, atoms, psi, 2.0 * self.lam, reach)
            coef = problem.descend(atoms.entries(self.alpha), SHARE * max(smooth_gap, self.tol * self.primal))
            reach = problem.reach
            self.alpha = atoms.matrix(coef, len(self.alpha))

    def _look(self, smoothing: MarginLoss | None) -> Risk:
        """One pass over the pairs and all atoms; notes what it says about the problem itself."""
        self.n_iter += 1
        at = risk(self.dictionary, self.alpha, self.loss, smoothing)
        primal = at.value + self.lam * float(np.abs(self.alpha).sum())
        if primal < self.primal:
            self.primal, self.best = primal, self.alpha
        self.dual = max(self.dual, _dual_value(at, self.loss, self.lam))
        return at

    def _working_set(self, gradient: Floats) -> Atoms:
        """The atoms in use, and those whose slope is the steepest beyond lam."""
        m = len(gradient)
        upper = np.abs(np.triu(gradient, 1)).ravel()
        used = np.flatnonzero(np.triu(self.alpha, 1).ravel())
        upper[used] = 0.0
        n_added = min(max(ADDED, len(used)), int(np.count_nonzero(upper > self.lam)))
        added = np.argpartition(-upper, n_added - 1)[:n_added] if n_added else np.zeros(0, dtype=np.int64)
        return Atoms.flat(np.sort(np.concatenate([used, added])), m)

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def finished(self) -> bool:
        return self.n_iter >= self.max_iter or (self.n_iter > 0 and self.gap <= self.tol * self.primal)

    def result(self) -> Result:
        gap = relative_gap(self.primal, self.gap)
        return Result(self.best, self.primal, gap, n_iter=self.n_iter, converged=bool(gap <= self.tol))


def _gap_bound(at: Risk, coef: Floats, lam: float) -> float:
    """Bound of the gap of the (smoothed) problem at a point, from its slopes.

    With rho = min(1, lam / max |slope|) the dual point rho u is feasible, and the dual being concave and 0 at 0, the
    gap is at most that of u, <slope, coef> + lam |coef|, plus (1 - rho) sum_p c_p u_p.
    """
    steepest = float(np.abs(at.gradient).max())
    rho = min(1.0, lam / steepest) if steepest > 0 else 1.0
    complementarity = float(np.sum(at.gradient * coef)) + lam * float(np.abs(coef).sum())
    return max(complementarity, 0.0) + (1.0 - rho) * abs(at.duals)


def _dual_value(at: Risk, loss: MarginLoss, lam: float) -> float:
    """The largest D(rho u) over the scales rho that make the dual point feasible.

    D(rho u) = rho sum c u - rho^e rest, with e = `MarginLoss.dual_power`.
    """
    steepest = float(np.abs(at.gradient).max())
    most = lam / steepest if steepest > 0 else np.inf
    power, rest = loss.dual_power, at.conjugates + at.duals
    if power == 1.0:
        return min(most, 1.0) * at.duals
    if at.duals <= 0.0 or rest <= 0.0:
        return 0.0
    rho = min(most, (at.duals / (power * rest)) ** (1.0 / (power - 1.0)))
    return float(rho * at.duals - rho**power * rest)


class _Map:
    """A few atoms of a dictionary as a map from their coefficients, on the landmarks that they need."""

    def __init__(self, dictionary: Dictionary, atoms: Atoms) -> None:
        landmarks, place = np.unique(np.concatenate([atoms.first, atoms.second]), return_inverse=True)
        self.pairs: PairBlocks = dictionary.pairs
        self.shape = (len(atoms),)
        self.dictionary = dictionary.on(landmarks)
        self.atoms = Atoms(place[: len(atoms)], place[len(atoms) :])

    def values(self, coef: Floats) -> Values:
        return self.dictionary.values(self.atoms.matrix(coef, self.dictionary.shape[0]))

    def transpose(self, parts: Iterable[tuple[Block, Floats]]) -> Floats:
        return 2.0 * self.atoms.entries(self.dictionary.transpose(parts))


class _Restricted:
    """The problem sum_p c_p psi(f_p) + lam ||b||_1 on the coefficients b of a working set.

    A step minimises a model with a curvature that bounds psi while no margin moves by more than the reach, see
    `SmoothLoss.curvature`. The reach shrinks while whole steps succeed, which makes them Newton's, and grows where they
    fail, or where the model has no minimum because no pair within reach is curved.
    """

    def __init__(self, dictionary: Dictionary, atoms: Atoms, psi: SmoothLoss, lam: float, reach: float) -> None:
        self.psi, self.lam, self.reach = psi, lam, reach
        self._map = _Map(dictionary, atoms)
        self._quadratic = isinstance(psi, Square)

    def descend(self, coef: Floats, target: float) -> Floats:
        """Newton steps from `coef` until the gap is at most the target, or no step helps."""
        at = risk(self._map, coef, self.psi)
        for _ in range(STEPS):
            if _gap_bound(at, coef, self.lam) <= target:
                break
            found = self._step(coef, at)
            if found is not None:
                coef, at = found
            elif self.reach == FARTHEST:
                break
            else:
                self.reach = min(8.0 * self.reach, FARTHEST)
        return coef

    def _step(self, coef: Floats, at: Risk) -> tuple[Floats, Risk] | None:
        """One step, halved until it decreases the objective as it should."""
        H = self._curvature(coef)
        trial = lasso_quadratic(H, H @ coef - at.gradient, self.lam, coef)
        step = trial - coef
        objective = at.value + self._norm(coef)
        expected = float(at.gradient @ step) + self._norm(trial) - self._norm(coef)
        size = 1.0
        for _ in range(HALVINGS if expected < 0.0 else 0):
            point = coef + size * step if size < 1.0 else trial
            there = risk(self._map, point, self.psi)
            if there.value + self._norm(point) <= objective + SUFFICIENT * size * expected:
                self.reach = max(0.3 * self.reach, NEAREST) if size == 1.0 else min(4.0 * self.reach, FARTHEST)
                return point, there
            size *= 0.5
        return None

    def _norm(self, coef: Floats) -> float:
        return self.lam * float(np.abs(coef).sum())

    def _curvature(self, coef: Floats) -> Floats:
        """sum_p c_p curvature_p D_a(p) D_b(p), (n_atoms, n_atoms)."""
        atoms, dictionary = self._map.atoms, self._map.dictionary
        if self._quadratic:
            return 2.0 * dictionary.gram(atoms)
        H = np.zeros((len(atoms), len(atoms)))
        values, column = self._map.values(coef), dictionary.columns(atoms)
        for block in self._map.pairs.blocks:
            curvature = block.keep_strict(block.weight * self.psi.curvature(values(block), self.reach))
            rows, cols = np.nonzero(curvature)
            for part in chunks(len(rows), len(atoms)):
                better, worse = rows[part], cols[part]
                D = column(block.rows.start + better, block.cols.start + worse)
                D *= np.sqrt(curvature[better, worse])[:, None]
                H += D.T @ D
        return H
