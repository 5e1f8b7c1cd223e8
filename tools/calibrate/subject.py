"""What `duocap calibrate subject` is asked for, and its steps: takes, fit, verdict, picture, file."""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, cast, get_args

from calibration.camera import Rig
from calibration.guidance.subject import SubjectGuide
from calibration.subject.fit import TPose
from calibration.subject.subject import write_subject
from calibration.subject.tpose import StartPose, Worn
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.errors import CalibrationError, DuocapError
from config.markers import MarkerSet
from config.settings import Settings
from database.store import PoseDatabase
from tools.arguments import parse_seconds_range
from tools.calibrate.held_tpose import HeldPose, find_held_tpose
from tools.calibrate.outcome import print_report, write_outcome
from tools.calibrate.session import (
    PerformerPrior,
    SubjectResult,
    average_tpose_of_pairs,
    fit_subject_to_tposes,
    format_subject,
    read_pairs,
)
from tools.progress import open_progress_bar

Parts = Literal["all", "left", "right"]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TakeWindow:
    """One T-pose of a recording: between which times [s], and whose limbs' markers are worn; None: found out."""

    seconds: tuple[float, float]
    worn: Worn | None

    @property
    def words(self) -> str:
        """Name it."""
        return f"the take from {self.seconds[0]:g} to {self.seconds[1]:g} s"


@dataclass(frozen=True, slots=True)
class TakeSource:
    """A recording and the T-poses in it."""

    spec: RecordingSpec
    windows: tuple[TakeWindow, ...]


@dataclass(frozen=True, slots=True)
class SubjectTask:
    """Options of a calibration of a performer: who, wearing which markers, seen by which cameras.

    Attributes:
        out, picture: files to write, picture None for none.
        motion: seconds of free movement to refine over, or None.
        pose: pose that is held; None to tell it by the markers.
    """

    name: str
    rig: Rig
    markers: MarkerSet
    database: PoseDatabase
    known: PerformerPrior
    out: Path
    picture: Path | None
    motion: tuple[float, float] | None = None
    pose: StartPose | None = None


def parse_take_window(text: str, option: str = "--take") -> TakeWindow:
    """Read `S:S`, `S:S:left` or `S:S:right`. Raises typer.BadParameter."""
    head, _, tail = text.rpartition(":")
    if tail in get_args(Parts):
        seconds = parse_seconds_range(head, option)
        worn: Worn | None = cast("Worn", tail)
    else:
        seconds, worn = parse_seconds_range(text, option), None
    assert seconds is not None
    return TakeWindow(seconds, worn)


def parse_further_source(text: str, default: Sequence[TakeWindow]) -> TakeSource:
    """Read `SESSION`, `SESSION@S:S`, or videos `LEFT,RIGHT@S:S`: by default with the times of the first recording.

    Raises typer.BadParameter: the times are none.
    """
    sources, seconds = split_further_source(text)
    windows = tuple(default) if seconds is None else (parse_take_window(seconds, "--also"),)
    return TakeSource(RecordingSpec(tuple(sources)), windows)


def split_further_source(text: str) -> tuple[list[str], str | None]:
    """Return the folder or the videos, and the times, None where none are named: a folder may have an @ of its own."""
    names, _, seconds = text.rpartition("@")
    found, times = (names, seconds) if re.match(r"[\d.]+:[\d.]+", seconds) else (text, None)
    videos = found.split(",")
    return (videos, times) if len(videos) > 1 and all(videos) else ([found], times)


def calibrate_subject(
    task: SubjectTask, sources: Sequence[TakeSource], settings: Settings | None = None, tell: Callable[[str], None] = _LOG.info
) -> SubjectResult:
    """Fit a subject to T-poses, judge and draw it, and write it.

    Args:
        task: the performer, the rig, the markers worn, and where the subject is written.
        sources: recordings and when a T-pose is held in each.
        settings: None for the defaults.
        tell: called with each line for the user.
    Raises CalibrationError: no T-pose, or a verdict of fail; no file but the picture is written then.
    """
    settings = Settings() if settings is None else settings
    tposes, names = _collect_tposes(task, sources, settings, tell)
    result = fit_subject_to_tposes(task.name, tposes, names, task.rig, task.markers, task.database, task.known)
    if task.motion is not None:
        result = _refine_over_motion(result, task, sources[0], settings, tell)
    for line in format_subject(result):
        tell(line)
    print_report(result.report, tell)
    write_subject_result(result, task, tell)
    return result


def write_subject_result(result: SubjectResult, task: SubjectTask, tell: Callable[[str], None]) -> None:
    """Draw and write a subject.

    Args:
        result: the subject and its report.
        task: files to write.
        tell: receives progress messages as text.
    Raises: CalibrationError: the verdict is fail, no file but the picture is written.
    """

    def draw(file: Path) -> None:
        from calibration.subject.picture import draw_subject

        draw_subject(result.found, result.report, file)

    write_outcome(result.report, task.out, task.picture, draw, partial(write_subject, task.out, result.subject), tell)


def _refine_over_motion(
    result: SubjectResult, task: SubjectTask, source: TakeSource, settings: Settings, tell: Callable[[str], None]
) -> SubjectResult:
    """Refine over the movement of the first recording, and say what that added."""
    from tools.calibrate.motion import refine_subject

    assert task.motion is not None
    recording = CaptureRecording(source.spec, settings.detector, task.markers, landmarks=settings.landmarks.model)
    with open_progress_bar("movement") as progress:
        [pairs] = read_pairs(recording, [task.motion], task.rig, progress)
    movement = refine_subject(result, pairs, task.rig, task.database, settings)
    for line in movement.lines:
        tell(line)
    return movement.result


def _find_window(task: SubjectTask, recording: CaptureRecording, settings: Settings, tell: Callable[[str], None]) -> TakeWindow:
    """Return the first T-pose of a recording, and say when it is. Raises CalibrationError: none is held."""

    def make_held() -> HeldPose:
        return HeldPose(SubjectGuide(task.rig, task.markers, task.database.skeletons), task.rig, settings.match)

    with open_progress_bar("looking for the T-pose") as progress:
        seconds = find_held_tpose(recording, make_held, progress)
    tell(f"a T-pose is held from {seconds[0]:.1f} to {seconds[1]:.1f} s (--from and --to choose another)")
    return TakeWindow(seconds, None)


def _collect_tposes(
    task: SubjectTask, sources: Sequence[TakeSource], settings: Settings, tell: Callable[[str], None] = _LOG.info
) -> tuple[list[TPose], list[str]]:
    """Return the T-poses of all recordings and the name of each.

    Args:
        task: the performer.
        sources: recordings, with the times of the T-poses in them; without, the first is found.
        settings: settings of the run.
        tell: called with each line for the user.
    Raises: CalibrationError: no T-pose, naming the take where there are several.
    """
    tposes, names = [], []
    several = sum(max(len(source.windows), 1) for source in sources) > 1
    for source in sources:
        recording = CaptureRecording(source.spec, settings.detector, task.markers, landmarks=settings.landmarks.model)
        windows = source.windows or (_find_window(task, recording, settings, tell),)
        with open_progress_bar("T-pose") as progress:
            found = read_pairs(recording, [window.seconds for window in windows], task.rig, progress)
        for window, pairs in zip(windows, found, strict=True):
            called = window.words + (f" of {source.spec.name}" if len(sources) > 1 else "")
            try:
                worn = window.worn if several or window.worn is not None else "all"
                tposes.append(average_tpose_of_pairs(pairs, task.rig, task.markers, task.database, settings, worn, task.pose))
            except CalibrationError as error:
                raise CalibrationError(f"{called}: {error}" if several else str(error)) from error
            names.append(called)
    return tposes, names


def check_take_source(source: str, n_views: int) -> None:
    """Raise DuocapError unless two cameras are there; source: a video, or a session's folder."""
    if n_views < 2:
        raise DuocapError(
            f"{source}: one camera cannot measure depth, which a performer's size takes; give all recordings of the T-pose: "
            "the subject.toml they give serves replays with one camera too"
        )
