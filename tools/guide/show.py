"""What is shown while somebody is guided: advice and pictures on the page, a line in the terminal when something changes."""

from collections.abc import Callable
from dataclasses import replace

from calibration.guidance.advice import Advice, SteadyText
from capture.process.preview_image import Preview
from config.arrays import Image
from stream.guidance.page import GuideButton, GuidePage
from stream.web.picture import CameraPicture
from stream.web.preview import CameraPreview
from tools.guide.cameras import GuidedCameras
from tools.progress import Tell

LINE_NS = 1_500_000_000

EyeOf = Callable[[int, Preview | None, Image | None, str], CameraPicture]


class GuideShow:
    """Shows advice on a page, if there is one, and tells it; time is passed in."""

    def __init__(self, page: GuidePage | None, tell: Tell) -> None:
        self._page, self._tell = page, tell
        self._steady = SteadyText()
        self._previews: list[CameraPreview] = []
        self._line, self._line_due_ns = "", 0
        if page is not None:
            page.asked()
            page.begin()

    def asked(self) -> list[GuideButton]:
        """Return the buttons pressed on the page since the last time."""
        return [] if self._page is None else self._page.asked()

    def say(self, cameras: GuidedCameras, advice: Advice, ready: bool | None, t_ns: int, urgent: bool = False) -> None:
        """Show words and meters, and tell them when they change.

        Args:
            cameras: the cameras with their states.
            advice: present advice.
            ready: as of the page.
            t_ns: time now [ns].
            urgent: say it at once.
        """
        words = self._steady.say(advice.words, t_ns, urgent)
        shown = replace(advice, words=words)
        if self._page is not None:
            self._page.show(shown, cameras.words(), ready)
        line = f"{100 * shown.progress:3.0f} %  " + (f"{shown.counts}: " if shown.counts else "") + words
        if line != self._line and (urgent or t_ns >= self._line_due_ns):
            self._line, self._line_due_ns = line, t_ns + LINE_NS
            self._tell(line)

    def paint(self, cameras: GuidedCameras, eye_of: EyeOf) -> None:
        """Show the cameras' newest pictures. eye_of: returns the drawing for a camera's number, preview, picture and fault."""
        if self._page is None:
            return
        looking, came = self._page.n_pages > 0, False
        addresses = cameras.previews()
        self._previews += [CameraPreview() for _ in addresses[len(self._previews) :]]
        for preview, address in zip(self._previews, addresses, strict=False):
            preview.subscribe(address if looking else None)
            came = preview.poll() or came
        if looking and (came or not cameras.started):
            states = cameras.words()
            newest: list[tuple[Preview | None, Image | None]] = [preview.newest or (None, None) for preview in self._previews]
            self._page.show_pictures(
                [eye_of(n, newest[n][0], newest[n][1], "" if state.good else state.message) for n, state in enumerate(states)]
            )

    def close(self) -> None:
        """Look no longer."""
        for preview in self._previews:
            preview.close()
