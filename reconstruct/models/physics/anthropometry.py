"""Masses, centres and radii of gyration of the segments of an adult: de Leva 1996, table 4.

P. de Leva, Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, Journal of Biomechanics 29(9), 1996. The ends of the
trunk's parts and of the head are the seventh cervical vertebra (CERV), xiphoid (XYPH), omphalion (OMPH) and the middle of the hip
joints (MIDH); of hands the wrist and the fingertip; of shanks knee and ankle joint centre; of feet heel and tip of the toes.
"""

from dataclasses import dataclass
from enum import StrEnum

from config.errors import DuocapError

BODY_MASS_INDEX = {"female": 20.6, "male": 24.1, "mean": 22.3}  # kg/m^2, of the subjects the tables were measured on
LIGHTEST_KG, HEAVIEST_KG = 5.0, 400.0


class Anthropometry(StrEnum):
    """Which table of body segments is used: that of women, of men, or the mean of both."""

    FEMALE = "female"
    MALE = "male"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class SegmentShape:
    """One segment.

    Attributes:
        mass: mass, as a share of the body's.
        center: position of the centre of mass, as a share of the way from the first end to the second.
        sagittal, transverse, longitudinal: radii of gyration about the centre, shares of the length, about the axes forwards,
            sideways and along.
    """

    mass: float
    center: float
    sagittal: float
    transverse: float
    longitudinal: float


# mass, centre, sagittal, transverse, longitudinal in per cent: women, men
TABLE = {
    "head": ((6.68, 48.41, 27.1, 29.5, 26.1), (6.94, 50.02, 30.3, 31.5, 26.1)),  # top of the head to CERV
    "upperTrunk": ((15.45, 50.50, 46.6, 31.4, 44.9), (15.96, 50.66, 50.5, 32.0, 46.5)),  # CERV to XYPH
    "middleTrunk": ((14.65, 45.12, 43.3, 35.4, 41.5), (16.33, 45.02, 48.2, 38.3, 46.8)),  # XYPH to OMPH
    "lowerTrunk": ((12.47, 49.20, 43.3, 40.2, 44.4), (11.17, 61.15, 61.5, 55.1, 58.7)),  # OMPH to MIDH
    "upperArm": ((2.55, 57.54, 27.8, 26.0, 14.8), (2.71, 57.72, 28.5, 26.9, 15.8)),
    "forearm": ((1.38, 45.59, 26.1, 25.7, 9.4), (1.62, 45.74, 27.6, 26.5, 12.1)),
    "hand": ((0.56, 34.27, 24.4, 20.8, 15.4), (0.61, 36.24, 28.8, 23.5, 18.4)),
    "thigh": ((14.78, 36.12, 36.9, 36.4, 16.2), (14.16, 40.95, 32.9, 32.9, 14.9)),
    "shank": ((4.81, 43.52, 26.7, 26.3, 9.2), (4.33, 43.95, 25.1, 24.6, 10.2)),
    "foot": ((1.29, 40.14, 29.9, 27.9, 13.9), (1.37, 44.15, 25.7, 24.5, 12.4)),
}
TRUNK_MM = {"upperTrunk": (228.0, 242.1), "middleTrunk": (205.3, 215.5), "lowerTrunk": (181.5, 145.7)}  # lengths: women, men


def _read_table_figure(female: float, male: float, table: Anthropometry) -> float:
    """Return the figure of a table, of women and men."""
    return {Anthropometry.FEMALE: female, Anthropometry.MALE: male, Anthropometry.MEAN: 0.5 * (female + male)}[table]


def read_segment_shape(name: str, table: Anthropometry) -> SegmentShape:
    """Return a segment of a table; the masses of all segments, those of limbs twice, sum to 1 within 0.0002."""
    female, male = TABLE[name]
    return SegmentShape(*(0.01 * _read_table_figure(f, m, table) for f, m in zip(female, male, strict=True)))


def compute_trunk_levels(table: Anthropometry) -> tuple[float, float]:
    """Return where xiphoid and omphalion are, as shares of the way from CERV to MIDH."""
    lengths = [_read_table_figure(female, male, table) for female, male in TRUNK_MM.values()]
    return lengths[0] / sum(lengths), (lengths[0] + lengths[1]) / sum(lengths)


def estimate_mass_kg(height_m: float, table: Anthropometry = Anthropometry.MEAN) -> float:
    """Return the mass of a body of this height with the body-mass index of those the table was measured on [kg]."""
    return BODY_MASS_INDEX[table] * height_m**2


def check_mass_kg(mass_kg: float, what: str = "mass") -> float:
    """Return the mass of a whole body. Raises DuocapError: it is nobody's."""
    if not LIGHTEST_KG <= mass_kg <= HEAVIEST_KG:
        raise DuocapError(f"{what} {mass_kg:g} kg: expected the mass of a person, {LIGHTEST_KG:g} to {HEAVIEST_KG:g} kg")
    return float(mass_kg)
