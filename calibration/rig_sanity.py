"""What no real rig is: boards behind a camera or seen from their back, a left camera on the right, a lens that folds over."""

import numpy as np

from calibration.camera import Camera
from calibration.rig_checks import BASELINE_RANGE_M, FOCAL_RANGE
from calibration.rig_measures import board_points_m
from calibration.rig_solution import RigSolution
from calibration.verdict import Finding, Grade
from database.rotations import matrix_from_rotvec

ASPECT = (0.05, 0.2)  # relative difference of fx and fy that is unusual, and that no camera has
OFF_CENTER = (0.15, 0.35)  # of the picture's length: how far off its middle a principal point is unusual, and impossible
SIDEWAYS = 0.3  # of the baseline: so far to the wrong side, and the cameras are exchanged


def sanity_findings(solution: RigSolution) -> list[Finding]:
    """Check what must be so whatever the pixels say."""
    lone = solution.rig.is_lone
    findings = [
        finding for camera in solution.rig.cameras[: 1 if lone else 2] for finding in (_lens(camera), _folds(camera)) if finding
    ]
    findings += _boards(solution)
    if not lone:
        findings += _sides(solution)
    return findings


def _lens(camera: Camera) -> Finding | None:
    """Check focal lengths and principal point."""
    K, size = camera.matrix, np.array(camera.size)
    side = float(size.max())
    fx, fy = float(K[0, 0]), float(K[1, 1])
    who = f"{camera.called}'s"
    if not all(FOCAL_RANGE[0] <= focal / side <= FOCAL_RANGE[1] for focal in (fx, fy)):
        text = f"{who} focal length came out as {fx:.0f} x {fy:.0f} px, which no lens has for pictures {side:.0f} px long"
        return Finding(Grade.FAIL, text, "take views with the board tilted, near and far")
    aspect = abs(fx / fy - 1.0)
    off = float((np.abs(K[:2, 2] - 0.5 * (size - 1.0)) / side).max())
    if aspect > ASPECT[1] or off > OFF_CENTER[1]:
        text = f"{who} lens came out as no lens is: fx/fy = {fx / fy:.2f}, its axis {off * side:.0f} px off the picture's middle"
        return Finding(Grade.FAIL, text, "take views with the board tilted, near and far, all over the picture")
    if aspect > ASPECT[0] or off > OFF_CENTER[0]:
        text = f"{who} lens is unusual: fx/fy = {fx / fy:.2f}, its axis {off * side:.0f} px off the picture's middle"
        return Finding(Grade.POOR, text, "were the pictures cut or stretched? add views all over the picture, the board tilted")
    return None


def _folds(camera: Camera) -> Finding | None:
    """Check that the lens keeps the order of points out to the picture's corners."""
    k1, k2, _, _, k3 = (*camera.distortions, 0.0)[:5]
    corners = np.array(
        [(0, 0), (camera.size[0] - 1, 0), (0, camera.size[1] - 1), (camera.size[0] - 1, camera.size[1] - 1)], float
    )
    # Radius in the distorted picture that the model must reach while it still grows.
    reach = float(np.linalg.norm((corners - camera.matrix[:2, 2]) / camera.focal_px, axis=1).max())
    r = np.linspace(0.0, 3.0 * reach, 600)
    bent = r * (1.0 + r**2 * (k1 + r**2 * (k2 + r**2 * k3)))
    turns = np.flatnonzero(np.diff(bent) <= 0.0)
    most = float(bent[turns[0]]) if len(turns) else float(bent[-1])
    if most >= 0.98 * reach:
        return None
    share = 100.0 * most / reach
    text = f"{camera.called}'s lens model folds back {share:.0f} % of the way to the picture's corners"
    fix = "add views with the board in the corners of its picture"
    return Finding(Grade.FAIL if share < 75.0 else Grade.POOR, text, fix)


def _boards(solution: RigSolution) -> list[Finding]:
    """Check that every board is in front of the cameras that saw it, and shows them its face."""
    findings = []
    R = matrix_from_rotvec(solution.board_to_world[:, :3])
    for side, camera in enumerate(solution.rig.cameras[: 1 if solution.rig.is_lone else 2]):
        seen = solution.used[side].any(axis=1)
        points = board_points_m(solution, side)[seen]
        behind = int((points[..., 2] <= 0.0).any(axis=1).sum())
        if behind:
            text = f"{behind} of {int(seen.sum())} boards came out behind {camera.called}: a mirrored solution"
            findings.append(Finding(Grade.FAIL, text, "take more views with the board tilted more"))
            continue
        normals = R[seen][:, :, 2] @ camera.rotation.T
        backs = int(((normals * points.mean(axis=1)).sum(axis=1) <= 0.0).sum())
        if backs:
            text = f"{backs} of {int(seen.sum())} boards show {camera.called} their back"
            findings.append(Finding(Grade.FAIL, text, "are its pictures mirrored? switch that off in its settings"))
    return findings


def _sides(solution: RigSolution) -> list[Finding]:
    """Check where the right camera stands, seen from the left one."""
    rig, (low, high) = solution.rig, BASELINE_RANGE_M
    if rig.baseline_m < 1e-4:
        text = "both cameras came out in one place: their pictures are the same"
        return [Finding(Grade.FAIL, text, "give the pictures of the left and of the right camera")]
    if not low <= rig.baseline_m <= high:
        text = f"the cameras came out {rig.baseline_m:.3g} m apart, expected {low:g} to {high:g} m"
        return [Finding(Grade.FAIL, text, "is the square size right, and do both pictures of a view show the same moment?")]
    to_right = rig.left.rotation @ (rig.right.center_m - rig.left.center_m)
    if to_right[0] < -SIDEWAYS * rig.baseline_m:
        text = f"the left camera stands {-1e3 * to_right[0]:.0f} mm to the right of the right one: they are exchanged"
        return [Finding(Grade.FAIL, text, "give them in the other order")]
    return []
