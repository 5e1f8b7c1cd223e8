"""Tuning both cameras: the columns beside the scene, epipolar lines, background, time offset, saving."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import viser

from calibration.camera import Camera
from capture.process.preview_image import PreviewKind
from config.settings import CAMERAS
from stream.protocol.messages import RigMessage, StatusMessage
from stream.publish.client import ServiceClient
from stream.viewer.html import box
from stream.viewer.requests import TuningRequests
from stream.viewer.scene.cameras import camera_of
from stream.viewer.tuning.camera import TuningPanel
from stream.viewer.tuning.html import offset_html
from stream.viewer.tuning.picture import MAX_DRAWN, N_POINTS, PictureMarks, epipolar_lines
from stream.viewer.view import AppSnapshot, PageActions
from stream.web.html import set_html

EDGE_PX = 6
SCENE_PX = 210  # of the scene stay visible
OPEN, CLOSE = "Tune the cameras", "Close tuning"
COLUMN_PX, MIN_COLUMN_PX, MAX_COLUMN_PX = 380, 270, 520
SHOWN = {"What the detector sees": PreviewKind.FOREGROUND, "The plain picture": PreviewKind.PICTURE}
NO_LINES, ALL_LINES, ONE_LINE = "none", "of all markers", "of one marker"
LEARN_S = 3.0  # unless the settings say otherwise
UPDATE_S = 0.5  # between two updates of texts and controls; pictures come as the cameras send them
SYNC = {  # by the label of the button: the way, and what to do now
    "by a flash": ("flash", "Now flash a light both cameras see."),
    "by a jump": ("jump", "Now jump on the spot, or clap with straight arms."),
}
TITLES = ("Left camera", "Right camera")


class TunePanel:
    """The block in the cameras' tab, and the two columns it opens; opened: called with whether they are open."""

    period_s = 0.1

    def __init__(self, requests: TuningRequests, actions: PageActions, opened: Callable[[bool], None]) -> None:
        self._requests, self._actions, self._opened = requests, actions, opened
        self.columns = tuple(TuningPanel(side, requests) for side in CAMERAS)
        self.open = False
        self._learning_until_s = 0.0
        self._update_due_s = 0.0
        self._rig: RigMessage | None = None
        self._cameras: tuple[Camera, ...] = ()

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets; the columns are created when they are opened."""
        self._button = gui.add_button(OPEN, icon=viser.Icon.ADJUSTMENTS, hint="Pictures as the detectors see them, and settings")
        self._button.on_click(self._pressed)
        self._both = gui.add_folder("Both cameras", visible=False)
        with self._both:
            self._shown = gui.add_dropdown("Show", tuple(SHOWN))
            self._numbers = gui.add_checkbox(
                "Numbers", True, hint="Of the markers; with the uncertainty [px] of poor ones, and of all in a zoom"
            )
            self._lines = gui.add_dropdown("Sight lines", (NO_LINES, ALL_LINES, ONE_LINE), hint="Of the other camera's markers")
            self._one = gui.add_number("Marker", 0, min=0, max=MAX_DRAWN - 1, step=1, visible=False)
            self._learn = gui.add_button("Learn both backgrounds", hint="Step out of view first")
            self._offset = gui.add_html("")
            self._ways = gui.add_button_group("Time offset", tuple(SYNC), hint="Found from what both cameras see")
            self._save = gui.add_button("Save for these cameras", icon=viser.Icon.DEVICE_FLOPPY, hint="Used by later runs")
            self._message = gui.add_html("")
        self._learn.on_click(lambda _: self._learn_both())
        self._ways.on_click(self._synchronise)
        self._save.on_click(lambda _: self._requests.submit(save))
        self._gui, self._windows = gui, []  # type: viser.GuiApi, list[viser.PanelHandle]

    def update(self, view: AppSnapshot) -> None:
        """Show new pictures; texts and controls every UPDATE_S."""
        track = view.tracks[0]
        if not self.open:
            return
        self._subscribe(track.status)
        came = [column.preview.poll() for column in self.columns]
        for n, column in enumerate(self.columns):
            if any(came) if self._lines.value != NO_LINES else came[n]:
                column.show(self._marks(n, track.rig))
        now_s = time.monotonic()
        if now_s >= self._update_due_s:
            self._update_due_s = now_s + UPDATE_S
            self._update_texts(track.status, now_s)

    def close(self) -> None:
        """Unsubscribe, and stop the requests."""
        for column in self.columns:
            column.preview.close()
        self._requests.close()

    def _subscribe(self, status: StatusMessage | None) -> None:
        """Subscribe to the previews at the addresses in the status."""
        for column in self.columns:
            column.kind = SHOWN[str(self._shown.value)]
            column.preview.subscribe(None if status is None else status.camera(column.side).get("preview"), column.request)

    def _update_texts(self, status: StatusMessage | None, now_s: float) -> None:
        """Update texts and controls."""
        for column in self.columns:
            column.update(status, self._requests.settings.get(column.side, {}))
        set_html(self._offset, offset_html(status))
        left_s = self._learning_until_s - now_s
        waiting = f"<b>Stay out of view: {left_s:.0f} s more</b>" if left_s > 0.0 else ""
        message = waiting or self._requests.fault or self._requests.message
        set_html(self._message, box(message) if message else "")
        if self._one.visible != (self._lines.value == ONE_LINE):
            self._one.visible = self._lines.value == ONE_LINE

    def _marks(self, n: int, rig: RigMessage | None) -> PictureMarks:
        """Return what is drawn on the picture of camera n, with the epipolar lines of the other one's markers if wanted."""
        numbers, wanted = bool(self._numbers.value), str(self._lines.value)
        other = self.columns[1 - n].preview.newest
        cameras = self._rig_cameras(rig)
        if wanted == NO_LINES or other is None or len(cameras) < len(CAMERAS):
            return PictureMarks(numbers)
        points = other[0].points_px[:MAX_DRAWN]
        chosen: Sequence[int] = range(len(points)) if wanted == ALL_LINES else [int(self._one.value)]
        chosen = [number for number in chosen if number < len(points)]
        lines = epipolar_lines(cameras[1 - n], points[chosen], cameras[n]) if chosen else np.zeros((0, N_POINTS, 2))
        return PictureMarks(numbers, lines, tuple(chosen))

    def _rig_cameras(self, rig: RigMessage | None) -> tuple[Camera, ...]:
        """Return the cameras of the rig, created once."""
        if rig is not self._rig:
            self._rig, self._cameras = rig, () if rig is None else tuple(camera_of(reading) for reading in rig.cameras)
        return self._cameras

    def _pressed(self, event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
        """Open the columns, as wide as the page of the user has room for, or close them."""
        client = event.client
        width = client.camera.image_width if client is not None else 0
        self._actions.put(lambda: self._switch(not self.open, width))

    def _switch(self, on: bool, room_px: int) -> None:
        """Show the columns or hide them. room_px: width of the scene before, 0 if unknown."""
        self.open = on
        self._requests.open()
        self._button.label = CLOSE if on else OPEN
        self._both.visible = on
        column_px = min(max((room_px - SCENE_PX) // 2, MIN_COLUMN_PX), MAX_COLUMN_PX) if room_px else COLUMN_PX
        for window, column in zip(self._windows, self.columns, strict=False):
            column.preview.close()
            window.remove()
        self._windows = [self._window(n, column_px) for n in range(len(CAMERAS))] if on else []
        self._opened(on)

    def _window(self, n: int, column_px: float) -> viser.PanelHandle:
        """Create the column of one camera, at its side of the scene.

        Floating: the order and width of two panels docked to one edge depend on when the page receives them.
        """
        window = self._gui.add_panel()
        with window.add_tab(TITLES[n], viser.Icon.CAMERA):
            self.columns[n].build(self._gui)
        window.float(x=EDGE_PX if n == 0 else -EDGE_PX, y=EDGE_PX, width=column_px)
        return window

    def _learn_both(self) -> None:
        """Have both backgrounds learned, with a countdown."""
        learn_s = self._requests.settings.get(CAMERAS[0], {}).get("detector.learn_s", LEARN_S)
        self._learning_until_s = time.monotonic() + (float(learn_s) if isinstance(learn_s, int | float) else LEARN_S)
        self._requests.tune("", {"background": "learn"})

    def _synchronise(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Have the time offset found."""
        way, instruction = SYNC[str(event.target.value)]

        def synchronise(client: ServiceClient) -> str:
            client.sync(way)
            return instruction

        self._requests.submit(synchronise)


def save(client: ServiceClient) -> str:
    """Save what was tuned; return the message with the file."""
    file, note = client.save_tuned()
    return f"Saved to {file}; later runs with these cameras begin so." + (f" Not counting what is {note}." if note else "")
