"""Optimal triangulation from two or more views with distortion, and the covariance of the result.

The point minimises the reprojection error in raw pixels, each camera's weighted by its sigma (the criterion of Hartley & Sturm
1997); Gauss-Newton from the point nearest to the two rays that cross most. Covariance: (J' W J)^-1 at the solution.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import FISHEYE, Camera, Rig, undistort_points
from config.arrays import Bools, Floats, make_read_only
from config.errors import CalibrationError
from config.jit import inline_kernel, kernel

# A packed camera: nine numbers of the lens, R by rows (9), t (3), whether it is a fisheye.
N_PACKED = 22
MAX_STEPS = 12


@lru_cache(maxsize=32)
def pack_camera(camera: Camera) -> Floats:
    """Return a camera as one row of numbers for the kernels, (22,)."""
    row = np.zeros(N_PACKED)
    row[:9] = camera.intrinsics[:9]
    row[9:18] = camera.rotation.ravel()
    row[18:21] = camera.translation
    row[21] = camera.intrinsics[FISHEYE]
    row.setflags(write=False)
    return row


@lru_cache(maxsize=16)
def pack_rig(rig: Rig) -> Floats:
    """Return the cameras as rows of numbers for the kernels, (V, 22)."""
    return make_read_only(np.stack([pack_camera(camera) for camera in rig.cameras]))


def triangulate(
    rig: Rig, left_px: ArrayLike, right_px: ArrayLike, sigma_left_px: ArrayLike = 1.0, sigma_right_px: ArrayLike = 1.0
) -> tuple[Floats, Floats]:
    """Triangulate points that both cameras see.

    A point whose rays do not meet in front of the cameras may come out anywhere, but finite: check its depths.

    Args:
        rig: the cameras.
        left_px, right_px: corresponding raw image points, (N, 2) [px].
        sigma_left_px, sigma_right_px: their standard deviations, (N,) or one for all [px].
    Returns: point_m (N, 3) world and covariance_m2 (N, 3, 3).
    Raises: CalibrationError: unequal lengths, or a sigma that is not positive.
    """
    px = np.empty((2, np.shape(left_px)[0], 2))
    if np.shape(left_px) != np.shape(right_px):
        raise CalibrationError(
            f"{np.shape(left_px)[0]} left and {np.shape(right_px)[0]} right points; correspondences come in equal numbers"
        )
    px[0], px[1] = left_px, right_px
    sigma = np.empty((2, px.shape[1]))
    sigma[0], sigma[1] = sigma_left_px, sigma_right_px
    if not (sigma > 0.0).all():
        raise CalibrationError(
            "a blob's sigma is not positive; every measured point needs the standard deviation of its centre in pixels"
        )
    return triangulate_views(rig, px, np.ones(sigma.shape, bool), sigma)


def triangulate_views(rig: Rig, px: Floats, seen: Bools, sigma_px: ArrayLike = 1.0) -> tuple[Floats, Floats]:
    """Triangulate points from all cameras that see them, two at least.

    Args:
        rig: the cameras.
        px: raw image points, (V, N, 2) [px], arbitrary where not seen.
        seen: by which cameras, (V, N).
        sigma_px: standard deviations, (V, N) or one for all [px].
    Returns: point_m (N, 3) world and covariance_m2 (N, 3, 3).
    """
    ideal, sigma = np.zeros(px.shape), np.ascontiguousarray(np.broadcast_to(np.asarray(sigma_px, float), seen.shape))
    px = np.where(seen[..., None], px, 0.0)
    for camera, raw, out in zip(rig.cameras, px, ideal, strict=True):
        undistort_points(raw, camera.intrinsics, out)
    point, covariance = np.empty((px.shape[1], 3)), np.empty((px.shape[1], 3, 3))
    write_triangulated(pack_rig(rig), Sights(px, ideal, sigma, np.ascontiguousarray(seen)), point, covariance)
    return point, covariance


class Sights(NamedTuple):
    """N points as V cameras see them: px (V, N, 2) raw, ideal (V, N, 2) normalised, sigma (V, N) [px], seen (V, N)."""

    px: Floats
    ideal: Floats
    sigma: Floats
    seen: Bools


@inline_kernel
def _write_jacobian(c: Floats, J: Floats, at: tuple[float, float, float], bent: tuple[float, float, float]) -> None:
    """Write the Jacobian of a projection, (2, 3); at: x/z, y/z, z of the point; bent: the lens model's, symmetric: xx, xy, yy."""
    for k in range(3):
        dx = (c[9 + k] - at[0] * c[15 + k]) / at[2]
        dy = (c[12 + k] - at[1] * c[15 + k]) / at[2]
        J[0, k] = c[0] * (bent[0] * dx + bent[1] * dy)
        J[1, k] = c[1] * (bent[1] * dx + bent[2] * dy)


@kernel
def project_point(c: Floats, p: Floats, uv: Floats, J: Floats) -> bool:
    """Project a world point with its Jacobian; return False, and write neither, unless it is in front of the camera.

    Args:
        c: the camera as `pack_camera` has it, (22,).
        p: the point, (3,) [m].
        uv: where it is in the image, (2,) [px]; written.
        J: d uv / d p, (2, 3); written.
    """
    X = c[9] * p[0] + c[10] * p[1] + c[11] * p[2] + c[18]
    Y = c[12] * p[0] + c[13] * p[1] + c[14] * p[2] + c[19]
    Z = c[15] * p[0] + c[16] * p[1] + c[17] * p[2] + c[20]
    if Z < 1e-6:
        return False
    x, y = X / Z, Y / Z
    r2 = x * x + y * y
    if c[21] > 0.0:
        r = np.sqrt(r2)
        theta = np.arctan(r)
        t2 = theta * theta
        bent = 1.0 + t2 * (c[4] + t2 * (c[5] + t2 * (c[6] + t2 * c[7])))
        rate = (1.0 + t2 * (3.0 * c[4] + t2 * (5.0 * c[5] + t2 * (7.0 * c[6] + t2 * 9.0 * c[7])))) / (1.0 + r2)
        radial = theta * bent / r if r > 1e-8 else 1.0
        slope = (rate - radial) / r2 if r > 1e-4 else 0.0  # d radial / d x = slope * x
        uv[0], uv[1] = c[0] * x * radial + c[2], c[1] * y * radial + c[3]
        _write_jacobian(c, J, (x, y, Z), (radial + slope * x * x, slope * x * y, radial + slope * y * y))
        return True
    radial = 1.0 + r2 * (c[4] + r2 * (c[5] + r2 * c[8]))
    slope = 2.0 * (c[4] + r2 * (2.0 * c[5] + r2 * 3.0 * c[8]))  # d radial / d x = slope * x
    uv[0] = c[0] * (x * radial + 2.0 * c[6] * x * y + c[7] * (r2 + 2.0 * x * x)) + c[2]
    uv[1] = c[1] * (y * radial + c[6] * (r2 + 2.0 * y * y) + 2.0 * c[7] * x * y) + c[3]
    xx = radial + slope * x * x + 2.0 * c[6] * y + 6.0 * c[7] * x
    xy = slope * x * y + 2.0 * c[6] * x + 2.0 * c[7] * y
    yy = radial + slope * y * y + 6.0 * c[6] * y + 2.0 * c[7] * x
    _write_jacobian(c, J, (x, y, Z), (xx, xy, yy))
    return True


@inline_kernel
def _write_rays(cameras: Floats, ideal: Floats, seen: Bools, rays: Floats) -> tuple[int, int]:
    """Write centre and unit direction of each camera's ray, (V, 6), and return the two rays of those seen that cross most."""
    for i in range(len(cameras)):
        c = cameras[i]
        x, y = ideal[i, 0], ideal[i, 1]
        length = np.sqrt(x * x + y * y + 1.0)
        for k in range(3):
            rays[i, 3 + k] = (c[9 + k] * x + c[12 + k] * y + c[15 + k]) / length
            rays[i, k] = -(c[9 + k] * c[18] + c[12 + k] * c[19] + c[15 + k] * c[20])
    first, second, least = 0, 0, np.inf
    for i in range(len(cameras)):
        for j in range(i + 1, len(cameras)):
            if seen[i] and seen[j]:
                along = abs(rays[i, 3] * rays[j, 3] + rays[i, 4] * rays[j, 4] + rays[i, 5] * rays[j, 5])
                if along < least:
                    first, second, least = i, j, along
    return first, second


@inline_kernel
def _write_midpoint(a: Floats, z: Floats, p: Floats) -> None:
    """Write the point nearest to two rays to `p`, at most 1 km away; a, z: centre and unit direction, (6,)."""
    b = d = e = 0.0
    for k in range(3):
        gap = a[k] - z[k]
        b += a[3 + k] * z[3 + k]
        d += a[3 + k] * gap
        e += z[3 + k] * gap
    denominator = max(1.0 - b * b, 1e-12)
    along = (min(max((b * e - d) / denominator, -1e3), 1e3), min(max((e - b * d) / denominator, -1e3), 1e3))
    for k in range(3):
        p[k] = 0.5 * (a[k] + along[0] * a[3 + k] + z[k] + along[1] * z[3 + k])


@inline_kernel
def _write_normal_equations(cameras: Floats, px: Floats, weight: Floats, p: Floats, H: Floats, work: Floats) -> bool:
    """Write H = J' W J to H[:, :3] and the gradient J' W r to H[:, 3]; return False unless all that see the point have it ahead.

    weight: (V,), 0 where a camera does not see it.
    """
    H[:] = 0.0
    for i in range(len(cameras)):
        if weight[i] == 0.0:
            continue
        uv, J = work[0, :2], work[1:3]
        if not project_point(cameras[i], p, uv, J):
            return False
        for row in range(2):
            residual = px[i, row] - uv[row]
            for a in range(3):
                H[a, 3] += weight[i] * J[row, a] * residual
                for b in range(3):
                    H[a, b] += weight[i] * J[row, a] * J[row, b]
    return True


@inline_kernel
def _invert_3x3(H: Floats, out: Floats) -> None:
    """Invert a symmetric positive definite (3, 3), kept away from singular."""
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        for d in range(3):
            e, f = (d + 1) % 3, (d + 2) % 3
            out[d, a] = H[b, e] * H[c, f] - H[b, f] * H[c, e]
    det = H[0, 0] * out[0, 0] + H[0, 1] * out[1, 0] + H[0, 2] * out[2, 0]
    scale = (H[0, 0] + H[1, 1] + H[2, 2]) / 3.0
    det = max(det, 1e-18 * scale * scale * scale)
    for a in range(3):
        for b in range(3):
            out[a, b] /= det


@kernel
def write_triangulated(cameras: Floats, sights: Sights, point: Floats, covariance: Floats) -> None:
    """Triangulate each point from the two or more cameras that see it.

    Args:
        cameras: as `pack_rig` has them, (V, 22).
        sights: the points as the cameras see them.
        point: (N, 3) [m]; written.
        covariance: (N, 3, 3) [m^2]; written.
    """
    n_views = len(cameras)
    rays, H, weight, projected = np.empty((n_views, 6)), np.empty((3, 4)), np.empty(n_views), np.empty((3, 3))
    for n in range(point.shape[0]):
        p, C = point[n], covariance[n]
        first, second = _write_rays(cameras, sights.ideal[:, n], sights.seen[:, n], rays)
        _write_midpoint(rays[first], rays[second], p)
        for i in range(n_views):
            sigma = sights.sigma[i, n]
            weight[i] = 1.0 / (sigma * sigma) if sights.seen[i, n] else 0.0
        for _ in range(MAX_STEPS):
            if not _write_normal_equations(cameras, sights.px[:, n], weight, p, H, projected):
                C[:] = 0.0
                for a in range(3):
                    C[a, a] = 1e6  # behind a camera: nothing is known of the point
                break
            _invert_3x3(H, C)
            moved = 0.0
            for a in range(3):
                step = C[a, 0] * H[0, 3] + C[a, 1] * H[1, 3] + C[a, 2] * H[2, 3]
                step = min(max(step, -1.0), 1.0)
                p[a] += step
                moved += step * step
            if moved < 1e-16:
                break
