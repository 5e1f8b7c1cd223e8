"""Calibrate a rig from what was found of a board: choose views, solve, judge, draw, write."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from calibration.board import Board
from calibration.camera import Camera
from calibration.rig_solution import RigSolution
from calibration.rig_toml import write_rig
from calibration.rig_verdict import rig_verdict
from calibration.selection import Selection, selected
from calibration.solve_rig import solve_camera, solve_rig
from calibration.verdict import Verdict, joined
from config.cameras import CAMERAS
from config.errors import CalibrationError
from tools.board_sources_found import Search
from tools.calibrate_rig_checks import earlier_words, refined_sigma, tape_findings
from tools.calibration_words import check_verdict, say_verdict

Tell = Callable[[str], None]
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RigTask:
    """What is asked for.

    n_views: how many views are used at most; intrinsics: from earlier; refine: they may change a little; solve_offset: the
    cameras' stamps are apart by an unknown time; distance_m: of the performer; tape_m: the baseline by tape; out, picture: files
    to write, picture None for none.
    """

    board: Board
    out: Path
    picture: Path | None
    n_views: int
    intrinsics: tuple[Camera, Camera] | None = None
    refine: bool = False
    solve_offset: bool = False
    distance_m: float | None = None
    tape_m: float | None = None


def search_words(search: Search, names: tuple[str, ...]) -> list[str]:
    """Say in how many pictures the board was found."""
    kind = "moments looked at" if search.is_film else "pictures"
    counts = [
        f"{name}: {found} of {searched} {kind} show the board"
        for name, found, searched in zip(names, search.found, search.searched, strict=False)
    ]
    both = [f"both cameras see it together in {search.n_shared}"] if not search.is_lone else []
    return [*counts, *both, *search.words]


def calibrate(search: Search, task: RigTask, tell: Tell) -> RigSolution:
    """Solve for the rig, print the verdict, draw it and write the rig.

    Raises CalibrationError: too little was found to solve, or the verdict is fail; nothing but the picture is written then.
    """
    names = ("camera",) if search.is_lone else CAMERAS
    for line in search_words(search, names):
        tell(line)
    check_found(search, task.board, names)
    selection = selected(search.pairs, search.sizes, task.board, task.n_views, still_only=not task.solve_offset)
    for line in selection.words:
        tell(line)
    solution = solved(selection, search, task)
    verdict = judged(solution, task)
    for line in (*solution.dropped, *solution.notes, *earlier_words(task.out, solution.rig)):
        tell(line)
    say_verdict(verdict, tell)
    if task.picture is not None:
        from calibration.rig_picture import draw_rig

        draw_rig(solution, verdict, task.picture)
        tell(f"picture: {task.picture}")
    check_verdict(verdict, task.out)
    write_rig(task.out, replace(solution.rig, verdict=verdict.grade.word, error_px=solution.rms_px))
    tell(f"written to {task.out}")
    return solution


def check_found(search: Search, board: Board, names: tuple[str, ...]) -> None:
    """Raise CalibrationError where the board is in no picture of a camera: what is there instead, and what to do."""
    for camera, name in enumerate(names):
        if search.found[camera] == 0:
            from calibration.board_words import why_no_board

            seen = why_no_board(search.misses[camera].images, board)
            raise CalibrationError(f"{name}: none of {search.searched[camera]} pictures shows the board {board.text}: {seen}")


def solved(selection: Selection, search: Search, task: RigTask) -> RigSolution:
    """Solve for one camera or two."""
    if search.is_lone:
        views = [pair.left for pair in selection.pairs if pair.left is not None]
        return solve_camera(task.board, views, search.sizes[0], name="camera")
    return solve_rig(
        task.board,
        selection.pairs,
        search.sizes,
        names=CAMERAS,
        intrinsics=task.intrinsics,
        intrinsic_sigma=refined_sigma(task.intrinsics) if task.intrinsics is not None and task.refine else None,
        solve_offset=task.solve_offset,
        progress=_LOG.debug,
    )


def judged(solution: RigSolution, task: RigTask) -> Verdict:
    """Give the verdict, with what a tape says about the baseline."""
    verdict = rig_verdict(solution, task.distance_m)
    return joined([Verdict(tape_findings(solution, task.tape_m)), verdict]) if task.tape_m is not None else verdict
