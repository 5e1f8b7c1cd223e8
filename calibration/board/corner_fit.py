"""Corners to a hundredth of a pixel: the model of a blurred crossing of four squares is fitted to the pixels around each.

    I(x) = level + slope . (x - c) + half * erf(n1 . (x - c) / (sqrt 2 s1)) * erf(n2 . (x - c) / (sqrt 2 s2))

with the corner c, the unit normals n1, n2 of the two edges through it and the blur s1, s2 across them. Fitted by
Levenberg-Marquardt, all corners of a board at once. Unlike a gradient method the fit uses every pixel of the window, and can
leave out those that a ChArUco board's markers cover.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from calibration.board.pattern import Board
from config.arrays import Floats
from numerics.definite import solve_each_damped

REACH = 0.42  # of a square, how far the window goes
LEAST_RADIUS_PX, MOST_RADIUS_PX = 2, 8
STEPS = 12
MAX_MOVE_PX = 3.0
LEAST_BLUR_PX, MOST_BLUR_PX = 0.25, 8.0
MAX_RESIDUAL = 0.25  # of half the contrast: where an edge ends rather than crosses another it is 0.5
MAX_NOISE = 3.0  # that a dim picture may add to it, in grey levels
X, Y, ANGLE_1, ANGLE_2, BLUR_1, BLUR_2, LEVEL, SLOPE_X, SLOPE_Y, HALF = range(10)


@dataclass(frozen=True, slots=True)
class CornerFit:
    """N fitted corners.

    corners_px: (N, 2); sigma_px: of a coordinate, from the residuals, (N,); blur_px: of the edges along and across the rows, (N,
    2); half: half the contrast, negative where the square to the lower right is the darker one, (N,) [grey levels]; residual: RMS
    [grey levels], (N,); good: fitted near the start, (N,).
    """

    corners_px: Floats
    sigma_px: Floats
    blur_px: Floats
    half: Floats
    residual: Floats
    good: NDArray[np.bool_]


def fit_corners(
    image: NDArray[np.uint8], corners_px: Floats, steps_px: Floats, board: Board, light: NDArray[np.bool_]
) -> CornerFit:
    """Fit the crossing of two edges to the pixels around each of N corners.

    Args:
        image: (H, W).
        corners_px: start, (N, 2).
        steps_px: from the corner to the next along the row and down, (N, 2, 2).
        board: the board that is looked for.
        light: whether the square to the lower right is a light one, (N,), which matters for boards with markers.
    """
    span = np.abs(steps_px).max(axis=(1, 2))
    radius = int(np.clip(np.ceil(REACH * np.percentile(span, 90) * 1.2), LEAST_RADIUS_PX, MOST_RADIUS_PX))
    pixel, inside = _collect_windows(corners_px, radius, image.shape)
    grey = image[pixel[..., 1], pixel[..., 0]].astype(float)
    offset = pixel - corners_px[:, None]
    weight = (inside & _find_unoccluded(offset, steps_px, board, light)).astype(float)
    values = _guess_parameters(grey, offset, weight, steps_px, light)
    values, cost, curvature = _minimise_error(values, grey, offset, weight)
    n_free = np.maximum(weight.sum(axis=1) - values.shape[1], 1.0)
    residual = np.sqrt(cost / n_free)
    covariance = np.linalg.inv(curvature + 1e-9 * np.eye(values.shape[1]))[:, :2, :2]
    sigma = residual * np.sqrt(0.5 * np.clip(np.trace(covariance, axis1=1, axis2=2), 0.0, None))
    blur = np.exp(values[:, BLUR_1 : BLUR_2 + 1])
    move = np.linalg.norm(values[:, :2], axis=1)
    good = (n_free > 12) & (move < np.minimum(MAX_MOVE_PX, REACH * span)) & (np.abs(values[:, HALF]) > 2.0) & (sigma < 1.0)
    return CornerFit(corners_px + values[:, :2], sigma, blur, values[:, HALF], residual, good)


def is_crossing(fit: CornerFit, light: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which corners look like those of one board, (N,): four squares, the right ones light, alike in contrast and blur."""
    seen = fit.good & ((fit.half > 0.0) == light)
    if seen.any():
        usual, blur_px = np.median(np.abs(fit.half[seen])), np.median(fit.blur_px[seen])
        seen &= (np.abs(fit.half) > 0.3 * usual) & (fit.residual < MAX_RESIDUAL * np.abs(fit.half) + MAX_NOISE)
        seen &= np.all(fit.blur_px < 2.5 * max(blur_px, 0.5), axis=1)
    return np.asarray(seen)


def _collect_windows(corners_px: Floats, radius: int, shape: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the pixels around every corner, (N, P, 2) x and y, clipped to the picture, and which are in it, (N, P)."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    pixel = np.rint(corners_px).astype(int)[:, None] + np.column_stack([x.ravel(), y.ravel()])
    limit = np.array([shape[1], shape[0]]) - 1
    return np.clip(pixel, 0, limit), np.all((pixel >= 0) & (pixel <= limit), axis=2)


def _find_unoccluded(offset: Floats, steps_px: Floats, board: Board, light: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which pixels show the four squares only, (N, P): within REACH, and not of a marker."""
    local = offset @ np.linalg.inv(steps_px)  # in squares along the row and down
    usable = np.all(np.abs(local) < REACH, axis=2)
    if board.kind == "charuco":
        in_light = (local[..., 0] * local[..., 1] > 0.0) == light[:, None]
        margin = 0.5 * (1.0 - board.marker_m / board.square_m)
        per_px = 1.0 / np.linalg.norm(steps_px, axis=2).min(axis=1)
        usable &= ~(in_light & np.all(np.abs(local) > margin - 0.7 * per_px[:, None, None], axis=2))
    return np.asarray(usable)


def _guess_parameters(grey: Floats, offset: Floats, weight: Floats, steps_px: Floats, light: NDArray[np.bool_]) -> Floats:
    """Return initial parameters, (N, 10): edges along the steps, a blur of 0.8 px, level and contrast from the window."""
    values = np.zeros((len(grey), 10))
    for angle, step in ((ANGLE_1, 1), (ANGLE_2, 0)):  # the normal of the edge that runs down points along the row
        values[:, angle] = np.arctan2(steps_px[:, step, 1], steps_px[:, step, 0])
    values[:, ANGLE_1] -= 0.5 * np.pi
    values[:, ANGLE_2] += 0.5 * np.pi
    values[:, BLUR_1 : BLUR_2 + 1] = np.log(0.8)
    total = np.maximum(weight.sum(axis=1), 1.0)
    values[:, LEVEL] = (weight * grey).sum(axis=1) / total
    spread = np.sqrt((weight * (grey - values[:, LEVEL, None]) ** 2).sum(axis=1) / total)
    values[:, HALF] = np.where(light, 1.0, -1.0) * spread
    return values


def _minimise_error(values: Floats, grey: Floats, offset: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Minimise the squared error of every corner, each with its own damping; return parameters, cost (N,), J' J (N, 10, 10)."""
    damping = np.full(len(values), 1e-2)
    error, J = compute_corner_model(values, grey, offset, weight)
    cost = (error**2).sum(axis=1)
    for _ in range(STEPS):
        A = J.transpose(0, 2, 1) @ J
        g = (J.transpose(0, 2, 1) @ error[..., None])[..., 0]
        step = solve_each_damped(A, g, damping, 1e-6)
        tried = values + step
        tried[:, BLUR_1 : BLUR_2 + 1] = np.clip(tried[:, BLUR_1 : BLUR_2 + 1], np.log(LEAST_BLUR_PX), np.log(MOST_BLUR_PX))
        new_error, new_J = compute_corner_model(tried, grey, offset, weight)
        new_cost = (new_error**2).sum(axis=1)
        better = new_cost < cost
        values = np.where(better[:, None], tried, values)
        error, J = np.where(better[:, None], new_error, error), np.where(better[:, None, None], new_J, J)
        damping = np.where(better, 0.2 * damping, 8.0 * damping)
        done = np.all(np.abs(step[:, :2]).max(axis=1)[better] < 1e-4) and better.any()
        cost = np.where(better, new_cost, cost)
        if done or not np.any(damping < 1e6):
            break
    return values, cost, J.transpose(0, 2, 1) @ J


def compute_corner_model(values: Floats, grey: Floats, offset: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return model minus picture, (N, P), and its derivatives, (N, P, 10), both weighted."""
    x, y = offset[..., 0] - values[:, X, None], offset[..., 1] - values[:, Y, None]
    edges, edge_slopes, alongs, normals, blurs = [], [], [], [], []
    for angle, blur in ((ANGLE_1, BLUR_1), (ANGLE_2, BLUR_2)):
        c, s = np.cos(values[:, angle, None]), np.sin(values[:, angle, None])
        across = x * c + y * s
        scaled = across / (np.sqrt(2.0) * np.exp(values[:, blur, None]))
        edges.append(erf(scaled))
        edge_slopes.append(2.0 / np.sqrt(np.pi) * np.exp(-(scaled**2)))  # derivative of the wave by `scaled`
        alongs.append(y * c - x * s)
        normals.append((c, s))
        blurs.append((np.sqrt(2.0) * np.exp(values[:, blur, None]), scaled))
    half = values[:, HALF, None]
    J = np.empty((*grey.shape, 10))
    slope = [half * edge_slopes[k] * edges[1 - k] / blurs[k][0] for k in range(2)]  # by the distance across edge k
    J[..., X] = -sum(slope[k] * normals[k][0] for k in range(2)) - values[:, SLOPE_X, None]
    J[..., Y] = -sum(slope[k] * normals[k][1] for k in range(2)) - values[:, SLOPE_Y, None]
    J[..., ANGLE_1], J[..., ANGLE_2] = slope[0] * alongs[0], slope[1] * alongs[1]
    J[..., BLUR_1], J[..., BLUR_2] = (-half * edge_slopes[k] * blurs[k][1] * edges[1 - k] for k in range(2))
    J[..., LEVEL], J[..., SLOPE_X], J[..., SLOPE_Y], J[..., HALF] = 1.0, x, y, edges[0] * edges[1]
    model = values[:, LEVEL, None] + values[:, SLOPE_X, None] * x + values[:, SLOPE_Y, None] * y + half * edges[0] * edges[1]
    return weight * (model - grey), J * weight[..., None]
