"""What is shown while somebody is guided: advice and pictures on the page, a line in the terminal when something changes."""

from collections.abc import Callable
from dataclasses import replace

from calibration.guidance import Advice, Steady
from capture.preview_picture import Image, Preview, Wish
from stream.guidance.page import GuidePage
from stream.guidance.picture import Eye
from stream.viewer.camera_eye import CameraEye
from tools.guided_cameras import GuidedCameras

LINE_NS = 1_500_000_000

Tell = Callable[[str], None]
EyeOf = Callable[[int, Preview | None, Image | None, str], Eye]


class GuideShow:
    """Shows advice on a page, if there is one, and tells it; time is passed in."""

    def __init__(self, page: GuidePage | None, tell: Tell) -> None:
        self._page, self._tell = page, tell
        self._steady = Steady()
        self._eyes = [CameraEye(), CameraEye()]
        self._line, self._line_due_ns = "", 0
        if page is not None:
            page.asked()
            page.begin()

    def asked(self) -> list[str]:
        """Give what was pressed on the page since the last time."""
        return [] if self._page is None else self._page.asked()

    def say(self, cameras: GuidedCameras, advice: Advice, ready: bool | None, t_ns: int, urgent: bool = False) -> None:
        """Show words and meters, and tell them when they change. ready: as of the page; urgent: say it at once."""
        words = self._steady.say(advice.words, t_ns, urgent)
        shown = replace(advice, words=words)
        if self._page is not None:
            self._page.show(shown, cameras.words(), ready)
        line = f"{100 * shown.progress:3.0f} %  " + (f"{shown.counts}: " if shown.counts else "") + words
        if line != self._line and (urgent or t_ns >= self._line_due_ns):
            self._line, self._line_due_ns = line, t_ns + LINE_NS
            self._tell(line)

    def paint(self, cameras: GuidedCameras, eye_of: EyeOf) -> None:
        """Show the cameras' newest pictures. eye_of: what is drawn of a camera: number, preview, picture, what is wrong."""
        if self._page is None:
            return
        looking, came = self._page.n_pages > 0, False
        for eye, address in zip(self._eyes, cameras.previews(), strict=False):
            eye.look(address if looking else None, Wish())
            came = eye.turn() or came
        if looking and (came or not cameras.started):
            states = cameras.words()
            newest: list[tuple[Preview | None, Image | None]] = [eye.newest or (None, None) for eye in self._eyes]
            self._page.show_pictures(
                [eye_of(n, newest[n][0], newest[n][1], "" if state.good else state.words) for n, state in enumerate(states)]
            )

    def close(self) -> None:
        """Look no longer."""
        for eye in self._eyes:
            eye.close()
