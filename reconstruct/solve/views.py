"""The view term of the energy: markers that one camera sees, in pixels.

    sum_m rho(|pi_c(x_m) - u_m|^2 / s_m^2)

with pi_c the projection of camera c to ideal image points, in pixels (Chai & Hodgins 2005, section 6).
"""

from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.jit import inline_kernel
from reconstruct.solve.linearise import (
    PosedMarkers,
    add_residual,
    compute_marker_jacobian,
    compute_robust_loss,
    compute_robust_weight,
)

MIN_DEPTH_M = 0.05  # a marker nearer to the camera's plane has no image point


class ViewTerm(NamedTuple):
    """Residuals of markers in the images of V cameras.

    Attributes:
        ideal: undistorted image points, (V, M, 2).
        weight_px: weights, (V, M), zero where unused.
        rotation: rotations of the cameras, (V, 3, 3).
        translation: translations of the cameras, (V, 3).
        focal: focal lengths, (V,) [px].
        robust2: squared scale of rho of every marker, (M,).
    """

    ideal: Floats
    weight_px: Floats
    rotation: Floats
    translation: Floats
    focal: Floats
    robust2: Floats


@inline_kernel
def add_views(term: ViewTerm, posed: PosedMarkers, A: Floats, g: Floats) -> float:
    """Add the term's Gauss-Newton Hessian and gradient to A and g; return its energy.

    Args:
        term: markers seen by one camera.
        posed: the markers of the pose at x, and their derivatives.
        A: lower triangle of the Hessian, (B, B); added to.
        g: gradient, (B,); added to.
    """
    e, D, energy = np.zeros(3), np.zeros((3, 3)), 0.0
    for m in range(term.weight_px.shape[1]):
        n = 0
        for camera in range(term.weight_px.shape[0]):
            weight = term.weight_px[camera, m]
            if not weight > 0.0 or not compute_image_residual(term, camera, posed.world_m[m], term.ideal[camera, m], e, D):
                continue
            if n == 0:
                n = compute_marker_jacobian(posed, m)
            s = weight * (e[0] * e[0] + e[1] * e[1])
            energy += compute_robust_loss(s, term.robust2[m])
            add_residual(posed, n, e, D, weight * compute_robust_weight(s, term.robust2[m]), A, g)
    return energy


@inline_kernel
def compute_image_residual(term: ViewTerm, camera: int, x: Floats, ideal: Floats, e: Floats, D: Floats) -> bool:
    """Write pi(x) - u [px] to the first two of e (3,), its derivative by x to D (3, 3); return whether x is before the camera.

    Args:
        term: markers seen by one camera.
        camera: number of the camera.
        x: point in the camera's frame, (3,) [m].
        ideal: u, (2,) [px].
        e: (3,), the residual [px] in the first two; written.
        D: derivative with respect to x, (3, 3); written.
    """
    R, t, f = term.rotation[camera], term.translation[camera], term.focal[camera]
    depth = R[2, 0] * x[0] + R[2, 1] * x[1] + R[2, 2] * x[2] + t[2]
    if depth < MIN_DEPTH_M:
        return False
    iz = 1.0 / depth
    u = (R[0, 0] * x[0] + R[0, 1] * x[1] + R[0, 2] * x[2] + t[0]) * iz
    v = (R[1, 0] * x[0] + R[1, 1] * x[1] + R[1, 2] * x[2] + t[1]) * iz
    e[0], e[1] = f * (u - ideal[0]), f * (v - ideal[1])
    for i in range(3):
        D[0, i] = f * iz * (R[0, i] - u * R[2, i])
        D[1, i] = f * iz * (R[1, i] - v * R[2, i])
    return True
