"""The pose of one moment, as it is solved."""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import charted_from_local
from database.geometry.rigid import RigidMotion


@dataclass(frozen=True, slots=True)
class BodyState:
    """One synthesized pose: joints (J, 3) [rad] with row 0 unset; root rotation (3, 3), place (3,) [m]."""

    t_ns: int
    joints: Floats
    rotation: Floats
    position_m: Floats

    def moved(self, motion: RigidMotion) -> "BodyState":
        """Return the pose in a world that is moved."""
        rotation = np.ascontiguousarray(motion.rotation @ self.rotation)
        return replace(self, rotation=rotation, position_m=motion.move(self.position_m))


def build_tpose() -> Floats:
    """Return the joints of the T-pose, (J, 3) [rad]."""
    return charted_from_local(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
