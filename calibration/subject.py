"""A subject: one performer's skeleton and where the markers sit on it; subject.toml."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.markers import MarkerSet
from database.rotations import Floats
from database.skeleton import Skeleton


@dataclass(frozen=True, slots=True)
class Subject:
    """A calibrated performer.

    skeleton: bone lengths; markers: the set worn (offset_m there is nominal); offset_m: calibrated place of every marker
    in its joint's frame, (M, 3) [m]; residual_mm: marker residual of the T-pose fit, (M,);
    up: the world's up direction as seen in the T-pose, (3,); length_sigma_m: how well each length is known, as standard
    deviations of the skeleton's offsets and tails, (2, J) [m], None where nobody knows.
    """

    name: str
    skeleton: Skeleton
    markers: MarkerSet
    offset_m: Floats
    residual_mm: Floats
    up: Floats
    length_sigma_m: Floats | None = None

    @property
    def joint(self) -> NDArray[np.int64]:
        """Inboard joint of each marker, (M,)."""
        return self.markers.joint
