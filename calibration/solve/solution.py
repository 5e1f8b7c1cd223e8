"""The result of a rig's bundle adjustment, what was left out of it, and the lens models: which of nine intrinsics are free."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment
from calibration.camera import Rig
from config.arrays import Bools, Floats

INTRINSICS = ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2", "k3")
FISHEYE_INTRINSICS = ("fx", "fy", "cx", "cy", "k1", "k2", "k3", "k4")
N_INTRINSICS = len(INTRINSICS)
LensKind = Literal["auto", "pinhole", "fisheye"]  # auto: the model that fits held-out views better


def list_intrinsic_names(fisheye: bool) -> tuple[str, ...]:
    """Return the names of a lens model's parameters in their order."""
    return FISHEYE_INTRINSICS if fisheye else INTRINSICS


class DropReason(enum.Enum):
    """Why the views of a moment were left out of an adjustment."""

    INCONSISTENT = enum.auto()  # its pictures do not show the board in one position
    OUTLIER = enum.auto()  # its corners are far off


@dataclass(frozen=True, slots=True)
class DroppedMoment:
    """Views of one moment that were left out; off_px: median distance of an outlier's corners, usual_px: of all moments [px]."""

    moment: BoardMoment
    reason: DropReason
    off_px: float = float("nan")
    usual_px: float = float("nan")


def describe_dropped(dropped: DroppedMoment) -> str:
    """Return one line on views that were left out."""
    name = dropped.moment.name or "a view"
    if dropped.reason is DropReason.INCONSISTENT:
        pictures = "the two pictures" if len(dropped.moment.seen_by) == 2 else "the pictures"
        return f"{name}: {pictures} do not show the board in one place"
    return f"{name}: corners are {dropped.off_px:.2f} px off, usual are {dropped.usual_px:.2f} px"


@dataclass(frozen=True, slots=True)
class BoardForm:
    """How a board differs from a flat one with square squares.

    stretch: by how much its squares are wider than high, relative; bend_m: distance of its farthest corner from the best plane;
    each with its standard deviation.
    """

    stretch: float
    stretch_sigma: float
    bend_m: float
    bend_sigma_m: float


@dataclass(frozen=True, slots=True)
class RigSolution:
    """A rig of C cameras that was fitted to V poses of a board with N corners.

    rig: world = first camera; moments: the V moments in use; board_to_world: rotation vector and translation of the board, (V, 6)
    [rad, m]; residual_px: measured minus predicted, (C, V, N, 2), zero where not `used`; used: corners in use, (C, V, N);
    sigma_px: noise of a corner, estimated robustly, by camera (C,); lenses: by camera the names of the free distortion
    coefficients, such as ("k1", "k2"); held_out_px: by lens model, the error in views it was not fitted to [px];
    intrinsic_sigma: (C, 9), in the order of INTRINSICS, 0 where fixed; pose_covariance: of rotation vector and translation of
    all cameras but the first, in the first one's frame, (6 C - 6, 6 C - 6) [rad, m]; fixed_intrinsics: taken from an
    earlier calibration; dropped: moments that were left out; offset_s: by which each camera's timestamps are late, (C,), of the
    first 0, and their sigmas, empty where not solved for; form: of the board, with its uncertainty, None where unknown;
    board_form: the form that was applied (`calibration.solve.equations.deform_points`), (4,), all zero where the board was taken
    to be flat and true; weight: of each corner in the adjustment, (C, V, N) [px^-2], None where all of a camera had that of its
    noise.
    """

    board: Board
    rig: Rig
    moments: tuple[BoardMoment, ...]
    board_to_world: Floats
    residual_px: Floats
    used: Bools
    sigma_px: Floats
    lenses: tuple[tuple[str, ...], ...]
    held_out_px: Mapping[str, float]
    intrinsic_sigma: Floats
    pose_covariance: Floats
    fixed_intrinsics: bool = False
    dropped: tuple[DroppedMoment, ...] = ()
    offset_s: Floats = field(default_factory=lambda: np.zeros(0))
    offset_sigma_s: Floats = field(default_factory=lambda: np.zeros(0))
    form: BoardForm | None = None
    board_form: Floats = field(default_factory=lambda: np.zeros(4))
    weight: Floats | None = None

    @property
    def form_was_free(self) -> bool:
        """Whether the adjustment allowed for a bent or stretched board."""
        return bool(self.board_form.any())

    @property
    def rms_px(self) -> float:
        """Root mean square distance between measured and predicted corners, all cameras [px], as OpenCV defines it."""
        n = int(self.used.sum())
        return float(np.sqrt((self.residual_px**2).sum() / n)) if n else float("nan")


@dataclass(frozen=True, slots=True)
class LensModel:
    """A lens model.

    coefficients: names of the free distortion coefficients; square: pixels are square, fx = fy; fixed: nothing is free; fisheye:
    the coefficients are those of the fisheye model.
    """

    coefficients: tuple[str, ...] = ()
    square: bool = True
    fixed: bool = False
    fisheye: bool = False

    @property
    def directions(self) -> Floats:
        """Derivatives of the nine intrinsics by the free parameters, (9, n)."""
        if self.fixed:
            return np.zeros((N_INTRINSICS, 0))
        eye = np.eye(N_INTRINSICS)
        focal = [eye[0] + eye[1]] if self.square else [eye[0], eye[1]]
        names = list_intrinsic_names(self.fisheye)
        rest = [eye[names.index(name)] for name in ("cx", "cy", *self.coefficients)]
        return np.stack([*focal, *rest], axis=1)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return 0 if self.fixed else (3 if self.square else 4) + len(self.coefficients)

    @property
    def name(self) -> str:
        """What is free, such as `k1 k2, fx = fy`."""
        kind = "fisheye " if self.fisheye and not self.fixed else ""
        free = "held" if self.fixed else " ".join(self.coefficients) or "no distortion"
        return kind + free + (", fx = fy" if self.square else "")


LEVELS: tuple[tuple[str, ...], ...] = ((), ("k1",), ("k1", "k2"), ("k1", "k2", "p1", "p2"), ("k1", "k2", "p1", "p2", "k3"))
FISHEYE_LEVELS: tuple[tuple[str, ...], ...] = ((), ("k1",), ("k1", "k2"), ("k1", "k2", "k3"), ("k1", "k2", "k3", "k4"))
FIXED = LensModel(fixed=True, square=False)
