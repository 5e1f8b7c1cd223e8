"""Fit discs to the pixels of one blob by least squares: where two or three markers that touch are.

The image of a marker is modelled as A / (1 + exp((d - r) / s)), d the distance from its centre, and that of several as
A (1 - product of what each leaves dark). Gauss-Newton on the centres alone; sizes and brightness are those from before the
markers touched.
"""

import numpy as np

from config.arrays import Bytes, Floats
from config.jit import kernel
from numerics.definite import eliminate_rows, invert_triangle, substitute_rows

EDGE_PX = 0.45  # s: a lens blur of about 0.7 px
AROUND_PX = 2  # pixels around the blob's box that are fitted as well
MAX_PATCH_PX = 128
DARK_PERCENT = 10.0  # of the patch's pixels show what is behind the markers
STEPS, MAX_STEP_PX = 12, 2.0
EXPECTED_PX = 3.0  # standard deviation of the expected positions
MODEL_ERROR = 0.1  # error of the model of a pixel, relative to the brightness
GOOD = 0.12  # largest share of the squares that several discs may leave
BETTER = 0.5  # and of those that one disc as large as the blob leaves
MIN_DISTANCE = 0.4  # of the sum of two radii: nearer ones cannot be separated
SIGMA_FLOOR_PX = 0.1


def fit_discs(
    image: Bytes,
    box: Floats,
    blob_px: float,
    expected_px: Floats,
    area_px: Floats,
    peak: Floats,
    table: Bytes | None,
    level: float,
) -> tuple[Floats, Floats] | None:
    """Return the centres (K, 2) and their sigmas (K,) [px] of K discs in a blob, None where they do not fit well.

    Args:
        image: BGR, (H, W, 3).
        box: first and last column, first and last row of the blob.
        blob_px: its area.
        expected_px: positions, (K, 2).
        area_px: of each disc above `level`, (K,).
        peak: of each above `level`, (K,).
        table: weights of colours (32, 32, 32), None: the brightest channel is fitted.
        level: threshold of the blobs.
    """
    height, width = image.shape[:2]
    x0, y0 = max(int(box[0]) - AROUND_PX, 0), max(int(box[2]) - AROUND_PX, 0)
    x1, y1 = min(int(box[1]) + AROUND_PX + 1, width), min(int(box[3]) + AROUND_PX + 1, height)
    if max(x1 - x0, y1 - y0) > MAX_PATCH_PX:
        return None
    patch = np.empty((y1 - y0, x1 - x0))
    if table is None:
        write_disc_brightness(image, x0, y0, patch)
    else:
        write_disc_membership(image, x0, y0, table, patch)
    background = float(np.percentile(patch, DARK_PERCENT))
    patch = np.maximum(patch - background, 0.0)
    amplitude = float(np.median(peak)) + level - background
    f = min(max((level - background) / amplitude, 0.02), 0.98)
    rim_px = EDGE_PX * np.log((1.0 - f) / f)  # how much wider a disc is at the level than at half its brightness
    radius = np.maximum(np.sqrt(area_px / np.pi) - rim_px, 0.5)
    start = np.ascontiguousarray(expected_px - (x0, y0))
    # The blob's middle is more reliable than the mean of the predictions.
    start = start + _compute_weighted_middle(patch) - (start * area_px[:, None]).sum(axis=0) / area_px.sum()
    centers, sigma = start.copy(), np.empty(len(start))
    one, one_radius = _compute_weighted_middle(patch)[None], np.array([max(np.sqrt(blob_px / np.pi) - rim_px, 0.5)])
    left_one = fit_disc_centres(patch, amplitude, one_radius, one.copy(), one, np.empty(1))
    left = fit_disc_centres(patch, amplitude, radius, start, centers, sigma)
    if left > GOOD or left > BETTER * left_one or _compute_min_distance(centers, radius) < MIN_DISTANCE:
        return None
    return centers + (x0, y0), sigma


def _compute_weighted_middle(patch: Floats) -> Floats:
    """Return the weighted middle of a patch, (2,)."""
    total = max(float(patch.sum()), 1e-9)
    x, y = np.arange(patch.shape[1]), np.arange(patch.shape[0])
    return np.array([float(patch.sum(axis=0) @ x), float(patch.sum(axis=1) @ y)]) / total


def _compute_min_distance(centers: Floats, radius: Floats) -> float:
    """Return the least distance of two discs over the sum of their radii."""
    a, b = np.triu_indices(len(centers), 1)
    return float((np.linalg.norm(centers[a] - centers[b], axis=1) / (radius[a] + radius[b])).min())


@kernel
def write_disc_brightness(image: Bytes, x0: int, y0: int, patch: Floats) -> None:
    """Write the brightest channel of the pixels to a patch."""
    for y in range(patch.shape[0]):
        for x in range(patch.shape[1]):
            pixel = image[y0 + y, x0 + x]
            patch[y, x] = max(pixel[0], pixel[1], pixel[2])


@kernel
def write_disc_membership(image: Bytes, x0: int, y0: int, table: Bytes, patch: Floats) -> None:
    """Write the weights of the colours of the pixels to a patch."""
    for y in range(patch.shape[0]):
        for x in range(patch.shape[1]):
            pixel = image[y0 + y, x0 + x]
            patch[y, x] = table[pixel[0] >> 3, pixel[1] >> 3, pixel[2] >> 3]


@kernel
def write_disc_equations(
    patch: Floats, amplitude: float, radius: Floats, centers: Floats, H: Floats, g: Floats, work: Floats
) -> float:
    """Write H = J'J, its lower triangle, and g = J'(patch - model) for the centres; return the sum of squares. work: (2, K)."""
    n = len(radius)
    H[:, :] = 0.0
    g[:] = 0.0
    squares = 0.0
    for y in range(patch.shape[0]):
        for x in range(patch.shape[1]):
            dark = 1.0
            for k in range(n):
                dx, dy = x - centers[k, 0], y - centers[k, 1]
                d = max(np.sqrt(dx * dx + dy * dy), 1e-6)
                s = 1.0 / (1.0 + np.exp(min(max((d - radius[k]) / EDGE_PX, -30.0), 30.0)))
                dark *= 1.0 - s
                slope = amplitude * s / EDGE_PX / d  # of the light, over what the others leave dark and over (1 - s)
                work[0, k], work[1, k] = slope * dx, slope * dy
            error = patch[y, x] - amplitude * (1.0 - dark)
            squares += error * error
            for k in range(n):
                jx, jy = work[0, k] * dark, work[1, k] * dark
                g[2 * k] += jx * error
                g[2 * k + 1] += jy * error
                for m in range(k + 1):
                    mx, my = work[0, m] * dark, work[1, m] * dark
                    H[2 * k, 2 * m] += jx * mx
                    H[2 * k, 2 * m + 1] += jx * my
                    H[2 * k + 1, 2 * m] += jy * mx
                    H[2 * k + 1, 2 * m + 1] += jy * my
    return squares


@kernel
def fit_disc_centres(patch: Floats, amplitude: float, radius: Floats, expected: Floats, centers: Floats, sigma: Floats) -> float:
    """Fit the centres (K, 2), write their sigmas, and return the remaining share of the squares."""
    n = len(radius)
    H, g, work = np.empty((2 * n, 2 * n)), np.empty(2 * n), np.empty((2, n))
    trust = (MODEL_ERROR * amplitude / EXPECTED_PX) ** 2
    total = 1e-9
    for y in range(patch.shape[0]):
        for x in range(patch.shape[1]):
            total += patch[y, x] * patch[y, x]
    for _ in range(STEPS):
        write_disc_equations(patch, amplitude, radius, centers, H, g, work)
        for k in range(n):
            for c in range(2):
                H[2 * k + c, 2 * k + c] += trust
                g[2 * k + c] += trust * (expected[k, c] - centers[k, c])
        eliminate_rows(H, g, 0)
        substitute_rows(H, g, 0)
        largest = 0.0
        for a in range(2 * n):
            step = min(max(g[a], -MAX_STEP_PX), MAX_STEP_PX)
            centers[a // 2, a % 2] += step
            largest = max(largest, abs(step))
        if largest < 1e-3:
            break
    squares = write_disc_equations(patch, amplitude, radius, centers, H, g, work)
    for a in range(2 * n):
        H[a, a] += trust
    eliminate_rows(H, g, 0)
    invert_triangle(H)
    noise2 = max(squares / (patch.shape[0] * patch.shape[1]), 4.0)
    for k in range(n):
        variance = 0.0  # of both coordinates: rows of C^-1, whose squares add up to the inverse's diagonal
        for a in (2 * k, 2 * k + 1):
            for b in range(a + 1):
                variance += 0.5 * noise2 * H[a, b] * H[a, b]
        sigma[k] = np.sqrt(SIGMA_FLOOR_PX * SIGMA_FLOOR_PX + variance)
    return squares / total
