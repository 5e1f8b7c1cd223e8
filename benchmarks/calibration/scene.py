"""Random calibrations with known truth: two cameras, views of a board, and what may go wrong."""

from dataclasses import dataclass

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera, Rig
from calibration.depth import choose_performer_distance_m
from calibration.placement import make_camera_looking_at
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

SIZES = ((640, 480), (1280, 720), (1920, 1080))
ADVERSITIES = ("none", "poor coverage", "bent board", "motion", "outliers", "strong lens", "bumped", "few views")
SECOND_NS = 1_000_000_000
BUMP_RAD = (0.004, -0.006, 0.003)


@dataclass(frozen=True, slots=True)
class CalibrationScene:
    """The truth and the views of a calibration. bend_m: sag of the board over its length; noise_px: of a corner."""

    name: str
    truth: Rig
    board: Board
    moments: tuple[BoardMoment, ...]
    board_to_world: Floats
    noise_px: float
    adversity: str
    bend_m: float = 0.0

    @property
    def performing(self) -> Rig:
        """The cameras when the calibration is used: moved, if one was moved."""
        if self.adversity != "bumped":
            return self.truth
        return Rig((self.truth.cameras[0], bump_camera(self.truth.cameras[1])))


def draw_random_rig(rng: np.random.Generator, strong_lens: bool = False) -> Rig:
    """Return cameras 0.1 to 2 m apart, of 500 to 1500 px focal length, toed in more or less, the left one at the origin."""
    while True:
        size = SIZES[rng.integers(len(SIZES))]
        focal = float(rng.uniform(500.0, 1500.0))
        if 0.7 <= size[0] / focal <= 1.6:
            break
    cameras = []
    for _ in range(2):
        own = focal * rng.uniform(0.98, 1.02)
        center = 0.5 * (np.array(size) - 1.0) + rng.normal(0.0, 0.012, 2) * size[0]
        cameras.append(np.array([[own, 0.0, center[0]], [0.0, own, center[1]], [0.0, 0.0, 1.0]]))
    reach = 0.55 * float(np.hypot(*size)) / focal
    lens = np.stack([draw_random_lens(rng, reach, strong_lens) for _ in range(2)])
    baseline = float(np.exp(rng.uniform(np.log(0.1), np.log(2.0))))
    distance = float(np.clip(2.2 * cameras[0][1, 1] / size[1], 1.0, 6.0))
    height = rng.normal(0.0, 0.05 * baseline)
    target = np.array([0.5 * baseline, 0.0, max(distance * rng.uniform(0.75, 2.5), 0.7 * baseline)])
    left = make_camera_looking_at("left", size, cameras[0], (0.0, 0.0, 0.0), target * (1, -1, -1), lens[0])
    place = (baseline, height, rng.normal(0.0, 0.05 * baseline))
    right = make_camera_looking_at("right", size, cameras[1], place, target * (1, -1, -1), lens[1])
    roll = matrix_from_rotvec(np.array([0.0, 0.0, rng.normal(0.0, 0.03)]))
    R = roll @ right.rotation @ left.rotation.T
    t = roll @ (right.translation - right.rotation @ left.rotation.T @ left.translation)
    return Rig((_replace_pose(left, np.eye(3), np.zeros(3)), _replace_pose(right, R, t)))


def draw_random_lens(rng: np.random.Generator, reach: float, strong: bool) -> Floats:
    """Return distortions that do not fold the image, (5,).

    Args:
        rng: source of random numbers.
        reach: distance of the image's corners in focal lengths.
        strong: whether distortion is strong.
    """
    while True:
        k = np.array([rng.uniform(-0.25, 0.05), rng.uniform(-0.05, 0.15), 0.0, 0.0, 0.0])
        if strong:
            k = rng.uniform((-0.45, 0.1, -0.003, -0.003, -0.08), (-0.3, 0.3, 0.003, 0.003, 0.04))
        r = np.linspace(0.0, 2.0 * reach, 200)
        bent = r * (1.0 + r**2 * (k[0] + r**2 * (k[1] + r**2 * k[4])))
        turns = np.flatnonzero(np.diff(bent) <= 0.0)
        if (bent[turns[0]] if len(turns) else bent[-1]) > 1.05 * reach:
            return k


def _replace_pose(camera: Camera, rotation: Floats, translation: Floats) -> Camera:
    """Return a camera with another pose."""
    return Camera(camera.name, camera.size, camera.matrix, camera.distortions, rotation.copy(), translation.copy())


def bump_camera(camera: Camera) -> Camera:
    """Return a camera rotated by half a degree about its own centre, as by a bump."""
    R = matrix_from_rotvec(np.array(BUMP_RAD))
    return _replace_pose(camera, R @ camera.rotation, R @ camera.translation)


def bend_board(board: Board, sag_m: float) -> Floats:
    """Return the corners of a board that sags along its length, (N, 3) [m]."""
    points = board.points_m.copy()
    x = points[:, 0] - points[:, 0].mean()
    points[:, 2] = sag_m * (1.0 - (x / x.max()) ** 2)
    return points


def is_in_view(camera: Camera, points_m: Floats) -> bool:
    """Return whether a camera sees all points, some pixels from the edge."""
    x = camera.to_camera(points_m)
    wide = 0.5 * np.hypot(*camera.size) / camera.focal_px
    if not (x[:, 2] > 0.1).all() or not (np.hypot(x[:, 0], x[:, 1]) < 1.3 * wide * x[:, 2]).all():
        return False
    px = camera.project(points_m)
    return bool(((px > 4.0) & (px < np.array(camera.size) - 5.0)).all())


def is_face_visible(camera: Camera, normal: Floats, center_m: Floats) -> bool:
    """Return whether a camera sees a board's printed side, not too obliquely.

    Args:
        camera: the camera.
        normal: away from the printed side, (3,).
        center_m: centre of the board, (3,) [m].
    """
    ray = center_m - camera.center_m
    return bool(normal @ ray > 0.3 * np.linalg.norm(ray))


def draw_random_pose(rng: np.random.Generator, rig: Rig, board: Board, poor: bool, near_m: float) -> tuple[Floats, bool]:
    """Return a pose of the board, (6,), and whether both cameras see it.

    Args:
        rng: source of random numbers.
        rig: the cameras, in the world.
        board: the board.
        poor: always distant and facing the camera.
        near_m: distance at which it fills half of an image.
    """
    both = poor or rng.random() > 0.15
    points = board.points_m - board.points_m.mean(axis=0)
    for attempt in range(4000):
        share = min(attempt / 1500.0, 1.0)
        low, high = (2.2, 2.6 + 2.0 * share) if poor else (0.8, 3.0 + 4.0 * share)
        depth = near_m * np.exp(rng.uniform(np.log(low), np.log(high)))
        camera = rig.cameras[rng.integers(2)]
        spread = 0.25 if poor else 1.0
        px = 0.5 * np.array(camera.size) + spread * rng.uniform(-0.5, 0.5, 2) * camera.size
        ray = np.array([*(px - camera.matrix[:2, 2]) / camera.focal_px, 1.0])
        center = camera.rotation.T @ (depth * ray - camera.translation)
        tilt = 0.08 if poor else rng.uniform(0.1, 0.8)
        angle = rng.uniform(0.0, 2.0 * np.pi)
        turn = matrix_from_rotvec(np.array([tilt * np.cos(angle), tilt * np.sin(angle), 0.0]))
        roll = matrix_from_rotvec(np.array([0.0, 0.0, rng.normal(0.0, 0.03 if poor else 0.35)]))
        facing = rig.cameras[0].rotation.T @ matrix_from_rotvec(0.5 * rotvec_from_matrix(rig.cameras[1].rotation)).T
        R = facing @ turn @ roll
        t = center - R @ board.points_m.mean(axis=0)
        seen = [is_in_view(c, points @ R.T + center) and is_face_visible(c, R[:, 2], center) for c in rig.cameras]
        if all(seen) or (not both and any(seen)):
            return np.concatenate([rotvec_from_matrix(R), t]), all(seen)
    raise ValueError("the cameras share no room for a board")


def draw_random_scene(index: int, seed: int = 6, adversity: str | None = None) -> CalibrationScene:
    """Return the scene of a number; half of the scenes have no adversity, unless one is given.

    Args:
        index: its number.
        seed: of the random numbers.
        adversity: which one, or None.
    """
    rng = np.random.default_rng((seed, index))
    drawn = "none" if rng.random() < 0.5 else ADVERSITIES[1 + rng.integers(len(ADVERSITIES) - 1)]
    adversity = drawn if adversity is None else adversity
    while True:
        rig = draw_random_rig(rng, adversity == "strong lens")
        near_m, reach = 0.0, choose_performer_distance_m(rig)
        square = float(rng.uniform(0.025, 0.07))
        board = Board("chessboard", 9, 6, square)
        near_m = 2.0 * 8 * square * rig.cameras[0].focal_px / rig.cameras[0].size[0] * 0.8
        n_views = int(rng.integers(6, 9)) if adversity == "few views" else int(rng.integers(10, 41))
        poor = adversity == "poor coverage"
        try:
            poses = np.array([draw_random_pose(rng, rig, board, poor, near_m)[0] for _ in range(n_views)])
        except ValueError:
            continue
        if near_m < reach:
            break
    noise = float(np.exp(rng.uniform(np.log(0.05), np.log(0.5))))
    bend_m = float(rng.choice((-1, 1)) * rng.uniform(0.004, 0.03) * 8 * square) if adversity == "bent board" else 0.0
    points = bend_board(board, bend_m) if bend_m else board.points_m
    moments = tuple(_view_board(rng, rig, points, pose, v, n_views, noise, adversity) for v, pose in enumerate(poses))
    return CalibrationScene(f"{index}", rig, board, moments, poses, noise, adversity, bend_m)


def _view_board(
    rng: np.random.Generator, rig: Rig, points: Floats, pose: Floats, v: int, n_views: int, noise: float, adversity: str
) -> BoardMoment:
    """Return both cameras' views of the board in one pose."""
    views: list[BoardView | None] = []
    drift = np.zeros(6)
    if adversity == "motion":
        # Held by hand and never at rest: 2 to 20 cm/s, the cameras up to 30 ms apart.
        speed = np.concatenate([rng.normal(0.0, 0.2, 3), rng.normal(0.0, 0.08, 3)])
        drift = speed * rng.uniform(0.2, 1.0) * rng.uniform(-0.03, 0.03)
    for side, camera in enumerate(rig.cameras):
        moved = pose + (drift if side else 0.0)
        seen_by = camera
        if adversity == "bumped" and side and v >= n_views // 2:
            seen_by = bump_camera(camera)
        R = matrix_from_rotvec(moved[:3])
        x = points @ R.T + moved[3:]
        if not is_in_view(seen_by, x) or not is_face_visible(camera, R[:, 2], x.mean(axis=0)):
            views.append(None)
            continue
        px = seen_by.project(x) + rng.normal(0.0, noise, (len(x), 2))
        if adversity == "outliers":
            wild = rng.random(len(px)) < 0.02
            px[wild] += rng.uniform(-8.0, 8.0, (int(wild.sum()), 2))
            if rng.random() < 0.06:
                px = px[::-1].copy()
        views.append(BoardView(px, np.ones(len(px), bool), v * SECOND_NS, f"{camera.name}{v:02d}"))
    return BoardMoment((views[0], views[1]))
