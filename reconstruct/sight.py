"""Lines of sight: what a marker seen by one camera alone says of where it is, and of where the root is.

The image point leaves the marker a line (Chai & Hodgins 2005, section 6, takes its distance in the image). Depth comes from the
size of the body, which is known, and from the prediction.
"""

from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from capture.packets import Bools, MarkerFrame
from database.rotations import Floats, matrix_from_rotvec, skew

STEPS = 4
NEAREST_M = 0.3  # a body is not nearer to its camera
TORSO_SIGMA_M = 0.02  # how far a torso marker is from where the predicted pose has it against the root
ROBUST_SIGMAS = 3.0


@dataclass(frozen=True, slots=True)
class Sight:
    """Lines of sight of the markers one camera alone sees, world.

    alone: which markers, (M,); from_m: optical centres, (M, 3) [m]; direction: unit vectors, (M, 3), zero where not alone;
    sigma_rad: standard deviation across the line, (M,).
    """

    alone: Bools
    from_m: Floats
    direction: Floats
    sigma_rad: Floats


def lines_of_sight(frame: MarkerFrame, rig: Rig) -> Sight:
    """Give the lines of the markers that are seen but not triangulated; the left camera's where both see one."""
    n = len(frame.valid)
    alone = frame.seen.any(axis=0) & ~frame.valid
    start, direction, sigma = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n)
    for c in (1, 0):
        camera, which = rig.cameras[c], alone & frame.seen[c]
        if not which.any():
            continue
        ideal = camera.undistort(frame.image_px[c, which])
        along = np.column_stack([ideal, np.ones(len(ideal))]) @ camera.rotation
        start[which] = camera.center_m
        direction[which] = along / np.linalg.norm(along, axis=1, keepdims=True)
        sigma[which] = frame.sigma_px[c, which] / camera.focal_px
    return Sight(alone, start, direction, sigma)


def root_in_sight(
    sight: Sight,
    use: Bools,
    local_m: Floats,
    root: tuple[Floats, Floats],
    sigmas: tuple[float, float],
    marker_sigma_m: float = TORSO_SIGMA_M,
) -> tuple[Floats, Floats]:
    """Fit the root to lines of sight by Gauss-Newton from where it is expected, and near there.

    Minimises over a turn d about the world's axes and a shift s of the root (R, t)

        sum_m rho(|P_m (exp([d]x) R y_m + t + s - o_m)|^2 / sigma_m^2) + |d|^2 / sigma_d^2 + |s|^2 / sigma_s^2

    with P_m = I - r_m r_m', the part across the line from o_m along r_m, and Cauchy's rho.

    use: markers to go by, (M,) of those in sight; local_m: markers relative to the root in the predicted pose, (M, 3) [m];
    root: expected rotation (3, 3) and place (3,) [m]; sigmas: of the expectation [rad], [m].
    Returns rotation (3, 3) and place (3,); the expectation where `use` is empty.
    """
    R, t = root
    which = np.flatnonzero(use & sight.alone)
    if not len(which):
        return R, t
    r, o, y = sight.direction[which], sight.from_m[which], local_m[which]
    P = np.eye(3) - r[:, :, None] * r[:, None, :]
    prior = np.repeat([sigmas[0] ** -2.0, sigmas[1] ** -2.0], 3)
    gone = np.zeros(6)
    for _ in range(STEPS):
        arm = y @ R.T
        e = np.einsum("mij,mj->mi", P, arm + t - o)
        far = np.maximum(np.einsum("mi,mi->m", r, arm + t - o), NEAREST_M)
        variance = marker_sigma_m**2 + (far * sight.sigma_rad[which]) ** 2
        w = 1.0 / (variance * (1.0 + (e * e).sum(axis=1) / (ROBUST_SIGMAS**2 * variance)))
        # The lever of a turn: d x arm = -[arm]x d.
        J = np.concatenate([-np.einsum("mij,mjk->mik", P, skew(arm)), P], axis=2)
        A = np.einsum("m,mij,mik->jk", w, J, J) + np.diag(prior)
        g = np.einsum("m,mij,mi->j", w, J, e) + prior * gone
        step = -np.linalg.solve(A, g)
        R, t, gone = matrix_from_rotvec(step[:3]) @ R, t + step[3:], gone + step
    return R, t


def nearest_on_line(sight: Sight, point_m: Floats) -> Floats:
    """Give the point of every line nearest to a given one, (M, 3) [m] both."""
    along = np.einsum("mi,mi->m", sight.direction, point_m - sight.from_m)
    return np.asarray(sight.from_m + along[:, None] * sight.direction)
