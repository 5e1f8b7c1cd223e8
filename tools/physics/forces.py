"""The forces of a motion as a table, and what is said of them."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.errors import DuocapError, FileFormatError, describe_reason
from config.files import write_atomically
from config.joints import JOINTS
from config.text import read_lines
from config.words import format_count
from reconstruct.models.physics.anthropometry import Anthropometry
from reconstruct.models.physics.body import Body, build_body, estimate_stature_m
from reconstruct.models.physics.contacts import N_FEET, N_PARTS, PART_NAMES, compute_part_positions, fit_ground
from reconstruct.models.physics.dynamics import N_ROOT, Dynamics
from reconstruct.models.physics.field.state import STANDARD_GRAVITY
from reconstruct.models.physics.forces import FRICTION, ContactForces, ForceOptions, compute_contact_forces
from reconstruct.models.physics.smoothing import GAIT_HZ
from stream.take.take import Take
from tools.physics.moments import compute_joint_moments
from tools.physics.motion import PhysicalMotion
from tools.progress import Progress, ignore_progress

AXES = "xyz"
FEET = ("left", "right")
IN_THE_AIR_M = 0.1
# Moments that are told, what is positive and what is negative of them.
TOLD = {
    "hip_flexion": "hip flexion+ extension-",
    "knee_flexion": "knee flexion+ extension-",
    "ankle_dorsiflexion": "ankle dorsiflexion+ plantarflexion-",
}
RECORDED = (("force", "N"), ("pressure", "m"), ("moment", "Nm"))  # columns of forces that a recording has


@dataclass(frozen=True, slots=True)
class ForcesTask:
    """A motion whose forces are computed, and the body.

    Attributes:
        mass_kg: mass of the body [kg]; None for the mass usual for its height.
        cutoff_hz: cut-off frequency of the filter [Hz]; None to choose it by residual analysis, inf for no filter.
        contacts: table of the contacts; None to detect them.
        segments: as of `set_segment_masses`.
    """

    motion: Path
    subject: Path | None = None
    mass_kg: float | None = None
    table: Anthropometry = Anthropometry.MEAN
    friction: float = FRICTION
    cutoff_hz: float | None = GAIT_HZ
    contacts: Path | None = None
    segments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StretchForces:
    """Forces of one stretch of a motion, its body, and the time of its first frame [s]."""

    start_s: float
    body: Body
    forces: ContactForces

    @property
    def seconds(self) -> Floats:
        """Times of the frames since the first of the motion, (N,)."""
        return self.start_s + np.arange(len(self.forces.parts)) / self.forces.fps


def find_forces(motion: PhysicalMotion, task: ForcesTask, progress: Progress = ignore_progress) -> list[StretchForces]:
    """Find the forces of a motion, stretch by stretch.

    Args:
        motion: the motion with its ranges of tracked frames.
        task: the body, the ground and the filter.
        progress: called with the amount done and the whole amount.
    Raises: DuocapError.
    """
    given = None if task.contacts is None else read_contacts(task.contacts, motion)
    body = set_segment_masses(build_body(motion.take.skeleton, motion.mass_kg(task.mass_kg), task.table), task.segments)
    dynamics = Dynamics(body)
    found = []
    for k, rows in enumerate(motion.ranges):
        options = ForceOptions(task.friction, task.cutoff_hz, None if given is None else given[rows.slice])
        forces = compute_contact_forces(dynamics, motion.configurations(rows), motion.fps, options)
        found.append(StretchForces(float(motion.take.seconds[rows.first]), body, forces))
        progress(k + 1, len(motion.ranges))
    return found


def set_segment_masses(body: Body, segments: Sequence[str]) -> Body:
    """Return a body with other masses of segments: "leftFoot=3" [kg], or "leftFoot=+2", that much more. Raises DuocapError."""
    for words in segments:
        joint, _, text = words.partition("=")
        try:
            kg = float(text)
        except ValueError as error:
            raise DuocapError(
                f"--segment {words}: expected a joint and its mass in kg, such as leftFoot=3 or leftFoot=+2"
            ) from error
        body = body.with_load(joint, kg) if text.startswith("+") else body.with_mass(joint, kg)
    return body


def read_contacts(file: Path, motion: PhysicalMotion) -> Bools:
    """Read the contacts of a motion, (N, 2, 3), from the columns of such names: a table as `write_forces` writes it.

    Raises FileFormatError: not such a table, or of another number of frames.
    """
    try:
        rows = list(csv.DictReader(read_lines(file, what="the table")))
    except csv.Error as error:
        raise FileFormatError(f"{file}: cannot be read as a table ({describe_reason(error)})") from error
    missing = [name for name in PART_NAMES if not rows or name not in rows[0]]
    if missing:
        raise FileFormatError(f"{file}: no column {missing[0]}; expected {', '.join(PART_NAMES)}, 0 or 1 for every frame")
    try:
        flags = np.array([[float(row[name]) > 0.5 for name in PART_NAMES] for row in rows])
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{file}: {error}; expected 0 or 1 in the columns of contacts") from error
    out = np.zeros((len(motion.take), N_FEET, N_PARTS), bool)
    kept = np.concatenate([np.arange(each.first, each.stop) for each in motion.ranges])
    if len(rows) not in (len(out), len(kept)):
        raise FileFormatError(
            f"{file}: {format_count(len(rows), 'row')} for a motion of {format_count(len(out), 'frame')}; give one row for "
            "every frame"
        )
    out[kept if len(rows) == len(kept) else slice(None)] = flags.reshape(-1, N_FEET, N_PARTS)
    return out


def write_forces(file: Path, found: list[StretchForces]) -> None:
    """Write a table, one row a frame; docs/physics.md describes the columns."""
    blocks = [_build_columns(each) for each in found]
    lines = [",".join(blocks[0][0])]
    lines += [",".join(f"{value:.6g}" for value in row) for _, block in blocks for row in block]
    write_atomically(file, "\n".join(lines) + "\n")


def _build_columns(found: StretchForces) -> tuple[list[str], Floats]:
    """Return names and values of the columns, (N, C)."""
    forces, points = found.forces, found.body.contacts
    n = len(forces.parts)
    centers, defined = forces.pressure_centers(points.foot)
    centers = np.where(defined[..., None], centers, np.nan)
    columns: list[tuple[list[str], Floats]] = [
        (["seconds"], found.seconds[:, None]),
        (list(PART_NAMES), forces.parts.reshape(n, -1).astype(float)),
    ]
    for foot, side in enumerate(FEET):
        columns.append(([f"{side}.force.{a}_N" for a in AXES], forces.foot_forces(points.foot)[:, foot]))
        columns.append(([f"{side}.pressure.{a}_m" for a in AXES], centers[:, foot]))
    columns.append(([f"residual.force.{a}_N" for a in AXES], forces.residual[:, :3]))
    columns.append(([f"residual.torque.{a}_Nm" for a in AXES], forces.residual[:, 3:]))
    names = [f"{joint}.{a}_Nm" for joint in JOINTS[1:] for a in AXES]
    columns.append(([f"torque.{name}" for name in names], forces.torque[:, N_ROOT:]))
    root = [f"hips.force.{a}_N" for a in AXES] + [f"hips.{a}_Nm" for a in AXES]
    columns.append(([f"generalized.{name}" for name in root + names], forces.u))
    moments = compute_joint_moments(found.body, forces)
    columns.append(([f"moment.{name}_Nm" for name in moments.names], moments.moment_nm))
    columns.append(([f"moment.{name}_Nm_kg" for name in moments.names], moments.moment_nm / found.body.total_kg))
    columns.append(([f"contact.{name}.{a}_N" for name in points.names for a in AXES], forces.force_n.reshape(n, -1)))
    return [name for names, _ in columns for name in names], np.concatenate([values for _, values in columns], axis=1)


def write_recorded_forces(file: Path, take: Take) -> list[str]:
    """Write the forces that a recording has, a row for every frame in which they are known; return lines of text on them."""
    forces = take.forces
    assert forces is not None
    names, values = ["seconds"], [take.seconds[:, None]]
    for foot, side in enumerate(FEET):
        center_m = np.where(forces.loaded[:, foot, None], forces.center_m[:, foot], np.nan)
        names += [f"{side}.{what}.{axis}_{unit}" for what, unit in RECORDED for axis in AXES]
        values += [forces.force_n[:, foot], center_m, forces.moment_nm[:, foot]]
    rows = np.concatenate(values, axis=1)[forces.known]
    write_atomically(file, "\n".join([",".join(names), *(",".join(f"{value:.6g}" for value in row) for row in rows)]) + "\n")
    load = forces.force_n[..., 1].max(axis=0) / (forces.mass_kg * STANDARD_GRAVITY)
    peaks = ", ".join(f"{side} at most {100 * peak:.0f}%" for side, peak in zip(FEET, load.tolist(), strict=True))
    return [
        f"{len(rows)} frames, {forces.mass_kg:.1f} kg: the forces that the recording has; --anew computes them, with moments",
        f"vertical force, of body weight: {peaks}",
    ]


def format_forces(motion: PhysicalMotion, found: list[StretchForces]) -> list[str]:
    """Describe the forces of a motion in words."""
    body, weight_n = found[0].body, found[0].forces.weight_n
    frames = sum(len(each.forces.parts) for each in found)
    lines = [*motion.notes, f"{frames} frames, {body.total_kg:.1f} kg, {estimate_stature_m(body.skeleton):.2f} m"]
    cutoffs = [each.forces.cutoff_hz for each in found if each.forces.cutoff_hz is not None]
    if cutoffs:
        lines.append(f"motion filtered at {np.mean(cutoffs):.1f} Hz before its accelerations were taken")
    load = np.concatenate([each.forces.foot_forces(each.body.contacts.foot)[..., 1] for each in found]) / weight_n
    grounded = np.concatenate([each.forces.parts.any(axis=(1, 2)) for each in found])
    peaks = ", ".join(f"{side} at most {100 * load[:, foot].max():.0f}%" for foot, side in enumerate(FEET))
    lines.append(f"vertical force, of body weight: {peaks}; on the ground in {100 * grounded.mean():.0f}% of the frames")
    residual = np.concatenate([each.forces.residual for each in found])
    force, torque = np.linalg.norm(residual[:, :3], axis=1), np.linalg.norm(residual[:, 3:], axis=1)
    share = 100 * _compute_rms(force) / weight_n
    lines.append(
        f"residual that no contact gives: {_compute_rms(force):.0f} N ({share:.1f}% of weight), {_compute_rms(torque):.0f} Nm"
    )
    worst = np.concatenate(
        [np.linalg.norm(each.forces.torque[:, N_ROOT:].reshape(len(each.forces.u), -1, 3), axis=2) for each in found]
    )
    most = np.argsort(-worst.max(axis=0), kind="stable")[:3]
    lines.append("largest joint torques: " + ", ".join(f"{JOINTS[j + 1]} {worst[:, j].max():.0f} Nm" for j in most.tolist()))
    lines.append("joint moments, Nm/kg: " + "; ".join(_format_moments(found)))
    return lines


def _format_moments(found: list[StretchForces]) -> Iterator[str]:
    """Yield in words between which values the moments of the legs' joints are."""
    moments = [compute_joint_moments(each.body, each.forces) for each in found]
    for name, words in TOLD.items():
        values = np.concatenate([each.find(f"{name}_{side}") for each in moments for side in "lr"]) / found[0].body.total_kg
        yield f"{words} {values.min():.2f} to {values.max():.2f}"


def format_force_warnings(found: list[StretchForces]) -> list[str]:
    """Return warnings about forces that are not to be believed."""
    out = []
    for each in found:
        forces = each.forces
        out += _format_airborne_contacts(each)
        floating = np.linalg.norm(forces.residual[:, :3], axis=1) > 0.5 * forces.weight_n
        if floating.mean() > 0.1:
            out.append(
                f"in {100 * floating.mean():.0f}% of the frames from {each.start_s:.1f} s on, more than half of the weight has "
                "no contact that bears it: the feet float, or stand on something else; clean the motion, or give contacts"
            )
    return out


def _format_airborne_contacts(found: StretchForces) -> list[str]:
    """Return in words which parts of the feet carry weight far above the ground."""
    forces = found.forces
    middle = compute_part_positions(found.body.contacts, forces.point_m)
    ground = fit_ground(middle, forces.fps)
    high = np.where(forces.parts, ground.height_over(middle) - ground.level_m, 0.0).reshape(len(forces.parts), -1)
    worst = int(np.argmax(high.max(axis=0)))
    n = int((high.max(axis=1) > IN_THE_AIR_M).sum())
    if n == 0:
        return []
    most = f"{PART_NAMES[worst]} up to {1e2 * high[:, worst].max():.0f} cm"
    return [
        f"in {format_count(n, 'frame')} a contact is in the air ({most} above the ground); its force is as asked, not as it "
        "can be"
    ]


def _compute_rms(values: Floats) -> float:
    """Return the root mean square."""
    return float(np.sqrt((values**2).mean()))
