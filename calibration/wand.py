"""What is seen of a wand of one or two markers that is waved through the volume, and what came out of it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from database.rotations import Floats


@dataclass(frozen=True, slots=True)
class Sightings:
    """All bright spots of one camera.

    t_s: stamp of every frame, (F,) [s]; points_px: raw image points by frame, (N_f, 2) each; size: of the images [px].
    """

    t_s: Floats
    points_px: tuple[Floats, ...]
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class WandTrack:
    """The K markers of a wand in one camera, of the frames that show all of them.

    t_s: stamps, (F,) [s]; points_px: raw image points, (F, K, 2), one marker in one column through a run only; run: number of
    the uninterrupted stretch, (F,).
    """

    t_s: Floats
    points_px: Floats
    run: NDArray[np.int64]

    @property
    def n_markers(self) -> int:
        """Count the markers."""
        return int(self.points_px.shape[1])


@dataclass(frozen=True, slots=True)
class WandViews:
    """The wand in both cameras at the same moments.

    t_s: on the left camera's clock, (F,) [s]; points_px: raw, (2, F, K, 2), marker k of the left one is marker k of the right;
    velocity_px_s: of the right camera's points by its own clock, (F, K, 2).
    """

    t_s: Floats
    points_px: Floats
    velocity_px_s: Floats

    def __len__(self) -> int:
        return len(self.t_s)

    @property
    def n_shared(self) -> int:
        """Count the observations that both cameras share."""
        return int(self.points_px.shape[1] * self.points_px.shape[2])

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> "WandViews":
        """Give some of the moments."""
        return WandViews(self.t_s[which], self.points_px[:, which], self.velocity_px_s[which])


@dataclass(frozen=True, slots=True)
class WandSolution:
    """A rig that was fitted to a wand.

    rig: world = left camera; points_m: the markers' places, (F, K, 3) [m]; residual_px: measured less predicted, (2, F, K, 2);
    used: observations that took part, (F, K); sigma_px: noise of a coordinate; lengths_m: distance of the two markers as
    triangulated frame by frame, without knowing that the wand is rigid, (F,), empty for one marker; length_m: of the wand, as
    given or found, NaN for one marker; scale: what the scale rests on, in words; relative_covariance: of the right camera's
    rotation vector and translation in the left camera's frame, (6, 6) [rad, m]; focal_sigma: relative, of both focal lengths,
    (2,), 0 where held; offset_s: by which the right camera's stamps are late and offset_sigma_s its sigma, 0 where held;
    world_sigma: typical error of a place as a share of its distance, by what rig and lenses are uncertain by, the world's own
    place and turn left out; notes: in words, what is worth telling.
    """

    rig: Rig
    t_s: Floats
    points_m: Floats
    residual_px: Floats
    used: NDArray[np.bool_]
    sigma_px: float
    lengths_m: Floats
    length_m: float
    scale: str
    relative_covariance: Floats
    focal_sigma: Floats
    offset_s: float
    offset_sigma_s: float
    world_sigma: float
    notes: tuple[str, ...] = field(default=())

    @property
    def n_shared(self) -> int:
        """Count the observations in use, each seen by both cameras."""
        return int(self.used.sum())

    @property
    def rms_px(self) -> float:
        """Root mean square of the distances between measured and predicted points, both cameras [px]."""
        return float(np.sqrt((self.residual_px[:, self.used] ** 2).sum() / (2 * max(self.n_shared, 1))))
