"""One collection of a board's views: what the cameras saw goes to the guide, its advice to the page and the terminal."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.guidance.advice import Advice
from calibration.guidance.rig import BLURRED, HOLD, NOTHING, RigGuide
from capture.process.board_detection import BoardDetection, BoardMatch, BoardPairing
from capture.process.preview_image import Preview
from config.arrays import Image
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES
from stream.guidance.page import AGAIN, FINISH
from stream.web.picture import AMBER, FRAME, GREEN, CameraPicture
from tools.guide.cameras import GuidedCameras
from tools.guide.show import GuideShow
from tools.progress import Tell
from tools.run.orders import SKEW_SHARE

LEAST_VIEWS = 6  # by all cameras: fewer are no use to anybody
FLASH_NS = 500_000_000
RECENT, BESIDE_NS, LATE_NS = 12, 60_000_000, 600_000_000  # sights and pictures that are kept until they meet
SETTLE_NS = 700_000_000  # after the end of recordings what was seen last is still on its way


@dataclass(frozen=True, slots=True)
class CollectedViews:
    """Views of the board that were collected.

    Attributes:
        sizes: sizes of the pictures of each camera [px].
        names: names of the cameras.
    """

    moments: tuple[BoardMoment, ...]
    sizes: tuple[tuple[int, int], ...]
    names: tuple[str, ...]


class BoardSession:
    """One collection of views, from the first sight of the board until there are enough; time is passed in.

    Attributes:
        guide: the guide, None until all cameras are there.
        over: whether there are enough views, the cameras ended or somebody finished it.
    """

    def __init__(self, board: Board, show: GuideShow, tell: Tell, stills: bool) -> None:
        self._board, self._show, self._tell, self._stills = board, show, tell, stills
        self.guide: RigGuide | None = None
        self.over = False
        self._pairing: BoardPairing | None = None
        self._advice = Advice("opening the cameras")
        self._last: dict[int, BoardDetection] = {}
        self._recent: defaultdict[int, deque[BoardDetection]] = defaultdict(lambda: deque(maxlen=RECENT))
        self._pictures: defaultdict[int, deque[tuple[int, Image]]] = defaultdict(lambda: deque(maxlen=8))
        self._taken_ns = self._ended_ns = 0

    @property
    def ready(self) -> bool:
        """Whether there is enough to finish."""
        return self.guide is not None and self.guide.n_shared >= LEAST_VIEWS

    def turn(self, cameras: GuidedCameras, sights: Sequence[BoardDetection], t_ns: int) -> None:
        """Take the cameras' sights, advise, show.

        Args:
            cameras: the cameras with their states.
            sights: boards that were seen since.
            t_ns: time now [ns].
        """
        if self.guide is None and cameras.started:
            self._begin(cameras.sizes)
            self._pairing = BoardPairing(len(cameras.sizes), round(SKEW_SHARE * cameras.period_ns))
        for sight in sights:
            cameras.heard(sight.camera, t_ns)
            self._last[sight.camera] = sight
            self._recent[sight.camera].append(sight)
            self._see(sight, t_ns)
        self._obey()
        trouble = cameras.trouble()
        if trouble:
            self._advice = replace(self._advice, words=trouble, good=False, taken=False)
        taken = self._advice.taken and self._taken_ns == t_ns
        self._show.say(cameras, self._advice, self.ready, t_ns, urgent=taken or bool(trouble))
        self._show.paint(cameras, lambda n, preview, image, wrong: self._eye(n, preview, image, wrong, t_ns))
        self._ended_ns = self._ended_ns or (t_ns if cameras.ended else 0)
        if self.guide is not None and (self.guide.done or (self._ended_ns and t_ns - self._ended_ns > SETTLE_NS)):
            self.over = True

    def collected(self) -> CollectedViews:
        """Return the views. Raises CalibrationError: too few, with the reasons."""
        guide = self.guide
        if guide is None or not self.ready:
            n = 0 if guide is None else guide.n_shared
            n_cameras = 2 if guide is None else len(guide.sizes)
            by = {1: "", 2: " by both cameras"}.get(n_cameras, " by two of the cameras that hold the rig together")
            seen = f"; seen last: {self._instead()}" if self._instead() else ""
            raise CalibrationError(
                f"only {n} good view{'' if n == 1 else 's'} of the board {self._board.text}{by}, at least {LEAST_VIEWS} are "
                f"needed; move the board slowly and hold it still now and then{seen}"
            )
        if not guide.done:
            self._tell("not quite complete: " + ", ".join(replace(self._advice, needs=guide.needs()).missing))
        return CollectedViews(guide.moments, guide.sizes, CAMERA_NAMES[: len(guide.sizes)])

    def _begin(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Begin, or begin again."""
        self.guide = RigGuide(self._board, sizes, self._stills)
        self._advice = Advice(NOTHING, needs=self.guide.needs(), cover=self.guide.cover)

    def _see(self, sight: BoardDetection, t_ns: int) -> None:
        """Take one sight; when it completes a moment, ask the guide."""
        moment = None if self._pairing is None else self._pairing.push(sight)
        if self.guide is None or moment is None:
            return
        self._check_sizes(moment, self.guide.sizes)
        self._advice = self.guide.add([each.view for each in moment.detections])
        if self._advice.taken:
            self._taken_ns = t_ns
        if self._advice.words == NOTHING and (why := self._instead()):
            self._advice = replace(self._advice, words=why)

    def _searched(self, n: int, preview: Preview, image: Image) -> tuple[Image, BoardView | None]:
        """Return the newest picture of a camera that was searched, and the board in it; the newest of all where none was.

        A picture is here sooner than what was found in it, and corners beside the board would look like a fault.
        """
        pictures = self._pictures[n]
        if not pictures or pictures[-1][0] != preview.t_capture_ns:
            pictures.append((preview.t_capture_ns, image))
        for t_ns, shown in reversed(pictures):
            for sight in self._recent[n]:
                if abs(sight.t_capture_ns - t_ns) <= BESIDE_NS and preview.t_capture_ns - t_ns <= LATE_NS:
                    return shown, sight.view
        return image, None

    @staticmethod
    def _check_sizes(moment: BoardMatch, sizes: Sequence[tuple[int, int]]) -> None:
        """Raise CalibrationError where a camera changed the size of its pictures."""
        for sight, size in zip(moment.detections, sizes, strict=True):
            if sight.size != size:
                raise CalibrationError(
                    f"the {CAMERA_NAMES[sight.camera]} camera now gives {sight.size[0]}x{sight.size[1]}, at first it gave "
                    f"{size[0]}x{size[1]}; all views must have one size, so calibrate again"
                )

    def _instead(self) -> str:
        """Return what a camera saw instead of the board, empty where that is not known."""
        said = (sight.words for sight in self._last.values() if sight.view is None)
        return next((words for words in said if words), "")

    def _obey(self) -> None:
        """Do what was pressed on the page."""
        for word in self._show.asked():
            if word == FINISH and self.ready:
                self.over = True
            elif word == AGAIN and self.guide is not None:
                self._begin(self.guide.sizes)
                self._tell("starting again: all views are forgotten")

    def _eye(self, n: int, preview: Preview | None, image: Image | None, wrong: str, t_ns: int) -> CameraPicture:
        """Return what is shown of one camera."""
        advice, view = self._advice, None
        if preview is not None and image is not None:
            image, view = self._searched(n, preview, image)
        color = FRAME if view is None else AMBER if advice.words in (HOLD, BLURRED) else GREEN if advice.good else FRAME
        flash = view is not None and 0 <= t_ns - self._taken_ns < FLASH_NS
        size = self.guide.sizes[n] if self.guide is not None else preview.size if preview is not None else (640, 480)
        cover = self.guide.cover[n] if self.guide is not None else None
        name = CAMERA_NAMES[n] if self.guide is None or len(self.guide.sizes) > 1 else "camera"
        return CameraPicture(name, image, size, view, cover=cover, color=color, flash=flash, message=wrong)
