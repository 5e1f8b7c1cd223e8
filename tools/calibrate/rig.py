"""Calibrate a rig from views of a board: choose views, solve, judge, draw, write."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment
from calibration.camera import Camera, format_camera_name
from calibration.formats.rig_toml import write_rig_toml
from calibration.quality.report import QualityReport, join_reports
from calibration.quality.rig import judge_rig_solution
from calibration.solve.checks import MIN_SHARED, MIN_VIEWS
from calibration.solve.rig import solve_camera, solve_rig
from calibration.solve.selection import Selection, describe_selection, select_views
from calibration.solve.single_camera import KnownLens
from calibration.solve.solution import LensKind, RigSolution, describe_dropped
from config.errors import CalibrationError, DuocapError
from config.settings import CAMERA_NAMES
from tools.calibrate.board.found import BoardSearch
from tools.calibrate.board.sources import BoardSpec, estimate_camera_offsets, search_board
from tools.calibrate.outcome import choose_report_picture, print_report, write_outcome
from tools.calibrate.rig_checks import compare_with_earlier_rig, compare_with_tape, compute_refinement_sigma
from tools.progress import Progress, Tell, ignore_progress

Size = tuple[int, int]
MOVING_PX_S = 5.0  # slower corners say nothing of time
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RigTask:
    """Options of a calibration of cameras.

    Attributes:
        n_views: greatest number of views of two cameras to use.
        names: names of the cameras, empty for the usual ones.
        intrinsics: intrinsics of an earlier calibration.
        refine: they may change a little.
        solve_offset: the cameras' stamps are apart by unknown times.
        distance_m: distance of the performer [m].
        tape_m: the baseline by tape.
        out, picture: files to write, picture None for none.
        late_s: delay of each camera's timestamps that was corrected [s], empty if all were right.
        lens: the model.
    """

    board: Board
    out: Path
    picture: Path | None
    n_views: int = 40
    names: tuple[str, ...] = ()
    intrinsics: tuple[Camera, ...] | None = None
    refine: bool = False
    solve_offset: bool = False
    distance_m: float | None = None
    tape_m: float | None = None
    late_s: tuple[float, ...] = ()
    lens: LensKind = "auto"

    def camera_names(self, n_cameras: int) -> tuple[str, ...]:
        """Return the names of so many cameras: left and right of two, where they have no others."""
        if len(self.names) == n_cameras:
            return self.names
        return CAMERA_NAMES[:n_cameras]


@dataclass(frozen=True, slots=True)
class RigOutcome:
    """Result of a calibration of cameras.

    Attributes:
        picture: file of the picture.
        error: why nothing was written, where the verdict is fail.
    """

    solution: RigSolution
    report: QualityReport
    picture: Path | None = None
    error: CalibrationError | None = None


def format_board_search(search: BoardSearch, names: Sequence[str]) -> list[str]:
    """Return in how many pictures the board was found."""
    kind = "moments looked at" if search.is_film else "pictures"
    counts = [
        f"{name}: {found} of {searched} {kind} show the board"
        for name, found, searched in zip(names, search.found, search.searched, strict=True)
    ]
    who = "both cameras see it" if search.n_cameras == 2 else "two cameras or more see it"
    shared = [f"{who} together in {search.n_shared}"] if search.n_cameras > 1 else []
    return [*counts, *shared, *search.words]


def calibrate_rig(spec: BoardSpec, task: RigTask, tell: Tell = _LOG.info, progress: Progress = ignore_progress) -> RigOutcome:
    """Look for the board in pictures or videos, calibrate the cameras and write the rig.

    Args:
        spec: the pictures or videos of each camera.
        task: the board, the lens model, and where the rig is written.
        tell: called with each line for the user.
        progress: called with the pictures done and all pictures.
    Raises CalibrationError: too little to calibrate from, or the verdict is fail; SourceError: pictures that cannot be read.
    """
    if task.solve_offset:
        spec = estimate_camera_offsets(spec)
    search = search_board(spec, task.board, progress)
    if task.intrinsics is not None and search.n_cameras == 1:
        raise DuocapError(
            "--intrinsics: of one camera alone there is nothing to find but its lens; leave it out, or add the other"
        )
    return calibrate_found(search, replace(task, late_s=spec.late_s), tell)


def calibrate_found(search: BoardSearch, task: RigTask, tell: Tell) -> RigOutcome:
    """Calibrate from the boards found in pictures.

    Args:
        search: the boards that were found.
        task: options of the calibration and files to write.
        tell: receives progress messages as text.
    Raises: CalibrationError: a camera saw no board, views that tell too little, or the verdict is fail.
    """
    names = ("the camera",) if search.n_cameras == 1 else task.camera_names(search.n_cameras)
    for line in format_board_search(search, names):
        tell(line)
    for camera, name in enumerate(names):
        if search.found[camera] == 0:
            from calibration.board.diagnosis import explain_missing_board

            seen = explain_missing_board(search.misses[camera].images, task.board)
            raise CalibrationError(
                f"{name}: none of {search.searched[camera]} pictures shows the board {task.board.text}: {seen}"
            )
    done = calibrate_moments(search.moments, search.sizes, task, tell)
    if done.error is not None:
        raise done.error
    return done


def calibrate_moments(moments: Sequence[BoardMoment], sizes: Sequence[Size], task: RigTask, tell: Tell) -> RigOutcome:
    """Choose views, solve, say the verdict, draw it, and write the rig.

    Of a fail a picture is drawn, too, but no rig is written.

    Args:
        moments: moments at which cameras see the board.
        sizes: size of the pictures of each camera [px].
        task: options of the calibration and files to write.
        tell: receives progress messages as text.
    Raises: CalibrationError: views that tell too little to solve for anything.
    """
    selection = select_views(moments, sizes, task.board, task.n_views, still_only=not task.solve_offset)
    for line in describe_selection(selection):
        tell(line)
    names = task.camera_names(len(sizes))
    _check_left_over(moments, selection, names, MIN_VIEWS if task.intrinsics is None else MIN_SHARED)
    solution = _solve_views(selection.moments, sizes, task)
    report = _judge_rig(solution, task)
    for line in (
        *map(describe_dropped, solution.dropped),
        *_format_camera_offsets(solution, task.late_s, names),
        *compare_with_earlier_rig(task.out, solution.rig),
    ):
        tell(line)
    print_report(report, tell)
    picture, error = choose_report_picture(report, task.picture, task.out), None
    rig = replace(solution.rig, grade=report.grade.word, error_px=solution.rms_px)
    draw, write = partial(_draw_verdict, solution, report), partial(write_rig_toml, task.out, rig)
    try:
        write_outcome(report, task.out, task.picture, draw, write, tell)
    except CalibrationError as failed:
        error = failed
    return RigOutcome(solution, report, picture, error)


def _draw_verdict(solution: RigSolution, report: QualityReport, file: Path) -> None:
    """Draw the verdict."""
    from calibration.quality.rig_picture import draw_rig

    draw_rig(solution, report, file)


def _check_left_over(moments: Sequence[BoardMoment], selection: Selection, names: Sequence[str], needed: int) -> None:
    """Raise CalibrationError where a camera saw the board often enough, but hardly any view of it can be used.

    Args:
        moments: moments at which cameras see the board.
        selection: the views that were chosen.
        names: names of the cameras.
        needed: number of views of each.
    """
    for camera, name in enumerate(names):
        before, after = (sum(moment.views[camera] is not None for moment in some) for some in (moments, selection.moments))
        if after < needed <= before:
            left_out = "; ".join(describe_selection(selection))
            raise CalibrationError(
                f"{name if len(names) > 1 else 'the camera'}: {after} of {before} views of the board can be used, at least "
                f"{needed} are needed and 20 are good ({left_out}): take sharp pictures of the board at rest, in many places "
                "and tilts"
            )


def _solve_views(moments: Sequence[BoardMoment], sizes: Sequence[Size], task: RigTask) -> RigSolution:
    """Solve for one camera or more.

    Args:
        moments: the views that were chosen.
        sizes: size of the pictures of each camera [px].
        task: options of the calibration.
    """
    if len(sizes) == 1:
        views = [moment.views[0] for moment in moments if moment.views[0] is not None]
        return solve_camera(task.board, views, sizes[0], name="camera", lens=task.lens)
    known = None
    if task.intrinsics is not None:
        known = [KnownLens(camera, compute_refinement_sigma(camera) if task.refine else None) for camera in task.intrinsics]
    return solve_rig(
        task.board,
        moments,
        sizes,
        names=task.camera_names(len(sizes)),
        known=known,
        solve_offset=task.solve_offset and any(_has_motion(moment) for moment in moments),
        lens=task.lens,
        progress=_LOG.debug,
    )


def _has_motion(moment: BoardMoment) -> bool:
    """Return whether a moment says anything of the time between the cameras."""
    _, *others = [view for view in moment.views if view is not None]
    speeds = [view.velocity_px_s[view.seen] for view in others if view.velocity_px_s is not None]
    return any(float(np.median(np.linalg.norm(speed, axis=1))) > MOVING_PX_S for speed in speeds)


def _format_camera_offsets(solution: RigSolution, corrected_s: Sequence[float], names: Sequence[str]) -> list[str]:
    """Return by how much the cameras' stamps are later than those of the first, where that was found out.

    Args:
        solution: calibrated rig.
        corrected_s: offsets that were taken off already, (C,) [s].
        names: names of the cameras.
    """
    corrected = list(corrected_s) or [0.0] * len(names)
    if not len(solution.offset_s):
        return [
            f"{format_camera_name(name)}'s stamps are about {1e3 * late_s:.0f} ms late, which was corrected"
            for name, late_s in zip(names, corrected, strict=True)
            if late_s
        ]
    lines = []
    for c, name in list(enumerate(names))[1:]:
        late_s, sigma_ms = corrected[c] + solution.offset_s[c], 1e3 * solution.offset_sigma_s[c]
        use = f": --offset {late_s:.4f}" if len(names) == 2 else ""
        lines.append(f"{format_camera_name(name)}'s stamps are {1e3 * late_s:.1f} +- {sigma_ms:.1f} ms late{use}")
    return lines


def _judge_rig(solution: RigSolution, task: RigTask) -> QualityReport:
    """Return the verdict, with the comparison of the baseline with a tape first."""
    report = judge_rig_solution(solution, task.distance_m)
    return report if task.tape_m is None else join_reports([QualityReport(compare_with_tape(solution, task.tape_m)), report])
