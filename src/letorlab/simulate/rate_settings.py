"""What the learning-rate laboratory measures: populations, methods, and how sigma and lambda are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from letorlab.errors import InputError
from letorlab.simulate.label_noise import Bipartite, BradleyTerryLuce, Contaminated, PowerNoise
from letorlab.simulate.population import Population
from letorlab.simulate.rate_theory import Rate, hinge_rate, square_rate
from letorlab.simulate.supports import cantor, cube, helix, triangle, two_waves, weierstrass

Method = Literal["hinge", "square", "rhinge", "score", "linear"]
Tuning = Literal["theory", "theory, lambda of ambient 3", "validation"]


@dataclass(frozen=True)
class Setting:
    """A row of the study.

    Attributes
    ----------
    name : str
        Names its files and its random streams.
    population : Population
    method : str
    tuning : {"theory", "theory, lambda of ambient 3", "validation"}
        sigma_n and lambda_n of the theorem, or those with the lowest empirical ranking risk on as many documents more.
    width : float
        Factor of sigma_n in the theory's schedule, which fixes only the exponent.
    note : str
        What is known beforehand.
    """

    name: str
    population: Population
    method: Method
    tuning: Tuning = "theory"
    width: float = 1.0
    note: str = ""

    @property
    def surrogate(self) -> str:
        """The surrogate risk that the theorem speaks of, "hinge" or "square"; none where validation chooses by rank."""
        return self.method if self.method in ("hinge", "square") and self.tuning != "validation" else ""

    @property
    def rate(self) -> Rate | None:
        """The theorem's rate of the Gaussian methods; None where there is no theorem."""
        if self.method == "hinge":
            return hinge_rate(self.population)
        return square_rate(self.population) if self.method == "square" else None


FLOORED = "lambda_n is floored at 1e-10: the sufficient one is below what floating point resolves"
D1 = Population(helix(), triangle, Contaminated(0.3))
D4 = Population(helix(), triangle, BradleyTerryLuce(4.0))
D3 = Population(helix(), triangle, Bipartite())
D1_20 = Population(helix(20), triangle, Contaminated(0.3))
D4_WAVES = Population(helix(), two_waves, BradleyTerryLuce(4.0))
D4_20 = Population(helix(20), triangle, BradleyTerryLuce(4.0))

SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("d1_hinge", D1, "hinge"),
        Setting("d1_hinge_tuned", D1, "hinge", "validation"),
        Setting("d1_20_hinge", D1_20, "hinge", note=FLOORED),
        Setting("d1_20_hinge_lam3", D1_20, "hinge", "theory, lambda of ambient 3"),
        Setting("d1_20_hinge_tuned", D1_20, "hinge", "validation"),
        Setting("d1_cube_hinge", Population(cube(2, 3), triangle, Contaminated(0.3)), "hinge"),
        Setting("d1_cantor_hinge", Population(cantor(), triangle, Contaminated(0.3)), "hinge"),
        Setting("d2_hinge", Population(helix(), triangle, PowerNoise(0.25)), "hinge"),
        Setting("d3_hinge", D3, "hinge"),
        Setting("d3_square", D3, "square", width=0.8, note="f* is not continuous where both utilities are 0 or 1"),
        Setting("d4_square", D4, "square", width=0.8),
        Setting("d4_square_tuned", D4, "square", "validation"),
        Setting("d4_20_square", D4_20, "square", width=0.8, note=FLOORED),
        Setting("d4_20_square_lam3", D4_20, "square", "theory, lambda of ambient 3", width=0.8),
        Setting("d4_hinge", D4, "hinge"),
        Setting(
            "d4_rough_square", Population(cube(1, 1), weierstrass(0.5), BradleyTerryLuce(1.0), 0.5), "square", width=0.8
        ),
        Setting("d4_rhinge_tuned", D4, "rhinge", "validation", note="no theorem for this loss"),
        Setting("d4_score_tuned", D4, "score", "validation", note="contrast: score differences on the same kernel"),
        Setting("d4_waves_square_tuned", D4_WAVES, "square", "validation"),
        Setting(
            "d4_waves_linear_tuned",
            D4_WAVES,
            "linear",
            "validation",
            note="contrast: no linear score orders like the truth",
        ),
    )
}


def cells_of(block: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(setting, n) of all cells that a configuration's block asks for.

    Raises
    ------
    InputError
        If ``only`` names a setting that there is not.
    """
    unknown = [name for name in block.get("only", ()) if name not in SETTINGS]
    if unknown:
        raise InputError(f"simulate.rates.only: unknown {', '.join(unknown)}; known: {', '.join(SETTINGS)}")
    return [
        (name, n)
        for name, setting in SETTINGS.items()
        for n in block["n"]
        if name in block.get("only", SETTINGS) and n <= _largest(setting, block)
    ]


def _largest(setting: Setting, block: Mapping[str, Any]) -> int:
    return int(block["largest_tuned"] if setting.tuning == "validation" else max(block["n"]))
