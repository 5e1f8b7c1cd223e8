"""Vertical force, impulse and centre of pressure of each step against the plates, by several methods with the same contacts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.subject.marker_motion import MarkerMotion, cut_to_held, read_marker_motion
from config.arrays import Floats
from config.errors import FileFormatError
from config.words import format_count
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.clean import CleanOptions, clean_by_windows, prepare_motion
from reconstruct.models.physics.contacts import compute_part_positions
from reconstruct.models.physics.dynamics import Dynamics, configurations_from_poses
from reconstruct.models.physics.forces import ContactForces, ForceOptions, compute_contact_forces, compute_root_wrench
from reconstruct.models.physics.smoothing import GAIT_HZ
from tools.evaluate.forces.c3d_plates import read_plate_c3d
from tools.evaluate.forces.plates import PlateForces, assign_plates, read_plate_table
from tools.gait.events import compute_feet_motion
from tools.progress import ProgressState

AROUND_S = 0.05  # of a step on the plate: earlier and later forces are errors as well
CENTER_SHARE = 0.1  # of the weight: with less on it, a plate does not know the centre of pressure
SIDE = ("left", "right")
HEAD = ("", "vertical RMS %", "impulse %", "forward RMS %", "pressure mm", "residual %", "Nm")


@dataclass(frozen=True, slots=True)
class StepErrors:
    """Errors of one step.

    Attributes:
        rms_share: RMS of the vertical force, as a share of the weight.
        impulse_share: share of the force's integral.
        forward_share: RMS of the force along the path.
        center_mm: RMS of the centre of pressure, level.
    """

    foot: int
    begin_s: float
    rms_share: float
    impulse_share: float
    forward_share: float
    center_mm: float


@dataclass(frozen=True, slots=True)
class MethodErrors:
    """One method: its errors step by step, and the residual that it leaves, RMS force by weight and torque [Nm]."""

    method: str
    steps: tuple[StepErrors, ...]
    residual_share: float
    residual_nm: float


@dataclass(frozen=True, slots=True)
class ForcesReport:
    """Results of measuring the forces.

    Attributes:
        mass_kg: mass of the walker [kg].
        cutoff_hz: cut-off frequency that residual analysis chose [Hz].
        notes: for the user, on the markers.
    """

    mass_kg: float
    height_m: float
    cutoff_hz: float
    methods: tuple[MethodErrors, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FootForces:
    """Force on each foot (N, 2, 3) [N] and its centre of pressure (N, 2, 3) [m]."""

    force_n: Floats
    center_m: Floats


@dataclass(frozen=True, slots=True)
class WalkFiles:
    """The files of a walk over plates, which may be one."""

    markers: Path
    plates: Path


def measure_forces(folder: Path, mass_kg: float | None, progress: ProgressState) -> ForcesReport:
    """Measure the walk of a folder that `find_walk` understands. mass_kg None: by the plates. Raises DuocapError."""
    files = find_walk(folder)
    walk = cut_to_held(read_marker_motion(files.markers, progress=progress))
    plates = read_walk_plates(files, walk)
    clip = walk.clip
    mass = plates.mass_kg() if mass_kg is None else mass_kg
    dynamics = Dynamics(build_body(clip.skeleton, mass))
    q = configurations_from_poses(clip.rotvec, clip.root_m)
    measured = plates.at(np.arange(len(q)) / clip.fps)
    chosen = compute_contact_forces(dynamics, q, clip.fps)
    found = []
    options = (("residual analysis", None), ("6 Hz, usual of gait", GAIT_HZ), ("not filtered", np.inf))
    *_, clean = clean_by_windows(prepare_motion(dynamics, q, clip.fps, CleanOptions(parts=chosen.parts)))
    motions = [(name, q, cutoff) for name, cutoff in options] + [("cleaned", clean, np.inf)]
    for name, motion, cutoff in motions:
        forces = compute_contact_forces(dynamics, motion, clip.fps, ForceOptions(cutoff_hz=cutoff, parts=chosen.parts))
        points = dynamics.points
        plain = FootForces(*split_by_position(dynamics, forces))
        ours = FootForces(forces.foot_forces(points.foot), forces.pressure_centers(points.foot)[0])
        force = np.linalg.norm(forces.residual[:, :3], axis=1) / forces.weight_n
        torque = np.linalg.norm(forces.residual[:, 3:], axis=1)
        left = (float(np.sqrt((force**2).mean())), float(np.sqrt((torque**2).mean())))
        found.append(MethodErrors(f"plain, {name}", _steps(plain, plates, measured, forces.weight_n), 0.0, 0.0))
        found.append(MethodErrors(f"contact points, {name}", _steps(ours, plates, measured, forces.weight_n), *left))
    return ForcesReport(mass, clip.skeleton.height_m, chosen.cutoff_hz or np.nan, tuple(found), (*walk.notes, *walk.warnings))


def find_walk(folder: Path) -> WalkFiles:
    """Return the files of a walk: one C3D with plates, or one C3D or TRC of markers and a MOT or STO of plates.

    Raises FileFormatError: they are not there, or there are several.
    """
    files = [folder] if folder.is_file() else sorted(folder.glob("*")) if folder.is_dir() else []
    markers = [file for file in files if file.suffix.lower() in (".c3d", ".trc")]
    plates = [file for file in files if file.suffix.lower() in (".mot", ".sto")]
    alone = len(markers) == 1 and not plates and markers[0].suffix.lower() == ".c3d"
    if not alone and (len(markers) != 1 or len(plates) != 1):
        raise FileFormatError(
            f"{folder}: {format_count(len(markers), 'file')} of markers (.c3d, .trc) and {len(plates)} of plates (.mot, "
            ".sto); expected one of "
            "each, or a .c3d that holds both"
        )
    return WalkFiles(markers[0], markers[0] if alone else plates[0])


def read_walk_plates(files: WalkFiles, motion: MarkerMotion) -> PlateForces:
    """Return the forces of a walk's plates on the feet, in the motion's axes and time. Raises FileFormatError."""
    read = read_plate_c3d if files.plates.suffix.lower() == ".c3d" else read_plate_table
    readings = read(files.plates).turned(motion.take.turn)
    readings = replace(readings, seconds=readings.seconds - motion.take.points.start_s)
    clip = motion.clip
    feet = compute_feet_motion(clip.skeleton, clip.rotvec, clip.root_m, clip.fps)
    return assign_plates(readings, feet.heel_m, feet.tip_m, np.arange(clip.n_frames) / clip.fps)


def split_by_position(dynamics: Dynamics, forces: ContactForces) -> tuple[Floats, Floats]:
    """Return plain inverse dynamics: the whole force on the root at the whole centre of pressure, shared by feet in contact.

    With both down, by where the whole centre of pressure lies between the middles of what of them is down.
    """
    wrench = compute_root_wrench(dynamics, forces.motion.q, forces.u)
    root_m = forces.motion.q[:, :3]
    load = np.maximum(wrench[:, 1], 1e-3 * forces.weight_n)
    floor = forces.point_m[..., 1].min(axis=1)
    arm = root_m[:, 1] - floor
    x = root_m[:, 0] + (wrench[:, 5] - wrench[:, 0] * arm) / load
    z = root_m[:, 2] - (wrench[:, 3] + wrench[:, 2] * arm) / load
    whole = np.stack([x, floor, z], axis=1)
    middle = compute_part_positions(dynamics.points, forces.point_m)
    down = np.asarray(forces.parts.any(axis=2), bool)
    both = down[:, 0] & down[:, 1]
    weight = np.where(down[..., None], forces.parts, True)[..., None]
    feet = (middle * weight).sum(axis=2) / weight.sum(axis=2)
    between = (feet[:, 1] - feet[:, 0])[:, [0, 2]]
    way = ((whole - feet[:, 0])[:, [0, 2]] * between).sum(axis=1) / np.maximum((between**2).sum(axis=1), 1e-9)
    right = np.where(both, np.clip(way, 0.0, 1.0), down[:, 1].astype(float))
    share = np.stack([1.0 - right, right], axis=1) * (down[:, 0] | down[:, 1])[:, None]
    center = np.where(both[:, None, None], feet, whole[:, None])
    return share[..., None] * wrench[:, None, :3], center


def _steps(found: FootForces, plates: PlateForces, measured: PlateForces, weight_n: float) -> tuple[StepErrors, ...]:
    """Return the errors of every step on the plates."""
    out = []
    path = np.ptp(measured.center_m[:, :, [0, 2]][measured.force_n[..., 1] > CENTER_SHARE * weight_n], axis=0)
    ahead = (0, 2)[int(np.argmax(path))]
    for foot, begin, end in plates.steps():
        rows = (measured.seconds > begin - AROUND_S) & (measured.seconds < end + AROUND_S)
        ours, theirs = found.force_n[rows, foot], measured.force_n[rows, foot]
        e = (ours - theirs) / weight_n
        borne = (theirs[:, 1] > CENTER_SHARE * weight_n) & (ours[:, 1] > CENTER_SHARE * weight_n)
        off = (found.center_m[rows, foot] - measured.center_m[rows, foot])[borne][:, [0, 2]]
        out.append(
            StepErrors(
                foot=foot,
                begin_s=begin,
                rms_share=float(np.sqrt((e[:, 1] ** 2).mean())),
                impulse_share=float(ours[:, 1].sum() / theirs[:, 1].sum() - 1.0),
                forward_share=float(np.sqrt((e[:, ahead] ** 2).mean())),
                center_mm=1e3 * float(np.sqrt((off**2).sum(axis=1).mean())),
            )
        )
    return tuple(out)


def report(found: ForcesReport) -> Iterator[str]:
    """Yield the lines that are printed: each figure step by step, then the mean."""
    yield (
        f"{found.mass_kg:.1f} kg, {found.height_m:.2f} m; residual analysis: {found.cutoff_hz:.1f} Hz; "
        "steps " + ", ".join(f"{SIDE[s.foot]} {s.begin_s:.2f} s" for s in found.methods[0].steps)
    )
    yield from found.notes
    rows = [HEAD, *(_format_cells(method) for method in found.methods)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    for name, *cells in rows:
        yield name.ljust(widths[0]) + "".join(f"   {cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
    yield "aims: vertical 8 % of body weight, impulse 2 %, centre of pressure 30 mm"


def _format_cells(method: MethodErrors) -> tuple[str, ...]:
    """Return the cells of one row, each as wide as its steps ask for."""
    columns = (
        [100 * s.rms_share for s in method.steps],
        [100 * s.impulse_share for s in method.steps],
        [100 * s.forward_share for s in method.steps],
        [s.center_mm for s in method.steps],
    )
    cells = [method.method]
    for k, values in enumerate(columns):
        digits = 0 if k == 3 else 1
        mean = float(np.mean(np.abs(values)))
        cells.append(f"{' '.join(f'{v:.{digits}f}' for v in values)} = {mean:.{digits}f}")
    return (*cells, f"{100 * method.residual_share:.1f}", f"{method.residual_nm:.1f}")
