"""The pose of one frame, as it leaves reconstruction."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from database.contacts import CONTACT_JOINTS
from database.rotations import Floats


class State(StrEnum):
    """How far a pose can be trusted: fitted to markers, carried by the model for a while, or lost."""

    TRACKING = "tracking"
    COASTING = "coasting"
    LOST = "lost"


class JointSource(IntEnum):
    """Where a joint's rotation comes from."""

    MEASURED = 0
    INFERRED = 1
    HELD = 2


@dataclass(frozen=True, slots=True)
class Pose:
    """One full-body pose with its provenance.

    rotvec: charted rotation vectors, (J, 3) [rad], row 0 the root's orientation in the world; root_m: (3,) [m];
    joint_source: JointSource, (J,) uint8; confidence: 0..1, (J,); marker_m: every marker as the pose has
    it, (M, 3) [m] world; measured: both cameras saw it and the solver used it, (M,); residual_m: distance to the measured
    marker, (M,), zero elsewhere; seen: used from each camera, (2, M); residual_px: reprojection error there, (2, M);
    latency_ns: by stage; contacts: which of `database.contacts.CONTACT_JOINTS` touch the ground, (4,); point_m: where `measured`
    markers were triangulated, (M, 3) [m] world, or (0, 3) where nobody kept it.
    """

    index: int
    t_capture_ns: int
    skew_ns: int
    state: State
    rotvec: Floats
    root_m: Floats
    joint_source: NDArray[np.uint8]
    confidence: Floats
    marker_m: Floats
    measured: NDArray[np.bool_]
    residual_m: Floats
    seen: NDArray[np.bool_]
    residual_px: Floats
    latency_ns: dict[str, int]
    contacts: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(len(CONTACT_JOINTS), bool))
    point_m: Floats = field(default_factory=lambda: np.zeros((0, 3)))
