"""The root from the torso markers (Chai & Hodgins 2005, section 4).

The torso is not rigid: its markers are compared with where the *predicted* pose has them relative to the root. Where a
torso marker is missing, its predicted place stands in with little weight, so that one missing marker only weakens the fit.
"""

import numpy as np

from capture.packets import MarkerFrame
from database.rigid import robust_rigid_fit
from database.rotations import Floats

STAND_IN_SIGMA_M = 0.15
TORSO_SIGMA_M = 0.015
ROUNDS = 3
ROBUST_SIGMAS = 3.0


def root_from_torso(
    frame: MarkerFrame, local_m: Floats, torso: np.ndarray, predicted_root: tuple[Floats, Floats] | None
) -> tuple[Floats, Floats] | None:
    """Fit the root's rotation (3, 3) and place (3,) [m] to the torso markers.

    local_m: markers relative to the root in the predicted pose, (M, 3) [m]; torso: (M,) bool; predicted_root: stands in
    for what is missing, or None at the start. Returns None where fewer than three points are to be had.
    """
    use = frame.valid & torso
    weight = np.zeros(len(torso))
    sigma2 = np.einsum("mii->m", frame.covariance_m2[use]) / 3.0 + TORSO_SIGMA_M**2
    weight[use] = 1.0 / sigma2
    target = np.where(use[:, None], frame.point_m, 0.0)
    if predicted_root is not None:
        R, t = predicted_root
        missing = torso & ~use
        target = np.where(missing[:, None], local_m @ R.T + t, target)
        weight[missing] = STAND_IN_SIGMA_M**-2.0
    elif use.sum() < 3:
        return None
    chosen = weight > 0
    # Robustly: a torso marker that was mislabelled must not tilt the whole body. From the prediction: a plain fit may lie
    # nearer to a wrong marker than to the right ones, and stay there.
    return robust_rigid_fit(local_m[chosen], target[chosen], weight[chosen], ROBUST_SIGMAS, ROUNDS, predicted_root)
