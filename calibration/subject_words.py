"""What a fit says of a body, in words: how long each bone is, how well that is known, and from where."""

from dataclasses import dataclass

import numpy as np

from calibration.subject_adjust import height_of
from calibration.subject_fit import MEASURED, SubjectFit
from config.joints import JOINT_INDEX, N_JOINTS
from database.rotations import Floats

TAIL = N_JOINTS
# What people call the lengths, by the rows of offsets and tails that make them up; of both sides the left one stands for both.
LENGTHS = {
    "trunk": ("chest", "upperChest", "neck"),
    "neck and head": ("upperNeck", "head", "head tail"),
    "shoulders": ("leftUpperArm",),
    "upper arms": ("leftLowerArm",),
    "forearms": ("leftHand",),
    "hands": ("leftHand tail",),
    "hips": ("leftUpperLeg",),
    "thighs": ("leftLowerLeg",),
    "shins": ("leftFoot",),
    "feet": ("leftToes",),
    "toes": ("leftToes tail",),
}


@dataclass(frozen=True, slots=True)
class Length:
    """A length with its standard deviation [m], and whether the markers told it rather than the sizes of other people."""

    name: str
    length_m: float
    sigma_m: float
    measured: bool

    @property
    def words(self) -> str:
        """Say it: upper arms 280 mm +- 8."""
        return f"{self.name} {1e3 * self.length_m:.0f} mm +- {1e3 * self.sigma_m:.0f}"


def lengths_of(fit: SubjectFit) -> list[Length]:
    """Give the lengths of a fit to markers; none where the skeleton was known before."""
    space, y = fit.problem.space, fit.adjusted.state.y
    if not space.n_parameters:
        return []
    length = np.linalg.norm(space.vectors(y)[0], axis=1)
    covariance = fit.adjusted.covariance[: len(y), : len(y)]
    size = space.directions.mean(axis=0)
    found = []
    for name, parts in LENGTHS.items():
        rows = [JOINT_INDEX[part.removesuffix(" tail")] + TAIL * part.endswith(" tail") for part in parts]
        slope = length[rows] @ space.directions[rows]
        uneven = float(length[rows] @ space.asymmetry[rows])
        told = min(float(slope @ covariance @ slope) * fit.adjusted.misfit**2, float(slope @ slope))
        sigma = float(np.sqrt(told + uneven**2))
        alike = float(np.sqrt(slope @ slope - (slope @ size) ** 2 / (size @ size) + uneven**2))
        found.append(Length(name, float(length[rows].sum()), sigma, sigma < MEASURED * alike))
    return found


def height_sigma_m(fit: SubjectFit) -> float:
    """Give the standard deviation of the skeleton's height [m]."""
    _, by_y = height_of(fit.problem.space, fit.adjusted.state.y)
    n = len(by_y)
    told = float(by_y @ fit.adjusted.covariance[:n, :n] @ by_y) * fit.adjusted.misfit**2
    return float(np.sqrt(min(told, float(by_y @ by_y))))


def length_lines(fit: SubjectFit) -> list[str]:
    """Say how long the bones are, those that were measured first."""
    found = lengths_of(fit)
    told = ", ".join(length.words for length in found if length.measured)
    guessed = ", ".join(length.words for length in found if not length.measured)
    lines = [f"measured: {told}"] if told else []
    return [*lines, f"not measured, from people of that size: {guessed}"] if guessed else lines


def marker_lines(fit: SubjectFit) -> list[str]:
    """Say of every marker where it was found."""
    subject = fit.subject
    moved = 1e3 * np.linalg.norm(subject.offset_m - subject.markers.offset_m, axis=1)
    lines = []
    for m, marker in enumerate(subject.markers.names):
        seen = f"{moved[m]:4.0f} mm from nominal, scatter {subject.residual_mm[m]:.1f} mm"
        lines.append(f"  {marker:<16} {seen if fit.seen[m] else 'not seen: nominal place kept'}")
    return lines


def arm_slopes_deg(fit: SubjectFit, take: int = 0) -> Floats:
    """Give by how much the arms, shoulder to wrist, point above level in a take, left and right, (2,) [degrees]."""
    p, up = fit.adjusted.placed[take].p, fit.adjusted.placed[take].G[0][:, 1]
    found = []
    for side in ("left", "right"):
        along = p[JOINT_INDEX[side + "Hand"]] - p[JOINT_INDEX[side + "UpperArm"]]
        found.append(np.degrees(np.arcsin(np.clip(along @ up / np.linalg.norm(along), -1.0, 1.0))))
    return np.array(found)
