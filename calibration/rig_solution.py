"""What comes out of a rig's adjustment, as the verdict, the picture and the benchmarks read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.camera import Rig
from calibration.views import ViewPair
from database.rotations import Floats

INTRINSICS = ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2", "k3")


@dataclass(frozen=True, slots=True)
class RigSolution:
    """A rig that was fitted to V places of a board with N corners.

    rig: world = left camera; a rig of one camera for one camera alone; pairs: the V places in use; board_to_world: rotation
    vector and translation of each, (V, 6) [rad, m]; residual_px: measured less predicted, (2, V, N, 2), zero where not `used`;
    used: corners that took part, (2, V, N); sigma_px: noise of a corner, estimated robustly, by camera (2,);
    lenses: by camera the names of the distortion coefficients that were found worth having, such as ("k1", "k2");
    held_out_px: by lens model, the error in views it was not fitted to [px];
    intrinsic_sigma: (2, 9), in the order of INTRINSICS, 0 for those that were held; relative_covariance: of the right camera's
    rotation vector and translation in the left camera's frame, (6, 6) [rad, m]; fixed_intrinsics: taken from earlier;
    dropped: in words, views left out and why; offset_s: by which the right camera's stamps are late, and its sigma, NaN where
    not solved for; n_parameters: in the adjustment; figures: by name with its unit what is known of the board, such as bend_mm
    (`calibration.bundle_board`); notes: in words, what is worth telling; board_form: by which the board's corners differ from
    `board.points_m` (`calibration.bundle.formed_points`), (4,), all zero where the board is as good as flat and true;
    weight: with which each corner counted in the adjustment, (2, V, N) [px^-2], less where it or its view contradicts the others;
    None where all counted alike, by the noise of their camera.
    """

    board: Board
    rig: Rig
    pairs: tuple[ViewPair, ...]
    board_to_world: Floats
    residual_px: Floats
    used: NDArray[np.bool_]
    sigma_px: Floats
    lenses: tuple[tuple[str, ...], tuple[str, ...]]
    held_out_px: Mapping[str, float]
    intrinsic_sigma: Floats
    relative_covariance: Floats
    fixed_intrinsics: bool = False
    dropped: tuple[str, ...] = ()
    offset_s: float = float("nan")
    offset_sigma_s: float = float("nan")
    n_parameters: int = 0
    notes: tuple[str, ...] = field(default=())
    figures: Mapping[str, float] = field(default_factory=dict)
    board_form: Floats = field(default_factory=lambda: np.zeros(4))
    weight: Floats | None = None

    @property
    def form_was_free(self) -> bool:
        """Tell whether the adjustment allowed for a bent or stretched board."""
        return bool(self.board_form.any())

    @property
    def rms_px(self) -> float:
        """Root mean square of the distances between measured and predicted corners, both cameras [px], as OpenCV gives it."""
        n = int(self.used.sum())
        return float(np.sqrt((self.residual_px**2).sum() / n)) if n else float("nan")
