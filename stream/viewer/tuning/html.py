"""How a camera and the cameras' time offsets are, as HTML; all text from the stream is escaped."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from capture.process.preview_image import Preview
from config.settings import CAMERA_NAMES
from stream.protocol.messages import CameraTimeOffset, StatusMessage, read_number
from stream.viewer.html import wrap_in_box
from stream.web.html import BAD, BAD_TEXT, GOOD, NEUTRAL, format_pill

STATES = {
    "live": ("live", GOOD),
    "waiting": ("waiting", NEUTRAL),
    "silent": ("silent", BAD),
    "lost": ("lost", BAD),
    "reopening": ("looking for it", BAD),
}
STAMPS = {
    "driver": "stamped by its driver",
    "sender": "stamped by the sender",
    "read": "stamped when read",
    "file": "stamps of a recording",
}
MODES = {"dark": "bright spots in the dark", "bright": "bright spots in a lit room", "color": "colours in a lit room"}
COUNTS = {"skipped": "skipped", "repeated": "the same again", "unsent": "unsent", "damaged": "damaged"}


def format_camera_html(camera: str, status: StatusMessage | None, preview: Preview | None, sharpness: float | None = None) -> str:
    """Return how a camera is: state, health, rate, time stamps, drops, and the mode of its detector.

    Args:
        camera: name of the camera.
        status: newest status of the stream; None if there is none yet.
        preview: newest preview of the camera; None if there is none yet.
        sharpness: sharpness of the picture; None if unknown.
    """
    details: Mapping[str, Any] = {} if status is None else status.camera(camera)
    state, color = STATES.get(str(details.get("state", "")), ("no word of it", NEUTRAL))
    name = str(details.get("name", ""))[:60]
    health = str(details.get("health", "") or "")[:300]
    warning = f'<div style="color:{BAD_TEXT};font-weight:600">{escape(health)}</div>' if health else ""
    figures = [escape(name)] * bool(name) + _format_camera_figures(details, preview)
    figures += [f"sharpness {sharpness:.1f}"] if sharpness is not None else []
    return wrap_in_box(
        f'<div class="row"><span>{_format_detections(preview)}</span>{format_pill(state, color)}</div>'
        f"{warning}<div>{_format_detector_mode(preview)}</div>"
        f'<div class="dim">{" · ".join(figures)}</div>'
    )


def format_offset_html(status: StatusMessage | None) -> str:
    """Return how late each camera's stamps are beside those of the first, as far as that is known."""
    offsets = [(name, status.time_offset(name)) for name in CAMERA_NAMES[1:]] if status is not None else []
    known = "".join(f"<div>{_format_time_offset(name, offset)}</div>" for name, offset in offsets if offset is not None)
    return wrap_in_box(known or '<div class="dim">Nothing is known of it yet.</div>')


def _format_time_offset(camera: str, offset: CameraTimeOffset) -> str:
    """Return how late a camera's stamps are."""
    late_ms, sigma = offset
    if sigma is not None and abs(late_ms) < sigma:
        return f"The {camera} camera's stamps and the first one's agree, to <b>{sigma:.1f} ms</b>."
    interval = f" ± {sigma:.1f}" if sigma is not None and 0.0 < sigma < 100.0 else ""
    return f"The {camera} camera's stamps are <b>{abs(late_ms):.1f}{interval} ms</b> {'late' if late_ms >= 0.0 else 'early'}."


def _format_detections(preview: Preview | None) -> str:
    """Return the number of markers that are detected, and their median uncertainty."""
    if preview is None:
        return "no picture"
    n = len(preview.points_px)
    sigma = f", to {float(np.median(preview.sigma_px)):.2f} px" if len(preview.sigma_px) else ""
    return f"<b>{n} marker{'' if n == 1 else 's'}</b>{sigma}"


def _format_detector_mode(preview: Preview | None) -> str:
    """Return how the detector tells markers."""
    if preview is None:
        return "Only cameras of this machine send pictures, while a page looks."
    if preview.flooded:
        return f'<b style="color:{BAD_TEXT}">Nearly all is foreground</b>: learn the background, or raise its distance'
    level = f", brighter than {preview.level} of 255" if preview.level is not None else ""
    return f"{MODES.get(preview.mode, '')}{level}"


def _format_camera_figures(details: Mapping[str, Any], preview: Preview | None) -> list[str]:
    """Return size, rate, kind of time stamps and losses."""
    figures = [f"{preview.size[0]}×{preview.size[1]}"] if preview is not None else []
    fps = read_number(details.get("fps"))
    figures += [f"{fps:.1f} frames/s"] if fps is not None else []
    stamp = str(details.get("stamp", ""))
    figures += [STAMPS[stamp]] if stamp in STAMPS else []
    counts = {label: read_number(details.get(name)) for name, label in COUNTS.items()}
    return figures + [f"{count:.0f} {label}" for label, count in counts.items() if count]
