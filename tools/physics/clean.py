"""Takes made physically sound: cleaned window by window, kept when interrupted, and what was changed in words."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.errors import DuocapError
from config.files import write_atomically
from config.joints import JOINTS
from reconstruct.models.physics.anthropometry import Anthropometry
from reconstruct.models.physics.body import Body, build_body, estimate_stature_m
from reconstruct.models.physics.clean import (
    LEAST_FRAMES,
    CleanOptions,
    CleanTask,
    MotionQuality,
    clean_by_windows,
    measure_quality,
    prepare_motion,
)
from reconstruct.models.physics.dynamics import N_CONFIGURATION, Dynamics, poses_from_configurations
from reconstruct.models.physics.forces import FRICTION, compute_motion_forces
from stream.take.ground import GroundForces, forces_from_points, place_in_frames
from stream.take.take import Take
from tools.export import TakeResult
from tools.physics.forces import set_segment_masses
from tools.physics.motion import PhysicalMotion, TrackedRange, motion_from_take
from tools.progress import Progress, ignore_progress

VERSION = b"duocap-clean-1"
MOST_RESIDUAL = 0.05  # of the weight: more is told as a violation


@dataclass(frozen=True, slots=True)
class BodyOptions:
    """Whose body, on what ground. mass_kg None: usual for the height."""

    mass_kg: float | None = None
    table: Anthropometry = Anthropometry.MEAN
    friction: float = FRICTION
    segments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanedRange:
    """One range of frames: the task, and its frames clean, (n, 95)."""

    rows: TrackedRange
    task: CleanTask
    q: Floats


class CleanInterruptedError(DuocapError):
    """Cleaning was stopped; the windows that are done are kept."""


def clean_take(take: Take, options: BodyOptions = BodyOptions(), progress: Progress = ignore_progress) -> TakeResult:
    """Make a take obey physics: feet that stand, and forces of the ground that bear the weight.

    Args:
        take: the motion to clean.
        options: mass of the performer and friction of the ground.
        progress: called with the frames done and all frames.
    Raises DuocapError: the take is too short.
    """
    return clean_motion(motion_from_take(take, take.info.source), options, None, progress)


def clean_motion(
    motion: PhysicalMotion, options: BodyOptions, part: Path | None, progress: Progress, parts: Bools | None = None
) -> TakeResult:
    """Clean all ranges of a motion.

    Args:
        motion: the motion with its ranges of tracked frames.
        options: options of the body and the ground.
        part: keeps what is done after each window, and is gone on from; None: nothing is kept.
        progress: called with the amount done and the whole amount.
        parts: contacts that are given, (N, 2, 3), None to detect them.
    Raises: DuocapError: no range is long enough; CleanInterruptedError: on Ctrl-C, where there is a file to go on from.
    """
    body = set_segment_masses(build_body(motion.take.skeleton, motion.mass_kg(options.mass_kg), options.table), options.segments)
    dynamics = Dynamics(body)
    ranges = [rows for rows in motion.ranges if rows.n_frames >= LEAST_FRAMES]
    if not ranges:
        raise DuocapError(f"{motion.name}: no {LEAST_FRAMES} frames in a row in which somebody is tracked; give a longer motion")
    total = sum(rows.n_frames for rows in ranges)
    kept = _KeptFrames(part, _compute_motion_key(motion, options, parts))
    done = kept.read(total)
    found: list[CleanedRange] = []
    finished = np.empty((0, N_CONFIGURATION))
    try:
        for rows in ranges:
            n = rows.n_frames
            given = None if parts is None else parts[rows.slice]
            task = prepare_motion(dynamics, motion.configurations(rows), motion.fps, CleanOptions(options.friction, given))
            earlier = done[len(finished) : len(finished) + n]
            q = earlier
            if len(earlier) < n:
                for q in clean_by_windows(task, earlier):
                    kept.offer(np.concatenate([finished, q]))
                    progress(len(finished) + len(q), total)
            finished = np.concatenate([finished, q])
            found.append(CleanedRange(rows, task, q))
    except KeyboardInterrupt as stop:
        if not kept.write():
            raise
        raise CleanInterruptedError(f"stopped; {part} keeps what is clean, and the same command goes on from there") from stop
    kept.remove()
    take = _insert_clean_ranges(motion.take, found)
    return TakeResult(take, tuple(_format_changes(motion, take, body, found)), tuple(_format_warnings(motion, found)))


def _compute_motion_key(motion: PhysicalMotion, options: BodyOptions, parts: Bools | None) -> bytes:
    """Return what a kept part belongs to: motion, body and options."""
    digest = hashlib.sha256(VERSION)
    skeleton = motion.take.skeleton
    for array in (motion.take.rotvec, motion.take.root_m, skeleton.offsets_m, skeleton.tails_m):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(b"" if parts is None else parts.tobytes())
    digest.update(repr((motion.fps, tuple(map(tuple, motion.ranges)), options)).encode())
    return digest.digest()


class _KeptFrames:
    """The frames that are clean, in a file beside the result: a key of what they belong to, a checksum, the numbers."""

    def __init__(self, file: Path | None, key: bytes) -> None:
        self._file, self._key = file, key
        self._q = np.empty((0, N_CONFIGURATION))
        self._written = 0

    def offer(self, q: Floats) -> None:
        """Take all frames so far, (n, 95); write them when they have grown by a tenth, not oftener."""
        self._q = q
        if len(q) > 1.1 * self._written:
            self.write()

    def write(self) -> bool:
        """Write the offered part; return whether anything is kept."""
        if self._file is None or not len(self._q):
            return self._file is not None and self._file.is_file()
        data = np.ascontiguousarray(self._q, "<f8").tobytes()
        write_atomically(self._file, self._key + hashlib.sha256(data).digest() + data)
        self._written = len(self._q)
        return True

    def read(self, total: int) -> Floats:
        """Return the frames that an earlier run left, (n, 95); none where the file is of something else, or damaged."""
        none = np.empty((0, N_CONFIGURATION))
        if self._file is None or not self._file.is_file():
            return none
        content, n = self._file.read_bytes(), len(self._key)
        data = content[n + 32 :]
        if content[:n] != self._key or hashlib.sha256(data).digest() != content[n : n + 32]:
            return none
        q = np.frombuffer(data, "<f8").reshape(-1, N_CONFIGURATION)
        return q.astype(np.float64) if len(q) <= total else none

    def remove(self) -> None:
        """Remove the file: the result is whole."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def _insert_clean_ranges(take: Take, found: list[CleanedRange]) -> Take:
    """Return a take with its clean frames and their forces."""
    rotvec, root_m = take.rotvec.copy(), take.root_m.copy()
    for each in found:
        rotvec[each.rows.slice], root_m[each.rows.slice] = poses_from_configurations(each.q)
    forces = place_in_frames([(each.rows.first, _collect_ground_forces(each)) for each in found], len(take))
    return replace(take, rotvec=rotvec, root_m=root_m, forces=forces)


def _collect_ground_forces(found: CleanedRange) -> GroundForces:
    """Return the forces of the ground on clean frames, unknown where something else bears the body."""
    d, task = found.task.dynamics, found.task
    forces = compute_motion_forces(d, d.motion(found.q, 1.0 / task.fps), task.fps, task.plan.carrying, task.options.friction)
    joints = [JOINTS[j] for j in d.points.joint]
    return forces_from_points(forces.force_n, forces.point_m, joints, d.body.total_kg).only(task.plan.borne)


def _format_changes(motion: PhysicalMotion, take: Take, body: Body, found: list[CleanedRange]) -> list[str]:
    """Return in words what was changed."""
    rows = np.concatenate([np.arange(each.rows.first, each.rows.stop) for each in found])
    moved = 1e3 * np.linalg.norm(take.positions_m()[rows] - motion.take.positions_m()[rows], axis=2)
    most = np.argsort(-moved.mean(axis=0), kind="stable")[:3].tolist()
    named = ", ".join(f"{JOINTS[j]} {moved[:, j].mean():.0f} mm" for j in most)
    who = f"{body.total_kg:.1f} kg, {estimate_stature_m(body.skeleton):.2f} m"
    before = _average_figures([measure_quality(each.task, each.task.given) for each in found])
    after = _average_figures([measure_quality(each.task, each.q) for each in found])
    return [
        *motion.notes,
        f"{len(rows)} of {len(take)} frames cleaned, {motion.fps:.4g} a second; {who}",
        f"joints moved by {moved.mean():.1f} mm, 95% less than {np.percentile(moved, 95):.0f} mm, most {named}",
        f"{'':<26}{'before':>10}{'after':>10}",
        f"{'slide of standing feet':<26}{before.slide_mm:>10.2f}{after.slide_mm:>10.2f}  mm a frame",
        f"{'off the ground':<26}{before.float_mm:>10.2f}{after.float_mm:>10.2f}  mm",
        f"{'deepest below it':<26}{before.sunk_mm:>10.1f}{after.sunk_mm:>10.1f}  mm",
        f"{'jitter of the force':<26}{100 * before.jitter:>10.1f}{100 * after.jitter:>10.1f}  % of weight, from frame to frame",
        f"{'force without contact':<26}{100 * before.residual:>10.1f}{100 * after.residual:>10.1f}  % of weight",
        f"{'torque without contact':<26}{before.residual_nm:>10.1f}{after.residual_nm:>10.1f}  Nm",
    ]


def _average_figures(parts: list[MotionQuality]) -> MotionQuality:
    """Return the mean of the ranges' figures; of depths the largest."""
    names = ("slide_mm", "float_mm", "jitter", "residual", "residual_nm")
    means = {name: float(np.mean([getattr(part, name) for part in parts])) for name in names}
    return MotionQuality(sunk_mm=max(part.sunk_mm for part in parts), **means)


def _format_warnings(motion: PhysicalMotion, found: list[CleanedRange]) -> list[str]:
    """Return in words what still violates physics, and where nothing was asked of it."""
    out = []
    hung = sum(int((~each.task.plan.borne).sum()) for each in found)
    if hung:
        out.append(
            f"in {hung / motion.fps:.1f} s of the motion something else than the feet bears the body (a chair, hands, a ladder, "
            "or contacts that were not found); there nothing was asked of the forces"
        )
    for each in found:
        left = measure_quality(each.task, each.q)
        if left.residual > MOST_RESIDUAL:
            start = motion.take.seconds[each.rows.first]
            out.append(f"from {start:.1f} s on, {100 * left.residual:.0f}% of the weight is still borne by no contact")
    return out
