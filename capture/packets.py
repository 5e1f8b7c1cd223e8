"""What travels between the stages of capture: frozen packets of read-only arrays.

`Frame` never leaves its camera's process; `Blobs` is what does.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Floats
from database.geometry.rigid import RigidMotion


def _lock(*arrays: NDArray[np.generic]) -> None:
    """Make arrays read-only."""
    for array in arrays:
        array.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Frame:
    """One image of one camera: BGR uint8 (height, width, 3), stamped when it was captured.

    jpeg: the bytes it came as, where the camera itself compresses, so that it can be recorded as it is; None elsewhere.
    """

    camera: int
    index: int
    t_capture_ns: int
    image: NDArray[np.uint8]
    jpeg: bytes | None = None


@dataclass(frozen=True, slots=True)
class Blobs:
    """Markers as one camera sees them, in raw (distorted) pixels.

    points_px: centres, (N, 2); area_px: (N,); color_rgb: mean colour 0-255, (N, 3); sigma_px: standard
    deviation of the centre, (N,); light: mean brightness of the whole image, 0-255, which a flash lifts in both views.
    """

    camera: int
    index: int
    t_capture_ns: int
    points_px: Floats
    area_px: Floats
    color_rgb: Floats
    sigma_px: Floats
    light: float = 0.0

    def __post_init__(self) -> None:
        _lock(self.points_px, self.area_px, self.color_rgb, self.sigma_px)

    def __len__(self) -> int:
        return len(self.points_px)


@dataclass(frozen=True, slots=True)
class PairedBlobs:
    """Both cameras' blobs at one time.

    measured_skew_ns: by how much the right image was taken later, where the blobs were moved to one time since; None where the
    timestamps are as they were measured.
    """

    left: Blobs
    right: Blobs
    measured_skew_ns: int | None = None

    @property
    def skew_ns(self) -> int:
        """By how much the right image was taken later."""
        return self.residual_skew_ns if self.measured_skew_ns is None else self.measured_skew_ns

    @property
    def residual_skew_ns(self) -> int:
        """Right timestamp minus left: 0 where the blobs were moved to one time."""
        return self.right.t_capture_ns - self.left.t_capture_ns

    @property
    def t_capture_ns(self) -> int:
        """Middle of the two timestamps."""
        return (self.left.t_capture_ns + self.right.t_capture_ns) // 2


def monocular_pair(blobs: Blobs) -> PairedBlobs:
    """Return the pair of one camera's view and an empty one at the same time."""
    none, no_colors = np.zeros(0), np.zeros((0, 3))
    other = Blobs(1 - blobs.camera, blobs.index, blobs.t_capture_ns, np.zeros((0, 2)), none, no_colors, none)
    return PairedBlobs(blobs, other) if blobs.camera == 0 else PairedBlobs(other, blobs)


def monocular_view(pair: PairedBlobs, min_blobs: int) -> int | None:
    """Return the camera that alone has at least min_blobs, None where both have or neither has."""
    shown = [len(blobs) >= min_blobs for blobs in (pair.left, pair.right)]
    return shown.index(True) if sum(shown) == 1 else None


@dataclass(frozen=True, slots=True)
class Points:
    """What a pair of views shows before labels: correspondences and what only one camera sees.

    point_m: triangulated, (P, 3) world; covariance_m2: (P, 3, 3); left, right: blob index in each view, (P,);
    epipolar_px: distance from the epipolar line, (P,); single_left, single_right: blobs without a partner, (S,).
    """

    point_m: Floats
    covariance_m2: Floats
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    epipolar_px: Floats
    single_left: NDArray[np.int64]
    single_right: NDArray[np.int64]

    def __post_init__(self) -> None:
        _lock(self.point_m, self.covariance_m2, self.left, self.right, self.epipolar_px, self.single_left, self.single_right)


@dataclass(frozen=True, slots=True)
class MarkerFrame:
    """Labelled markers of one moment, in the order of the marker set.

    valid: seen by both cameras and triangulated, (M,); point_m: (M, 3) world, zero where not valid;
    covariance_m2: (M, 3, 3); seen: by camera, (2, M); image_px: raw pixels, (2, M, 2), zero where not seen; sigma_px: (2, M);
    epipolar_px: (M,); extra_m: triangulated points with no label, (U, 3). shown: seen by a camera at least, (M,); any_valid,
    all_valid: whether some or all markers are valid; variance_m2: of their points along an axis, on average, (M,).
    """

    index: int
    t_capture_ns: int
    skew_ns: int
    valid: Bools
    point_m: Floats
    covariance_m2: Floats
    seen: Bools
    image_px: Floats
    sigma_px: Floats
    epipolar_px: Floats
    extra_m: Floats
    shown: Bools = field(init=False)
    variance_m2: Floats = field(init=False)
    any_valid: bool = field(init=False)
    all_valid: bool = field(init=False)

    def __post_init__(self) -> None:
        n_valid = int(np.count_nonzero(self.valid))
        C = self.covariance_m2
        object.__setattr__(self, "shown", self.seen[0] | self.seen[1])
        object.__setattr__(self, "variance_m2", (C[:, 0, 0] + C[:, 1, 1] + C[:, 2, 2]) / 3.0)
        object.__setattr__(self, "any_valid", n_valid > 0)
        object.__setattr__(self, "all_valid", n_valid == len(self.valid))
        _lock(
            self.shown,
            self.variance_m2,
            self.valid,
            self.point_m,
            self.covariance_m2,
            self.seen,
            self.image_px,
            self.sigma_px,
            self.epipolar_px,
            self.extra_m,
        )

    def moved(self, motion: RigidMotion) -> "MarkerFrame":
        """Return the frame in a world that is moved."""
        R = motion.rotation
        point_m = np.where(self.valid[:, None], motion.move(self.point_m), 0.0)
        covariance_m2 = np.ascontiguousarray(R @ self.covariance_m2 @ R.T)
        return replace(self, point_m=point_m, covariance_m2=covariance_m2, extra_m=motion.move(self.extra_m))
