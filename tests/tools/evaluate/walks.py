"""The begin of a walk as a query, of one performer with nine markers."""

from dataclasses import replace

import numpy as np

from database.builtin import build_person_skeleton
from database.clips import Clip
from tests.support.people import person, walk, worn_markers
from tools.evaluate.asf_angles import AsfAngles
from tools.evaluate.queries import MotionQuery

SUBJECT = person("boxing", skeleton=build_person_skeleton(1.74))
CLIP = walk(SUBJECT.skeleton)


def other_manner(clip: Clip) -> Clip:
    """Return a walk with the arms swung half as far, and the left knee bent more."""
    rotvec = clip.rotvec.copy()
    rotvec[:, 11:19] *= 0.5
    rotvec[:, 2, 0] += 0.3
    return replace(clip, name="manner", rotvec=rotvec)


def walk_query(n: int, sigma_m: float = 0.0, visible: np.ndarray | None = None) -> MotionQuery:
    """Return the first frames of the walk, markers with noise; visible: which are seen, all by default."""
    rotvec, root_m = CLIP.rotvec[:n].copy(), CLIP.root_m[:n].copy()
    marker_m, _ = worn_markers(SUBJECT, rotvec, root_m)
    marker_m = marker_m + sigma_m * np.random.default_rng(0).normal(size=marker_m.shape)
    seen = np.ones(marker_m.shape[:2], bool) if visible is None else visible
    return MotionQuery("walk", "walking", SUBJECT, rotvec, root_m, marker_m, seen, AsfAngles((), ()), max(sigma_m, 0.001))
