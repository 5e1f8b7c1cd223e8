"""One camera's column while it is tuned: its picture as the detector sees it, its state, and its settings."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import viser

from capture.process.preview_image import Preview, PreviewKind, PreviewRequest
from config.per_camera import CONTROLS, DETECTOR_MODES
from config.settings import CAMERA_NAMES
from stream.protocol.messages import StatusMessage
from stream.publish.client import ServiceClient
from stream.viewer.requests import TuningRequests, Value
from stream.viewer.tuning.html import format_camera_html
from stream.web.picture import CANVAS_PX, PictureMarks, draw_tuning_picture, measure_sharpness
from stream.web.preview import CameraPreview
from stream.web.widgets import on_user_input, set_html, set_values

EMPTY = np.zeros((CANVAS_PX * 3 // 4, CANVAS_PX, 3), np.uint8)
HANDS_OFF_S = 2.5  # after a user moved a control, it is not set until its effect can have been reported
QUALITY = 75
MODES = {"auto": "seen by itself", "dark": "dark, markers bright", "background": "lit, by its background"}
AUTO = "auto"
LATE = "late"


class SliderRange(NamedTuple):
    """The slider of a numeric setting of the detector: name and range of the setting."""

    key: str
    label: str
    low: float
    high: float
    step: float
    hint: str


SLIDERS = (
    SliderRange(
        "detector.min_area_px", "Least area [px]", 1.0, 60.0, 0.5, "Smaller spots are noise. Raise it where specks are circled"
    ),
    SliderRange(
        "detector.k_sigma", "Distance [sigma]", 1.0, 20.0, 0.5, "Foreground is so many standard deviations from the background"
    ),
    SliderRange(
        "detector.min_difference", "Distance [levels]", 1.0, 80.0, 1.0, "and so many grey levels of 255. Raise against shadows"
    ),
)


class CameraColumn:
    """The column of one camera. Build it in an open container; `show` and `update` belong to the app's thread.

    Attributes:
        name: name of the camera in the rig.
        preview: newest preview of the camera.
        kind: picture or foreground.
    """

    def __init__(self, name: str, requests: TuningRequests) -> None:
        self.name, self._requests = name, requests
        self.preview = CameraPreview()
        self.kind = PreviewKind.FOREGROUND
        self._moved_s: dict[str, float] = {}
        self._sliders: dict[str, viser.GuiSliderHandle[float]] = {}
        self._controls: dict[str, tuple[viser.GuiCheckboxHandle, viser.GuiNumberHandle[float]]] = {}
        self._size = (0, 0)

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._image = gui.add_image(EMPTY, jpeg_quality=QUALITY)
        self._state = gui.add_html("")
        self._mode = gui.add_dropdown("Room", tuple(MODES.values()), hint="By what the detector tells markers")
        on_user_input(self._mode, self._change_mode)
        for slider in SLIDERS:
            handle = gui.add_slider(slider.label, slider.low, slider.high, slider.step, slider.low, hint=slider.hint)
            on_user_input(handle, lambda value, key=slider.key: self._request(key, float(value)))  # type: ignore[misc]
            self._sliders[slider.key] = handle
        row = gui.add_button_group("This camera", ("Learn background", "Reset"), hint="Learn it while nobody is in view")
        row.on_click(self._press)
        self._late = gui.add_number(
            "Timestamps late [ms]", 0.0, step=0.5, disabled=self.name == CAMERA_NAMES[0], hint="Beside those of the first camera"
        )
        on_user_input(self._late, self._change_late)
        self._zoom = gui.add_slider("Zoom", 1.0, 8.0, 0.5, 1.0, hint="Pixel by pixel, to focus the lens")
        self._across = gui.add_slider("Across [%]", 0, 100, 1, 50, visible=False)
        self._down = gui.add_slider("Down [%]", 0, 100, 1, 50, visible=False)
        self._device = gui.add_folder("The camera itself", visible=False)
        with self._device:
            for name in CONTROLS:
                self._controls[name] = self._control(gui, name)

    def _control(self, gui: viser.GuiApi, name: str) -> tuple[viser.GuiCheckboxHandle, viser.GuiNumberHandle[float]]:
        """Create the two widgets of one control of the device."""
        label = name.replace("_", " ").capitalize()
        automatic = gui.add_checkbox(f"{label} by itself", True, visible=False)
        number = gui.add_number(label, 0.0, step=1.0, visible=False, disabled=True, hint="In the driver's own numbers")
        for handle in (automatic, number):
            on_user_input(handle, lambda _: self._change_control(name))
        return automatic, number

    @property
    def request(self) -> PreviewRequest:
        """The request for the camera's preview."""
        zoom = float(self._zoom.value)
        width, height = self._size
        if zoom <= 1.0 or not width:
            return PreviewRequest(self.kind)
        part = (round(width / zoom), round(height / zoom))
        x, y = (
            round(min(max(0.01 * share * full - 0.5 * p, 0.0), full - p))
            for full, p, share in zip(self._size, part, (self._across.value, self._down.value), strict=True)
        )
        return PreviewRequest(self.kind, (x, y, *part))

    def show(self, marks: PictureMarks) -> None:
        """Show the newest picture with marks on it."""
        if self.preview.newest is not None:
            preview, image = self.preview.newest
            self._size = preview.size
            self._image.image = draw_tuning_picture(image, preview, marks)

    def update(self, status: StatusMessage | None, settings: Mapping[str, Value]) -> None:
        """Update state and controls. settings: settings of the service; those that the camera reports are preferred."""
        zoomed = float(self._zoom.value) > 1.0
        preview, image = self.preview.newest or (None, None)
        sharp = measure_sharpness(image) if image is not None and zoomed else None
        set_html(self._state, format_camera_html(self.name, status, preview, sharp))
        if preview is not None and zoomed and not self._across.visible:
            self._aim(preview)
        for handle in (self._across, self._down):
            set_values(handle, visible=zoomed)
        details: Mapping[str, Any] = {} if status is None else status.camera(self.name)
        tuning = details.get("tuning")
        in_force = {**settings, **(tuning if isinstance(tuning, dict) else {})}
        self._show_settings(in_force)
        self._show_late(status)
        self._show_device(details, in_force)

    def _aim(self, preview: Preview) -> None:
        """Move the zoom to the marker nearest to the median of all."""
        points = preview.points_px
        if not len(points):
            return
        middle = points[np.linalg.norm(points - np.median(points, axis=0), axis=1).argmin()]
        for handle, at, full in zip((self._across, self._down), middle, preview.size, strict=True):
            set_values(handle, value=round(min(max(100.0 * float(at) / full, 0.0), 100.0)))

    def _show_settings(self, in_force: Mapping[str, object]) -> None:
        """Set the detector's controls to the settings in force, unless a user has just moved them."""
        for slider in SLIDERS:
            value, handle = in_force.get(slider.key), self._sliders[slider.key]
            if isinstance(value, int | float) and self._free(slider.key):
                shown = min(max(slider.low + round((value - slider.low) / slider.step) * slider.step, slider.low), slider.high)
                set_values(handle, value=shown)
        mode = MODES.get(str(in_force.get("detector.mode", "")))
        if mode is not None and self._free("detector.mode"):
            set_values(self._mode, value=mode)

    def _show_late(self, status: StatusMessage | None) -> None:
        """Show how late the camera's stamps are, unless a user has just said it."""
        offset = None if status is None else status.time_offset(self.name)
        if offset is not None and self._free(LATE):
            set_values(self._late, value=round(offset.late_ms, 1))

    def _show_device(self, details: Mapping[str, Any], in_force: Mapping[str, object]) -> None:
        """Show the controls that the camera has, with the values it reports."""
        has = [name for name in CONTROLS if isinstance(details.get(name), int | float)]
        set_values(self._device, visible=bool(has))
        for name, (automatic, number) in self._controls.items():
            set_values(automatic, visible=name in has)
            set_values(number, visible=name in has)
            if name not in has or not self._free(f"camera.{name}"):
                continue
            is_auto = str(in_force.get(f"camera.{name}", AUTO)) == AUTO
            set_values(automatic, value=is_auto)
            set_values(number, disabled=is_auto, value=float(details[name]))

    def _change_late(self, late_ms: float) -> None:
        """Have the camera's stamps taken to be as late as a user says."""
        late_ms = float(late_ms)
        self._moved_s[LATE] = time.monotonic()

        def set_offset(client: ServiceClient) -> str:
            client.sync("", late_ms, self.name)
            return f"The {self.name} camera's stamps are taken to be {late_ms:g} ms late."

        self._requests.submit(set_offset)

    def _change_mode(self, label: str) -> None:
        """Request another mode of the detector."""
        mode = next((mode for mode, words in MODES.items() if words == label), AUTO)
        if mode in DETECTOR_MODES:
            self._request("detector.mode", mode)

    def _change_control(self, name: str) -> None:
        """Request another value of a control of the device."""
        automatic, number = self._controls[name]
        number.disabled = bool(automatic.value)
        self._request(f"camera.{name}", AUTO if automatic.value else f"{float(number.value):g}")

    def _press(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Learn the background, or take all tuning of the camera back."""
        if event.target.value == "Reset":
            self._moved_s.clear()
            has = [f"camera.{name}" for name, (automatic, _) in self._controls.items() if automatic.visible]
            keys = [*(slider.key for slider in SLIDERS), "detector.mode", *has]
            self._requests.tune(self.name, dict.fromkeys(keys))
        else:
            self._requests.tune(self.name, {"background": "learn"})

    def _request(self, key: str, value: Value) -> None:
        """Request a setting, and leave its control alone for a while."""
        self._moved_s[key] = time.monotonic()
        self._requests.tune(self.name, {key: value})

    def _free(self, key: str) -> bool:
        """Return whether no user has moved a control lately."""
        return time.monotonic() - self._moved_s.get(key, -HANDS_OFF_S) >= HANDS_OFF_S
