"""One T-pose, waited for: what the cameras see goes to the guide, its advice to the page and the terminal."""

from collections.abc import Callable

import numpy as np

from calibration.camera import Rig
from calibration.guidance.advice import Advice
from calibration.guidance.subject import COME_IN, HOLD, SubjectGuide
from capture.packets import Views
from capture.process.preview_image import Preview
from capture.sockets.wire import SentBlobs
from capture.timing.grouping import Grouping
from config.arrays import Image
from config.settings import CAMERA_NAMES, MatchSettings
from stream.guidance.page import AGAIN
from stream.web.picture import AMBER, FRAME, GREEN, CameraPicture
from tools.calibrate.held_tpose import HeldPose
from tools.guide.cameras import GuidedCameras
from tools.guide.show import GuideShow
from tools.progress import Tell
from tools.run.orders import SKEW_SHARE

SETTLE_NS = 700_000_000


class TposeSession:
    """One T-pose, from the first picture until it was held; time is passed in. over: it was, or the sources have ended."""

    def __init__(
        self, make_guide: Callable[[], SubjectGuide], rig: Rig, match_settings: MatchSettings, show: GuideShow, tell: Tell
    ) -> None:
        self._rig, self._show, self._tell = rig, show, tell
        self._begin: Callable[[], HeldPose] = lambda: HeldPose(make_guide(), rig, match_settings)
        self._held = self._begin()
        self.over = False
        self._pairing: Grouping | None = None
        self._advice = Advice("opening the cameras")
        self._ended_ns = 0

    def turn(self, cameras: GuidedCameras, received: list[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Take the cameras' sights, advise, show.

        Args:
            cameras: the cameras with their states.
            received: markers that were seen since, with their times of receipt [ns].
            t_ns: time now [ns].
        """
        if self._pairing is None and cameras.started:
            self._pairing = Grouping(len(self._rig.cameras), round(SKEW_SHARE * cameras.period_ns))
            self._advice = Advice(COME_IN)
        for sent, came_ns in received:
            cameras.heard(sent.blobs.camera, came_ns)
            pair = None if self._pairing is None else self._pairing.push(sent.blobs)
            if pair is not None and not self._held.guide.done:
                self._held.add(pair)
                self._advice = self._held.advice
        if AGAIN in self._show.asked():
            self._held = self._begin()
        trouble = cameras.trouble()
        advice = Advice(trouble, needs=self._advice.needs) if trouble else self._advice
        self._show.say(cameras, advice, None, t_ns, urgent=bool(trouble) or advice.done)
        self._show.paint(cameras, self._eye)
        self._ended_ns = self._ended_ns or (t_ns if cameras.ended else 0)
        self.over = self._held.guide.done or bool(self._ended_ns and t_ns - self._ended_ns > SETTLE_NS)

    def pairs(self) -> list[Views]:
        """Return the views of the time in which the pose was held. Raises CalibrationError: it was not, and why."""
        return self._held.list_pairs("try again")

    def _eye(self, n: int, preview: Preview | None, image: Image | None, wrong: str) -> CameraPicture:
        """Return what is shown of one camera."""
        advice = self._advice
        color = GREEN if advice.good else AMBER if advice.words == HOLD else FRAME
        points = preview.points_px if preview is not None else np.zeros((0, 2))
        size = preview.size if preview is not None else self._rig.cameras[n].size
        return CameraPicture(CAMERA_NAMES[n], image, size, points_px=points, color=color, flash=advice.done, message=wrong)
