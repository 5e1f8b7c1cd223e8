"""The guidance page: pictures over the whole of it, the one thing to do above them, meters and buttons beside."""

import queue
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import viser

from calibration.guidance.advice import Advice
from calibration.quality.report import QualityReport
from config.arrays import Image
from stream.guidance.html import (
    POOR,
    CameraCondition,
    format_cameras_html,
    format_findings_html,
    format_grade_html,
    format_instruction_html,
    format_progress_html,
    wrap_in_style,
)
from stream.web.canvas import Canvas
from stream.web.html import GOOD, QUIET_RGB
from stream.web.picture import CameraPicture
from stream.web.server import close_server, set_theme
from stream.web.widgets import set_html, set_values

PANEL_PX, INSTRUCTION_PX, EDGE_PX = 330, 700, 12
TOP_SHARE = 0.2  # of the canvas, for the instruction above the pictures
FINE_PX, FINE_QUALITY = 2560, 94  # for a picture with small letters


class GuideButton(StrEnum):
    """The buttons, by their labels."""

    FINISH = "Finish now"
    AGAIN = "Start again"
    CLOSE = "Close"


FINISH, AGAIN, CLOSE = GuideButton


@dataclass(frozen=True, slots=True)
class PageResult:
    """The result of a calibration.

    Attributes:
        lines: lines of text besides the report.
        picture: picture of the report, RGB.
        error: why nothing was written.
    """

    report: QualityReport | None
    lines: tuple[str, ...] = ()
    picture: Image | None = None
    error: str = ""


class GuidePage:
    """The page of one calibration; `close` it. title: name of the calibration.

    `show` and `result` belong to one thread; buttons are pressed in the server's and read by `asked`.
    """

    def __init__(self, server: viser.ViserServer, title: str, dark: bool = True) -> None:
        self.server, self._canvas = server, Canvas(server)
        self._title, self._pressed = title, queue.SimpleQueue()  # type: str, queue.SimpleQueue[GuideButton]
        set_theme(server, dark)
        self._build(server.gui)

    def _build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._head = gui.add_html(wrap_in_style(f"<b>{self._title}</b>"))
        self._meters = gui.add_html("")
        self._finish = gui.add_button(FINISH, icon=viser.Icon.CHECK, disabled=True, hint="Calibrate with what there is")
        self._again = gui.add_button(AGAIN, icon=viser.Icon.REFRESH, color=QUIET_RGB, hint="Forget all views")
        self._close = gui.add_button(CLOSE, icon=viser.Icon.X, color=QUIET_RGB, visible=False)
        self._findings = gui.add_html("", visible=False)
        self._cameras = gui.add_html("")
        for handle, button in ((self._finish, FINISH), (self._again, AGAIN), (self._close, CLOSE)):
            handle.on_click(lambda _, button=button: self._pressed.put(button))  # type: ignore[misc]
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_PX)
        window = gui.add_panel()
        with window.add_tab("What to do", viser.Icon.HAND_MOVE):
            self._instruction = gui.add_html(format_instruction_html("the cameras are being opened"))
            self._busy = gui.add_progress_bar(0.0, visible=False)
        window.float(x=EDGE_PX, y=EDGE_PX, width=INSTRUCTION_PX)
        self._window, self._window_px = window, INSTRUCTION_PX

    @property
    def n_pages(self) -> int:
        """Number of browsers that show the page."""
        return len(self.server.get_clients())

    def asked(self) -> list[GuideButton]:
        """Return the buttons that were pressed since the last call."""
        pressed = []
        while not self._pressed.empty():
            pressed.append(self._pressed.get())
        return pressed

    def begin(self) -> None:
        """Show the guidance, after a result as well."""
        self._findings.visible = self._close.visible = self._busy.visible = False
        self._finish.visible = self._meters.visible = self._cameras.visible = True

    def show(self, advice: Advice, cameras: Sequence[CameraCondition], ready: bool | None) -> None:
        """Show advice and progress.

        Args:
            advice: present advice.
            cameras: the state of each.
            ready: whether there is enough to finish, None where that is not offered.
        """
        set_html(self._instruction, format_instruction_html(advice.words, GOOD if advice.good else ""))
        set_html(self._meters, format_progress_html(advice))
        set_html(self._cameras, format_cameras_html(cameras))
        set_values(self._finish, visible=ready is not None, disabled=not ready)

    def show_pictures(self, pictures: Sequence[CameraPicture]) -> None:
        """Show the cameras' pictures."""
        if self.n_pages:
            self._fit_width()
            self._canvas.show(pictures, TOP_SHARE)

    def solving(self, message: str, share: float | None = None) -> None:
        """Show that the calibration is being computed. share: done so far, None if unknown."""
        set_html(self._instruction, format_instruction_html("solving ...", POOR, message))
        self._finish.disabled = True
        self._busy.visible = True
        self._busy.value = 100.0 * (share if share is not None else 0.0)  # type: ignore[misc]
        self._busy.animated = share is None

    def result(self, result: PageResult) -> None:
        """Show the result: the grade in large letters, the findings beside, the picture below."""
        self._busy.visible = self._finish.visible = self._meters.visible = self._cameras.visible = False
        set_html(self._instruction, format_grade_html(result.report, result.error))
        error = "" if result.report is None else result.error  # else it is below the grade already
        self._findings.content = format_findings_html(result.report, result.lines, error)
        self._findings.visible = self._close.visible = True
        if result.picture is not None:
            height, width = result.picture.shape[:2]
            shown = CameraPicture("", np.ascontiguousarray(result.picture[..., ::-1]), (width, height))
            self._canvas.show([shown], TOP_SHARE, FINE_PX, FINE_QUALITY)

    def close(self) -> None:
        """Stop serving."""
        close_server(self.server)

    def _fit_width(self) -> None:
        """Make the instruction as wide as the newest page's canvas."""
        width_px = self._canvas.width_px()
        wanted = width_px - 2 * EDGE_PX if width_px else self._window_px
        if abs(wanted - self._window_px) > 4 * EDGE_PX:
            self._window_px = wanted
            self._window.float(x=EDGE_PX, y=EDGE_PX, width=wanted)
