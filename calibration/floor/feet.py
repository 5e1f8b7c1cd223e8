"""Heights of the markers of standing feet above the floor: measured for a subject, else nominal for a marker set."""

from dataclasses import dataclass, replace

import numpy as np

from calibration.subject.subject import Subject
from calibration.world import BALL_M
from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINT_INDEX
from config.markers import MarkerSet
from database.geometry.skeleton import Skeleton

FEET = tuple(JOINT_INDEX[side + part] for side in ("left", "right") for part in ("Foot", "Toes"))
MAX_HEIGHT_M = 0.25  # of a marker of a foot that says something of the floor
SAME_M = 0.008  # heights nearer to each other are merged
MEASURED_SIGMA_M, NOMINAL_SIGMA_M = 0.020, 0.025  # standard deviations of a subject's heights, and of nominal ones
KNOWN_SIGMA_M = 0.004  # of a height measured by hand


@dataclass(frozen=True, slots=True)
class FootHeights:
    """Heights of markers of the feet above the floor while a foot stands flat.

    heights_m: increasing, (K,) [m]; names: of their markers, K; sigma_m: of their common error; measured: for this subject, not
    nominal; lowest_known: the lowest was measured by hand.
    """

    heights_m: Floats
    names: tuple[str, ...]
    sigma_m: float
    measured: bool
    lowest_known: bool = False

    @property
    def description(self) -> str:
        """What is assumed, in one line."""
        listed = ", ".join(f"{name} {1e3 * height:.0f} mm" for name, height in zip(self.names, self.heights_m, strict=True))
        how = "the lowest as told" if self.lowest_known else "this subject" if self.measured else "nominal"
        return f"markers of a standing foot above the floor: {listed} ({how})"


def measure_subject_heights(subject: Subject) -> FootHeights:
    """Return the heights of a subject's foot markers. Raises CalibrationError: there are none."""
    return _compute_heights(subject.markers, subject.skeleton, subject.offset_m, MEASURED_SIGMA_M, True)


def compute_nominal_heights(markers: MarkerSet, skeleton: Skeleton) -> FootHeights:
    """Return the nominal heights of a marker set on a body of usual size. Raises CalibrationError: it has none on the feet."""
    return _compute_heights(markers, skeleton, markers.offset_m, NOMINAL_SIGMA_M, False)


def shift_to_lowest_height(lowest_m: float, known: FootHeights) -> FootHeights:
    """Return the heights if that of the lowest marker was measured: the others keep their distance from it."""
    return replace(known, heights_m=known.heights_m + lowest_m - known.heights_m[0], sigma_m=KNOWN_SIGMA_M, lowest_known=True)


def _compute_heights(markers: MarkerSet, skeleton: Skeleton, offset_m: Floats, sigma_m: float, measured: bool) -> FootHeights:
    """Return heights in the rest pose, over soles that are BALL_M below the balls of the feet."""
    rest = skeleton.rest_positions_m()
    sole = min(rest[JOINT_INDEX[side + "Toes"], 1] for side in ("left", "right")) - BALL_M
    found = [
        (float(rest[joint, 1] + offset_m[m, 1] - sole), name)
        for m, (name, joint) in enumerate(zip(markers.names, markers.joint, strict=True))
        if joint in FEET
    ]
    found = sorted((max(height, 0.0), name) for height, name in found if height < MAX_HEIGHT_M)
    if not found:
        raise CalibrationError(
            "no marker of this set is on a foot, so a walk does not tell the floor; "
            "wear one on each foot, or use --by board or --by markers"
        )
    groups: list[list[tuple[float, str]]] = []
    for height, name in found:
        if groups and height - groups[-1][0][0] < SAME_M:
            groups[-1].append((height, name))
        else:
            groups.append([(height, name)])
    heights = np.array([np.mean([height for height, _ in group]) for group in groups])
    return FootHeights(heights, tuple("/".join(name for _, name in group) for group in groups), sigma_m, measured)
