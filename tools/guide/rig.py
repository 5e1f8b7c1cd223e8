"""Calibrate cameras while they run: somebody moves a board and is guided, in the browser and in words, until it is enough."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from calibration.board.pattern import Board
from capture.clock import now_ns
from capture.process.board_detection import BoardInbox
from capture.process.board_watch import open_board_watch, open_null_detector
from capture.process.plan import CameraPlan
from config.settings import Settings
from config.words import format_count
from reconstruct.process.inbox import Inbox
from stream.guidance.page import GuidePage
from tools.calibrate.rig import RigTask, calibrate_moments
from tools.guide.boards import BoardSession, CollectedViews
from tools.guide.cameras import GuidedCameras, plan_guided_cameras
from tools.guide.page import GuideOutcome, OpenPage, Progress, guide_until_accepted
from tools.guide.show import GuideShow
from tools.progress import Tell
from tools.run.cameras import CameraKind, find_camera_kind

TURN_MS = 30
STILLS_FPS = 2.0


def _collect_views(
    plans: Sequence[CameraPlan], sources: Sequence[str], board: Board, page: GuidePage | None, tell: Tell, stills: bool
) -> CollectedViews:
    """Collect views until it is enough, all has come to its end, or somebody wants no more."""
    inbox, blobs = BoardInbox(), Inbox()
    watch = partial(open_board_watch, board, inbox.address)
    looking = [
        replace(plan, detector=open_null_detector, detector_again=None, sinks=(watch,), preview=page is not None)
        for plan in plans
    ]
    show = GuideShow(page, tell)
    session = BoardSession(board, show, tell, stills)
    try:
        with GuidedCameras(looking, sources, blobs.address, tell) as cameras:
            tell(f"opening the camera{'s' if len(sources) > 1 else ''}; then show the board, {board.text}; Ctrl-C ends")
            try:
                while not session.over:
                    cameras.turn(TURN_MS)
                    blobs.drain(0)
                    session.turn(cameras, inbox.drain(), now_ns())
            except KeyboardInterrupt:
                if session.guide is None:
                    raise
                tell("no more views")
    finally:
        show.close()
        inbox.close()
        blobs.close()
    return session.collected()


def calibrate_live(
    settings: Settings, sources: Sequence[str], task: RigTask, fps: float | None, open_page: OpenPage, tell: Tell
) -> None:
    """Guide somebody with a board before one camera to eight, then calibrate with the views; the page shows the verdict too.

    Ctrl-C and `Finish now` calibrate with the views so far.

    Args:
        settings: settings of the run.
        sources: CAM of each camera, or recordings to try it out with.
        task: options of the calibration and files to write.
        fps: asked of the cameras; None: their own.
        open_page: opens the page that guides, by its title.
        tell: receives progress messages as text.
    Raises: DuocapError: no camera, too few views, or a fail.
    """
    stills = all(find_camera_kind(source) is CameraKind.RECORDED and Path(source).is_dir() for source in sources)
    plans = plan_guided_cameras(sources, settings, fps or (STILLS_FPS if stills else None), tell)

    def collect(page: GuidePage | None) -> tuple[CollectedViews, str]:
        collected = _collect_views(plans, sources, task.board, page, tell, stills)
        return collected, f"with {format_count(len(collected.moments), 'view')}"

    def finish(collected: CollectedViews, progress: Progress) -> GuideOutcome:
        lines: list[str] = []

        def say(line: str) -> None:
            lines.append(line)
            tell(line)

        named = task if task.names else replace(task, names=collected.names)
        done = calibrate_moments(collected.moments, collected.sizes, named, say)
        return GuideOutcome(done.report, tuple(line for line in lines if line not in done.report.lines), done.picture, done.error)

    guide_until_accepted(open_page("Calibrate the cameras"), collect, finish, tell)
