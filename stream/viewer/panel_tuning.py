"""One camera's column while it is tuned: its picture as the detector sees it, how it is in words, and its settings."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import viser

from capture.preview_picture import Image, Preview, Wish
from config.per_camera import CONTROLS
from config.tunable import choices
from stream.messages import StatusMessage
from stream.viewer.camera_eye import CameraEye
from stream.viewer.tuning_desk import TuningDesk, Value
from stream.viewer.tuning_picture import CANVAS_PX, Marks, sharpness, tuned_picture
from stream.viewer.tuning_words import camera_html
from stream.viewer.view import set_html

EMPTY = np.zeros((CANVAS_PX * 3 // 4, CANVAS_PX, 3), np.uint8)
HELD_S = 2.5  # after a touch a control is left to the hand that holds it, until what it did is told
QUALITY = 75
MODES = {"auto": "seen by itself", "dark": "dark, markers bright", "background": "lit, by its background"}
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Slide:
    """A setting of the detector that is a number: its name, and how far the slider goes [of the setting]."""

    key: str
    label: str
    low: float
    high: float
    step: float
    hint: str


SLIDES = (
    Slide(
        "detector.min_area_px", "Least area [px]", 1.0, 60.0, 0.5, "Smaller spots are noise. Raise it where specks are circled"
    ),
    Slide(
        "detector.k_sigma", "Distance [sigma]", 1.0, 20.0, 0.5, "Foreground is so many standard deviations from the background"
    ),
    Slide(
        "detector.min_difference", "Distance [levels]", 1.0, 80.0, 1.0, "and so many grey levels of 255. Raise against shadows"
    ),
)


class TuningPanel:
    """The column of one camera. Build it in an open container; `show` and `update` belong to the app's thread.

    side: left or right; wish_kind: picture or foreground.
    """

    def __init__(self, side: str, desk: TuningDesk) -> None:
        self.side, self._desk = side, desk
        self.eye = CameraEye()
        self.wish_kind = "foreground"
        self._touched_s: dict[str, float] = {}
        self._slides: dict[str, viser.GuiSliderHandle[float]] = {}
        self._controls: dict[str, tuple[viser.GuiCheckboxHandle, viser.GuiNumberHandle[float]]] = {}
        self._size = (0, 0)

    def build(self, gui: viser.GuiApi) -> None:
        """Make the widgets."""
        self._image = gui.add_image(EMPTY, jpeg_quality=QUALITY)
        self._words = gui.add_html("")
        self._mode = gui.add_dropdown("Room", tuple(MODES.values()), hint="By what the detector tells markers")
        self._mode.on_update(self._mode_changed)
        for slide in SLIDES:
            handle = gui.add_slider(slide.label, slide.low, slide.high, slide.step, slide.low, hint=slide.hint)
            handle.on_update(partial(self._slid, key=slide.key))
            self._slides[slide.key] = handle
        row = gui.add_button_group("This camera", ("Learn background", "Reset"), hint="Learn it while nobody is in view")
        row.on_click(self._press)
        self._zoom = gui.add_slider("Zoom", 1.0, 8.0, 0.5, 1.0, hint="Pixel by pixel, to focus the lens")
        self._across = gui.add_slider("Across [%]", 0, 100, 1, 50, visible=False)
        self._down = gui.add_slider("Down [%]", 0, 100, 1, 50, visible=False)
        self._device = gui.add_folder("The camera itself", visible=False)
        with self._device:
            for name in CONTROLS:
                self._controls[name] = self._control(gui, name)

    def _control(self, gui: viser.GuiApi, name: str) -> tuple[viser.GuiCheckboxHandle, viser.GuiNumberHandle[float]]:
        """Make the two widgets of one control of the device."""
        words = name.replace("_", " ").capitalize()
        automatic = gui.add_checkbox(f"{words} by itself", True, visible=False)
        number = gui.add_number(words, 0.0, step=1.0, visible=False, disabled=True, hint="In the driver's own numbers")
        automatic.on_update(lambda event: self._control_changed(event, name))
        number.on_update(lambda event: self._control_changed(event, name))
        return automatic, number

    @property
    def wish(self) -> Wish:
        """What is to be seen of the camera."""
        zoom = float(self._zoom.value)
        width, height = self._size
        if zoom <= 1.0 or not width:
            return Wish(self.wish_kind)
        part = (round(width / zoom), round(height / zoom))
        x, y = (
            round(min(max(0.01 * share * full - 0.5 * p, 0.0), full - p))
            for full, p, share in zip(self._size, part, self._middle(), strict=True)
        )
        return Wish(self.wish_kind, (x, y, *part))

    def show(self, marks: Marks) -> None:
        """Show the newest picture with marks on it."""
        if self.eye.newest is None:
            return
        preview, image = self.eye.newest
        self._size = preview.size
        picture = tuned_picture(image, preview, marks)
        self._image.image = picture

    def update(self, status: StatusMessage | None, asked: Mapping[str, Value]) -> None:
        """Bring words and controls to what the stream and the service tell."""
        newest = self.eye.newest
        html = camera_html(self.side, status, newest[0] if newest is not None else None)
        zoomed = float(self._zoom.value) > 1.0
        if newest is not None and zoomed:
            html = html.replace("</div></div>", f" · sharpness {_sharpness(newest[1])}</div></div>", 1)
        set_html(self._words, html)
        if self._across.visible != zoomed:
            self._across.visible = self._down.visible = zoomed
            if newest is not None and zoomed:
                self._aim(newest[0])
        told = _told(status, self.side)
        tuning = told.get("tuning")
        in_force = {**asked, **(tuning if isinstance(tuning, dict) else {})}
        self._follow(in_force)
        self._follow_device(told, in_force)

    def _aim(self, preview: Preview) -> None:
        """Have the zoom begin where a marker is, the one in the midst of the others."""
        points = preview.points_px
        if not len(points):
            return
        middle = points[np.linalg.norm(points - np.median(points, axis=0), axis=1).argmin()]
        for handle, at, full in zip((self._across, self._down), middle, preview.size, strict=True):
            handle.value = round(min(max(100.0 * float(at) / full, 0.0), 100.0))  # type: ignore[misc]

    def _middle(self) -> tuple[float, float]:
        """Give where the middle of the zoom is, in per cent of the picture."""
        return float(self._across.value), float(self._down.value)

    def _follow(self, in_force: Mapping[str, object]) -> None:
        """Bring the detector's controls to what is in force, those nobody holds."""
        for slide in SLIDES:
            value, handle = in_force.get(slide.key), self._slides[slide.key]
            if isinstance(value, int | float) and self._free(slide.key):
                shown = min(max(slide.low + round((value - slide.low) / slide.step) * slide.step, slide.low), slide.high)
                if handle.value != shown:
                    handle.value = shown  # type: ignore[misc]
        mode = MODES.get(str(in_force.get("detector.mode", "")))
        if mode is not None and self._free("detector.mode") and self._mode.value != mode:
            self._mode.value = mode  # type: ignore[misc]

    def _follow_device(self, told: Mapping[str, Any], in_force: Mapping[str, object]) -> None:
        """Show the controls the camera has, as it says they are."""
        has = [name for name in CONTROLS if isinstance(told.get(name), int | float)]
        if self._device.visible != bool(has):
            self._device.visible = bool(has)
        for name, (automatic, number) in self._controls.items():
            if automatic.visible != (name in has):
                automatic.visible = number.visible = name in has
            if name not in has or not self._free(f"camera.{name}"):
                continue
            by_itself, value = str(in_force.get(f"camera.{name}", AUTO)) == AUTO, float(told[name])
            if automatic.value != by_itself:
                automatic.value = by_itself  # type: ignore[misc]
            if number.disabled != by_itself:
                number.disabled = by_itself
            if number.value != value:
                number.value = value  # type: ignore[misc]

    def _slid(self, event: viser.GuiEvent[viser.GuiSliderHandle[float]], key: str) -> None:
        """Ask for what a slider was drawn to; changes of our own have no client."""
        if event.client is not None:
            self._ask(key, float(event.target.value))

    def _mode_changed(self, event: viser.GuiEvent[Any]) -> None:
        """Ask for another way to tell markers."""
        if event.client is not None:
            words = {text: mode for mode, text in MODES.items()}
            mode = words.get(str(event.target.value), AUTO)
            if mode in choices("detector.mode"):
                self._ask("detector.mode", mode)

    def _control_changed(self, event: viser.GuiEvent[Any], name: str) -> None:
        """Ask the device for something else."""
        if event.client is None:
            return
        automatic, number = self._controls[name]
        number.disabled = bool(automatic.value)
        self._ask(f"camera.{name}", AUTO if automatic.value else f"{float(number.value):g}")

    def _press(self, event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
        """Learn the background, or go back to what is without tuning."""
        if event.target.value == "Reset":
            self._touched_s.clear()
            has = [f"camera.{name}" for name, (automatic, _) in self._controls.items() if automatic.visible]
            keys = [*(slide.key for slide in SLIDES), "detector.mode", *has]
            self._desk.tune(self.side, dict.fromkeys(keys))
        else:
            self._desk.tune(self.side, {"background": "learn"})

    def _ask(self, key: str, value: Value) -> None:
        """Ask for a setting, and leave its control alone for a while."""
        self._touched_s[key] = time.monotonic()
        self._desk.tune(self.side, {key: value})

    def _free(self, key: str) -> bool:
        """Tell whether nobody has touched a control lately."""
        return time.monotonic() - self._touched_s.get(key, -HELD_S) >= HELD_S


def _told(status: StatusMessage | None, side: str) -> Mapping[str, Any]:
    """Give what the stream tells of a camera."""
    told = status.cameras.get(side) if status is not None else None
    return told if isinstance(told, dict) else {}


def _sharpness(image: Image) -> str:
    """Give the sharpness of a picture in words."""
    return f"{sharpness(image):.1f}"
