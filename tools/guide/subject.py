"""Calibrate a performer while the cameras run: the T-pose is guided, taken once it was held, fitted, judged, drawn, written."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from calibration.camera import Rig
from calibration.guidance.subject import SubjectGuide
from capture.clock import now_ns
from capture.packets import Views
from config.errors import CalibrationError, DuocapError
from config.settings import Settings
from config.words import format_count
from reconstruct.process.inbox import Inbox
from stream.guidance.page import GuidePage
from tools.calibrate.outcome import choose_report_picture, print_report
from tools.calibrate.session import fit_subject_to_pairs, format_subject
from tools.calibrate.subject import SubjectTask, write_subject_result
from tools.guide.cameras import GuidedCameras, plan_guided_cameras
from tools.guide.page import GuideOutcome, OpenPage, Progress, guide_until_accepted
from tools.guide.show import GuideShow
from tools.guide.tpose import TposeSession
from tools.progress import Tell
from tools.run.cameras import describe_room

TURN_MS = 20


def _wait_for_tpose(
    cameras: GuidedCameras, inbox: Inbox, show: GuideShow, task: SubjectTask, settings: Settings, tell: Tell
) -> list[Views]:
    """Wait until the pose was held, and give the views of that time."""
    make_guide = partial(SubjectGuide, task.rig, task.markers, task.database.skeletons)
    session = TposeSession(make_guide, task.rig, settings.match, show, tell)
    tell("opening the cameras; then stand before them, in a T-pose if markers are worn on the arms; Ctrl-C ends")
    while not session.over:
        cameras.turn(0)
        received = inbox.drain(TURN_MS)
        _check_rig_sizes(task.rig, cameras.sizes)
        session.turn(cameras, received, now_ns())
    return session.pairs()


def _check_rig_sizes(rig: Rig, sizes: Sequence[tuple[int, int]]) -> None:
    """Raise DuocapError where a camera's pictures have another size than its calibration."""
    for camera, size in zip(rig.cameras, sizes, strict=True):
        if all(size) and size != camera.size:
            raise DuocapError(
                f"{camera.title} gives {size[0]}x{size[1]}, but the rig was calibrated at "
                f"{camera.size[0]}x{camera.size[1]}; set the camera to that size, or calibrate at this one"
            )


def calibrate_subject_live(
    settings: Settings,
    sources: Sequence[str],
    task: SubjectTask,
    fps: float | None,
    learn_s: float,
    open_page: OpenPage,
    tell: Tell,
) -> None:
    """Guide a performer into a T-pose before two cameras or more, then fit the subject; the page shows the verdict too.

    Args:
        settings: settings of the run.
        sources: CAM of each camera of the rig, or recordings to try it out with.
        task: the performer, and where to write.
        fps: asked of the cameras; None: their own.
        learn_s: time at the start during which the performer is out of view and the background is learned [s].
        open_page: opens the page that guides, by its title.
        tell: receives progress messages as text.
    Raises: DuocapError: no camera, other cameras than the rig's, no T-pose held, or a verdict of fail.
    """
    rig = task.rig
    if len(sources) < 2:
        raise CalibrationError(f"{sources[0]}: one camera cannot measure depth, which a performer's size takes; give another")
    if len(sources) != len(rig.cameras):
        raise CalibrationError(f"{len(sources)} cameras, but the rig has {len(rig.cameras)}; give all of them, in its order")
    room = describe_room(task.markers, learn_s, settings.landmarks.model)
    plans = plan_guided_cameras(sources, settings, fps, tell, room)

    def collect(page: GuidePage | None) -> tuple[list[Views], str]:
        looking = [replace(plan, preview=page is not None) for plan in plans]
        inbox, show = Inbox(), GuideShow(page, tell)
        try:
            with GuidedCameras(looking, sources, inbox.address, tell, learn_s) as cameras:
                pairs = _wait_for_tpose(cameras, inbox, show, task, settings, tell)
        finally:
            show.close()
            inbox.close()
        return pairs, f"with {format_count(len(pairs), 'view')} of the T-pose"

    def finish(pairs: list[Views], progress: Progress) -> GuideOutcome:
        result = fit_subject_to_pairs(task.name, pairs, rig, task.markers, task.database, settings, task.known)
        for line in format_subject(result):
            tell(line)
        print_report(result.report, tell)
        picture = choose_report_picture(result.report, task.picture, task.out)
        if picture is not None:
            progress("drawing", None)
        try:
            write_subject_result(result, task, tell)
        except CalibrationError as error:
            return GuideOutcome(result.report, (), picture, error)
        return GuideOutcome(result.report, (f"written to {task.out}",), picture)

    guide_until_accepted(open_page("Calibrate the performer"), collect, finish, tell)
