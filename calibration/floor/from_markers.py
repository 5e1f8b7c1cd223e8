"""The floor from markers that lie on it: three determine it; more show how flat it is, and which of them do not lie on it.

Three markers at a right angle with arms of unlike length are an L-frame: its corner is the origin, its long arm +Z, its short arm
X.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from calibration.floor.frame import Floor, find_direction_to_cameras
from calibration.floor.plane_fit import FittedPlane, compute_planes_through, fit_plane
from calibration.quality.report import Finding, Grade
from calibration.world import compute_up_of_images, project_to_floor
from config.arrays import Floats, Ints
from config.errors import CalibrationError
from config.words import format_count

ON_FLOOR_M = 0.015  # largest distance from the plane of a marker that lies on it
MAX_LEAN_RAD = np.radians(75.0)  # of the floor's normal from what is up in the pictures
RIGHT_ANGLE_RAD = np.radians(4.0)
UNLIKE_ARMS = 1.12  # long arm over short one
MARKER_SIGMA_M = 0.0015  # error of a marker's centre besides its covariance: lens, shape
MAX_MARKERS = 40


@dataclass(frozen=True, slots=True)
class LFrame:
    """An L-frame: indices of its corner and of the ends of its long and short arm."""

    corner: int
    long: int
    short: int


def fit_floor_to_markers(
    rig: Rig, points_m: Floats, covariance_m2: Floats, height_m: float = 0.0, distance_m: float | None = None
) -> Floor:
    """Return the floor under markers that lie on it.

    Args:
        rig: the cameras.
        points_m, covariance_m2: markers that do not move, (N, 3) [m] and (N, 3, 3).
        height_m: of their centres above the floor.
        distance_m: the largest distance between two on the floor, as it was measured.
    Raises: CalibrationError: fewer than three, all on a line, or no plane that most of them lie on.
    """
    if len(points_m) < 3:
        raise CalibrationError(
            f"{format_count(len(points_m), 'marker that lies still is', 'markers that lie still are')} seen by both cameras; "
            "expected at least 3 on the floor, better 4 to 8, "
            "spread over where the performer will be"
        )
    members = _select_floor_markers(rig, points_m[:MAX_MARKERS], covariance_m2[:MAX_MARKERS])
    on, C = points_m[members], covariance_m2[members]
    plane = fit_plane(on, C, _estimate_normal(rig, on), height_m, MARKER_SIGMA_M, robust=False)
    frame = find_l_frame(on)
    origin = on.mean(axis=0) if frame is None else on[frame.corner]
    origin = plane.nearest(origin)
    ratio, sigma = _measure_size(on, C, distance_m)
    left_out = np.delete(points_m, members, axis=0)
    return Floor(
        up=plane.up,
        origin_m=origin,
        ahead=find_direction_to_cameras(rig, origin, plane.up)
        if frame is None
        else project_to_floor(on[frame.long] - on[frame.corner], plane.up),
        by="markers",
        tilt_sigma_rad=plane.tilt_sigma_rad,
        height_sigma_m=plane.height_sigma_m(origin),
        residual_mm=1e3 * float(np.sqrt(np.mean(plane.residual_m**2))),
        touching_m=on - height_m * plane.up,
        above_m=left_out,
        size_ratio=ratio,
        size_sigma=sigma,
        findings=_judge_markers(plane, on, left_out, frame),
        figures={"markers": float(len(on)), "left_out": float(len(left_out))},
    )


def _estimate_normal(rig: Rig, points_m: Floats) -> Floats:
    """Return the normal of the points' plane, on the side of the images' up, (3,)."""
    normal = np.linalg.svd(points_m - points_m.mean(axis=0))[2][2]
    return np.asarray(normal * (1.0 if normal @ compute_up_of_images(rig) >= 0.0 else -1.0))


def _select_floor_markers(rig: Rig, points_m: Floats, covariance_m2: Floats) -> Ints:
    """Return the markers that lie in one plane, with as many of the others as possible above it, (K,)."""
    n = len(points_m)
    every = np.array(list(itertools.combinations(range(n), 3)), np.int64)
    up, d = compute_planes_through(points_m, every, compute_up_of_images(rig), MAX_LEAN_RAD)
    if not len(up):
        raise CalibrationError(
            f"the {n} markers lie on a line, or on a wall of what the cameras see; lay at least 3 on the floor, "
            "not in a row and half a metre apart"
        )
    over = points_m @ up.T - d  # (N, K)
    sigma = np.sqrt(np.einsum("ki,nij,kj->nk", up, covariance_m2, up) + MARKER_SIGMA_M**2)
    limit = np.maximum(ON_FLOOR_M, 3.0 * np.minimum(sigma, ON_FLOOR_M))
    on, below = np.abs(over) < limit, over < -limit
    score = on.sum(axis=0) - 1.0 * below.sum(axis=0) - 0.1 * ((over / limit) ** 2 * on).sum(axis=0) / n
    best = int(np.argmax(score))
    members = np.flatnonzero(on[:, best])
    if n > 3 and len(members) < max(4, n / 2):
        off = 1e3 * np.sort(np.abs(over[:, best]))[-1]
        raise CalibrationError(
            f"only {len(members)} of {n} markers that lie still are in one plane, another is {off:.0f} mm off it; "
            "remove what is not on the floor, or give the seconds without a performer (--from, --to)"
        )
    return members


def find_l_frame(points_m: Floats) -> LFrame | None:
    """Return the L-frame of three markers, or of four with one along an arm; None if they are none."""
    if len(points_m) not in (3, 4):
        return None
    for three in itertools.combinations(range(len(points_m)), 3):
        found = _find_right_angle(points_m, three)
        rest = [k for k in range(len(points_m)) if k not in three]
        if found is not None and all(_is_on_arm(points_m, found, k) for k in rest):
            return found
    return None


def _find_right_angle(points_m: Floats, three: tuple[int, ...]) -> LFrame | None:
    """Return the corner of three markers at a right angle with unlike arms."""
    for corner in three:
        a, b = (k for k in three if k != corner)
        arms = points_m[[a, b]] - points_m[corner]
        length = np.linalg.norm(arms, axis=1)
        if abs(float(arms[0] @ arms[1] / (length[0] * length[1]))) > np.sin(RIGHT_ANGLE_RAD):
            continue
        if length.max() < UNLIKE_ARMS * length.min():
            return None
        return LFrame(corner, a, b) if length[0] > length[1] else LFrame(corner, b, a)
    return None


def _is_on_arm(points_m: Floats, frame: LFrame, k: int) -> bool:
    """Return whether a marker lies on one of the arms."""
    away = points_m[k] - points_m[frame.corner]
    for end in (frame.long, frame.short):
        arm = points_m[end] - points_m[frame.corner]
        along = float(away @ arm) / float(arm @ arm)
        if 0.0 < along < 1.0 and float(np.linalg.norm(away - along * arm)) < np.sin(RIGHT_ANGLE_RAD) * np.linalg.norm(arm):
            return True
    return False


def _measure_size(points_m: Floats, covariance_m2: Floats, distance_m: float | None) -> tuple[float, float]:
    """Return the largest distance in the rig over the true one, and its standard deviation; NaN if it was not measured."""
    if distance_m is None:
        return float("nan"), float("nan")
    first, second = max(
        itertools.combinations(range(len(points_m)), 2), key=lambda ab: float(np.linalg.norm(points_m[ab[0]] - points_m[ab[1]]))
    )
    offset = points_m[second] - points_m[first]
    length = float(np.linalg.norm(offset))
    along = offset / length
    variance = along @ (covariance_m2[first] + covariance_m2[second]) @ along + 2.0 * MARKER_SIGMA_M**2
    return length / distance_m, float(np.sqrt(variance)) / distance_m


def _judge_markers(plane: FittedPlane, on: Floats, left_out: Floats, frame: LFrame | None) -> tuple[Finding, ...]:
    """Return findings on an L-frame, on markers that were left out, and on too few of them."""
    texts = []
    if frame is not None:
        arms = [1e3 * float(np.linalg.norm(on[end] - on[frame.corner])) for end in (frame.long, frame.short)]
        texts.append(
            f"an L-frame, arms of {arms[0]:.0f} and {arms[1]:.0f} mm: its corner is the origin, its long arm points to +Z"
        )
        short = np.cross(plane.up, on[frame.long] - on[frame.corner]) @ (on[frame.short] - on[frame.corner])
        if short < 0.0:
            texts.append("its short arm points to -X: seen from above, the short arm of a usual one is to the left of +Z")
    if len(left_out):
        heights = ", ".join(f"{1e3 * height:.0f}" for height in np.sort(plane.heights_m(left_out))[:6])
        texts.append(f"{len(left_out)} that lie still are not on the floor and were left out ({heights} mm above it)")
    findings = [Finding(Grade.PASS, text) for text in texts]
    if len(on) == 3:
        findings.append(Finding(Grade.POOR, "three markers always lie in a plane", "nothing checks them; add a fourth"))
    return tuple(findings)
