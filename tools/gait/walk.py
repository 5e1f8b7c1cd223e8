"""A walk from a motion to its files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.errors import DuocapError
from config.files import write_atomically
from config.words import format_count
from stream.export.c3d import write_c3d
from stream.export.events import GaitEvent
from tools.gait.events import compute_feet_motion, find_gait_events
from tools.gait.steps import FootStep, GaitReport, describe_no_walk, format_gait, format_steps_csv, measure_steps
from tools.physics.motion import PhysicalMotion


@dataclass(frozen=True, slots=True)
class Gait:
    """The walk of a motion. notes: on the motion; events: in seconds since its first frame."""

    notes: tuple[str, ...]
    events: tuple[GaitEvent, ...]
    report: GaitReport

    def lines(self) -> Iterator[str]:
        """Yield the lines that are printed."""
        yield from self.notes
        yield from format_gait(self.report)


def measure_gait(motion: PhysicalMotion) -> Gait:
    """Return events and steps of a motion, range by range. Raises DuocapError: nobody takes a step in it."""
    events: list[GaitEvent] = []
    steps: list[FootStep] = []
    belts, both = [], []
    for rows in motion.ranges:
        take = motion.take
        feet = compute_feet_motion(take.skeleton, take.rotvec[rows.slice], take.root_m[rows.slice], motion.fps)
        start_s = float(take.seconds[rows.first])
        found = find_gait_events(feet)
        report = measure_steps(feet, found)
        events += [GaitEvent(event.seconds + start_s, event.foot, event.kind) for event in found]
        steps += [step.after(start_s) for step in report.steps]
        belts += [report.belt_m_s] * len(report.steps)
        both += [report.both_s] * len(report.steps)
    if not np.isfinite([step.step_s for step in steps]).any():
        raise DuocapError(
            f"{motion.name}: no steps in {format_count(len(motion.take), 'frame')}; expected somebody who walks, one foot "
            "after the other"
        )
    known = [seconds for seconds in both if np.isfinite(seconds)]
    report = GaitReport(tuple(steps), float(np.median(belts)), float(np.median(known)) if known else np.nan)
    return Gait((*motion.notes, *describe_no_walk(report)), tuple(events), report)


def write_gait(file: Path, motion: PhysicalMotion, found: Gait) -> str:
    """Write the steps to a .csv or the take with its events to a .c3d; return a line of text on it."""
    if file.suffix.lower() == ".c3d":
        write_c3d(file, motion.take, found.events)
        return f"{file}: {format_count(len(motion.take), 'frame')}, {format_count(len(found.events), 'event')}"
    write_atomically(file, format_steps_csv(found.report))
    return f"{file}: {format_count(len(found.report.steps), 'step')}"
