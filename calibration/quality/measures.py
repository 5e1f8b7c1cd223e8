"""What a solved calibration measures in millimetres and degrees (edges of squares, tilts, distances), and checks that it is
physically possible.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibration.camera import BASELINE_RANGE_M, FOCAL_RANGE, MAX_FISHEYE_RAD, Camera, Rig
from calibration.quality.report import Finding, Grade, GradeLimits
from calibration.solve.solution import RigSolution
from calibration.triangulate import triangulate_views
from config.arrays import Bools, Floats
from config.settings import CAMERA_NAMES
from database.geometry.rotations import matrix_from_rotvec

ASPECT = GradeLimits(0.05, 0.2)  # relative difference of fx and fy that is unusual, and that no camera has
OFF_CENTER = GradeLimits(0.15, 0.35)  # of the picture's length: distance of the principal point that is unusual, and impossible
SIDEWAYS = 0.3  # of the baseline, on the wrong side: the cameras are exchanged


@dataclass(frozen=True, slots=True)
class SquareSides:
    """Sides of squares as the cameras measure them, along the board's rows and down its columns [m].

    mean_m, sigma_m: of all lengths; true_m: mean of their components along the board's sides, which noise does not lengthen, and
    true_sigma_m: of one; n: how many.
    """

    mean_m: float
    sigma_m: float
    true_m: float
    true_sigma_m: float
    n: int


def measure_square_sides(solution: RigSolution) -> SquareSides:
    """Measure the sides of the squares from corners that two cameras saw; longer distances count as several sides."""
    board, shared = solution.board, find_shared_corners(solution)
    points = np.full((*shared.shape, 3), np.nan)
    if shared.any():
        px = np.stack([collect_corners_px(solution, side)[shared] for side in range(len(solution.rig))])
        points[shared] = triangulate_views(solution.rig, px, solution.used[:, shared])[0]
    R = matrix_from_rotvec(solution.board_to_world[:, :3])
    first, second, axis = board.edges
    squares = np.linalg.norm(board.points_m[second] - board.points_m[first], axis=1) / board.square_m
    sides = (points[:, second] - points[:, first]) / squares[:, None]
    part = np.einsum("vei,vie->ve", sides, R[:, :, axis]).ravel()
    length = np.linalg.norm(sides, axis=-1).ravel()
    length, part = length[np.isfinite(length)], part[np.isfinite(part)]
    if not len(length):
        return SquareSides(float("nan"), float("nan"), float("nan"), float("nan"), 0)
    return SquareSides(float(length.mean()), float(length.std()), float(part.mean()), float(part.std()), len(length))


def find_shared_corners(solution: RigSolution) -> Bools:
    """Return which corners two cameras at least saw, (V, N)."""
    return np.asarray(solution.used.sum(axis=0) > 1)


def list_camera_keys(rig: Rig) -> tuple[str, ...]:
    """Return the cameras' names in figures: left and right of two, their own of more."""
    return CAMERA_NAMES[:2] if len(rig) <= 2 else tuple(camera.name for camera in rig.cameras)


def collect_corners_px(solution: RigSolution, side: int) -> Floats:
    """Return the measured corners of a camera, (V, N, 2) raw [px], zero where not seen."""
    out = np.zeros((*solution.used.shape[1:], 2))
    for v, pair in enumerate(solution.moments):
        view = pair.views[side]
        if view is not None:
            out[v, view.seen] = view.corners_px[view.seen]
    return out


def compute_view_rms_px(solution: RigSolution) -> Floats:
    """Return the RMS of each view by camera, (C, V) [px], NaN where a camera did not see it."""
    n = solution.used.sum(axis=2)
    squares = (solution.residual_px**2).sum(axis=(2, 3))
    return np.asarray(np.where(n > 0, np.sqrt(squares / np.maximum(n, 1)), np.nan))


def compute_depth_ratio(solution: RigSolution, side: int) -> float:
    """Return the distance of the farthest over that of the nearest corner that a camera saw."""
    depths = compute_board_points_m(solution, side)[..., 2][solution.used[side]]
    return float(np.percentile(depths, 98) / max(np.percentile(depths, 2), 1e-6)) if len(depths) else 1.0


def compute_tilts_rad(solution: RigSolution, side: int) -> Floats:
    """Return the angle of each board that a camera saw from facing it squarely, (V',) [rad]."""
    seen = solution.used[side].any(axis=1)
    camera = solution.rig.cameras[side]
    normals = matrix_from_rotvec(solution.board_to_world[seen, :3])[:, :, 2] @ camera.rotation.T
    middles = compute_board_points_m(solution, side)[seen].mean(axis=1)
    cosines = (normals * middles).sum(axis=1) / np.maximum(np.linalg.norm(middles, axis=1), 1e-9)
    return np.asarray(np.arccos(np.clip(cosines, -1.0, 1.0)))


def compute_board_points_m(solution: RigSolution, side: int) -> Floats:
    """Return the board's corners in a camera's frame, (V, N, 3) [m]."""
    R, t = matrix_from_rotvec(solution.board_to_world[:, :3]), solution.board_to_world[:, 3:]
    world = solution.board.points_m @ np.swapaxes(R, 1, 2) + t[:, None]
    return solution.rig.cameras[side].to_camera(world)


def judge_sanity(solution: RigSolution) -> list[Finding]:
    """Check what must hold whatever the pixels say."""
    monocular = solution.rig.is_monocular
    findings = [
        finding for camera in solution.rig.cameras for finding in (_judge_lens(camera), _judge_folding(camera)) if finding
    ]
    findings += _judge_boards(solution)
    if not monocular:
        findings += _judge_sides(solution)
    return findings


def _judge_lens(camera: Camera) -> Finding | None:
    """Check focal lengths and principal point."""
    K, size = camera.matrix, np.array(camera.size)
    side = float(size.max())
    fx, fy = float(K[0, 0]), float(K[1, 1])
    who = f"{camera.title}'s"
    if not all(FOCAL_RANGE[0] <= focal / side <= FOCAL_RANGE[1] for focal in (fx, fy)):
        text = f"{who} focal length came out as {fx:.0f} x {fy:.0f} px, which no lens has for pictures {side:.0f} px long"
        return Finding(Grade.FAIL, text, "take views with the board tilted, near and far")
    aspect = abs(fx / fy - 1.0)
    off = float((np.abs(K[:2, 2] - 0.5 * (size - 1.0)) / side).max())
    if aspect > ASPECT.poor or off > OFF_CENTER.poor:
        text = f"{who} lens came out as no lens is: fx/fy = {fx / fy:.2f}, its axis {off * side:.0f} px off the picture's middle"
        return Finding(Grade.FAIL, text, "take views with the board tilted, near and far, all over the picture")
    if aspect > ASPECT.passed or off > OFF_CENTER.passed:
        text = f"{who} lens is unusual: fx/fy = {fx / fy:.2f}, its axis {off * side:.0f} px off the picture's middle"
        return Finding(Grade.POOR, text, "were the pictures cut or stretched? add views all over the picture, the board tilted")
    return None


def compute_lens_reach(camera: Camera) -> float:
    """Return how far from the axis the lens model grows, over the depth, before it folds back; inf: everywhere.

    Beyond, a ray and another nearer to the axis come to the same pixel.
    """
    r = np.linspace(0.0, 3.0 * _compute_corner_radius(camera), 600)
    if camera.fisheye:
        r = np.tan(np.linspace(0.0, MAX_FISHEYE_RAD, 600))
    bent = _distort_radius(camera, r)
    folds = np.flatnonzero(np.diff(bent) <= 0.0)
    return float(r[folds[0]]) if len(folds) else float("inf")


def _distort_radius(camera: Camera, r: Floats) -> Floats:
    """Return how far from the centre a lens puts what is `r` from its axis, over the focal length: (N,) -> (N,)."""
    k, x = camera.intrinsics[4:9], np.arctan(r) if camera.fisheye else r
    rising = k[:4] if camera.fisheye else k[[0, 1, 4]]
    return np.asarray(x * (1.0 + sum(one * x ** (2 * n + 2) for n, one in enumerate(rising))))


def is_within_reach(solution: RigSolution, points_m: Floats) -> NDArray[np.bool_]:
    """Return which points of the world, (N, 3) [m], the lens models of two cameras tell from others, (N,)."""
    n_inside = np.zeros(len(points_m), int)
    for camera in solution.rig.cameras:
        x = camera.to_camera(points_m)
        n_inside += np.linalg.norm(x[:, :2], axis=1) < compute_lens_reach(camera) * np.maximum(x[:, 2], 0.0)
    return np.asarray(n_inside >= min(len(solution.rig), 2))


def _compute_corner_radius(camera: Camera) -> float:
    """Return the distance of the farthest corner of the picture from the axis, over the focal length."""
    width, height = camera.size
    corners = np.array([(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)], float)
    return float(np.linalg.norm((corners - camera.matrix[:2, 2]) / camera.focal_px, axis=1).max())


def _judge_folding(camera: Camera) -> Finding | None:
    """Return a finding on how far the lens model is monotonic, None if out to the picture's corners."""
    reach, corner = compute_lens_reach(camera), _compute_corner_radius(camera)
    bent = float(_distort_radius(camera, np.array([reach]))[0]) if np.isfinite(reach) else np.inf
    if bent >= 0.98 * corner:
        return None
    text = (
        f"{camera.title}'s lens model folds back {100.0 * bent / corner:.0f} % of the way to the picture's corners, "
        "and nothing is known beyond"
    )
    return Finding(Grade.PASS, text, "add views with the board in the corners of its picture")


def _judge_boards(solution: RigSolution) -> list[Finding]:
    """Check that every board is in front of the cameras that saw it, and faces them."""
    findings = []
    R = matrix_from_rotvec(solution.board_to_world[:, :3])
    for side, camera in enumerate(solution.rig.cameras):
        seen = solution.used[side].any(axis=1)
        points = compute_board_points_m(solution, side)[seen]
        behind = int((points[..., 2] <= 0.0).any(axis=1).sum())
        if behind:
            text = f"{behind} of {int(seen.sum())} boards came out behind {camera.title}: a mirrored solution"
            findings.append(Finding(Grade.FAIL, text, "take more views with the board tilted more"))
            continue
        normals = R[seen][:, :, 2] @ camera.rotation.T
        backs = int(((normals * points.mean(axis=1)).sum(axis=1) <= 0.0).sum())
        if backs:
            text = f"{backs} of {int(seen.sum())} boards show {camera.title} their back"
            findings.append(Finding(Grade.FAIL, text, "are its pictures mirrored? switch that off in its settings"))
    return findings


def _judge_sides(solution: RigSolution) -> list[Finding]:
    """Check how far apart the cameras stand, and of two on which side."""
    rig, (low, high) = solution.rig, BASELINE_RANGE_M
    for a, b in combinations(rig.cameras, 2):
        if np.linalg.norm(a.center_m - b.center_m) < 1e-4:
            which = "both cameras" if len(rig) == 2 else f"{a.title} and {b.title}"
            text = f"{which} came out in one place: their pictures are the same"
            fix = "the left and of the right camera" if len(rig) == 2 else "two cameras"
            return [Finding(Grade.FAIL, text, f"give the pictures of {fix}")]
    if not low <= rig.baseline_m <= high:
        text = f"the cameras came out {rig.baseline_m:.3g} m apart, expected {low:g} to {high:g} m"
        return [Finding(Grade.FAIL, text, "is the square size right, and do both pictures of a view show the same moment?")]
    if len(rig) > 2:
        return []
    to_right = rig.cameras[0].rotation @ (rig.cameras[1].center_m - rig.cameras[0].center_m)
    if to_right[0] < -SIDEWAYS * rig.baseline_m:
        text = f"the left camera stands {-1e3 * to_right[0]:.0f} mm to the right of the right one: they are exchanged"
        return [Finding(Grade.FAIL, text, "give them in the other order")]
    return []
