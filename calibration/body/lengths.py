"""What of a body keeps its length: distances of landmarks along bones and across the trunk, on both sides alike.

The lengths of a person are those of the average adult of the same stature, give or take some percent.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints
from config.landmarks import LANDMARKS
from config.markers import NO_MARKERS, read_marker_set
from database.builtin.bodies import build_person_skeleton

# Two landmarks, and by how much their distance changes as joints bend and the trunk twists [m]. Of the side in front.
STICKS = (
    ("left_ear", "right_ear", 0.01),
    ("left_shoulder", "right_shoulder", 0.03),
    ("left_hip", "right_hip", 0.015),
    ("left_shoulder", "left_hip", 0.04),
    ("left_shoulder", "right_hip", 0.04),
    ("left_shoulder", "left_elbow", 0.015),
    ("left_elbow", "left_wrist", 0.015),
    ("left_hip", "left_knee", 0.02),
    ("left_knee", "left_ankle", 0.015),
    ("left_ankle", "left_heel", 0.01),
    ("left_ankle", "left_foot_index", 0.015),
    ("left_heel", "left_foot_index", 0.015),
)
PROPORTION_SIGMA = 0.06  # of a length beside the stature, relative: 0.065 over seven lengths of 20 people of the CMU database
STATURE_M = 1.75


@dataclass(frozen=True, slots=True)
class BodyLengths:
    """Sticks between landmarks, both sides of a body in one group.

    landmarks: those in use, (L,), by their number in a picture; ends: of each stick, (S, 2), by place in `landmarks`; group: of
    each stick, (S,); usual_m: of each group's, for a stature, (G,); bends_m: by how much a stick changes, (S,); sigma_m: how far
    each landmark is found from its place, (L,).
    """

    landmarks: Ints
    ends: Ints
    group: Ints
    usual_m: Floats
    bends_m: Floats
    sigma_m: Floats


def list_body_lengths(stature_m: float) -> BodyLengths:
    """Return the lengths of a usual body of some stature."""
    markers, skeleton = read_marker_set(NO_MARKERS), build_person_skeleton(STATURE_M)
    rest = skeleton.rest_positions_m()
    place = {LANDMARKS[n]: rest[j] + o for n, j, o in zip(markers.landmark, markers.joint, markers.offset_m, strict=True)}
    sigma = {LANDMARKS[n]: s for n, s in zip(markers.landmark, markers.landmark_sigma_m, strict=True)}
    names = sorted({name for a, b, _ in STICKS for each in (a, b) for name in (each, _mirror(each))}, key=LANDMARKS.index)
    ends, group, bends = [], [], []
    for g, (a, b, bend) in enumerate(STICKS):
        for one, other in {tuple(sorted(pair)) for pair in ((a, b), (_mirror(a), _mirror(b)))}:
            ends.append((names.index(one), names.index(other)))
            group.append(g)
            bends.append(bend)
    usual = np.array([np.linalg.norm(place[a] - place[b]) for a, b, _ in STICKS]) * stature_m / STATURE_M
    numbers = np.array([LANDMARKS.index(name) for name in names])
    return BodyLengths(numbers, np.array(ends), np.array(group), usual, np.array(bends), np.array([sigma[n] for n in names]))


def _mirror(name: str) -> str:
    """Return the landmark of the other side."""
    return name.replace("left", "right") if "left" in name else name.replace("right", "left")
