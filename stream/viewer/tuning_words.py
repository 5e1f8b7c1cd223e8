"""How a camera is, in plain words, as HTML for its panel; all that came over the stream is escaped."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from capture.preview_picture import Preview
from stream.messages import StatusMessage
from stream.viewer.words import BAD, GOOD, box, pill

STATES = {
    "live": ("live", GOOD),
    "waiting": ("waiting", "#74777d"),
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


def camera_html(side: str, status: StatusMessage | None, preview: Preview | None) -> str:
    """Give how a camera is: state and health, rate, stamps, drops, and what its detector goes by."""
    told: Mapping[str, Any] = {}
    if status is not None and isinstance(status.cameras.get(side), dict):
        told = status.cameras[side]
    state, color = STATES.get(str(told.get("state", "")), ("no word of it", "#74777d"))
    name = str(told.get("name", ""))[:60]
    health = str(told.get("health", "") or "")[:300]
    warning = f'<div style="color:{BAD};font-weight:600">{escape(health)}</div>' if health else ""
    return box(
        f'<div class="row"><span>{_found(preview)}</span>{pill(state, color)}</div>'
        f"{warning}<div>{_told_by(preview)}</div>"
        f'<div class="dim">{" · ".join([escape(name)] * bool(name) + _figures(told, preview))}</div>'
    )


def offset_html(status: StatusMessage | None) -> str:
    """Give the cameras' time offset as it is known."""
    told = status.calibration if status is not None else {}
    offset, sigma = _number(told.get("time_offset_ms")), _number(told.get("time_offset_sigma_ms"))
    if offset is None:
        return box('<div class="dim">Nothing is known of it yet.</div>')
    sure = f" ± {sigma:.1f}" if sigma is not None and 0.0 < sigma < 100.0 else ""
    if sigma is not None and abs(offset) < sigma:
        return box(f"Both cameras' stamps agree, to <b>{sigma:.1f} ms</b>.")
    return box(f"The right camera's stamps are <b>{abs(offset):.1f}{sure} ms</b> {'late' if offset >= 0.0 else 'early'}.")


def _found(preview: Preview | None) -> str:
    """Say how many markers are seen, and how well."""
    if preview is None:
        return "no picture"
    n = len(preview.points_px)
    sure = f", to {float(np.median(preview.sigma_px)):.2f} px" if len(preview.sigma_px) else ""
    return f"<b>{n} marker{'' if n == 1 else 's'}</b>{sure}"


def _told_by(preview: Preview | None) -> str:
    """Say what the detector goes by."""
    if preview is None:
        return "Only cameras of this machine send pictures, while a page looks."
    if preview.flooded:
        return f'<b style="color:{BAD}">Nearly all is foreground</b>: learn the background, or raise its distance'
    level = f", brighter than {preview.level} of 255" if preview.level is not None else ""
    return f"{MODES.get(preview.mode, '')}{level}"


def _figures(told: Mapping[str, Any], preview: Preview | None) -> list[str]:
    """Give size, rate, stamps and losses."""
    words = [f"{preview.size[0]}×{preview.size[1]}"] if preview is not None else []
    fps = _number(told.get("fps"))
    words += [f"{fps:.1f} frames/s"] if fps is not None else []
    words += [STAMPS[str(told["stamp"])]] if str(told.get("stamp", "")) in STAMPS else []
    for name, label in (("skipped", "skipped"), ("repeated", "the same again"), ("unsent", "unsent"), ("damaged", "damaged")):
        count = _number(told.get(name))
        words += [f"{count:.0f} {label}"] if count else []
    return words


def _number(value: object) -> float | None:
    """Give a number that came over the stream, None for what is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
