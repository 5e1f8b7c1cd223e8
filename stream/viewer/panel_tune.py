"""Tuning both cameras: opens their columns beside the scene; sight lines, background, time offset, saving."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import viser

from calibration.camera import Camera
from config.cameras import CAMERAS
from stream.messages import RigMessage, StatusMessage
from stream.service_client import ServiceClient
from stream.viewer.panel_tuning import TuningPanel
from stream.viewer.sight_lines import N_POINTS, sight_lines
from stream.viewer.stage_cameras import camera_of
from stream.viewer.tuning_desk import TuningDesk
from stream.viewer.tuning_picture import MAX_DRAWN, Marks
from stream.viewer.tuning_words import offset_html
from stream.viewer.view import Orders, View, set_html
from stream.viewer.words import box

EDGE_PX = 6
SCENE_PX = 210  # of the scene stay to be seen
OPEN, CLOSE = "Tune the cameras", "Close tuning"
COLUMN_PX, LEAST_COLUMN_PX, MAX_COLUMN_PX = 380, 270, 520
SHOWN = {"What the detector sees": "foreground", "The plain picture": "picture"}
NO_LINES, ALL_LINES, ONE_LINE = "none", "of all markers", "of one marker"
LEARN_S = 3.0  # unless the settings say otherwise
WORDS_S = 0.5  # between two looks at words and controls; pictures come as the cameras send them
TITLES = ("Left camera", "Right camera")


class TunePanel:
    """The block in the cameras' tab, and the two columns it opens; opened: hears whether they are open."""

    period_s = 0.1

    def __init__(self, desk: TuningDesk, orders: Orders, opened: Callable[[bool], None] = lambda on: None) -> None:
        self._desk, self._orders, self._opened = desk, orders, opened
        self.columns = tuple(TuningPanel(side, desk) for side in CAMERAS)
        self.open = False
        self._learning_until_s = 0.0
        self._words_due_s = 0.0
        self._rig: RigMessage | None = None
        self._cameras: tuple[Camera, ...] = ()

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widgets; the columns are made when they are wanted."""
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
            self._ways = gui.add_button_group("Time offset", ("by a flash", "by a jump"), hint="Found from what both cameras see")
            self._save = gui.add_button("Save for these cameras", icon=viser.Icon.DEVICE_FLOPPY, hint="Used by later runs")
            self._words = gui.add_html("")
        self._learn.on_click(lambda _: self._learn_both())
        self._ways.on_click(self._synchronise)
        self._save.on_click(lambda _: self._desk.order(saved))
        self._gui, self._windows = gui, []  # type: viser.GuiApi, list[viser.PanelHandle]

    def update(self, view: View) -> None:
        """Show new pictures, and now and then words and controls."""
        track = view.tracks[0]
        if not self.open:
            return
        self._look(track.status)
        came = [column.eye.turn() for column in self.columns]
        for n, column in enumerate(self.columns):
            if any(came) if self._lines.value != NO_LINES else came[n]:
                column.show(self._marks(n, track.rig))
        now_s = time.monotonic()
        if now_s >= self._words_due_s:
            self._words_due_s = now_s + WORDS_S
            self._tell(track.status, now_s)

    def close(self) -> None:
        """Look no longer, ask no more."""
        for column in self.columns:
            column.eye.close()
        self._desk.close()

    def _look(self, status: StatusMessage | None) -> None:
        """Look at the cameras where the stream says their previews are."""
        kind = SHOWN[str(self._shown.value)]
        for column in self.columns:
            told = status.cameras.get(column.side) if status is not None else None
            column.wish_kind = kind
            column.eye.look(told.get("preview") if isinstance(told, dict) else None, column.wish)

    def _tell(self, status: StatusMessage | None, now_s: float) -> None:
        """Bring words and controls up to date."""
        for column in self.columns:
            column.update(status, self._desk.asked.get(column.side, {}))
        set_html(self._offset, offset_html(status))
        left_s = self._learning_until_s - now_s
        words = f"<b>Stay out of view: {left_s:.0f} s more</b>" if left_s > 0.0 else self._desk.fault or self._desk.words
        set_html(self._words, box(words) if words else "")
        if self._one.visible != (self._lines.value == ONE_LINE):
            self._one.visible = self._lines.value == ONE_LINE

    def _marks(self, n: int, rig: RigMessage | None) -> Marks:
        """Give what is drawn on the picture of camera n: also where the other one's markers may be."""
        numbers, wanted = bool(self._numbers.value), str(self._lines.value)
        other = self.columns[1 - n].eye.newest
        cameras = self._rig_cameras(rig)
        if wanted == NO_LINES or other is None or len(cameras) < len(CAMERAS):
            return Marks(numbers)
        points = other[0].points_px[:MAX_DRAWN]
        chosen: Sequence[int] = range(len(points)) if wanted == ALL_LINES else [int(self._one.value)]
        chosen = [number for number in chosen if number < len(points)]
        lines = sight_lines(cameras[1 - n], points[chosen], cameras[n]) if chosen else np.zeros((0, N_POINTS, 2))
        return Marks(numbers, lines, tuple(chosen))

    def _rig_cameras(self, rig: RigMessage | None) -> tuple[Camera, ...]:
        """Give the cameras of the rig, made once."""
        if rig is not self._rig:
            self._rig, self._cameras = rig, () if rig is None else tuple(camera_of(reading) for reading in rig.cameras)
        return self._cameras

    def _pressed(self, event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
        """Open the columns, as wide as the page of whoever pressed has room for, or close them."""
        client = event.client
        width = client.camera.image_width if client is not None else 0
        self._orders.give(lambda: self._switch(not self.open, width))

    def _switch(self, on: bool, room_px: int) -> None:
        """Show the columns or hide them. room_px: width of the scene before, 0 if unknown."""
        self.open = on
        self._desk.open()
        self._button.label = CLOSE if on else OPEN
        self._both.visible = on
        column_px = min(max((room_px - SCENE_PX) // 2, LEAST_COLUMN_PX), MAX_COLUMN_PX) if room_px else COLUMN_PX
        for window, column in zip(self._windows, self.columns, strict=False):
            column.eye.close()
            window.remove()
        self._windows = [self._window(n, column_px) for n in range(len(CAMERAS))] if on else []
        self._opened(on)

    def _window(self, n: int, column_px: float) -> viser.PanelHandle:
        """Make the column of one camera, at its side of the scene, the performer between them.

        Floating: two panels docked to one edge come out in an order and width that depend on when the page hears of them.
        """
        window = self._gui.add_panel()
        with window.add_tab(TITLES[n], viser.Icon.CAMERA):
            self.columns[n].build(self._gui)
        window.float(x=EDGE_PX if n == 0 else -EDGE_PX, y=EDGE_PX, width=column_px)
        return window

    def _learn_both(self) -> None:
        """Have both backgrounds learned, and count down."""
        asked = self._desk.asked.get(CAMERAS[0], {}).get("detector.learn_s", LEARN_S)
        self._learning_until_s = time.monotonic() + (float(asked) if isinstance(asked, int | float) else LEARN_S)
        self._desk.tune("", {"background": "learn"})

    def _synchronise(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Have the time offset found."""
        way = "flash" if "flash" in str(event.target.value) else "jump"

        def ask(client: ServiceClient) -> str:
            client.sync(way)
            return {"flash": "Now flash a light both cameras see.", "jump": "Now jump on the spot, or clap with straight arms."}[
                way
            ]

        self._desk.order(ask)


def saved(client: ServiceClient) -> str:
    """Save what was tuned, and say where."""
    file, note = client.save_tuned()
    return f"Saved to {file}; later runs with these cameras begin so." + (f" Not counting what is {note}." if note else "")
