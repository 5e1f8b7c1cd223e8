"""Find the floor of a rig: by a board, by markers or by a walk; judge it, draw it, write the rig that stands on it."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from calibration.board.pattern import Board
from calibration.camera import Rig
from calibration.floor.feet import FootHeights
from calibration.floor.frame import Floor, FloorMethod, find_direction_to_cameras, place_on_floor
from calibration.floor.from_board import fit_floor_to_board
from calibration.floor.from_markers import fit_floor_to_markers
from calibration.floor.from_walk import fit_floor_to_walk
from calibration.floor.picture import draw_floor
from calibration.floor.quality import judge_floor
from calibration.formats.rig_toml import write_rig_toml
from calibration.quality.report import Grade, QualityReport
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.errors import CalibrationError
from config.markers import MarkerSet
from config.settings import Settings
from tools.calibrate.board.sources import BoardSpec
from tools.calibrate.floor_sources import (
    TimeWindow,
    find_still_markers,
    open_marker_source,
    search_board_moments,
    triangulate_walk,
)
from tools.calibrate.outcome import print_report, write_outcome
from tools.progress import Progress, Tell


@dataclass(frozen=True, slots=True)
class FloorTask:
    """How a floor is to be found, and where what comes of it goes.

    Attributes:
        by: method to find the floor by.
        spec: recordings of the scene.
        window: seconds of the recordings to use.
        board: board that lies on the floor.
        worn: the markers.
        out, picture: files to write, picture None for none.
        heights: heights of the markers of a standing foot.
        height_m: height of the board's face or of markers on the floor [m].
        distance_m: the largest between these.
        late_s: delay of the right camera's timestamps [s].
        rescale: whether to correct the rig's scale by the measured one.
        to_cameras: +Z straight to the cameras, whatever a board or L-frame says.
    """

    by: FloorMethod
    spec: RecordingSpec
    window: TimeWindow
    board: Board
    worn: MarkerSet
    out: Path
    picture: Path | None
    heights: FootHeights | None = None
    height_m: float = 0.0
    distance_m: float | None = None
    late_s: float = 0.0
    rescale: bool = False
    to_cameras: bool = False


def find_floor(wishes: FloorTask, rig: Rig, settings: Settings, progress: Progress) -> Floor:
    """Find a floor.

    Args:
        wishes: method and sources of the floor.
        rig: the cameras.
        settings: settings of the run.
        progress: called with the amount done and the whole amount.
    Raises: SourceError, CalibrationError: nothing that can be read, or no floor in it.
    """
    if wishes.by == "board":
        return _find_board_floor(wishes, rig, progress)
    if wishes.by == "markers":
        source = open_marker_source(wishes.spec, settings, wishes.worn)
        points, covariances = find_still_markers(source, rig, settings, wishes.window)
        return fit_floor_to_markers(rig, points, covariances, wishes.height_m, wishes.distance_m)
    recording = CaptureRecording(wishes.spec, settings.detector, wishes.worn)
    assert wishes.heights is not None
    return fit_floor_to_walk(rig, triangulate_walk(recording, rig, settings, wishes.window, progress), wishes.heights)


def _find_board_floor(wishes: FloorTask, rig: Rig, progress: Progress) -> Floor:
    """Find the floor under a board."""
    spec = wishes.spec
    late_s = (0.0, wishes.late_s) if len(spec.files) == 2 and wishes.late_s else ()
    where = BoardSpec(tuple(map(Path, spec.files)), spec.timestamps, spec.fps, late_s)
    moments, search = search_board_moments(where, wishes.board, rig, wishes.window, progress)
    if not moments:
        from calibration.board.diagnosis import explain_missing_board

        images = [image for misses in search.misses for image in misses.images]
        raise CalibrationError(
            f"none of {sum(search.searched)} pictures shows the board {wishes.board.text}: "
            f"{explain_missing_board(images, wishes.board)}"
        )
    return fit_floor_to_board(rig, wishes.board, moments, wishes.height_m)


def finish_floor(rig: Rig, floor: Floor, wishes: FloorTask, tell: Tell) -> QualityReport:
    """Judge, print, draw and write a floor.

    Args:
        rig: the cameras.
        floor: floor that was found.
        wishes: files to write, scale and axes.
        tell: receives progress messages as text.
    Raises: CalibrationError: the verdict is fail, and nothing was written.
    """
    if wishes.rescale:
        floor = rescale_rig(floor)
    if wishes.to_cameras:
        floor = replace(floor, ahead=find_direction_to_cameras(rig, floor.origin_m, floor.up))
    report = judge_floor(rig, floor)
    print_report(report, tell)
    found = replace(place_on_floor(rig, floor), grade=find_worse_verdict(rig, report))
    draw, write = partial(draw_floor, rig, floor, report), partial(write_rig_toml, wishes.out, found)
    write_outcome(report, wishes.out, wishes.picture, draw, write, tell)
    return report


def rescale_rig(floor: Floor) -> Floor:
    """Return a floor whose rig is to be scaled by the measurement on it. Raises CalibrationError: nothing was measured."""
    if not np.isfinite(floor.size_ratio):
        raise CalibrationError(
            "--rescale takes something of known size seen by both cameras; use a board, or markers with --distance MM"
        )
    return replace(floor, scale=1.0 / floor.size_ratio)


def find_worse_verdict(rig: Rig, report: QualityReport) -> str:
    """Return the worse of both verdicts, the rig's own and its floor's; a rig that nobody judged stays so unless its floor is
    poor.
    """
    words = {grade.word: grade for grade in Grade}
    if report.grade is Grade.PASS:
        return rig.grade
    return max(report.grade, words.get(rig.grade, Grade.PASS)).word
