"""From a script to a motion: files read, the problem made, solved and judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.interpolate import PchipInterpolator

from config.arrays import Bools, Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS
from config.words import format_count
from database.files.cleaning import clean_clip
from database.files.read import SUFFIXES, read_clip
from database.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix, rotation_about
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.dynamics import Dynamics, poses_from_configurations
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.file import SUFFIX, read_field
from reconstruct.models.physics.field.prepare import prepare_field_motion, prepare_field_poses
from reconstruct.models.physics.field.state import compute_similar_tempo, compute_units
from reconstruct.models.physics.field.train import FPS, FieldMotion
from reconstruct.models.physics.synthesis.animate import AnimateOptions, animate_motion
from reconstruct.models.physics.synthesis.energy import MotionEnergy
from reconstruct.models.physics.synthesis.kinematics import compute_joint_positions
from reconstruct.models.physics.synthesis.measure import MotionFigures, measure_motion
from reconstruct.models.physics.synthesis.problem import (
    ExternalForce,
    KeyPath,
    KeyPose,
    MotionProblem,
    Surroundings,
)
from reconstruct.models.physics.synthesis.start import FirstMotion, build_from_examples, stay_near_examples
from reconstruct.pose import TrackingState
from stream.take.take import Take, TakeInfo
from tools.physics.ground import evaluate_motion_forces
from tools.physics.motion import motion_from_clip, read_motion
from tools.physics.script import FEET, FootholdAsked, KeyAsked, MotionScript, PathAsked
from tools.physics.train import clip_from_motion
from tools.progress import ignore_progress

MIN_FRAMES = 8
UNLIKE = 3.0  # distance of the nearest example from which on the user is told
ALLOWED_RESIDUAL, ALLOWED_KEY_M, ALLOWED_SLIDE_M, ALLOWED_FLOAT_M = 0.02, 0.02, 0.001, 0.01
BALLS = tuple(JOINT_INDEX[f"{side}Toes"] for side in FEET)
TEMPOS = (0.8, 1.0, 1.25)
TALLER = 0.15  # of the height, between the body and that of the field


@dataclass(frozen=True, slots=True)
class AnimateTask:
    """A script to animate, and how.

    Attributes:
        script: the script.
        motions: folders that hold the motions and the force fields it names.
        field_file: force field to use in place of the script's own; None for its own.
        options: how the motion is optimised.
    """

    script: MotionScript
    motions: Sequence[Path]
    field_file: Path | None = None
    options: AnimateOptions = field(default_factory=AnimateOptions)


@dataclass(frozen=True, slots=True)
class Animation:
    """Result of animating a script.

    Attributes:
        first: the nearest examples.
        start: start of the optimisation, without physics.
        figures: figures of the start and of the result.
        tempo: tempo that was given or found.
        energy: energy of the result; less is likelier.
    """

    problem: MotionProblem
    first: FirstMotion
    start: Floats
    q: Floats
    figures: tuple[MotionFigures, MotionFigures]
    seconds: tuple[float, float]
    interrupted: bool
    notes: tuple[str, ...]
    tempo: float
    energy: float

    def take(self, name: str) -> Take:
        """Return the motion as a take."""
        n = len(self.q)
        rotvec, root_m = poses_from_configurations(self.q)
        states = (TrackingState.TRACKING,) * n
        seconds = np.arange(n) / self.problem.fps
        info, forces = TakeInfo(source=name), evaluate_motion_forces(self.problem, self.q).ground
        return Take(self.problem.body.skeleton, seconds, states, rotvec, root_m, info=info, forces=forces)


class MotionFiles:
    """The motions that a script names, each read once."""

    def __init__(self, folders: Sequence[Path], script: Path, mass_kg: float | None) -> None:
        self.folders, self.script, self.mass_kg = folders, script, mass_kg
        self.read: dict[str, FieldMotion] = {}
        self.fps: dict[str, float] = {}

    def __getitem__(self, name: str) -> FieldMotion:
        """Return a motion. Raises DuocapError: there is none such, or it has gaps."""
        if name not in self.read:
            found = [folder / name for folder in self.folders if (folder / name).exists()]
            if not found:
                places = ", ".join(map(str, self.folders))
                raise DuocapError(f"{self.script}: no motion {name} in {places}; name its folder by --motions")
            self.read[name], self.fps[name] = self._read(found[0])
        return self.read[name]

    def _read(self, file: Path) -> tuple[FieldMotion, float]:
        """Return a motion and its rate; too few frames for a motion are poses, as `style pose` and `sparse complete` write."""
        clip = read_clip(file) if file.suffix.lower() in SUFFIXES else None
        if clip is not None and clip.n_frames < MIN_FRAMES:
            return prepare_field_poses(clip, self.mass_kg), clip.fps
        motion = None if clip is None else motion_from_clip(clean_clip(clip)[0], file.name)
        if motion is None or not motion.ranges:
            motion = read_motion(file)
        longest = max(motion.ranges, key=lambda rows: rows.n_frames)
        return prepare_field_motion(clip_from_motion(motion, longest), self.mass_kg), FPS

    def row(self, name: str, at_s: float) -> int:
        """Return the row of a time of a motion. Raises DuocapError: it ends before."""
        motion = self[name]
        row = round(at_s * self.fps[name])
        if row >= len(motion.q):
            raise DuocapError(f"{self.script}: {name} at {at_s:g} s: it ends at {(len(motion.q) - 1) / self.fps[name]:.2f} s")
        return row


def animate_script(task: AnimateTask, progress: Callable[[int, int], None] = ignore_progress) -> Animation:
    """Return the motion of a script, of several tempos the likeliest where it is free. Raises DuocapError: it cannot be followed.

    Tried are tempos about the usual one, and about that of dynamic similarity, the root of gravity over that on earth.
    """
    if task.script.tempo is not None:
        return _animate_at_tempo(task, progress)
    similar = compute_similar_tempo(task.script.gravity)
    around = sorted({1.0, *(float(f * c) for f in (1.0, similar) for c in TEMPOS)})
    best: Animation | None = None
    for k, tempo in enumerate(around):
        share = partial(_scale_progress, progress, k, len(around))
        made = _animate_at_tempo(replace(task, script=task.script.at_tempo(tempo)), share)
        if best is None or made.energy < best.energy:
            best = made
        if made.interrupted:
            break
    assert best is not None
    return replace(best, interrupted=made.interrupted)


def _scale_progress(progress: Callable[[int, int], None], k: int, count: int, done: int, total: int) -> None:
    """Pass on the progress of the k-th of several."""
    progress(k * total + done, count * total)


def _animate_at_tempo(task: AnimateTask, progress: Callable[[int, int], None]) -> Animation:
    """Return the motion of a script at its tempo. Raises DuocapError."""
    script = task.script
    files = MotionFiles(task.motions, script.file, script.mass_kg)
    learned = read_field(_find_field_file(task))
    problem, notes = _build_problem(task, files, learned)
    given = _build_contacts(script, files, problem.n_frames)
    tempo = script.tempo or 1.0
    first = build_from_examples(problem, given, tempo)
    if first.distance > UNLIKE:
        notes.append(
            f"{learned.name} was learned of nothing like it (nearest example at {first.distance:.1f}, expected below {UNLIKE:g})"
        )
    level_m = files[script.keys[0].file].level_m if given is not None else first.level_m
    problem = stay_near_examples(replace(problem, parts=first.parts, level_m=level_m), first)
    for hold in script.footholds:
        rows = slice(round(hold.first_s * script.fps), round(hold.last_s * script.fps) + 1)
        if not first.parts[rows, hold.foot].any(axis=1).all():
            notes.append(
                f"the {FEET[hold.foot]} foot is not down all the time from {hold.first_s:g} to {hold.last_s:g} s, where it has a "
                "foothold; give it contacts there"
            )
    options = task.options if given is None else replace(task.options, contacts=0)
    got = animate_motion(problem, first.q, options, progress)
    problem = replace(problem, parts=got.parts)
    figures = measure_motion(problem, got.start), measure_motion(problem, got.q)
    told = (*notes, *_format_violations(figures[1]))
    energy = MotionEnergy(problem).evaluate(got.q).energy
    return Animation(problem, first, got.start, got.q, figures, got.seconds, got.interrupted, told, tempo, energy)


def _find_field_file(task: AnimateTask) -> Path:
    """Return the file of the force field: beside the script, in the folder of motions, or as it is."""
    if task.field_file is not None:
        return task.field_file
    name = task.script.field if task.script.field.endswith(SUFFIX) else task.script.field + SUFFIX
    for folder in (task.script.file.parent, *task.motions, Path()):
        if (folder / name).exists():
            return folder / name
    raise DuocapError(f"{task.script.file}: no force field {name}; train one with `duocap physics train`, or give it by --field")


def _build_problem(task: AnimateTask, files: MotionFiles, learned: ForceField) -> tuple[MotionProblem, list[str]]:
    """Return the problem of a script, its contacts still empty, and what the user should know."""
    script = task.script
    n = round(script.seconds * script.fps) + 1
    if n < MIN_FRAMES:
        raise DuocapError(
            f"{script.file}: {format_count(n, 'frame is', 'frames are')} too few for a motion; give more seconds, or a higher fps"
        )
    skeleton = files[script.keys[0].file].skeleton
    body = build_body(skeleton, files[script.keys[0].file].mass_kg)
    units = compute_units(body)
    for segment in script.segments:
        body = body.with_mass(JOINTS[segment.joint], segment.mass_kg)
    for load in script.loads:
        body = body.with_load(JOINTS[load.joint], load.mass_kg)
    notes = []
    if abs(skeleton.height_m / learned.skeleton.height_m - 1.0) > TALLER:
        notes.append(
            f"the body is {skeleton.height_m:.2f} m tall, {learned.name} was learned of {learned.skeleton.height_m:.2f} m"
        )
    around = Surroundings(np.array([0.0, -script.gravity, 0.0]), script.friction, script.slope, script.mounds)
    keys = tuple(_build_key_pose(key, files, script, around) for key in sorted(script.keys, key=lambda key: key.time_s))
    for one, other in pairwise(keys):
        if one.frame == other.frame:
            raise DuocapError(
                f"{script.file}: two keys are in one frame, at {one.frame / script.fps:.3g} s; move one, or give a higher fps"
            )
    dynamics = Dynamics(body)
    paths = tuple(_build_path(path, files, script, dynamics) for path in script.paths)
    paths += tuple(_build_foothold(hold, script) for hold in script.footholds)
    external = tuple(
        ExternalForce(
            force.joint,
            force.at_m,
            round(force.first_s * script.fps),
            round(force.last_s * script.fps) + 1,
            force.newton,
            force.stiffness,
            force.anchor_m,
        )
        for force in script.forces
    )
    parts = np.zeros((n, 2, 3), bool)
    return (
        MotionProblem(body, units, learned, script.fps, parts, np.zeros((2, 3)), keys, paths, external, around, script.weights),
        notes,
    )


def _build_key_pose(asked: KeyAsked, files: MotionFiles, script: MotionScript, around: Surroundings) -> KeyPose:
    """Return a key pose on the ground where it is wanted."""
    row = files.row(asked.file, asked.at_s)
    motion = files[asked.file]
    q = motion.q[row].copy()
    if asked.turn_deg:
        R = rotation_about((0.0, 1.0, 0.0), np.radians(asked.turn_deg))
        q[3:7] = quaternion_from_matrix(R @ matrix_from_quaternion(q[3:7]))
    if asked.place_m is not None:
        q[[0, 2]] = asked.place_m
    q[1] += asked.above_m + float(around.height_m(q[0], q[2]))
    known = motion.parts.any() and asked.above_m == 0.0  # single poses have no contacts
    return KeyPose(round(asked.time_s * script.fps), q, asked.free_place, motion.parts[row] if known else None)


def _build_path(asked: PathAsked, files: MotionFiles, script: MotionScript, dynamics: Dynamics) -> KeyPath:
    """Return the path of a joint as it is in a file, or through points without overshoot."""
    frames = np.arange(round(asked.first_s * script.fps), round(asked.last_s * script.fps) + 1)
    if asked.points is not None:
        times = np.clip(frames / script.fps, asked.points[0, 0], asked.points[-1, 0])
        places = PchipInterpolator(asked.points[:, 0], asked.points[:, 1:])(times)
        if places.shape[1] == 3:
            return KeyPath(asked.joint, frames, places, within_m=asked.within_m)
        return KeyPath(asked.joint, frames, np.insert(places, 1, 0.0, axis=1), np.array([1.0, 0.0, 1.0]), asked.within_m)
    times = asked.from_s + (frames - frames[0]) / script.fps * (script.tempo or 1.0)
    files.row(asked.file, float(times[-1]))
    rows = np.rint(times * files.fps[asked.file]).astype(int)
    return KeyPath(
        asked.joint, frames, compute_joint_positions(dynamics, files[asked.file].q[rows])[:, asked.joint], within_m=asked.within_m
    )


def _build_foothold(asked: FootholdAsked, script: MotionScript) -> KeyPath:
    """Return where the ball of a foot is; its height is the contacts' business."""
    frames = np.arange(round(asked.first_s * script.fps), round(asked.last_s * script.fps) + 1)
    place = np.array([asked.place_m[0], 0.0, asked.place_m[1]])
    return KeyPath(BALLS[asked.foot], frames, np.tile(place, (len(frames), 1)), np.array([1.0, 0.0, 1.0]))


def _build_contacts(script: MotionScript, files: MotionFiles, n: int) -> Bools | None:
    """Return the contacts that a script gives, (N, 2, 3), None where it leaves them to the nearest example."""
    if script.contacts is not None:
        name, first_s, last_s = script.contacts
        first, last = files.row(name, first_s), files.row(name, last_s)
        return np.asarray(files[name].parts[np.rint(np.linspace(first, last, n)).astype(int)])
    if not script.parts:
        return None
    parts = np.zeros((n, 2, 3), bool)
    for contact in script.parts:
        parts[round(contact.first_s * script.fps) : round(contact.last_s * script.fps) + 1, *contact.part] = True
    return parts


def _format_violations(figures: MotionFigures) -> list[str]:
    """Return what a motion violates, and by how much: a script that cannot be followed as it is."""
    told = []
    if figures.residual_force > ALLOWED_RESIDUAL:
        told.append(
            f"the equations of motion are violated by {100 * figures.residual_force:.1f}% of the weight, most "
            f"{100 * figures.largest_force:.0f}%: contacts, keys and forces allow no better; give more time or other contacts"
        )
    if figures.key_m > ALLOWED_KEY_M:
        told.append(f"a joint is {1e3 * figures.key_m:.0f} mm off its key pose: keys, contacts and paths contradict each other")
    if figures.path_m > ALLOWED_KEY_M:
        told.append(f"a joint is {1e3 * figures.path_m:.0f} mm off its path: keys, contacts and paths contradict each other")
    if figures.slide_m > ALLOWED_SLIDE_M:
        told.append(f"feet in contact slide by {1e3 * figures.slide_m:.1f} mm a frame")
    if figures.float_m > ALLOWED_FLOAT_M:
        told.append(f"feet in contact are {1e3 * figures.float_m:.0f} mm off the ground")
    return told


def format_animation(made: Animation) -> list[str]:
    """Describe a motion in words, before and after physics."""
    before, after = made.figures
    rows = [
        ("residual force, % of weight", 100.0, "residual_force", ".2f"),
        ("residual torque, % of weight x height", 100.0, "residual_torque", ".2f"),
        ("slide in contact, mm a frame", 1e3, "slide_m", ".2f"),
        ("off the ground in contact, mm", 1e3, "float_m", ".1f"),
        ("frames outside of friction, %", 100.0, "outside_cone", ".0f"),
        ("vertical force at most, % of weight", 100.0, "peak", ".0f"),
        ("jerk of joints, m/s^3", 1.0, "jerk", ".0f"),
        ("off the key poses, mm", 1e3, "key_m", ".1f"),
        ("off the paths and footholds, mm", 1e3, "path_m", ".1f"),
    ]
    n, n_keys = made.problem.n_frames, len(made.problem.keys)
    spent = f"initialised in {made.seconds[0]:.1f} s, synthesised in {made.seconds[1]:.1f} s of processor time"
    slower = "" if made.tempo == 1.0 else f", {made.tempo:.2f} times as fast as the script"
    lines = [f"{n} frames, {format_count(n_keys, 'key')}{slower}; {spent}"]
    lines.append(f"{'':<38} {'without':>8} {'with physics':>13}")
    for name, scale, key, form in rows:
        values = [scale * getattr(figures, key) for figures in (before, after)]
        lines.append(f"{name:<38} {values[0]:>8{form}} {values[1]:>13{form}}")
    return lines
