"""Tuning the cameras: the columns beside the scene, epipolar lines, background, time offsets, saving."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import viser

from calibration.camera import Camera
from capture.process.preview_image import PreviewKind
from config.arrays import Floats
from config.settings import CAMERA_NAMES
from stream.protocol.messages import RigMessage, StatusMessage
from stream.publish.client import ServiceClient
from stream.viewer.html import wrap_in_box
from stream.viewer.requests import TuningRequests
from stream.viewer.scene.framing import camera_from_reading
from stream.viewer.tuning.camera import CameraColumn
from stream.viewer.tuning.html import format_offset_html
from stream.viewer.view import AppSnapshot, PageActions
from stream.web.picture import MAX_DRAWN, PictureMarks
from stream.web.widgets import add_button, set_html, set_values

EDGE_PX = 6
SCENE_PX = 210  # of the scene stay visible where the columns leave as much
TEXT_PX = 150  # of a column's height are wanted below its picture
OPEN, CLOSE = "Tune the cameras", "Close tuning"
MIN_COLUMN_PX, MAX_COLUMN_PX = 270, 520
UNKNOWN_ROOM_PX = (960, 640)  # for the columns, where the page has not told its size
SHOWN = {"What the detector sees": PreviewKind.FOREGROUND, "The plain picture": PreviewKind.PICTURE}
NO_LINES, ALL_LINES, ONE_LINE = "none", "of all markers", "of one marker"
LEARN_S = 3.0  # unless the settings say otherwise
NEAR_M, FAR_M = 0.3, 15.0  # range of depth in which the other camera's markers are searched
N_POINTS = 24
UPDATE_S = 0.5  # between two updates of texts and controls; pictures come as the cameras send them
SYNC = {  # by the label of the button: the way, and what to do now
    "by a flash": ("flash", "Now flash a light all cameras see."),
    "by a jump": ("jump", "Now jump on the spot, or clap with straight arms."),
}


class ColumnPlace(NamedTuple):
    """Where the column of a camera floats over the scene [px].

    x: distance from the left; if negative, from the right; height: None: any.
    """

    x: float
    y: float
    width: float
    height: float | None


def place_columns(n: int, room_px: tuple[int, int]) -> list[ColumnPlace]:
    """Return places for the columns of n cameras in a scene of a size, half of them at either side of it.

    They stand in one row where a part of the scene stays visible beside them, else in two.
    """
    width, height = room_px
    beside = max((width - SCENE_PX) // (MIN_COLUMN_PX + EDGE_PX), 2)
    n_rows = 1 if n <= beside else 2
    n_columns = -(-n // n_rows)
    left_px = width - EDGE_PX * (n_columns + 1) - (SCENE_PX if n_columns <= beside else 0)
    column_px = min(max(left_px / max(n_columns, 2), MIN_COLUMN_PX), MAX_COLUMN_PX)
    row_px = None if n_rows == 1 else (height - EDGE_PX * (n_rows + 1)) / n_rows
    if row_px is not None:
        column_px = min(max(4.0 * (row_px - TEXT_PX) / 3.0, MIN_COLUMN_PX), column_px)
    if n_columns > beside:
        column_px = min(column_px, left_px / n_columns)
    places = []
    for k in range(n):
        row, column = divmod(k, n_columns)
        of_left = column < -(-n_columns // 2)
        x = EDGE_PX + (column if of_left else n_columns - 1 - column) * (column_px + EDGE_PX)
        y = EDGE_PX + row * ((row_px or 0.0) + EDGE_PX)
        places.append(ColumnPlace(x if of_left else -x, y, column_px, row_px))
    return places


def compute_epipolar_lines(seen_by: Camera, points_px: Floats, shown_in: Camera) -> Floats:
    """Return the epipolar lines of points with the lens distortion of the camera that shows them.

    Returns (N, N_POINTS, 2) [px], nearest depth first; NaN behind the other camera and so far outside its picture that its lens
    model is not valid.

    Args:
        seen_by: camera that sees points_px, (N, 2) [px].
        points_px: (N, 2) [px].
        shown_in: the other one.
    """
    points_px = np.asarray(points_px, float).reshape(-1, 2)
    ideal = seen_by.undistort(points_px)
    rays = np.concatenate([ideal, np.ones((len(ideal), 1))], axis=1) @ seen_by.rotation  # camera to world: R^T d
    depths_m = 1.0 / np.linspace(1.0 / NEAR_M, 1.0 / FAR_M, N_POINTS)  # evenly spaced in the picture
    points_m = seen_by.center_m + depths_m[None, :, None] * rays[:, None, :]
    lines = shown_in.project(points_m)
    x = shown_in.to_camera(points_m)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.abs(x[..., :2] / x[..., 2:]).max(axis=-1)
    # Beyond 1.5 times the picture's angle the distortion polynomial may turn back into the picture.
    half = 0.5 * np.array(shown_in.size) / np.array([shown_in.matrix[0, 0], shown_in.matrix[1, 1]])
    lines[~(slope < 1.5 * half.max())] = np.nan
    return np.asarray(lines)


class TunePanel:
    """The block in the cameras' tab, and the columns it opens, one a camera; opened: called with whether they are open."""

    period_s = 0.1

    def __init__(self, requests: TuningRequests, actions: PageActions, opened: Callable[[bool], None]) -> None:
        self._requests, self._actions, self._opened = requests, actions, opened
        self.columns: tuple[CameraColumn, ...] = ()
        self.open = False
        self._names: tuple[str, ...] = ()
        self._learning_until_s = 0.0
        self._update_due_s = 0.0
        self._rig: RigMessage | None = None
        self._cameras: tuple[Camera, ...] = ()

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets; the columns are created when they are opened."""
        self._button = gui.add_button(OPEN, icon=viser.Icon.ADJUSTMENTS, hint="Pictures as the detectors see them, and settings")
        self._button.on_click(self._pressed)
        self._all = gui.add_folder("All cameras", visible=False)
        with self._all:
            self._shown = gui.add_dropdown("Show", tuple(SHOWN))
            self._numbers = gui.add_checkbox(
                "Numbers", True, hint="Of the markers; with the uncertainty [px] of poor ones, and of all in a zoom"
            )
            self._lines = gui.add_dropdown("Sight lines", (NO_LINES, ALL_LINES, ONE_LINE), hint="Of another camera's markers")
            self._source = gui.add_dropdown(
                "Lines from", CAMERA_NAMES, visible=False, hint="Its own picture has lines from the next camera"
            )
            self._one = gui.add_number("Marker", 0, min=0, max=MAX_DRAWN - 1, step=1, visible=False)
            add_button(gui, "Learn all backgrounds", self._learn_all, "Step out of view first")
            self._offset = gui.add_html("")
            self._ways = gui.add_button_group("Time offset", tuple(SYNC), hint="Found from what all cameras see")
            save, icon = "Save for these cameras", viser.Icon.DEVICE_FLOPPY
            add_button(gui, save, lambda: self._requests.submit(save_tuning), "Used by later runs", icon=icon)
            self._message = gui.add_html("")
        self._ways.on_click(self._synchronise)
        self._gui, self._windows = gui, []  # type: viser.GuiApi, list[viser.PanelHandle]

    def update(self, view: AppSnapshot) -> None:
        """Show new pictures; texts and controls every UPDATE_S."""
        track = view.tracks[0]
        self._names = track.camera_names
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
            column.preview.subscribe(None if status is None else status.camera(column.name).get("preview"), column.request)

    def _update_texts(self, status: StatusMessage | None, now_s: float) -> None:
        """Update texts and controls."""
        for column in self.columns:
            column.update(status, self._requests.settings.get(column.name, {}))
        set_html(self._offset, format_offset_html(status))
        left_s = self._learning_until_s - now_s
        waiting = f"<b>Stay out of view: {left_s:.0f} s more</b>" if left_s > 0.0 else ""
        message = waiting or self._requests.fault or self._requests.message
        set_html(self._message, wrap_in_box(message) if message else "")
        set_values(self._one, visible=self._lines.value == ONE_LINE)
        set_values(self._source, visible=self._lines.value != NO_LINES and len(self.columns) > 2)

    def _marks(self, n: int, rig: RigMessage | None) -> PictureMarks:
        """Return what is drawn on the picture of camera n, with the epipolar lines of another one's markers if wanted."""
        numbers, wanted = bool(self._numbers.value), str(self._lines.value)
        cameras = self._rig_cameras(rig)
        if wanted == NO_LINES or not 2 <= len(cameras) == len(self.columns):
            return PictureMarks(numbers)
        source = self._source_of(n)
        other = self.columns[source].preview.newest
        if other is None:
            return PictureMarks(numbers)
        points = other[0].points_px[:MAX_DRAWN]
        chosen: Sequence[int] = range(len(points)) if wanted == ALL_LINES else [int(self._one.value)]
        chosen = [number for number in chosen if number < len(points)]
        lines = compute_epipolar_lines(cameras[source], points[chosen], cameras[n]) if chosen else np.zeros((0, N_POINTS, 2))
        return PictureMarks(numbers, lines, tuple(chosen))

    def _source_of(self, n: int) -> int:
        """Return the camera whose markers have epipolar lines in the picture of camera n: that which was chosen, or the next."""
        chosen = CAMERA_NAMES.index(str(self._source.value)) % len(self.columns)
        return (n + 1) % len(self.columns) if chosen == n or len(self.columns) == 2 else chosen

    def _rig_cameras(self, rig: RigMessage | None) -> tuple[Camera, ...]:
        """Return the cameras of the rig, created once."""
        if rig is not self._rig:
            self._rig, self._cameras = rig, () if rig is None else tuple(camera_from_reading(reading) for reading in rig.cameras)
        return self._cameras

    def _pressed(self, event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
        """Open the columns, as wide as the page of the user has room for, or close them."""
        camera = None if event.client is None else event.client.camera
        room_px = UNKNOWN_ROOM_PX if camera is None else (camera.image_width, camera.image_height)
        self._actions.put(lambda: self._switch(not self.open, room_px if all(room_px) else UNKNOWN_ROOM_PX))

    def _switch(self, on: bool, room_px: tuple[int, int]) -> None:
        """Show the columns or hide them. room_px: width and height of the scene."""
        self.open = on
        self._requests.open()
        self._button.label = CLOSE if on else OPEN
        self._all.visible = on
        for window, column in zip(self._windows, self.columns, strict=True):
            column.preview.close()
            window.remove()
        self.columns = tuple(CameraColumn(name, self._requests) for name in self._names) if on else ()
        places = place_columns(len(self.columns), room_px)
        self._windows = [self._window(column, place) for column, place in zip(self.columns, places, strict=True)]
        self._opened(on)

    def _window(self, column: CameraColumn, place: ColumnPlace) -> viser.PanelHandle:
        """Create the column of one camera.

        Floating: the order and width of two panels docked to one edge depend on when the page receives them.
        """
        window = self._gui.add_panel()
        with window.add_tab(f"{column.name.capitalize()} camera", viser.Icon.CAMERA):
            column.build(self._gui)
        window.float(x=place.x, y=place.y, width=place.width, height=place.height)
        return window

    def _learn_all(self) -> None:
        """Have all backgrounds learned, with a countdown."""
        learn_s = self._requests.settings.get(CAMERA_NAMES[0], {}).get("detector.learn_s", LEARN_S)
        self._learning_until_s = time.monotonic() + (float(learn_s) if isinstance(learn_s, int | float) else LEARN_S)
        self._requests.tune("", {"background": "learn"})

    def _synchronise(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Have the time offset found."""
        way, instruction = SYNC[str(event.target.value)]

        def synchronise(client: ServiceClient) -> str:
            client.sync(way)
            return instruction

        self._requests.submit(synchronise)


def save_tuning(client: ServiceClient) -> str:
    """Save the tuned settings; return the message with the file."""
    file, note = client.save_tuned()
    return f"Saved to {file}; later runs with these cameras begin so." + (f" Not counting what is {note}." if note else "")
