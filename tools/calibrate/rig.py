"""Calibrate a rig from views of a board: choose views, solve, judge, draw, write."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment
from calibration.camera import Camera
from calibration.formats.rig_toml import write_rig
from calibration.quality.report import QualityReport, join_reports
from calibration.quality.rig import rig_report
from calibration.solve.checks import MIN_SHARED, MIN_VIEWS
from calibration.solve.rig import solve_camera, solve_rig
from calibration.solve.selection import Selection, describe_selection, select_views
from calibration.solve.solution import LensKind, RigSolution, describe_dropped
from config.errors import CalibrationError
from config.settings import CAMERAS
from tools.calibrate.board.found import BoardSearch
from tools.calibrate.outcome import picture_of, print_report, write_outcome
from tools.calibrate.rig_checks import earlier_words, refined_sigma, tape_findings

Tell = Callable[[str], None]
Size = tuple[int, int]
MOVING_PX_S = 5.0  # slower corners say nothing of time
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RigTask:
    """What is asked for.

    n_views: how many views are used at most; intrinsics: from earlier; refine: they may change a little; solve_offset: the
    cameras' stamps are apart by an unknown time; distance_m: of the performer; tape_m: the baseline by tape; out, picture: files
    to write, picture None for none; offset_s: by which the right stamps were late and were corrected; lens: the
    model.
    """

    board: Board
    out: Path
    picture: Path | None
    n_views: int = 40
    intrinsics: tuple[Camera, Camera] | None = None
    refine: bool = False
    solve_offset: bool = False
    distance_m: float | None = None
    tape_m: float | None = None
    offset_s: float = 0.0
    lens: LensKind = "auto"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What came out. picture: where it was drawn; error: why nothing was written, where the verdict is fail."""

    solution: RigSolution
    report: QualityReport
    picture: Path | None = None
    error: CalibrationError | None = None


def search_words(search: BoardSearch) -> list[str]:
    """Return in how many pictures the board was found."""
    kind = "moments looked at" if search.is_film else "pictures"
    names = ("the camera",) if search.is_monocular else CAMERAS
    counts = [
        f"{name}: {found} of {searched} {kind} show the board"
        for name, found, searched in zip(names, search.found, search.searched, strict=False)
    ]
    both = [f"both cameras see it together in {search.n_shared}"] if not search.is_monocular else []
    return [*counts, *both, *search.words]


def calibrate_found(search: BoardSearch, task: RigTask, tell: Tell) -> Calibrated:
    """Calibrate from what was found in pictures.

    Raises CalibrationError: a camera saw no board, views that tell too little, or the verdict is fail.
    """
    for line in search_words(search):
        tell(line)
    for camera, name in enumerate(("the camera",) if search.is_monocular else CAMERAS):
        if search.found[camera] == 0:
            from calibration.board.diagnosis import why_no_board

            seen = why_no_board(search.misses[camera].images, task.board)
            raise CalibrationError(
                f"{name}: none of {search.searched[camera]} pictures shows the board {task.board.text}: {seen}"
            )
    sizes = search.sizes[:1] if search.is_monocular else search.sizes
    done = calibrate_pairs(search.moments, sizes, task, tell)
    if done.error is not None:
        raise done.error
    return done


def calibrate_pairs(pairs: Sequence[BoardMoment], sizes: Sequence[Size], task: RigTask, tell: Tell) -> Calibrated:
    """Choose views, solve, say the verdict, draw it, and write the rig.

    sizes: of the pictures of one camera or two [px]. Of a fail a picture is drawn, too, but no rig is written. Raises
    CalibrationError: views that tell too little to solve for anything.
    """
    selection = select_views(pairs, (sizes[0], sizes[-1]), task.board, task.n_views, still_only=not task.solve_offset)
    for line in describe_selection(selection):
        tell(line)
    check_left_over(pairs, selection, len(sizes), MIN_VIEWS if task.intrinsics is None else MIN_SHARED)
    solution = solved(selection.moments, sizes, task)
    report = judged(solution, task)
    for line in (
        *map(describe_dropped, solution.dropped),
        *offset_words(solution, task.offset_s),
        *earlier_words(task.out, solution.rig),
    ):
        tell(line)
    print_report(report, tell)
    picture, error = picture_of(report, task.picture, task.out), None
    draw, write = partial(_draw, solution, report), partial(_write, solution, report, task)
    try:
        write_outcome(report, task.out, task.picture, draw, write, tell)
    except CalibrationError as failed:
        error = failed
    return Calibrated(solution, report, picture, error)


def _draw(solution: RigSolution, report: QualityReport, file: Path) -> None:
    """Draw the verdict."""
    from calibration.quality.rig_picture import draw_rig

    draw_rig(solution, report, file)


def _write(solution: RigSolution, report: QualityReport, task: RigTask) -> None:
    """Write the rig with its verdict."""
    write_rig(task.out, replace(solution.rig, grade=report.grade.word, error_px=solution.rms_px))


def check_left_over(pairs: Sequence[BoardMoment], selection: Selection, n_cameras: int, needed: int) -> None:
    """Raise CalibrationError where a camera saw the board often enough, but hardly any view of it can be used."""
    for camera in range(n_cameras):
        before, after = (sum(pair.views[camera] is not None for pair in some) for some in (pairs, selection.moments))
        if after < needed <= before:
            name = CAMERAS[camera] if n_cameras > 1 else "the camera"
            left_out = "; ".join(describe_selection(selection))
            raise CalibrationError(
                f"{name}: {after} of {before} views of the board can be used, at least {needed} are needed and 20 are good "
                f"({left_out}): take sharp pictures of the board at rest, in many places and tilts"
            )


def solved(pairs: Sequence[BoardMoment], sizes: Sequence[Size], task: RigTask) -> RigSolution:
    """Solve for one camera or two."""
    if len(sizes) == 1:
        return solve_camera(
            task.board, [pair.views[0] for pair in pairs if pair.views[0] is not None], sizes[0], name="camera", lens=task.lens
        )
    return solve_rig(
        task.board,
        pairs,
        (sizes[0], sizes[1]),
        intrinsics=task.intrinsics,
        intrinsic_sigma=refined_sigma(task.intrinsics) if task.intrinsics is not None and task.refine else None,
        solve_offset=task.solve_offset and any(_shows_motion(pair) for pair in pairs),
        lens=task.lens,
        progress=_LOG.debug,
    )


def _shows_motion(pair: BoardMoment) -> bool:
    """Return whether a view says anything of the time between the cameras."""
    right = pair.views[1]
    if pair.views[0] is None or right is None or right.velocity_px_s is None:
        return False
    return float(np.median(np.linalg.norm(right.velocity_px_s[right.seen], axis=1))) > MOVING_PX_S


def offset_words(solution: RigSolution, corrected_s: float) -> list[str]:
    """Return by how much the right camera's stamps are late, where that was found out."""
    if not math.isfinite(solution.offset_s):
        late = f"the right camera's stamps are about {1e3 * corrected_s:.0f} ms late, which was corrected"
        return [late] if corrected_s else []
    late_s, sigma_ms = corrected_s + solution.offset_s, 1e3 * solution.offset_sigma_s
    return [f"the right camera's stamps are {1e3 * late_s:.1f} +- {sigma_ms:.1f} ms late: --offset {late_s:.4f}"]


def judged(solution: RigSolution, task: RigTask) -> QualityReport:
    """Return the verdict, with what a tape says about the baseline first."""
    report = rig_report(solution, task.distance_m)
    return report if task.tape_m is None else join_reports([QualityReport(tape_findings(solution, task.tape_m)), report])
