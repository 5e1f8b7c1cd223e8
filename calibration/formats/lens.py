"""Lenses of other programs: OpenCV's models of 1 to 14 coefficients, of which a camera holds five.

The rational model, thin prisms and a tilted sensor (8, 12 and 14 coefficients) are refitted to k1, k2, p1, p2, k3 and the camera
matrix, over all that the image shows, and the error of that is logged.
"""

import logging

import cv2
import numpy as np
from scipy.optimize import least_squares

from config.arrays import Floats
from config.errors import FileFormatError

logger = logging.getLogger(__name__)

COUNTS = (1, 2, 4, 5, 8, 12, 14)  # of coefficients; 1 and 2: k1, k2
LENGTHS = tuple((count,) for count in COUNTS)
N_DIRECTIONS, N_RADII = 48, 100  # of the rays at which the refitted lens is compared
WIDEST_RAD = np.radians(80.0)  # from the axis; beyond, the models are not told apart on a plane
LEAST_SHARE, WHOLE_SHARE = 0.5, 0.98  # of an image that a lens has to see, as boards cover as much; that is all of it
MOST_ERROR_PX = 0.5  # RMS; more than twice what calibrations leave would be seen in every point


def read_lens(where: str, size: tuple[int, int], matrix: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Return a camera matrix without skew, (3, 3), and four or five coefficients, refitted if there are more.

    Args:
        where: the camera, for messages.
        size: width, height [px].
        matrix: of the camera, (3, 3) [px].
        coefficients: k1, k2, p1, p2, k3, k4, k5, k6, s1, s2, s3, s4, tau_x, tau_y, or the first of them.
    Raises: FileFormatError: a skew, or a lens that five coefficients do not describe.
    """
    matrix = _remove_skew(where, size, matrix)
    if len(coefficients) < 4:
        return matrix, np.concatenate([coefficients, np.zeros(5 - len(coefficients))])
    if len(coefficients) <= 5 or not coefficients[5:].any():
        return matrix, coefficients[:5].copy()
    if not (np.isfinite(coefficients).all() and np.isfinite(matrix).all() and matrix[0, 0] > 0.0 and matrix[1, 1] > 0.0):
        raise FileFormatError(f"{where} holds a number that is not finite, or no focal length; calibrate again")
    return _refit_lens(where, size, matrix, coefficients)


def _remove_skew(where: str, size: tuple[int, int], matrix: Floats) -> Floats:
    """Return the matrix without a skew too small to be seen, as OpenCV's functions leave it out. Raises FileFormatError."""
    skew = float(matrix[0, 1])
    if skew == 0.0 or not np.isfinite(matrix).all() or matrix[1, 1] <= 0.0:
        return matrix
    error_px = abs(skew) * max(float(matrix[1, 2]), size[1] - float(matrix[1, 2])) / float(matrix[1, 1])
    if error_px > MOST_ERROR_PX:
        raise FileFormatError(f"{where} matrix has a skew of {skew:g} px; expected none: calibrate again without")
    logger.warning("%s has a skew of %g px, which is left out: at most %.2f px at the image's edge", where, skew, error_px)
    without = matrix.copy()
    without[0, 1] = 0.0
    return without


def _refit_lens(where: str, size: tuple[int, int], matrix: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Return the camera matrix and five coefficients that see what a lens of more sees. Raises FileFormatError."""
    rays, px, weights = _trace_rays(size, matrix, coefficients)
    hull = cv2.convexHull(px.astype(np.float32)) if len(px) else np.zeros((0, 1, 2), np.float32)
    share = cv2.contourArea(hull) / (size[0] * size[1]) if len(hull) > 2 else 0.0
    if share < LEAST_SHARE:
        raise FileFormatError(f"{where} has a lens that folds back and sees {share:.0%} of its image; calibrate again")
    start = np.concatenate([matrix[[0, 1, 0, 1], [0, 1, 2, 2]], coefficients[:5]])

    def compute_residuals(x: Floats) -> Floats:
        return ((_project_rays(x, rays) - px) * weights[:, None]).ravel()

    # The refitted coefficients are linear in what the lens does; begin there, since the model's own first five may fold back.
    ideal = np.concatenate([start[:4], _fit_coefficients(start[:4], rays, px, weights)])
    found = least_squares(compute_residuals, ideal, x_scale="jac", method="lm").x
    off_px = np.linalg.norm(_project_rays(found, rays) - px, axis=1)
    rms_px = float(np.sqrt(np.average(off_px**2, weights=weights**2)))
    off = f"{rms_px:.3f} px RMS, {off_px.max():.2f} px at most"
    part = "its image" if share > WHOLE_SHARE else f"the {share:.0%} of its image where it does not fold back"
    said = f"has {len(coefficients)} coefficients, refitted to 5: off by {off}, over {part}"
    if not rms_px <= MOST_ERROR_PX:
        raise FileFormatError(f"{where} {said}; expected at most {MOST_ERROR_PX:g} px RMS: calibrate again with 5")
    logger.warning("%s %s", where, said)
    return np.array([[found[0], 0.0, found[2]], [0.0, found[1], found[3]], [0.0, 0.0, 1.0]]), found[4:].copy()


def _trace_rays(size: tuple[int, int], matrix: Floats, coefficients: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rays at depth 1 that fill the image, (N, 2), where it shows them, (N, 2) [px], and the roots of their areas, (N,).

    In every direction they go from the axis to the image's edge, or to where the model folds back.
    """
    angles, radii = (
        np.linspace(0.0, 2.0 * np.pi, N_DIRECTIONS, endpoint=False),
        np.tan(np.linspace(0.0, WIDEST_RAD, 10 * N_RADII)),
    )
    rays = radii[None, :, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)[:, None]
    on_plane = np.concatenate([rays, np.ones((*rays.shape[:-1], 1))], axis=-1).reshape(-1, 1, 3)
    seen, _ = cv2.projectPoints(on_plane, np.zeros(3), np.zeros(3), matrix, coefficients)
    px = np.asarray(seen, float).reshape(rays.shape)
    from_center = np.linalg.norm(px - px[:, :1], axis=-1)
    rising = np.diff(from_center, axis=1, prepend=-1.0) > 0.0
    inside = ((px >= -0.5) & (px <= np.array(size) - 0.5)).all(axis=-1)
    there = np.logical_and.accumulate(rising & inside, axis=1)
    # Of the dense rays every direction keeps some, even on the image; each stands for the ring around it.
    edge = from_center[there].max(initial=0.0)
    ring = np.floor(from_center / max(edge, 1e-9) * N_RADII)
    kept = there & (np.diff(ring, axis=1, prepend=-1.0) > 0.0)
    return rays[kept], px[kept], np.sqrt(np.maximum(from_center[kept], 1.0))


def _project_rays(lens: Floats, rays: Floats) -> Floats:
    """Return where a lens sees rays, (N, 2) [px]; lens: fx, fy, cx, cy, k1, k2, p1, p2, k3."""
    return np.asarray(lens[:2] * (rays + _stack_terms(rays) @ lens[4:]) + lens[2:4])


def _stack_terms(rays: Floats) -> Floats:
    """Return the derivatives of distorted rays by k1, k2, p1, p2, k3, (N, 2, 5)."""
    x, y = rays.T
    r2 = x * x + y * y
    radial = np.stack([r2, r2 * r2, r2**3], axis=-1)[:, None, :] * rays[:, :, None]
    p1, p2 = np.stack([2.0 * x * y, r2 + 2.0 * y * y], axis=-1), np.stack([r2 + 2.0 * x * x, 2.0 * x * y], axis=-1)
    return np.stack([radial[..., 0], radial[..., 1], p1, p2, radial[..., 2]], axis=-1)


def _fit_coefficients(pinhole: Floats, rays: Floats, px: Floats, weights: Floats) -> Floats:
    """Return the five coefficients that fit best with a camera matrix as it is; pinhole: fx, fy, cx, cy."""
    terms = _stack_terms(rays) * (pinhole[:2] * weights[:, None])[..., None]
    left = (px - pinhole[:2] * rays - pinhole[2:]) * weights[:, None]
    return np.asarray(np.linalg.lstsq(terms.reshape(-1, 5), left.ravel(), rcond=None)[0])
