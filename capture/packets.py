"""What travels between the stages of capture: frozen packets of read-only arrays.

`Frame` never leaves its camera's process; `Blobs` is what does.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Floats, Ints
from database.geometry.rigid import RigidMotion


def _make_read_only(*arrays: NDArray[np.generic]) -> None:
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
class Landmarks:
    """The landmarks of the body in one picture (`config.landmarks.LANDMARKS`), in raw (distorted) pixels.

    image_px: (33, 2), also of what is hidden or out of the picture; score: how well each was seen, 0 to 1, (33,);
    presence: probability that the picture shows a body there, 0 to 1.
    """

    image_px: Floats
    score: Floats
    presence: float

    def __post_init__(self) -> None:
        _make_read_only(self.image_px, self.score)


@dataclass(frozen=True, slots=True)
class Blobs:
    """Markers as one camera sees them, in raw (distorted) pixels.

    points_px: centres, (N, 2); area_px: (N,); color_rgb: mean colour 0-255, (N, 3); sigma_px: standard
    deviation of the centre, (N,); light: mean brightness of the whole image, 0-255, which a flash lifts in both views;
    landmarks: of the body, None where none were sought or nobody was found.
    """

    camera: int
    index: int
    t_capture_ns: int
    points_px: Floats
    area_px: Floats
    color_rgb: Floats
    sigma_px: Floats
    light: float = 0.0
    landmarks: Landmarks | None = None

    def __post_init__(self) -> None:
        _make_read_only(self.points_px, self.area_px, self.color_rgb, self.sigma_px)

    def __len__(self) -> int:
        return len(self.points_px)


@dataclass(frozen=True, slots=True)
class Views:
    """What the cameras of a rig see at one time.

    blobs: by camera, (V,), None where a view is absent: the camera is silent, late or covered; one at least is there.
    measured_skew_ns: `skew_ns` before the blobs were moved to one time; None where the timestamps are as they were measured.
    """

    blobs: tuple[Blobs | None, ...]
    measured_skew_ns: int | None = None

    def __len__(self) -> int:
        return len(self.blobs)

    def __getitem__(self, camera: int) -> Blobs:
        """Return a camera's blobs, none at this time where its view is absent."""
        blobs = self.blobs[camera]
        return make_empty_blobs(camera, self.first.index, self.first.t_capture_ns) if blobs is None else blobs

    @property
    def present(self) -> tuple[Blobs, ...]:
        """The views that are there."""
        return tuple(blobs for blobs in self.blobs if blobs is not None)

    @property
    def first(self) -> Blobs:
        """The first view that is there."""
        return self.present[0]

    @property
    def skew_ns(self) -> int:
        """By how much the view that is farthest in time from the first was taken later."""
        return self.residual_skew_ns if self.measured_skew_ns is None else self.measured_skew_ns

    @property
    def residual_skew_ns(self) -> int:
        """Its timestamp minus that of the first: 0 where the blobs were moved to one time."""
        return max((blobs.t_capture_ns - self.first.t_capture_ns for blobs in self.present), key=abs)

    @property
    def t_capture_ns(self) -> int:
        """Middle of the timestamps."""
        times_ns = [blobs.t_capture_ns for blobs in self.present]
        return (min(times_ns) + max(times_ns)) // 2

    def changed(self, change: Callable[[int, Blobs], Blobs]) -> "Views":
        """Return the views with each that is there replaced by what `change` of its camera and blobs returns."""
        blobs = tuple(None if each is None else change(camera, each) for camera, each in enumerate(self.blobs))
        return Views(blobs, self.measured_skew_ns)

    def without(self, cameras: Collection[int]) -> "Views":
        """Return the moment as if the views of some cameras were absent; one at least stays."""
        blobs = tuple(None if camera in cameras else each for camera, each in enumerate(self.blobs))
        return Views(blobs, self.measured_skew_ns)


def make_empty_blobs(camera: int, index: int, t_capture_ns: int) -> Blobs:
    """Return the view of a camera that sees nothing.

    Args:
        index: number of the frame.
        t_capture_ns: when it was captured.
    """
    none = np.zeros(0)
    return Blobs(camera, index, t_capture_ns, np.zeros((0, 2)), none, np.zeros((0, 3)), none)


def find_lone_view(views: Views, min_blobs: int) -> int | None:
    """Return the camera that alone has at least min_blobs, None where several have or none has."""
    shown = [blobs is not None and len(blobs) >= min_blobs for blobs in views.blobs]
    return shown.index(True) if sum(shown) == 1 else None


@dataclass(frozen=True, slots=True)
class Points:
    """What views show before labels: clusters of blobs that are one point, and what single views see.

    point_m: triangulated, (P, 3) world; covariance_m2: (P, 3, 3); blob: of each point in each view, (V, P), -1 for none;
    epipolar_px: distance from the epipolar lines, the largest of any two views, (P,); single: blobs of no point, (S,) by view.
    """

    point_m: Floats
    covariance_m2: Floats
    blob: Ints
    epipolar_px: Floats
    single: tuple[Ints, ...]

    def __post_init__(self) -> None:
        _make_read_only(self.point_m, self.covariance_m2, self.blob, self.epipolar_px, *self.single)


_BY_MARKER = ("valid", "point_m", "covariance_m2", "epipolar_px")  # arrays of a `MarkerFrame`, a row a marker
_BY_VIEW = ("seen", "image_px", "sigma_px")  # and those with a column a marker


@dataclass(frozen=True, slots=True)
class MarkerFrame:
    """Labelled markers of one moment, in the order of the marker set.

    valid: seen by two cameras at least and triangulated, (M,); point_m: (M, 3) world, zero where not valid;
    covariance_m2: (M, 3, 3); seen: by camera, (V, M); image_px: raw pixels, (V, M, 2), zero where not seen; sigma_px: (V, M);
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
        object.__setattr__(self, "shown", self.seen.any(axis=0))
        object.__setattr__(self, "variance_m2", (C[:, 0, 0] + C[:, 1, 1] + C[:, 2, 2]) / 3.0)
        object.__setattr__(self, "any_valid", n_valid > 0)
        object.__setattr__(self, "all_valid", n_valid == len(self.valid))
        names = (*_BY_MARKER, *_BY_VIEW, "shown", "variance_m2", "extra_m")
        _make_read_only(*(getattr(self, name) for name in names))

    def only(self, which: Bools) -> "MarkerFrame":
        """Return the frame with some of its markers, (M,); all others are not seen."""
        return self if which.all() else replace(self, valid=self.valid & which, seen=self.seen & which)

    def take(self, which: Bools) -> "MarkerFrame":
        """Return the frame of some of its markers, (M,), as if there were no others."""
        if which.all():
            return self
        by_marker: dict[str, Any] = {name: getattr(self, name)[which] for name in _BY_MARKER}
        by_view: dict[str, Any] = {name: getattr(self, name)[:, which] for name in _BY_VIEW}
        return replace(self, **by_marker, **by_view)

    def spread(self, which: Bools) -> "MarkerFrame":
        """Return the frame of more markers, (M,), of which these are some; the others are not seen."""
        if which.all():
            return self
        changed: dict[str, Any] = {}
        for name, axis in (*((name, 0) for name in _BY_MARKER), *((name, 1) for name in _BY_VIEW)):
            part = getattr(self, name)
            shape = list(part.shape)
            shape[axis] = len(which)
            changed[name] = np.zeros(shape, part.dtype)
            changed[name][(slice(None),) * axis + (which,)] = part
        return replace(self, **changed)

    def moved(self, motion: RigidMotion) -> "MarkerFrame":
        """Return the frame in a world that is moved."""
        R = motion.rotation
        point_m = np.where(self.valid[:, None], motion.move(self.point_m), 0.0)
        covariance_m2 = np.ascontiguousarray(R @ self.covariance_m2 @ R.T)
        return replace(self, point_m=point_m, covariance_m2=covariance_m2, extra_m=motion.move(self.extra_m))
