"""One T-pose, waited for: what the cameras see goes to the guide, its advice to the page and the terminal."""

from collections import deque
from collections.abc import Callable

import numpy as np

from calibration.camera import Rig
from calibration.guidance.advice import Advice
from calibration.guidance.subject import COME_IN, HOLD, HOLD_NS, SubjectGuide, UnlabelledPoints
from capture.packets import Views
from capture.process.preview_image import Preview
from capture.sockets.wire import SentBlobs
from capture.stereo.matching import add_rig_error, match
from capture.timing.grouping import Grouping
from config.arrays import Image
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES, MatchSettings
from stream.guidance.page import AGAIN
from stream.web.picture import AMBER, FRAME, GREEN, CameraPicture
from tools.guide.cameras import GuidedCameras
from tools.guide.show import GuideShow
from tools.run.orders import SKEW_SHARE

LOOK_NS = 100_000_000  # between two looks at the pose
MAX_PAIRS = 2000
SETTLE_NS = 700_000_000

Tell = Callable[[str], None]


class TposeSession:
    """One T-pose, from the first picture until it was held; time is passed in. over: it was, or the sources have ended."""

    def __init__(
        self, make_guide: Callable[[], SubjectGuide], rig: Rig, match_settings: MatchSettings, show: GuideShow, tell: Tell
    ) -> None:
        self._make_guide, self._rig, self._match, self._show, self._tell = make_guide, rig, match_settings, show, tell
        self.guide = make_guide()
        self.over = False
        self._pairing: Grouping | None = None
        self._pairs: deque[Views] = deque(maxlen=MAX_PAIRS)
        self._advice, self._last_words = Advice("opening the cameras"), COME_IN
        self._look_due_ns = self._ended_ns = 0

    def turn(self, cameras: GuidedCameras, received: list[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Take what the cameras saw, advise, show.

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
            if pair is not None and not self.guide.done:
                self._take(pair)
        if AGAIN in self._show.asked():
            self.guide = self._make_guide()
            self._pairs.clear()
        trouble = cameras.trouble()
        advice = Advice(trouble, needs=self._advice.needs) if trouble else self._advice
        self._show.say(cameras, advice, None, t_ns, urgent=bool(trouble) or advice.done)
        self._show.paint(cameras, self._eye)
        self._ended_ns = self._ended_ns or (t_ns if cameras.ended else 0)
        self.over = self.guide.done or bool(self._ended_ns and t_ns - self._ended_ns > SETTLE_NS)

    def pairs(self) -> list[Views]:
        """Return the views of the time in which the pose was held. Raises CalibrationError: it was not, and why."""
        if not self.guide.done:
            raise CalibrationError(
                f"no T-pose was held for {HOLD_NS * 1e-9:.0f} s; the last advice was: {self._last_words}; try again"
            )
        return list(self._pairs)

    def _take(self, pair: Views) -> None:
        """Keep a pair of views while the pose is held, and look at the pose now and then."""
        t_ns = pair.t_capture_ns
        self._pairs.append(pair)
        if 0 < self._look_due_ns - t_ns <= LOOK_NS:
            return
        self._look_due_ns = t_ns + LOOK_NS
        points = match(add_rig_error(pair, 0.0), self._rig, self._match, None)
        lone = tuple(pair[c].points_px[single] for c, single in enumerate(points.single))
        shared = (points.blob >= 0).sum(axis=1).tolist()
        n_spots = tuple(n + len(spots) for n, spots in zip(shared, lone, strict=True))
        self._advice = self.guide.add(UnlabelledPoints(t_ns, np.asarray(points.point_m), lone, n_spots))
        self._last_words = self._advice.words
        since_ns = self.guide.since_ns
        while self._pairs and (since_ns is None or self._pairs[0].t_capture_ns < since_ns):
            self._pairs.popleft()

    def _eye(self, n: int, preview: Preview | None, image: Image | None, wrong: str) -> CameraPicture:
        """Return what is shown of one camera."""
        advice = self._advice
        color = GREEN if advice.good else AMBER if advice.words == HOLD else FRAME
        points = preview.points_px if preview is not None else np.zeros((0, 2))
        size = preview.size if preview is not None else self._rig.cameras[n].size
        return CameraPicture(CAMERA_NAMES[n], image, size, points_px=points, color=color, flash=advice.done, message=wrong)
