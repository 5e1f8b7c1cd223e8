"""Apply settings to a camera, read them back, and describe where they differ."""

import math
from typing import Any, Protocol

import cv2

from capture.sources.source import Facts
from capture.sources.webcam.backends import OTHER_TEMPERATURES, TEMPERATURE, Backend
from config.errors import SettingsError
from config.settings import CameraSettings

RATE_TOLERANCE = 0.03  # 29.97 is 30
AUTO = "auto"


class Device(Protocol):
    """The part of OpenCV's VideoCapture that is used."""

    def isOpened(self) -> bool: ...
    def get(self, prop: int) -> float: ...
    def set(self, prop: int, value: float) -> bool: ...
    def grab(self) -> bool: ...
    def retrieve(self) -> tuple[bool, Any]: ...
    def release(self) -> None: ...


def check_settings(settings: CameraSettings) -> None:
    """Raise SettingsError for impossible settings."""
    if settings.width < 16 or settings.height < 16 or settings.width > 16384 or settings.height > 16384:
        raise SettingsError(f"camera.width and height are {settings.width}x{settings.height}; expected 16 to 16384 pixels")
    if not 0.1 <= settings.fps <= 1000.0:
        raise SettingsError(f"camera.fps is {settings.fps:g}; expected 0.1 to 1000 frames a second")
    if len(settings.fourcc) != 4 or not settings.fourcc.isascii():
        raise SettingsError(f"camera.fourcc is {settings.fourcc!r}; expected four letters such as MJPG or YUYV")
    for name in ("exposure", "gain", "white_balance", "focus"):
        parse_number(name, getattr(settings, name))


def parse_number(name: str, text: str) -> float | None:
    """Return the number of a setting, None for auto. Raises SettingsError."""
    if text.strip().lower() == AUTO:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SettingsError(f"camera.{name} is {text!r}; expected auto or a number") from None
    return value


def format_fourcc(value: float) -> str:
    """Return the four letters of a pixel format, empty where unknown."""
    code = int(value) if math.isfinite(value) and 0 < value < 2**32 else 0
    letters = "".join(chr((code >> shift) & 0xFF) for shift in (0, 8, 16, 24))
    return letters.strip() if all(" " <= letter < "\x7f" for letter in letters) else ""


def set_format(device: Device, backend: Backend, settings: CameraSettings) -> None:
    """Request pixel format, size and rate, in the order the backend needs; `read_format` reads the result.

    Args:
        backend: by which it is opened.
        settings: what is asked of the camera.
    """
    code = float(cv2.VideoWriter.fourcc(*settings.fourcc))
    rate = (cv2.CAP_PROP_FPS, settings.fps)
    form = [
        (cv2.CAP_PROP_FOURCC, code),
        (cv2.CAP_PROP_FRAME_WIDTH, float(settings.width)),
        (cv2.CAP_PROP_FRAME_HEIGHT, float(settings.height)),
    ]
    for prop, value in [rate, *form] if backend.rate_first else [*form, rate]:
        device.set(prop, value)
    if device.get(cv2.CAP_PROP_FOURCC) != code:  # some reset it with the size, and accept it now
        device.set(cv2.CAP_PROP_FOURCC, code)
    if backend.has_buffer:
        device.set(cv2.CAP_PROP_BUFFERSIZE, 1)


def read_format(device: Device, backend: Backend) -> Facts:
    """Return the format a camera announces, without the size, which is read from a frame."""
    facts: Facts = {"backend": backend.name}
    if code := format_fourcc(device.get(cv2.CAP_PROP_FOURCC)):
        facts["fourcc"] = code
    rate = device.get(cv2.CAP_PROP_FPS)
    if math.isfinite(rate) and 0.1 <= rate <= 1000.0:
        facts["fps_announced"] = round(rate, 3)
    return facts


def find_format_deviations(settings: CameraSettings, facts: Facts, size: tuple[int, int]) -> list[str]:
    """Return where size, pixel format and announced rate differ from the settings, for the user.

    Args:
        settings: what is asked of the camera.
        facts: what the camera announces.
        size: width and height of the image [px].
    """
    deviations = []
    if size != (settings.width, settings.height):
        deviations.append(f"gives {size[0]}x{size[1]} instead of {settings.width}x{settings.height}")
    code = facts.get("fourcc")
    if code and code != settings.fourcc.upper().strip():
        deviations.append(f"gives {code} instead of {settings.fourcc}")
    rate = facts.get("fps_announced")
    if isinstance(rate, int | float) and abs(rate - settings.fps) > RATE_TOLERANCE * settings.fps:
        deviations.append(f"announces {rate:g} frames/s instead of {settings.fps:g}")
    return deviations


def set_controls(device: Device, backend: Backend, settings: CameraSettings, before: CameraSettings | None = None) -> list[str]:
    """Set exposure, gain, white balance and focus, where they differ from `before`; return deviations, for the user.

    A camera without a switch for automatic is automatic anyway: that is no deviation.

    Args:
        backend: by which it is opened.
        settings: what is asked of the camera.
        before: the settings in force; None: unknown.
    """
    changed = [name for name in CONTROLS if before is None or getattr(before, name) != getattr(settings, name)]
    if not backend.has_controls:
        asked = [name for name in changed if parse_number(name, getattr(settings, name)) is not None]
        return [f"{_find_label(name)} cannot be set through {backend.title}" for name in asked]
    deviations: list[str] = []
    for name in changed:
        deviations += CONTROLS[name](device, backend, parse_number(name, getattr(settings, name)))
    return deviations


def read_controls(device: Device, backend: Backend) -> Facts:
    """Return exposure, gain, white balance and focus, in the driver's own numbers, where known."""
    if not backend.has_controls:
        return {}
    found = {name: device.get(prop) for name, prop in READ.items()}
    # -1 means unknown to OpenCV; DirectShow's true exposure of -1 (half a second) is left out too.
    return {name: round(value, 6) for name, value in found.items() if math.isfinite(value) and value != -1.0}


def _set_exposure(device: Device, backend: Backend, value: float | None) -> list[str]:
    by_hand, automatic = backend.auto_exposure
    if value is None:
        device.set(cv2.CAP_PROP_AUTO_EXPOSURE, automatic)
        return []
    if backend.manual_first:
        device.set(cv2.CAP_PROP_AUTO_EXPOSURE, by_hand)
    return _set_number(device, "exposure", (cv2.CAP_PROP_EXPOSURE,), value)


def _set_gain(device: Device, backend: Backend, value: float | None) -> list[str]:
    return [] if value is None else _set_number(device, "gain", (cv2.CAP_PROP_GAIN,), value)


def _set_white_balance(device: Device, backend: Backend, value: float | None) -> list[str]:
    device.set(cv2.CAP_PROP_AUTO_WB, 1.0 if value is None else 0.0)
    return [] if value is None else _set_number(device, "white_balance", (TEMPERATURE, *OTHER_TEMPERATURES), value)


def _set_focus(device: Device, backend: Backend, value: float | None) -> list[str]:
    device.set(cv2.CAP_PROP_AUTOFOCUS, 1.0 if value is None else 0.0)
    return [] if value is None else _set_number(device, "focus", (cv2.CAP_PROP_FOCUS,), value)


def _set_number(device: Device, name: str, props: tuple[int, ...], value: float) -> list[str]:
    """Set a number by the first property that accepts it, and read it back; return deviations."""
    taken = next((prop for prop in props if device.set(prop, value)), None)
    if taken is None:
        return [f"does not take {_find_label(name)} {value:g}"]
    got = device.get(taken)
    if not math.isfinite(got) or abs(got - value) <= max(0.5, 1e-3 * abs(value)):
        return []
    return [f"sets {_find_label(name)} to {got:g} instead of {value:g}"]


def _find_label(name: str) -> str:
    """Return a setting's name for the user."""
    return name.replace("_", " ")


CONTROLS = {"exposure": _set_exposure, "gain": _set_gain, "white_balance": _set_white_balance, "focus": _set_focus}
READ = {
    "exposure": cv2.CAP_PROP_EXPOSURE,
    "gain": cv2.CAP_PROP_GAIN,
    "white_balance": TEMPERATURE,
    "focus": cv2.CAP_PROP_FOCUS,
}
