"""The uncertainty of a rig's adjustment: intrinsics, relative pose, time offset, and the form of the board.

(J' W J)^-1 with the board's poses unknown too. At the true parameters, with inverse variances as weights, it is the Cramer-Rao
bound; at a solution it is the covariance of the estimate.
"""

from dataclasses import dataclass, replace

import numpy as np

from calibration.solve.adjust import IntrinsicsPrior, RobustFit, adjust, inflate_noise, normal_equations, shared_covariance
from calibration.solve.equations import N_FORM, BundleState, CornerObservations, FreeParameters, formed_points
from calibration.solve.solution import N_INTRINSICS, BoardForm
from config.arrays import Floats
from database.geometry.rotations import rotvec_from_matrix, skew

FORM_STEPS = 10


@dataclass(frozen=True, slots=True)
class BundleUncertainty:
    """Standard deviations and covariances.

    intrinsic_sigma: (2, 9), in the order of INTRINSICS, 0 where fixed; relative_covariance: of the right camera's rotation
    vector and translation in the left camera's frame, (6, 6) [rad, m]; offset_sigma_s: of the time offset, NaN where not free.
    """

    intrinsic_sigma: Floats
    relative_covariance: Floats
    offset_sigma_s: float


def uncertainty_at(
    state: BundleState, seen: CornerObservations, freedom: FreeParameters, prior: IntrinsicsPrior | None = None
) -> BundleUncertainty:
    """Return the uncertainty at a state, for observations whose weights are inverse variances."""
    covariance = shared_covariance(normal_equations(state, seen, freedom, prior))
    sigma, column = np.zeros((2, N_INTRINSICS)), 0
    for c, lens in enumerate(freedom.lenses):
        S, at = lens.directions, slice(column, column + lens.n_free)
        sigma[c] = np.sqrt(np.einsum("ij,jk,ik->i", S, covariance[at, at], S))
        column += lens.n_free
    offset = float(np.sqrt(covariance[-1, -1])) if freedom.offset else float("nan")
    if not freedom.relative:
        return BundleUncertainty(sigma, np.zeros((6, 6)), offset)
    to_rotvec = np.eye(6)
    to_rotvec[:3, :3] = _rotvec_derivative(rotvec_from_matrix(state.rotation))
    return BundleUncertainty(sigma, to_rotvec @ covariance[column : column + 6, column : column + 6] @ to_rotvec.T, offset)


def _rotvec_derivative(rotvec: Floats) -> Floats:
    """Return d rotvec / d w of exp([w]x) exp([rotvec]x) at w = 0, (3, 3): the inverse left Jacobian of SO(3)."""
    angle, K = float(np.linalg.norm(rotvec)), skew(rotvec)
    if angle < 1e-6:
        return np.asarray(np.eye(3) - 0.5 * K)
    return np.asarray(np.eye(3) - 0.5 * K + (1.0 / angle**2 - 0.5 / angle / np.tan(0.5 * angle)) * K @ K)


def board_form(fit: RobustFit, freedom: FreeParameters, prior: IntrinsicsPrior | None) -> BoardForm:
    """Estimate how the board is stretched and bent: the adjustment from the fit on, with the board's form free.

    The board's size cannot be estimated: a board, a room and a baseline all twice as large give the same pictures.
    """
    seen, flat, formed = inflate_noise(fit, freedom), replace(freedom, form=False), replace(freedom, form=True)
    state = adjust(replace(fit.state, form=np.zeros(N_FORM)), seen, flat, prior, FORM_STEPS).state
    state = adjust(state, seen, formed, prior, FORM_STEPS).state
    at = flat.n_shared - int(flat.offset)
    covariance = shared_covariance(normal_equations(state, seen, formed, prior))[at : at + N_FORM, at : at + N_FORM]
    heights_by_form = _heights_by_form(seen.points_m)
    heights = heights_by_form @ state.form[1:]
    worst = int(np.abs(heights).argmax())
    bend_sigma = float(np.sqrt(heights_by_form[worst] @ covariance[1:, 1:] @ heights_by_form[worst]))
    stretch_sigma = 2.0 * float(np.sqrt(covariance[0, 0]))
    return BoardForm(2.0 * float(state.form[0]), stretch_sigma, float(abs(heights[worst])), bend_sigma)


def _heights_by_form(points_m: Floats) -> Floats:
    """Return the corners' heights over the best plane by curvature along x, along y and twist, (N, 3) [m per 1/m]."""
    heights = np.stack([formed_points(points_m, form)[:, 2] for form in np.eye(4)[1:]], axis=1)
    plane = np.column_stack([points_m[:, :2], np.ones(len(points_m))])
    return np.asarray(heights - plane @ np.linalg.lstsq(plane, heights)[0])
