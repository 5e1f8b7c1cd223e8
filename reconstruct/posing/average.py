"""Poses by the average of several models: each poses the body, and their mean is brought to the constraints.

About the mean the joints may vary as far as the models disagree, and FLOOR_RAD more. Of single models none is better than the
nearest known pose brought to the points, their average is (docs/evaluation-models.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.constraints import Constraints
from reconstruct.posing.fit import PoseResult, PoseStart, build_pose_gaussian, fit_pose
from reconstruct.posing.protocol import FoundPose, Poser

FLOOR_RAD = 0.1  # deviation of a joint on which all models agree


@dataclass(frozen=True, slots=True)
class AveragePose(PoseResult):
    """A pose that was found; parts: those of the models, in their order."""

    parts: tuple[FoundPose, ...]


class AveragePoser:
    """Poses one skeleton by all of several models of it."""

    def __init__(self, posers: Sequence[Poser]) -> None:
        self._posers = tuple(posers)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that is posed."""
        return self._posers[0].skeleton

    def pose(self, constraints: Constraints, start: FoundPose | None = None) -> AveragePose:
        """Return the pose; each model goes on from its own pose of the start if that is of this model."""
        starts = start.parts if isinstance(start, AveragePose) else (start,) * len(self._posers)
        parts = tuple(poser.pose(constraints, own) for poser, own in zip(self._posers, starts, strict=True))
        turns = np.stack([each.rotvec for each in parts])
        mean = turns.mean(axis=0)
        mean[0] = Rotation.from_rotvec(turns[:, 0]).mean().as_rotvec()
        model = build_pose_gaussian(mean, np.diag(turns[:, 1:].var(axis=0).ravel() + FLOOR_RAD**2))
        begin = PoseStart(
            model.mean.copy(),
            np.ascontiguousarray(REFERENCE[0] @ matrix_from_rotvec(mean[0])),
            np.mean([each.root_m for each in parts], axis=0),
        )
        found = fit_pose(self.skeleton, model, None, constraints, begin)
        found = replace(found, variance=float(np.mean([each.variance for each in parts])))
        return AveragePose(**{name: getattr(found, name) for name in PoseResult.__slots__}, parts=parts)
