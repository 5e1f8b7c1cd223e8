"""The protocol of all models that find a whole pose that meets constraints."""

from collections.abc import Mapping
from typing import Protocol

from numpy.typing import ArrayLike

from config.arrays import Floats
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints, build_joint_constraints


class FoundPose(Protocol):
    """A pose that was found.

    Attributes:
        rotvec: charted rotation vectors, (J, 3) [rad], row 0 the root's orientation.
        root_m: (3,) [m].
        variance: relative to what the model knows of all poses, from near 0 beside known poses to 1 far from all.
        error_m: distances of the handles from their targets, (P,), and error_px: of their image points, (2, P), 0 without a
            target.
        reached: all constraints are met within tolerance, else they contradict each other or are out of reach, and this is the
            best pose.
        converged: the minimum was found within the steps granted.
    """

    @property
    def rotvec(self) -> Floats: ...
    @property
    def root_m(self) -> Floats: ...
    @property
    def variance(self) -> float: ...
    @property
    def error_m(self) -> Floats: ...
    @property
    def error_px(self) -> Floats: ...
    @property
    def reached(self) -> bool: ...
    @property
    def converged(self) -> bool: ...


class Poser(Protocol):
    """Poses one skeleton."""

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that is posed."""

    def pose(self, constraints: Constraints, start: FoundPose | None = None) -> FoundPose:
        """Return the pose that meets the constraints best; start: the pose before, as while a handle is dragged."""


def complete_pose(poser: Poser, points: Mapping[str, ArrayLike], sigma_m: float = 0.01) -> FoundPose:
    """Return the likeliest whole pose whose joints are at given places.

    Args:
        poser: a model of poses, such as `LocalPoser`.
        points: target of each joint by name, (3,) [m] world.
        sigma_m: standard deviation of the joints from their targets [m].
    Raises DuocapError: an unknown joint, or no place.
    """
    return poser.pose(build_joint_constraints(points, sigma_m))
