"""Train a force field on motion files, and say how it went."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from config.errors import DuocapError
from database.clips import Clip
from database.files.retarget import NO_HINTS, ImportHints
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.file import write_field
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.train import FPS, MIN_FRAMES, FieldMotion, FieldOptions, train_field
from tools.physics.motion import PhysicalMotion, TrackedRange, read_motion
from tools.progress import ProgressState

COLUMN = 11


@dataclass(frozen=True, slots=True)
class FieldTask:
    """What to learn from.

    mass_kg None: of each performer, usual for the height; sound: motions are made to obey eq. 1 first; hints: what the user says
    about motions of other programs.
    """

    motions: Sequence[Path]
    mass_kg: float | None = None
    options: FieldOptions = field(default_factory=FieldOptions)
    sound: bool = True
    hints: ImportHints = NO_HINTS


def read_motions(task: FieldTask, show: ProgressState) -> list[FieldMotion]:
    """Read motions, stretch by stretch, without those too short to learn from. Raises DuocapError: nothing is left."""
    found = []
    for k, file in enumerate(task.motions):
        motion = read_motion(file, hints=task.hints)
        for rows in motion.ranges:
            if rows.n_frames * FPS / motion.fps >= MIN_FRAMES + 1:
                found.append(prepare_field_motion(clip_from_motion(motion, rows), task.mass_kg, task.sound))
        show(k + 1, len(task.motions), file.name)
    if not found:
        raise DuocapError(f"nothing to learn from: no motion is longer than {MIN_FRAMES / FPS:g} s")
    return found


def clip_from_motion(motion: PhysicalMotion, rows: TrackedRange) -> Clip:
    """Return a range of frames of a motion as a clip."""
    take = motion.take
    rotvec, root_m = (np.ascontiguousarray(array[rows.slice]) for array in (take.rotvec, take.root_m))
    return Clip(Path(motion.name).stem, take.skeleton, motion.fps, rotvec, root_m)


def train_field_file(
    task: FieldTask, motions: Sequence[FieldMotion], name: str, out: Path, show: ProgressState
) -> tuple[str, ...]:
    """Train a force field and write it to a file; return lines of text that describe it.

    Args:
        task: how to train.
        motions: prepared motions to learn from.
        name: name of the field.
        out: file to write.
        show: called with the number of steps done and of all steps.
    Raises: DuocapError.
    """
    learned = train_field(name, motions, task.options, lambda done, total: show(done, total))
    write_field(out, learned)
    return format_field(learned, out)


def format_field(learned: ForceField, out: Path) -> tuple[str, ...]:
    """Describe a field in words."""
    examples = learned.examples
    n_motions, seconds = len(examples.start) - 1, len(examples.q) / examples.fps
    return (
        f"{'poses':<{COLUMN}} {len(examples.q)} of {n_motions} motion{'s' if n_motions > 1 else ''}, {seconds:.1f} s",
        f"{'states':<{COLUMN}} {len(learned.state.spread)} dimensions, forces {len(learned.force.spread)}",
        f"{'process':<{COLUMN}} {len(learned.process.inducing)} states kept, noise {learned.process.noise:.2g} of the variance",
        f"{'file':<{COLUMN}} {out}, {out.stat().st_size / 1e6:.1f} MB",
    )
