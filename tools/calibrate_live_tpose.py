"""Calibrate a performer while the cameras run: the T-pose is guided, taken by itself once it was held, then fitted.

Whoever calls `watch_tpose` says what is to become of the views (fit, verdict, files); this module gets them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from calibration.camera import Rig
from calibration.guidance_subject import SubjectGuide
from capture.clock import now_ns
from capture.packets import PairedBlobs
from capture.plan import CameraPlan
from config.errors import CalibrationError, DuocapError
from config.markers import MarkerSet
from config.settings import Settings
from database.skeleton import Skeleton
from reconstruct.inbox import Inbox
from stream.guidance.page import GuidePage
from tools.cameras import Room
from tools.guided_cameras import GuidedCameras, checked_plans
from tools.guided_outcome import Outcome, Progress, finished
from tools.guided_page import look_at_result, open_page
from tools.guided_show import GuideShow
from tools.guided_tpose import TposeSession
from tools.interrupt import interrupt_on_sigterm

__all__ = ["Finish", "Outcome", "Progress", "watch_tpose"]

TURN_MS = 20

Tell = Callable[[str], None]
Finish = Callable[[list[PairedBlobs], Progress], Outcome]


def watch_tpose(
    settings: Settings,
    sources: Sequence[str],
    rig: Rig,
    markers: MarkerSet,
    skeletons: Sequence[Skeleton],
    finish: Finish,
    *,
    fps: float | None = None,
    learn_s: float = 0.0,
    browser: bool = True,
    tell: Tell = print,
) -> Outcome:
    """Guide a performer into a T-pose before two cameras, then have `finish` fit the subject to what was seen of it.

    sources: CAM left and right, or recordings to try it out with; markers: that are worn; skeletons: of the database; learn_s:
    for so long the performer is out of view at first and the background is learned; finish: gets the pairs of views in which the
    pose was held. Raises DuocapError: no camera, another size than the rig's, no T-pose held, what `finish` raised or gave.
    """
    if len(sources) != 2:
        raise CalibrationError(f"{sources[0]}: one camera cannot measure depth, which a performer's size takes; give both")
    colors = tuple((float(r), float(g), float(b)) for r, g, b in markers.color_rgb[markers.has_color])
    plans = checked_plans(sources, settings, fps, tell, Room(colors, learn_s))
    make_guide = partial(SubjectGuide, rig, markers, skeletons)
    with interrupt_on_sigterm(), open_page(settings, "Calibrate the performer", tell, browser) as page:
        while True:
            pairs = _held(plans, sources, rig, make_guide, settings, learn_s, page, tell)
            words = f"with {len(pairs)} views of the T-pose"
            tell(f"fitting {words}")
            outcome = finished(partial(finish, pairs), words, page)
            if page is None or not look_at_result(page, tell):
                break
    if outcome.error is not None:
        raise outcome.error
    return outcome


def _held(
    plans: Sequence[CameraPlan],
    sources: Sequence[str],
    rig: Rig,
    make_guide: Callable[[], SubjectGuide],
    settings: Settings,
    learn_s: float,
    page: GuidePage | None,
    tell: Tell,
) -> list[PairedBlobs]:
    """Wait until the pose was held, and give the views of that time."""
    inbox = Inbox()
    show = GuideShow(page, tell)
    session = TposeSession(make_guide, rig, settings.match, show, tell)
    looking = [replace(plan, preview=page is not None) for plan in plans]
    try:
        with GuidedCameras(looking, sources, inbox.address, tell, learn_s) as cameras:
            tell("opening the cameras; then stand in a T-pose before them; Ctrl-C ends")
            while not session.over:
                cameras.turn(0)
                received = inbox.drain(TURN_MS)
                _check_sizes(rig, cameras.sizes)
                session.turn(cameras, received, now_ns())
    finally:
        show.close()
        inbox.close()
    return session.pairs()


def _check_sizes(rig: Rig, sizes: Sequence[tuple[int, int]]) -> None:
    """Raise DuocapError where a camera's pictures have another size than its calibration."""
    for camera, size in zip(rig.cameras, sizes, strict=True):
        if all(size) and size != camera.size:
            raise DuocapError(
                f"{camera.called} gives {size[0]}x{size[1]}, but the rig was calibrated at "
                f"{camera.size[0]}x{camera.size[1]}; set the camera to that size, or calibrate at this one"
            )
