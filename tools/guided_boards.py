"""One collection of a board's views: what the cameras saw goes to the guide, its advice to the page and the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from calibration.board import Board
from calibration.guidance import Advice, Steady
from calibration.guidance_rig import RigGuide
from calibration.guidance_words import HOLD, NOTHING
from calibration.views import BoardView, ViewPair
from capture.board_pairing import Moment, SightPairing
from capture.board_wire import Sight
from capture.preview_picture import Wish
from config.cameras import CAMERAS
from config.errors import CalibrationError
from stream.guidance.page import AGAIN, FINISH, GuidePage
from stream.guidance.picture import AMBER, FRAME, GREEN, Eye
from stream.viewer.camera_eye import CameraEye
from tools.guided_cameras import GuidedCameras

LEAST_VIEWS = 6  # by all cameras: fewer are no use to anybody
FLASH_NS, STALE_NS = 500_000_000, 400_000_000
LINE_NS = 1_500_000_000
SKEW_SHARE = 0.6

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Collected:
    """What was seen of the board. sizes: of the pictures, one or two cameras [px]; names: left and right."""

    pairs: tuple[ViewPair, ...]
    sizes: tuple[tuple[int, int], ...]
    names: tuple[str, ...]


class BoardSession:
    """One collection of views, from the first sight until it is enough; time is passed in.

    guide: None until both cameras are there; over: enough, ended, or finished by somebody.
    """

    def __init__(self, board: Board, page: GuidePage | None, tell: Tell, stills: bool) -> None:
        self._board, self._page, self._tell, self._stills = board, page, tell, stills
        self.guide: RigGuide | None = None
        self.over = False
        self._pairing: SightPairing | None = None
        self._advice = Advice("opening the cameras")
        self._steady, self._shown = Steady(), ""
        self._last: dict[int, Sight] = {}
        self._taken_ns = self._line_due_ns = self._moment_ns = 0
        self._line = ""
        self._eyes = [CameraEye(), CameraEye()]
        if page is not None:
            page.asked()
            page.begin()

    def turn(self, cameras: GuidedCameras, sights: Sequence[Sight], t_ns: int) -> None:
        """Take what the cameras saw, advise, show."""
        if self.guide is None and cameras.started:
            sizes = cameras.sizes
            self.guide = RigGuide(self._board, sizes, self._stills)
            self._pairing = SightPairing(len(sizes), round(SKEW_SHARE * cameras.period_ns))
        for sight in sights:
            cameras.heard(sight.camera, t_ns)
            self._last[sight.camera] = sight
            self._see(sight, t_ns)
        self._obey(t_ns)
        self._say(cameras, t_ns)
        if self.guide is not None and (self.guide.done or cameras.ended):
            self.over = True
        self._paint(cameras, t_ns)

    def collected(self) -> Collected:
        """Give the views. Raises CalibrationError: too few, with what is missing."""
        guide = self.guide
        n = 0 if guide is None else guide.n_shared
        if guide is None or n < LEAST_VIEWS:
            both = " by both cameras" if guide is None or len(guide.sizes) > 1 else ""
            missing = f"; seen last: {self._last_words()}" if self._last_words() else ""
            raise CalibrationError(
                f"{n} view{'' if n == 1 else 's'} of the board ({self._board.text}){both} {'was' if n == 1 else 'were'} good "
                f"enough, at least {LEAST_VIEWS} are needed; move the board slowly and hold it still now and then{missing}"
            )
        if not guide.done:
            self._tell("still missing: " + ", ".join(self._advice_now().missing))
        return Collected(guide.pairs, guide.sizes, CAMERAS[: len(guide.sizes)])

    def close(self) -> None:
        """Look no longer."""
        for eye in self._eyes:
            eye.close()

    def _advice_now(self) -> Advice:
        """Give the advice with needs as they are."""
        return self._advice if self.guide is None else replace(self._advice, needs=self.guide.needs())

    def _see(self, sight: Sight, t_ns: int) -> None:
        """Take one sight; when it completes a moment, ask the guide."""
        if self.guide is None or self._pairing is None:
            return
        moment = self._pairing.push(sight)
        if moment is None:
            return
        self._moment_ns = t_ns
        self._check_sizes(moment)
        views = [each.view for each in moment.sights]
        self._advice = self.guide.add(*views)
        if self._advice.taken:
            self._taken_ns = t_ns
        if self._advice.words == NOTHING and (why := self._last_words()):
            self._advice = replace(self._advice, words=f"{NOTHING}: {why}")

    def _check_sizes(self, moment: Moment) -> None:
        """Raise CalibrationError where a camera changed the size of its pictures."""
        assert self.guide is not None
        for sight, size in zip(moment.sights, self.guide.sizes, strict=True):
            if sight.size != size:
                raise CalibrationError(
                    f"the {CAMERAS[sight.camera]} camera now gives {sight.size[0]}x{sight.size[1]}, at first it gave "
                    f"{size[0]}x{size[1]}; all views must have one size, so calibrate again"
                )

    def _last_words(self) -> str:
        """Give what a camera saw instead of the board, empty where that is not known."""
        return next((sight.words for sight in self._last.values() if sight.words and sight.view is None), "")

    def _obey(self, t_ns: int) -> None:
        """Do what was pressed on the page."""
        for word in self._page.asked() if self._page is not None else ():
            if word == FINISH and self.guide is not None and self.guide.n_shared >= LEAST_VIEWS:
                self.over = True
            elif word == AGAIN and self.guide is not None:
                self.guide = RigGuide(self._board, self.guide.sizes, self._stills)
                self._advice = Advice(NOTHING, needs=self.guide.needs(), cover=self.guide.cover)
                self._tell("starting again: all views are forgotten")

    def _say(self, cameras: GuidedCameras, t_ns: int) -> None:
        """Show words and meters, and tell them in the terminal when they change."""
        trouble = cameras.trouble()
        if trouble:
            self._advice = replace(self._advice_now(), words=trouble, good=False, taken=False)
        words = self._steady.say(self._advice.words, t_ns, urgent=self._advice.taken or bool(trouble))
        advice = replace(self._advice, words=words)
        if self._page is not None:
            ready = self.guide is not None and self.guide.n_shared >= LEAST_VIEWS
            self._page.show(advice, cameras.words(), ready)
        taken = self._taken_ns == t_ns and self._advice.taken
        line = f"{100 * advice.progress:3.0f} %  {advice.counts or 'no views yet'}: {words}"
        if self.guide is not None and (taken or (t_ns >= self._line_due_ns and line != self._line)):
            self._line, self._line_due_ns = line, t_ns + LINE_NS
            self._tell(line)

    def _paint(self, cameras: GuidedCameras, t_ns: int) -> None:
        """Show the cameras' newest pictures with what was found in them."""
        page = self._page
        if page is None:
            return
        looking = page.n_pages > 0
        came = False
        for eye, address in zip(self._eyes, cameras.previews(), strict=False):
            eye.look(address if looking else None, Wish())
            came = eye.turn() or came
        if looking and (came or not cameras.started):
            states = cameras.words()
            page.show_pictures([self._eye(n, "" if state.good else state.words, t_ns) for n, state in enumerate(states)])

    def _eye(self, n: int, wrong: str, t_ns: int) -> Eye:
        """Give what is shown of one camera."""
        newest, sight = self._eyes[n].newest, self._last.get(n)
        fresh = sight is not None and t_ns - sight.t_capture_ns < STALE_NS
        view: BoardView | None = sight.view if sight is not None and fresh else None
        cover = self.guide.cover[n] if self.guide is not None else None
        advice = self._advice
        color = FRAME if view is None else AMBER if advice.words == HOLD else GREEN if advice.good else FRAME
        flash = 0 <= t_ns - self._taken_ns < FLASH_NS and view is not None
        size = self.guide.sizes[n] if self.guide is not None else (640, 480)
        image = newest[1] if newest is not None else None
        return Eye(CAMERAS[n], image, size, view, cover=cover, color=color, flash=flash, words=wrong)
