"""The verdict on a rig that was told by a body: how sure it is, in degrees, millimetres and per cent, and what was seen."""

import numpy as np

from calibration.body.solve import BodySolution
from calibration.camera import Rig, compute_relative_pose
from calibration.quality.report import Finding, Grade, GradeLimits, QualityReport, grade_figure, make_finding
from config.arrays import Floats
from database.geometry.rotations import compute_geodesic_rad

TURN_DEG = GradeLimits(1.0, 3.0)  # a degree is 5 cm at 3 m: as far as landmarks are off themselves
SHIFT = GradeLimits(0.03, 0.08)  # of the distance between two cameras
MOMENTS, FEW = 60, 25
FLOOR_DEG = 1.5
MOVED_SIGMAS = 3.0  # by which a camera must be elsewhere to have been moved
WALKED_M = 0.5  # of the trunk's middle, twice its standard deviation: beyond which the person has walked about


def judge_body(solution: BodySolution, tilt_sigma_rad: float, before: Rig | None = None) -> QualityReport:
    """Judge a rig that was told by a body.

    Args:
        solution: the calibration.
        tilt_sigma_rad: of the floor found.
        before: where the cameras were thought to be; None: nobody knew.
    """
    turn_deg, shift_m = measure_pose_sigmas(solution)
    turns, shifts = compare_rigs(before, solution.rig) if before is not None else (np.zeros(0), np.zeros(0))
    first, *others = solution.rig.cameras
    worst = float(np.max(shift_m / [np.linalg.norm(camera.center_m - first.center_m) for camera in others]))
    findings = [
        _judge_moments(solution),
        _judge_sigmas(solution, turn_deg, shift_m, worst),
        _judge_walk(solution),
        _judge_floor(tilt_sigma_rad),
        Finding(Grade.PASS, f"landmarks are {solution.median_px:.1f} px from where the body has them, the median"),
    ]
    if before is not None:
        findings += describe_moves(solution, turns, shifts)
    exchanged = float((solution.exchanged > 0).mean())
    findings.append(Finding(Grade.PASS, f"left and right were exchanged in {100.0 * exchanged:.0f} % of the pictures"))
    return QualityReport(
        tuple(findings),
        {
            "baseline_mm": 1e3 * solution.rig.baseline_m,
            "turn_sigma_deg": float(turn_deg.max()),
            "shift_sigma_mm": 1e3 * float(shift_m.max()),
            "landmark_px": solution.median_px,
            "tilt_sigma_deg": float(np.degrees(tilt_sigma_rad)),
            "moments": float(len(solution.t_s)),
        },
    )


def measure_pose_sigmas(solution: BodySolution) -> tuple[Floats, Floats]:
    """Return the deviations of all cameras but the first: of the turn [deg], and of the place [m], (C - 1,) each."""
    sigma2 = np.diag(solution.pose_covariance).reshape(-1, 2, 3).sum(axis=2)
    return np.degrees(np.sqrt(sigma2[:, 0])), np.sqrt(sigma2[:, 1])


def compare_rigs(one: Rig, other: Rig) -> tuple[Floats, Floats]:
    """Return by how much all cameras but the first have turned beside it [deg] and moved [m], (C - 1,) each."""
    turns, shifts = [], []
    for a, b in zip(one.cameras[1:], other.cameras[1:], strict=True):
        (R, t), (S, u) = compute_relative_pose(one.cameras[0], a), compute_relative_pose(other.cameras[0], b)
        turns.append(np.degrees(compute_geodesic_rad(R, S)))
        shifts.append(np.linalg.norm(R.T @ t - S.T @ u))
    return np.array(turns), np.array(shifts)


def describe_moves(solution: BodySolution, turns_deg: Floats, shifts_m: Floats) -> list[Finding]:
    """Return findings on the cameras beside where they were thought to be."""
    found = []
    turn_sigma, shift_sigma = measure_pose_sigmas(solution)
    cameras = solution.rig.cameras[1:]
    for camera, turn, shift, s_turn, s_shift in zip(cameras, turns_deg, shifts_m, turn_sigma, shift_sigma, strict=True):
        moved = turn > MOVED_SIGMAS * s_turn or shift > MOVED_SIGMAS * s_shift
        text = (
            f"{camera.title} beside the first: turned by {turn:.2f} degrees (+-{s_turn:.2f}) and {1e3 * shift:.0f} mm "
            f"(+-{1e3 * s_shift:.0f}) from where it was thought to be"
        )
        found.append(Finding(Grade.PASS, f"{text}: {'it was moved, or was wrong' if moved else 'no more than can be told'}"))
    return found


def _judge_moments(s: BodySolution) -> Finding:
    """Judge how much was seen."""
    n = len(s.t_s)
    grade = Grade.PASS if n >= MOMENTS else Grade.POOR if n >= FEW else Grade.FAIL
    text = f"{n} moments at which two cameras or more see the person"
    return make_finding(grade, text, "walk for half a minute where both see all of you")


def _judge_sigmas(s: BodySolution, turn_deg: Floats, shift_m: Floats, worst: float) -> Finding:
    """Judge how sure the cameras' poses are."""
    grade = max(grade_figure(float(turn_deg.max()), TURN_DEG), grade_figure(worst, SHIFT))
    text = (
        f"cameras {'up to ' * (len(s.rig) > 2)}{1e3 * s.rig.baseline_m:.0f} mm apart, the scale by {s.scale.words}; turned to "
        f"+-{turn_deg.max():.2f} degrees, placed to +-{1e3 * shift_m.max():.0f} mm ({100.0 * worst:.1f} %)"
    )
    return make_finding(grade, text, "walk longer, all over the floor; turn, and raise the arms")


def _judge_walk(s: BodySolution) -> Finding:
    """Judge how much of the room the person walked through."""
    middle = s.points_m.mean(axis=1)
    spread = float(2.0 * np.sqrt(np.linalg.eigvalsh(np.cov(middle.T))[-1]))
    grade = Grade.PASS if spread >= WALKED_M else Grade.POOR
    text = f"the person moved through {spread:.1f} m"
    return make_finding(grade, text, "walk about, not on one spot: that tells near from far")


def _judge_floor(tilt_sigma_rad: float) -> Finding:
    """Judge the floor by the soles."""
    deg = float(np.degrees(tilt_sigma_rad))
    if deg <= FLOOR_DEG:
        return Finding(Grade.PASS, f"the floor by standing soles, tilted by +-{deg:.1f} degrees at most")
    text = f"the floor is known to +-{deg:.1f} degrees only and left open: the performer's first seconds will tell it"
    return Finding(Grade.POOR, text, "stand still with both feet in several places")
