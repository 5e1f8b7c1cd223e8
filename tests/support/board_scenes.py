"""Boards seen by cameras: rendered pictures, and where their corners truly are.

The pattern is integrated exactly over the footprint of every sample: edges lie where they should to a hundredth of a pixel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.pattern import Board, Pattern, build_board_pattern
from calibration.camera import Camera, Rig
from calibration.placement import is_all_in_view
from config.arrays import Floats, Image
from database.geometry.rotations import matrix_from_rotvec
from tests.support.rigs import synthetic_rig

PAPER, INK, ROOM = 205.0, 28.0, 95.0
CIRCLE_SHARE = 0.4  # radius of a printed circle, of the distance between rows


@dataclass(frozen=True, slots=True)
class Placed:
    """A board in the world: p_world = R(rotvec) p_board + translation_m; margin: white paper around it [squares]."""

    board: Board
    rotvec: Floats
    translation_m: Floats
    margin: float = 1.0


@dataclass(frozen=True, slots=True)
class Look:
    """How a picture is taken.

    blur_px: of the lens, a Gaussian's sigma; motion_px: way of the image while it was exposed, (x, y); noise: sigma, in grey
    levels; light: relative change from left to right and top to bottom; gain: of all; clutter: number of grey boxes behind;
    samples: along each side of a pixel; 4 to measure thousandths of a pixel.
    """

    blur_px: float = 0.6
    motion_px: tuple[float, float] = (0.0, 0.0)
    noise: float = 2.0
    light: tuple[float, float] = (0.0, 0.0)
    gain: float = 1.0
    clutter: int = 12
    samples: int = 2


def render_board(
    board: Board,
    camera: Camera,
    rotvec: Floats,
    translation: Floats,
    look: Look | None = None,
    seed: int = 0,
    margin: float = 1.0,
) -> Image:
    """Return the picture that a camera takes of a board, (H, W); pose: board to world [rad, m]."""
    return render([Placed(board, np.asarray(rotvec, float), np.asarray(translation, float), margin)], camera, look, seed)


def render(placed: Sequence[Placed], camera: Camera, look: Look | None = None, seed: int = 0) -> Image:
    """Return the picture that a camera takes of some boards, the later ones in front, (H, W)."""
    look = look or Look()
    rng = np.random.default_rng(seed)
    width, height = camera.size
    image = np.full((height, width), ROOM)
    for _ in range(look.clutter):
        x, y, w, h = (rng.random(4) * [width, height, 0.4 * width, 0.4 * height]).astype(int)
        image[y : y + h, x : x + w] = rng.uniform(40.0, 160.0)
    for each in placed:
        _draw(image, each, camera, look.samples)
    return _taken(image, look, rng)


def render_circles(
    board: Board,
    camera: Camera,
    rotvec: Floats,
    translation: Floats,
    look: Look | None = None,
    seed: int = 0,
    margin: float = 1.0,
    samples: int = 4,
) -> Image:
    """Return the picture that a camera takes of a board of circles on white paper, (H, W), as `render_board`."""
    (width, height), R = camera.size, camera.rotation @ matrix_from_rotvec(np.asarray(rotvec, float))
    steps = [(np.arange(n * samples) + 0.5) / samples - 0.5 for n in (width, height)]
    rays = camera.rays(np.stack(np.meshgrid(*steps), axis=-1))
    to_board = np.linalg.inv(np.column_stack([R[:, 0], R[:, 1], camera.rotation @ translation + camera.translation]))
    on_board = rays @ to_board.T
    at, centres = on_board[..., :2] / on_board[..., 2:], board.points_m[:, :2]
    low, high = centres.min(axis=0) - margin * board.square_m, centres.max(axis=0) + margin * board.square_m
    image = np.where(np.all((at > low) & (at < high), axis=-1), PAPER, ROOM)
    for centre in centres:
        image[np.hypot(*np.moveaxis(at - centre, -1, 0)) < CIRCLE_SHARE * board.square_m] = INK
    image = image.reshape(height, samples, width, samples).mean(axis=(1, 3))
    return _taken(image, look or Look(), np.random.default_rng(seed))


def _taken(image: Floats, look: Look, rng: np.random.Generator) -> Image:
    """Return what lens, exposure and sensor make of an ideal picture."""
    height, width = image.shape
    x, y = np.linspace(-0.5, 0.5, width), np.linspace(-0.5, 0.5, height)[:, None]
    image = image * look.gain * (1.0 + look.light[0] * x + look.light[1] * y)
    if look.blur_px > 0.0:
        image = cv2.GaussianBlur(image, (0, 0), look.blur_px)
    if any(look.motion_px):
        image = _moved(image, look.motion_px)
    return np.clip(np.rint(image + rng.normal(0.0, look.noise, image.shape)), 0, 255).astype(np.uint8)


def _moved(image: Floats, motion_px: tuple[float, float]) -> Floats:
    """Average the picture over a straight way, its middle where the truth is."""
    n = max(3, 2 * int(np.ceil(np.hypot(*motion_px))) + 1)
    total = np.zeros_like(image)
    for share in np.linspace(-0.5, 0.5, n):
        shift = np.array([[1.0, 0.0, share * motion_px[0]], [0.0, 1.0, share * motion_px[1]]])
        total += cv2.warpAffine(image, shift, image.shape[::-1], flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return total / n


def _draw(image: Floats, placed: Placed, camera: Camera, samples: int) -> None:
    """Draw one board into an ideal picture; what lies behind the camera is not drawn."""
    pattern, R, t, margin_m = _on_camera(placed, camera)
    edges_m = np.array([[x, y, 0.0] for x in _sides(pattern.x_m, margin_m) for y in _sides(pattern.y_m, margin_m)])
    rim = np.concatenate([np.linspace(edges_m[a], edges_m[b], 9) for a, b in ((0, 1), (1, 3), (3, 2), (2, 0))])
    x = rim @ R.T + t
    assert x[:, 2].min() > 0.01, "the board must stand in front of the camera"
    seen = replace(camera, rotation=np.eye(3), translation=np.zeros(3)).project(x)
    low = np.clip(np.floor(seen.reshape(-1, 2).min(axis=0)) - 2, 0, np.array(camera.size)).astype(int)
    high = np.clip(np.ceil(seen.reshape(-1, 2).max(axis=0)) + 3, 0, np.array(camera.size)).astype(int)
    if np.any(high <= low):
        return
    window = image[low[1] : high[1], low[0] : high[0]]
    covered, ink = _coverage(pattern, margin_m, R, t, camera, low, high, samples)
    window[:] = (1.0 - covered) * window + covered * PAPER + ink * (INK - PAPER)


def _on_camera(placed: Placed, camera: Camera) -> tuple[Pattern, Floats, Floats, float]:
    """Return the pattern, the pose board to camera, and the margin [m]."""
    R = camera.rotation @ matrix_from_rotvec(placed.rotvec)
    t = camera.rotation @ placed.translation_m + camera.translation
    return build_board_pattern(placed.board), R, t, placed.margin * placed.board.square_m


def _sides(line_m: Floats, margin_m: float) -> tuple[float, float]:
    return float(line_m[0] - margin_m), float(line_m[-1] + margin_m)


def _coverage(
    pattern: Pattern,
    margin_m: float,
    R: Floats,
    t: Floats,
    camera: Camera,
    low: NDArray[np.int_],
    high: NDArray[np.int_],
    samples: int,
) -> tuple[Floats, Floats]:
    """Return how much of each pixel between two corners of the picture shows paper, and ink, (h, w) each."""
    w, h = high - low
    corners = np.stack(np.meshgrid(np.arange(low[0], high[0] + 1) - 0.5, np.arange(low[1], high[1] + 1) - 0.5), axis=-1)
    ideal = _finer(_finer(camera.undistort(corners), samples).swapaxes(0, 1), samples).swapaxes(0, 1)
    rays = np.concatenate([ideal, np.ones((*ideal.shape[:2], 1))], axis=-1)
    to_board = np.linalg.inv(np.column_stack([R[:, 0], R[:, 1], t]))  # ray ~ x r1 + y r2 + t
    on_board = rays @ to_board.T
    u, v = (on_board[..., k] / on_board[..., 2] for k in range(2))
    half_u, half_v = (0.5 * np.maximum(np.hypot(*np.gradient(a)), 1e-9) for a in (u, v))
    boxes = ((u, half_u), (v, half_v))
    lines = (pattern.x_m, pattern.y_m)
    paper = _product([np.array(_sides(line, margin_m)) for line in lines], [np.ones(1)] * 2, boxes)
    if np.array_equal(pattern.dark, np.indices(pattern.dark.shape).sum(axis=0) % 2 == 0):  # a chessboard
        signs = [(-1.0) ** np.arange(len(line) - 1) for line in lines]
        even = _product(lines, [np.ones_like(sign) for sign in signs], boxes) + _product(lines, signs, boxes)
        dark = 0.5 * even
    else:
        dark = _box_mean(pattern, u, v, half_u, half_v)
    covered, ink = (mean.reshape(h, samples, w, samples).mean(axis=(1, 3)) for mean in (paper, dark))
    return covered, ink


def _finer(values: Floats, samples: int) -> Floats:
    """Interpolate between rows where samples lie: a lens bends the picture by less than 0.001 px within a pixel."""
    part = ((np.arange(samples) + 0.5) / samples)[None, :, None, None]
    finer = values[:-1, None] * (1.0 - part) + values[1:, None] * part
    return np.asarray(finer.reshape(-1, *values.shape[1:]))


def _product(lines: Sequence[Floats], values: Sequence[Floats], boxes: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Average f(x) g(y) over boxes exactly, each constant between the numbers of its line and 0 outside."""
    mean = np.ones(1)
    for line, value, (middle, half) in zip(lines, values, boxes, strict=True):
        integral = np.concatenate([[0.0], np.cumsum(value * np.diff(line))])
        mean = mean * (np.interp(middle + half, line, integral) - np.interp(middle - half, line, integral)) / (2.0 * half)
    return np.asarray(mean)


def _box_mean(pattern: Pattern, u: Floats, v: Floats, half_u: Floats, half_v: Floats) -> Floats:
    """Average dark (1) and light (0) over boxes around points of the board exactly, by the table of sums."""
    cells = pattern.dark * np.diff(pattern.y_m)[:, None] * np.diff(pattern.x_m)
    table = np.zeros((len(pattern.y_m), len(pattern.x_m)))
    table[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)

    def summed(x: tuple[NDArray[np.intp], Floats], y: tuple[NDArray[np.intp], Floats]) -> Floats:
        (i, a), (j, b) = x, y
        top = (1.0 - a) * table[j, i] + a * table[j, i + 1]
        return np.asarray((1.0 - b) * top + b * ((1.0 - a) * table[j + 1, i] + a * table[j + 1, i + 1]))

    left, right = (_between(pattern.x_m, x) for x in (u - half_u, u + half_u))
    above, below = (_between(pattern.y_m, y) for y in (v - half_v, v + half_v))
    total = summed(right, below) - summed(left, below) - summed(right, above) + summed(left, above)
    return np.asarray(total / (4.0 * half_u * half_v))


def _between(line: Floats, at: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the interval of sorted numbers that holds each value, and how far in it lies, clipped to the ends."""
    at = np.clip(at, line[0], line[-1])
    index = np.clip(np.searchsorted(line, at, side="right") - 1, 0, len(line) - 2)
    return index, (at - line[index]) / (line[index + 1] - line[index])


def true_corners(board: Board, camera: Camera, pose: Floats) -> Floats:
    """Return where a camera sees the inner corners of a board, (N, 2) [px]; pose: board to world, (6,) [rad, m]."""
    return camera.project(board.points_m @ matrix_from_rotvec(np.asarray(pose[:3])).T + pose[3:])


def usual_rig(size: tuple[int, int] = (640, 480), baseline_m: float = 0.35) -> Rig:
    """Return two webcams with mild barrels of their own, their axes meeting about 1.6 m ahead; world: Y up."""
    lens = (-0.11, 0.06, 0.0004, -0.0003, 0.0)
    return synthetic_rig((-0.4 * baseline_m, 1.0, 1.6), (0.6 * baseline_m, 1.05, 1.62), (0.0, 1.0, 0.0), size, distortions=lens)


def scene_views(
    board: Board,
    rig: Rig,
    n: int,
    seed: int = 0,
    share: tuple[float, float] = (0.3, 0.75),
    tilt_rad: float = 0.75,
    first: int = 0,
) -> Floats:
    """Return poses of a board, all of it in view of both cameras and well spread, board to world, (n, 6) [rad, m].

    share: how much of the left picture's width the board spans, from far to near; tilt_rad: the largest. Its rows stay within
    half a radian of the picture's. first: of the nine parts of the left picture the board's middle goes through in turn; 4: the
    middle one.
    """
    rng = np.random.default_rng(seed)
    poses: list[Floats] = []
    for number in range(first, first + n):
        for attempt in range(4000):
            aim = np.array([number % 3, number // 3 % 3]) if attempt < 2000 else rng.integers(0, 3, 2)
            pose = _random_pose(board, rig.cameras[0], rng, aim, rng.uniform(*share), tilt_rad)
            if _in_view(board, rig, pose):
                poses.append(pose)
                break
        else:
            raise AssertionError("this board does not fit into the view of both cameras: give it a smaller share")
    return np.array(poses)


def _random_pose(
    board: Board, camera: Camera, rng: np.random.Generator, aim: NDArray[np.int_], share: float, tilt: float
) -> Floats:
    """Return a pose whose middle lies in one of nine parts of the picture."""
    middle_px = (aim + rng.random(2)) / 3.0 * camera.size
    distance_m = camera.focal_px * (board.columns + 1) * board.square_m / (share * camera.size[0])
    axis = rng.normal(size=2)
    turn = rng.uniform(-0.5, 0.5)
    lean = np.append(axis / np.linalg.norm(axis) * tilt * np.sqrt(rng.random()), 0.0)
    R = camera.rotation.T @ matrix_from_rotvec(lean) @ matrix_from_rotvec(np.array([0.0, 0.0, turn]))
    middle_m = camera.rotation.T @ (np.append(camera.undistort(middle_px), 1.0) * distance_m - camera.translation)
    rotvec, _ = cv2.Rodrigues(R)
    return np.concatenate([rotvec.ravel(), middle_m - R @ board.points_m.mean(axis=0)])


def _in_view(board: Board, rig: Rig, pose: Floats) -> bool:
    """Return whether both cameras see the whole board, a bit of its margin included, from its front."""
    s = board.square_m
    rim = np.array([[x, y, 0.0] for x in (-1.3 * s, (board.columns + 0.3) * s) for y in (-1.3 * s, (board.rows + 0.3) * s)])
    R = matrix_from_rotvec(pose[:3])
    middle = R @ board.points_m.mean(axis=0) + pose[3:]
    faces = all((middle - camera.center_m) @ R[:, 2] > 0.4 * np.linalg.norm(middle - camera.center_m) for camera in rig.cameras)
    return faces and is_all_in_view(rig, rim @ R.T + pose[3:], 4.0)
