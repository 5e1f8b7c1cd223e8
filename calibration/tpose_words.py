"""Why no T-pose was found: what the points show instead, tried one by one against bodies that stand or are sized otherwise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.constellation import place_constellation
from calibration.subject_model import place
from calibration.subject_space import skeleton_space
from config.joints import JOINT_INDEX, N_JOINTS
from config.markers import MarkerSet
from database.rotations import Floats
from database.skeleton import Skeleton

SLOPES_DEG = (-75.0, -50.0, -30.0, 30.0, 60.0)  # of both arms; T-poses are found up to about 15 degrees off level
EXPLAINED_M = 0.10
BETTER = 0.75  # of the cost of the T-pose, or it explains nothing
SCALES = (0.75, 1.3)
SLACK_M, GATE_M = 0.12, 0.28


@dataclass(frozen=True, slots=True)
class _Guess:
    """Something else that points may be: its markers, (M, 3) [m], what to multiply points with first, words, what to do."""

    model: Floats
    shrink: float
    words: str
    fix: str


def tpose_model(markers: MarkerSet, skeletons: Sequence[Skeleton], slope_deg: tuple[float, float] = (0.0, 0.0)) -> Floats:
    """Give the marker set on the mean skeleton, (M, 3) [m], hips at the origin, facing +Z; slope_deg: of the left and the right
    arm."""
    space = skeleton_space(skeletons)
    rotvec = np.zeros((N_JOINTS, 3))
    rotvec[JOINT_INDEX["leftUpperArm"], 2] = np.radians(slope_deg[0])
    rotvec[JOINT_INDEX["rightUpperArm"], 2] = -np.radians(slope_deg[1])
    vectors = space.vectors(np.zeros(space.n_parameters))[0]
    return place(vectors, markers.offset_m, markers.joint, rotvec, np.zeros(3)).marker_m


def why_no_tpose(points: Floats, markers: MarkerSet, skeletons: Sequence[Skeleton], cost_m: float) -> str:
    """Say what points (P, 3) [m] look like that are no T-pose, and what to do; empty if they look like nothing known.

    cost_m: how badly the best T-pose fits them [m].
    """
    if len(points) < max(4, len(markers) - 3):
        return ""
    best, words = min(cost_m * BETTER, EXPLAINED_M), ""
    for guess in _guesses(points, markers, skeletons):
        found = place_constellation(
            points * guess.shrink, guess.model, preferred=markers.torso, scale_range=SCALES, slack_m=SLACK_M, gate_m=GATE_M
        )
        if found and found[0].cost_m < best:
            best, words = found[0].cost_m, f"{guess.words}: {guess.fix}"
    return words


def _guesses(points: Floats, markers: MarkerSet, skeletons: Sequence[Skeleton]) -> Iterator[_Guess]:
    """List what is tried: arms that slope, one arm that hangs, a world of the wrong size."""
    lift = "hold both arms level, and give only the time in which they are"
    for slope in SLOPES_DEG:
        way = "below" if slope < 0 else "above"
        yield _Guess(
            tpose_model(markers, skeletons, (slope, slope)), 1.0, f"the arms point {abs(slope):.0f} degrees {way} level", lift
        )
    for side, slopes in (("left", (-75.0, 0.0)), ("right", (0.0, -75.0))):
        yield _Guess(tpose_model(markers, skeletons, slopes), 1.0, f"the {side} arm hangs down", lift)
    level = tpose_model(markers, skeletons)
    by_spread = _spread(points) / _spread(level)
    if not SCALES[0] < by_spread < SCALES[1]:
        words = f"a T-pose {by_spread:.3g} times the size of a person fits"
        fix = "the scale of rig.toml is wrong; check the square's side or the distance it was calibrated with"
        yield _Guess(level, 1.0 / by_spread, words, fix)


def _spread(points: Floats) -> float:
    """Give the root mean square distance from the middle."""
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))
