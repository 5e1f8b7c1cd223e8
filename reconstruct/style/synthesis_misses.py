"""How far a synthesized pose is from what was asked of it."""

import numpy as np

from database.kinematics import local_rotations
from database.rotations import Floats, geodesic_rad, matrix_from_rotvec
from database.skeleton import REFERENCE
from reconstruct.style.constraints import Constraints
from reconstruct.style.synthesis_rows_kernels import NEAREST_M, Asked, Handled

WITHIN_SIGMAS = 3.0
WITHIN_M, WITHIN_PX, WITHIN_RAD = 0.01, 3.0, np.radians(5.0)  # and never stricter than that


def misses(x: Floats, handled: Handled) -> tuple[Floats, Floats, bool]:
    """Give how far handles at x, (P, 3) [m], are from their points (P,) [m] and image points (2, P) [px], and if all are met.

    A point is met within 3 sigma or 1 cm, an image point within 3 sigma or 3 px, whatever is more.
    """
    _, _, point, info, ideal, weight, views = handled
    rotation, translation, focal = views
    has3 = info[:, 0, 0] > 0.0
    off_m = np.where(has3, np.linalg.norm(x - point, axis=1), 0.0)
    sigmas = np.linalg.norm(np.einsum("pij,pj->pi", info, x - point), axis=1)
    met = bool((~has3 | (off_m <= WITHIN_M) | (sigmas <= WITHIN_SIGMAS)).all())
    seen = (weight > 0.0) & ~has3
    if not seen.any():
        return off_m, np.zeros(seen.shape), met
    in_camera = np.einsum("cij,pj->cpi", rotation, x) + translation[:, None]
    depth = np.maximum(in_camera[..., 2], NEAREST_M)
    off = focal[:, None, None] * (in_camera[..., :2] / depth[..., None] - ideal)
    off_px = np.where(seen, np.linalg.norm(off, axis=2), 0.0)
    near = off_px <= np.maximum(WITHIN_PX, WITHIN_SIGMAS / np.sqrt(np.where(seen, weight, 1.0)))
    return off_m, off_px, met and bool((near & (~seen | (in_camera[..., 2] > NEAREST_M))).all())


def others_met(G: Floats, rotvec: Floats, constraints: Constraints, asked: Asked) -> bool:
    """Tell whether orientations and held joints are within 3 sigma or 5 degrees; the root may leave its prior."""
    (joint, rotation, sigma), fixed = asked[1], constraints.fixed
    met = not len(joint) or _within(geodesic_rad(G[joint], rotation), sigma, WITHIN_RAD)
    if not len(fixed.joint):
        return met
    known = np.isfinite(fixed.rotvec).all(axis=1) & (fixed.joint > 0)
    shall = REFERENCE[fixed.joint] @ matrix_from_rotvec(np.where(known[:, None], fixed.rotvec, 0.0))
    is_ = local_rotations(rotvec)[fixed.joint]
    return met and _within(np.where(known, geodesic_rad(is_, shall), 0.0), fixed.sigma_rad, WITHIN_RAD)


def _within(off: Floats, sigma: Floats, least: float) -> bool:
    """Tell whether all are within 3 sigma or what is never too far."""
    return bool((off <= np.maximum(WITHIN_SIGMAS * np.nan_to_num(sigma, nan=np.inf), least)).all())
