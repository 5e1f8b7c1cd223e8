"""The page itself: pictures over the whole of it, the one thing to do above them, meters and buttons beside.

`show` and `turn` belong to one thread; what is pressed is heard in the server's and fetched with `asked`.
"""

import contextlib
import io
import queue
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import viser

from calibration.guidance import Advice
from calibration.verdict import Grade
from capture.preview_picture import Image
from stream.guidance.picture import Eye, canvas_picture
from stream.guidance.words import CameraWords, big_html, cameras_html, dress, needs_html, result_html, verdict_html
from stream.viewer.view import set_html

FINISH, AGAIN, CLOSE = "Finish now", "Start again", "Close"
PANEL_PX, WORDS_PX, EDGE_PX = 330, 700, 12
TOP_SHARE = 0.2  # of the canvas, for the words above the pictures
CANVAS_PX, LEAST_PX = 1280, 320
FINE_PX = 2560  # for a picture with small letters in it
QUALITY, FINE_QUALITY = 80, 94
BRAND = (0, 114, 178)
GOOD, POOR, PLAIN = "#2fbf87", "#f0b429", ""


@dataclass(frozen=True, slots=True)
class Result:
    """What came out in the end. picture: of the verdict, RGB; error: why there is nothing, in one line."""

    grade: Grade | None
    lines: tuple[str, ...] = ()
    picture: Image | None = None
    error: str = ""


class GuidePage:
    """The page of one calibration; `close` it. title: what is calibrated."""

    def __init__(self, server: viser.ViserServer, title: str, dark: bool = True) -> None:
        self.server = server
        self._title, self._asked = title, queue.SimpleQueue()  # type: str, queue.SimpleQueue[str]
        server.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False, brand_color=BRAND)
        self._build(server.gui)

    def _build(self, gui: viser.GuiApi) -> None:
        """Lay out the page."""
        self._head = gui.add_html(dress(f"<b>{self._title}</b>"))
        self._meters = gui.add_html("")
        self._finish = gui.add_button(FINISH, icon=viser.Icon.CHECK, disabled=True, hint="Calibrate with what there is")
        self._again = gui.add_button(AGAIN, icon=viser.Icon.REFRESH, color="gray", hint="Forget all views")
        self._close = gui.add_button(CLOSE, icon=viser.Icon.X, color="gray", visible=False)
        self._verdict = gui.add_html("", visible=False)
        self._cameras = gui.add_html("")
        for handle, word in ((self._finish, FINISH), (self._again, AGAIN), (self._close, CLOSE)):
            handle.on_click(lambda _, word=word: self._asked.put(word))  # type: ignore[misc]
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_PX)
        window = gui.add_panel()
        with window.add_tab("What to do", viser.Icon.HAND_MOVE):
            self._words = gui.add_html(big_html("the cameras are being opened"))
            self._busy = gui.add_progress_bar(0.0, visible=False)
        window.float(x=EDGE_PX, y=EDGE_PX, width=WORDS_PX)
        self._window, self._window_px = window, WORDS_PX

    @property
    def n_pages(self) -> int:
        """How many browsers show the page."""
        return len(self.server.get_clients())

    def asked(self) -> list[str]:
        """Give what was pressed since the last time: FINISH, AGAIN or CLOSE."""
        words = []
        while not self._asked.empty():
            words.append(self._asked.get())
        return words

    def begin(self) -> None:
        """Show the guidance, after a result as well."""
        self._verdict.visible = self._close.visible = self._busy.visible = False
        self._finish.visible = self._meters.visible = self._cameras.visible = True

    def show(self, advice: Advice, cameras: Sequence[CameraWords], ready: bool | None) -> None:
        """Show what to do and how far it has come. ready: what there is would do to finish, None where nobody can."""
        color = GOOD if advice.good else PLAIN
        set_html(self._words, big_html(advice.words, color))
        set_html(self._meters, needs_html(advice))
        set_html(self._cameras, cameras_html(cameras))
        if self._finish.visible != (ready is not None):
            self._finish.visible = ready is not None
        if self._finish.disabled == bool(ready):
            self._finish.disabled = not ready

    def show_pictures(self, eyes: Sequence[Eye]) -> None:
        """Show the cameras' pictures."""
        if self.n_pages:
            size = self._canvas_size()
            self._widen()
            self._paint(canvas_picture(eyes, size, round(TOP_SHARE * size[1])))

    def solving(self, words: str, share: float | None = None) -> None:
        """Say that it is being worked on."""
        set_html(self._words, big_html("solving ...", POOR, words))
        self._finish.disabled = True
        self._busy.visible = True
        self._busy.value = 100.0 * (share if share is not None else 0.0)  # type: ignore[misc]
        self._busy.animated = share is None

    def result(self, result: Result) -> None:
        """Show what came out: the verdict in large letters, its findings beside, its picture below."""
        self._busy.visible = self._finish.visible = self._meters.visible = self._cameras.visible = False
        set_html(self._words, result_html(result.grade, result.error))
        self._verdict.content = verdict_html(result.lines, "" if result.grade is None else result.error)
        self._verdict.visible = self._close.visible = True
        if result.picture is not None:
            size = self._canvas_size(FINE_PX)
            eye = Eye("", np.ascontiguousarray(result.picture[..., ::-1]), (result.picture.shape[1], result.picture.shape[0]))
            self._paint(canvas_picture([eye], size, round(TOP_SHARE * size[1])), FINE_QUALITY)

    def close(self) -> None:
        """Stop serving."""
        # The library says on standard output that it stops.
        with contextlib.suppress(RuntimeError), contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def _canvas_size(self, most_px: int = CANVAS_PX) -> tuple[int, int]:
        """Give the size to draw at: the shape of the newest page's canvas, not larger than is worth sending."""
        for client in reversed(list(self.server.get_clients().values())):
            width, height = client.camera.image_width, client.camera.image_height
            if width >= LEAST_PX and height >= LEAST_PX:
                scale = min(most_px / max(width, height), 1.0)
                return round(width * scale), round(height * scale)
        return CANVAS_PX, CANVAS_PX * 9 // 16

    def _widen(self) -> None:
        """Let the words be as wide as the newest page's canvas; a page that is made smaller keeps the words within it."""
        wide = [client.camera.image_width for client in self.server.get_clients().values()]
        wanted = wide[-1] - 2 * EDGE_PX if wide and wide[-1] >= LEAST_PX else self._window_px
        if abs(wanted - self._window_px) > 4 * EDGE_PX:
            self._window_px = wanted
            self._window.float(x=EDGE_PX, y=EDGE_PX, width=wanted)

    def _paint(self, picture: Image, quality: int = QUALITY) -> None:
        """Fill the canvas."""
        self.server.scene.set_background_image(picture, format="jpeg", jpeg_quality=quality)
