"""Gaps of markers filled: where the solved body has the marker, and how it is off that beside the gap.

A marker's distance from its place on the body, in its joint's frame, is a Gaussian process: skin that moves with the limb
within a few tenths of a second, and a part that lasts. Both standard deviations are those of the take. Beside a gap the distance
is measured; inside, it is what the process says, which joins both ends smoothly.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from calibration.subject.subject import Subject
from config.arrays import Bools, Floats, Ints
from database.clips import find_runs
from database.geometry.kinematics import compute_forward_kinematics

SKIN_S, LASTING_S = 0.15, 1.5  # time constants of what a strike shakes and of what a posture shifts
BESIDE_S, MOST_BESIDE = 1.0, 60  # what is looked at on each side of a gap, and how many samples of it
NOISE_M = 0.0003  # of an optical system
LEAST_M = 0.002  # standard deviation of skin, where a take shows less


@dataclass(frozen=True, slots=True)
class FilledMarkers:
    """Markers of all frames.

    Attributes:
        point_m: measured or filled, (N, M, 3) [m].
        filled: which are filled, (N, M).
        error_m: expected distance of filled ones from the truth, (N, M) [m], zero elsewhere.
        residual_m: distance of the measured ones from where the body has them, (N, M) [m], zero elsewhere.
    """

    point_m: Floats
    filled: Bools
    error_m: Floats
    residual_m: Floats


def fill_gaps(
    subject: Subject, rotvec: Floats, root_m: Floats, point_m: Floats, valid: Bools, fps: float, joint_error_m: Floats
) -> FilledMarkers:
    """Return all markers of a take; those that are never seen stay out.

    Args:
        subject: the performer.
        rotvec: solved poses, (N, J, 3) [rad].
        root_m: (N, 3) [m].
        point_m: the markers, (N, M, 3) [m].
        valid: which were seen, (N, M).
        fps: frames a second.
        joint_error_m: expected errors of the joints, (N, J) [m].
    """
    G, p = compute_forward_kinematics(subject.skeleton, rotvec, root_m)
    # Errors of the body itself are there, too, where all is seen, and are measured on both sides of a gap.
    added_m2 = np.maximum(joint_error_m**2 - np.percentile(joint_error_m, 5, axis=0) ** 2, 0.0)
    result, error_m = point_m.copy(), np.zeros(valid.shape)
    residual_m, filled = np.zeros(valid.shape), np.zeros(valid.shape, bool)
    for m, joint in enumerate(subject.joint.tolist()):
        seen = valid[:, m]
        if not seen.any():
            continue
        off = np.einsum("nji,nj->ni", G[:, joint], point_m[:, m] - p[:, joint]) - subject.offset_m[m]
        residual_m[seen, m] = np.linalg.norm(off[seen], axis=1)
        mean = np.median(off[seen], axis=0)
        deviation_m = max(float(np.sqrt(((off[seen] - mean) ** 2).mean())), LEAST_M)
        filled[:, m] = ~seen
        for first, stop in find_runs(~seen):
            rows = np.arange(first, stop)
            inside, variance = _predict(off - mean, seen, rows, fps, deviation_m)
            local = subject.offset_m[m] + mean + inside
            result[rows, m] = p[rows, joint] + np.einsum("nij,nj->ni", G[rows, joint], local)
            # Where the marker was just seen, the pose is held by it; far from there its own errors count.
            away = np.clip(variance / (3.0 * deviation_m**2), 0.0, 1.0)
            error_m[rows, m] = np.sqrt(variance + away * added_m2[rows, joint])
    return FilledMarkers(result, filled, error_m, residual_m)


def _predict(off_m: Floats, seen: Bools, rows: Ints, fps: float, deviation_m: float) -> tuple[Floats, Floats]:
    """Return what the process says inside a gap, (R, 3) [m], and its variance over the three axes, (R,) [m^2].

    Args:
        off_m: distances in the joint's frame less their median, (N, 3) [m].
        seen: frames in which they are measured, (N,).
        rows: frames of the gap, rising.
        fps: frames a second.
        deviation_m: standard deviation of a coordinate [m].
    """
    reach = max(round(BESIDE_S * fps), 2)
    near = _choose_samples(seen, rows, reach)
    K = _covariance(near / fps, near / fps, deviation_m) + NOISE_M**2 * np.eye(len(near))
    across = _covariance(rows / fps, near / fps, deviation_m)
    factor = cho_factor(K, lower=True)
    variance = deviation_m**2 - np.einsum("rk,kr->r", across, cho_solve(factor, across.T))
    return np.asarray(across @ cho_solve(factor, off_m[near])), 3.0 * np.maximum(variance, 0.0)


def _choose_samples(seen: Bools, rows: Ints, reach: int) -> Ints:
    """Return the frames beside a gap that are looked at: all close to it, fewer farther off."""
    before = np.flatnonzero(seen[max(rows[0] - reach, 0) : rows[0]]) + max(rows[0] - reach, 0)
    after = np.flatnonzero(seen[rows[-1] + 1 : rows[-1] + 1 + reach]) + rows[-1] + 1
    apart = np.unique(np.round(np.geomspace(1, reach, MOST_BESIDE // 2)).astype(int)) - 1
    near = [side[apart[apart < len(side)]] for side in (before[::-1], after)]
    return np.sort(np.concatenate(near))


def _covariance(a_s: Floats, b_s: Floats, deviation_m: float) -> Floats:
    """Return the covariance of a coordinate between times, (A, B) [m^2]: half moves with the skin, half lasts."""
    apart = np.abs(a_s[:, None] - b_s[None])
    return np.asarray(0.5 * deviation_m**2 * (np.exp(-0.5 * (apart / SKIN_S) ** 2) + np.exp(-0.5 * (apart / LASTING_S) ** 2)))
