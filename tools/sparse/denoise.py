"""Clean the poses of a take by a dictionary: noise in all joints, and single wild ones (Lai et al. 2012, section 4.2).

Every frame's points relative to the root are restored, each weighted by the noise it has of its own in the take. Points far from
what the others tell lose their weight step by step (iteratively reweighted least squares, Cauchy's weights); those that end with
little are left out and the frame is restored again. Then the joint angles are solved for. All on the dictionary's skeleton; where
the root is and how it is turned stay as they were.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from config.arrays import Bools, Floats, Ints
from config.errors import DuocapError
from config.joints import JOINTS, N_JOINTS
from config.words import format_count
from database.geometry.skeleton import PARENT_ARRAY, REFERENCE
from reconstruct.constraints import build_point_handles
from reconstruct.models.sparse.body import normalise_bone_lengths
from reconstruct.models.sparse.dictionary import RestoreOptions, restore_poses
from reconstruct.models.sparse.model import PoseDictionary, read_dictionary
from reconstruct.posing.fit import ExpectedPoints, PoseStart, build_pose_gaussian, fit_pose
from reconstruct.solve.limits import Limits
from stream.take.take import Take
from tools.export import TakeResult
from tools.progress import ProgressState, ignore_progress

ATOMS = {0.02: 24, 0.035: 12, np.inf: 6}  # of a code, by the noise [m] up to which
LEAST_NOISE_M, UNKNOWN_NOISE_M = 0.002, 0.01  # at least, and of takes too short to estimate it
ALIKE = 2.0  # errors of joint angles move many points alike: the noise counts for so much more
FEW_FRAMES = 8
REST_RAD = 1e-3  # of every joint coordinate, from which down a pose is the rest pose
UNKNOWN_SHARE = 0.5  # of frames with wild points, from which on the dictionary is doubted
LOOK = RestoreOptions(n_nonzero=12, sigma=0.1)  # with which wild points are looked for: it follows none of them
LOOKS, FAR_M = 4, 0.1  # how often, and the distance at which a point's weight is half
WILD_WEIGHT, WILD_SIGMAS, WILD_M = 0.3, 4.0, 0.08  # wild: less weight than this, farther than so many of its noise, and than this
EXPECTED_M = 0.015
WILD_RAD, RAD_BY_M = 1.0, 10.0  # how far a wild joint may turn, and any other, by the noise
NO_CONSTRAINT = build_point_handles(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3)))


class RestoredPoints(NamedTuple):
    """Points of N poses relative to the root, (N, P, 3) [m], which were wild, (N, P), and the noise of a coordinate [m]."""

    local_m: Floats
    wild: Bools
    noise_m: float


def denoise_take(
    take: Take, dictionary: Path | str, noise_m: float | None = None, progress: ProgressState = ignore_progress
) -> TakeResult:
    """Remove noise and outliers from the poses of a take; lost frames and rest poses stay as they are.

    Args:
        take: the motion to clean.
        dictionary: file of a pose dictionary, as `duocap sparse train` writes it.
        noise_m: standard deviation of a joint's noise [m]; None to estimate it.
        progress: called with the frames done and all frames.
    Raises DuocapError: no pose to clean.
    """
    model = read_dictionary(Path(dictionary))
    rest = np.asarray((np.abs(take.rotvec[:, 1:]) < REST_RAD).all(axis=(1, 2)))
    rows = np.flatnonzero(~take.lost & ~rest & np.isfinite(take.rotvec).all(axis=(1, 2)))
    if not len(rows):
        why = "nothing but rest poses, all joints at zero" if rest.any() else "no pose that could be cleaned"
        raise DuocapError(f"the take holds {why}; give one in which somebody is tracked and moves")
    restored = restore_points(model, take, rows, noise_m)
    rotvec = take.rotvec.copy()
    for n, row in enumerate(rows.tolist()):
        rotvec[row] = solve_rotvec(model, take, row, restored, n)
        progress(n + 1, len(rows))
    clean = replace(take, rotvec=rotvec, root_m=take.root_m.copy())
    return TakeResult(clean, _format_changes(take, clean, rows, restored), _format_warnings(rest & ~take.lost, restored))


def restore_points(model: PoseDictionary, take: Take, rows: Ints, noise_m: float | None) -> RestoredPoints:
    """Restore the points of frames without those that are wild.

    Args:
        model: the dictionary.
        take: the motion.
        rows: frames that are restored.
        noise_m: standard deviation of a joint's noise [m]; None: estimated.
    """
    body = model.points
    given = body.vectors(model.skeleton, take.rotvec[rows])
    each_m = estimate_point_noise(given) if noise_m is None else np.full(len(body.joint), noise_m)
    sigma_m = float(np.median(each_m))
    known = sigma_m / each_m
    wild = _find_outliers(model, given, each_m)
    T = next(T for most, T in ATOMS.items() if sigma_m <= most)
    weight = known * ~wild if wild.any() else known
    near = restore_poses(model.dictionary, given, np.repeat(weight, 3, axis=-1), RestoreOptions(T, ALIKE * sigma_m))
    local_m = normalise_bone_lengths(near.reshape(len(given), -1, 3), body, body.lengths_m(model.skeleton))
    return RestoredPoints(local_m, wild, sigma_m)


def _find_outliers(model: PoseDictionary, given: Floats, noise_m: Floats) -> Bools:
    """Return which points are far from what the others of their frame tell, (N, P). noise_m: of each point, (P,)."""
    weight = np.ones((len(given), len(noise_m)))
    known = np.median(noise_m) / noise_m
    for _ in range(LOOKS):
        near = restore_poses(model.dictionary, given, np.repeat(known * weight, 3, axis=1), LOOK)
        off_m = np.linalg.norm((near - given).reshape(len(given), -1, 3), axis=2)
        weight = 1.0 / (1.0 + (off_m / np.maximum(FAR_M, 0.5 * WILD_SIGMAS * noise_m)) ** 2)
    return np.asarray((weight < WILD_WEIGHT) & (off_m > np.maximum(WILD_M, WILD_SIGMAS * np.sqrt(3.0) * noise_m)))


def estimate_point_noise(given: Floats) -> Floats:
    """Estimate the noise of a coordinate of each point, (P,) [m], from second differences of frames, (N, 3 P), robustly."""
    if len(given) < FEW_FRAMES:
        return np.full(given.shape[1] // 3, UNKNOWN_NOISE_M)
    change = np.abs(given[:-2] - 2.0 * given[1:-1] + given[2:]) / np.sqrt(6.0)
    deviation = 1.4826 * np.median(change.reshape(len(change), -1, 3), axis=(0, 2))
    return np.asarray(np.maximum(LEAST_NOISE_M, deviation))


def solve_rotvec(model: PoseDictionary, take: Take, row: int, restored: RestoredPoints, n: int) -> Floats:
    """Return the rotation vectors, (J, 3) [rad], of frame `row` of a take, the n-th that was restored.

    They keep to the take's as far as these are known: all by the noise, those that end or begin at a wild point hardly.
    """
    body, joints, local_m = model.points, take.rotvec[row].copy(), restored.local_m[n]
    joints[0] = 0.0
    joints[1:] = np.clip(joints[1:].ravel(), model.low, model.high).reshape(-1, 3)
    expected = ExpectedPoints(body.joint, body.offset_m, local_m, np.full(len(local_m), max(EXPECTED_M, restored.noise_m / 2.0)))
    sigma = np.full(N_JOINTS, min(WILD_RAD, RAD_BY_M * restored.noise_m))
    wild = np.unique(body.joint[restored.wild[n]])
    sigma[wild] = WILD_RAD
    sigma[PARENT_ARRAY[wild]] = WILD_RAD
    prior = build_pose_gaussian(joints, np.diag(np.repeat(sigma[1:] ** 2, 3)))
    root = PoseStart(joints, np.asarray(REFERENCE[0]), np.zeros(3))
    found = fit_pose(model.skeleton, prior, Limits(model.low, model.high), NO_CONSTRAINT, root, expected)
    out = found.rotvec
    out[0] = take.rotvec[row, 0]
    return out


def _format_warnings(rest: Bools, restored: RestoredPoints) -> tuple[str, ...]:
    """Warn of rest poses, (N,), and of a dictionary that does not know the take."""
    warnings = []
    if rest.any():
        warnings.append(f"{rest.sum()} of {len(rest)} frames are rest poses, all joints at zero; they stay as they are")
    share = float(restored.wild.any(axis=1).mean())
    if share > UNKNOWN_SHARE:
        warnings.append(
            f"in {100.0 * share:.0f}% of the frames the dictionary expects some joint elsewhere: it may not know such motion;"
            " look at the result, or train one on motion of this kind"
        )
    return tuple(warnings)


def _format_changes(before: Take, after: Take, rows: Ints, restored: RestoredPoints) -> tuple[str, ...]:
    """Return in words what was changed."""
    moved_mm = 1e3 * np.linalg.norm(after.positions_m()[rows] - before.positions_m()[rows], axis=2)
    joints = restored.wild[:, : len(JOINTS) - 1]
    n_wild = int(joints.any(axis=1).sum())
    most = np.argsort(-moved_mm.mean(axis=0), kind="stable")[:3]
    lines = [
        f"{len(rows)} of {len(before)} frames cleaned; noise of a coordinate {1e3 * restored.noise_m:.0f} mm",
        f"joints moved by {moved_mm.mean():.0f} mm, most "
        + ", ".join(f"{JOINTS[j]} {moved_mm[:, j].mean():.0f} mm" for j in most.tolist()),
    ]
    if n_wild:
        counts = joints.sum(axis=0)
        worst = np.argsort(-counts, kind="stable")[:5]
        named = ", ".join(f"{JOINTS[j + 1]} in {counts[j]}" for j in worst.tolist() if counts[j])
        lines.append(f"single joints far from what the others tell, in {format_count(n_wild, 'frame')}: {named}")
    return tuple(lines)
