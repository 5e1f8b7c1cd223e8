"""What files of markers share: names without the subject's, and units and rates, checked by what bodies and motion are."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.errors import FileFormatError

logger = logging.getLogger(__name__)

UNITS_M = {"mm": 1e-3, "cm": 1e-2, "dm": 1e-1, "m": 1.0, "in": 0.0254}
SPELLINGS = {
    **{f"{prefix}met{end}": f"{short}m" for prefix, short in (("milli", "m"), ("centi", "c"), ("", "")) for end in ("er", "re")},
    "inch": "in",
    "inche": "in",
}
LIKELY = ("mm", "m", "cm")  # in place of one that is missing or wrong: millimetres and metres are what is mixed up
# What the markers of one moment may span: a hand's, and those of several people in a large hall.
SPAN_M = (0.02, 20.0)
# Of a whole body's: one that crouches, its arms drawn in. A set of so many markers is one.
WHOLE_BODY_M, N_WHOLE_BODY = 0.5, 12
N_JUDGED = 3  # fewer markers than on the smallest part of a body tell nothing
# From pictures of a slow camera to the fastest systems of markers; muscles move nothing at more than 20 Hz or so.
RATES_HZ = (5.0, 2000.0)


def strip_subjects(labels: Sequence[str]) -> tuple[str, ...]:
    """Return markers' names without the subject's before a colon, unless several subjects have markers of one name."""
    short = tuple(label.rpartition(":")[2] for label in labels)
    return short if len(set(short)) == len(set(labels)) else tuple(labels)


def find_unit_m(path: Path, said: str, points: Floats, valid: Bools, given: str = "") -> float:
    """Return the unit of a file's points [m]: what the file says, unless no body is of such a size, which is then logged.

    Args:
        path: the file, for messages.
        said: the unit that the file names, empty where it does not.
        points: (N, M, 3), in that unit.
        valid: which are there, (N, M).
        given: the unit that the user names, which is believed.
    Raises: FileFormatError: an unknown unit, or a size that no unit makes a body's.
    """
    name = _spell_unit(given or said)
    if name and name not in UNITS_M:
        raise FileFormatError(f"{path}: points are in {name[:20]!r}; expected one of {', '.join(UNITS_M)}")
    span, n_markers = _measure_span(points, valid)
    if given or (name and (n_markers < N_JUDGED or _is_span_of_body(span * UNITS_M[name], n_markers))):
        return UNITS_M[name]
    if n_markers < N_JUDGED or not span > 0.0:
        return UNITS_M["mm"]  # as the formats have it by default
    what = f"its points are said to be in {name}, but span {span * UNITS_M[name]:.3g} m" if name else "it names no unit"
    found = next((unit for unit in LIKELY if _is_span_of_body(span * UNITS_M[unit], n_markers)), "")
    if not found:
        raise FileFormatError(f"{path}: {what}, and no unit makes {span:.3g} the size of a body; export it again, in mm")
    logger.warning("%s: %s; taken for %s, in which they span %.2f m", path, what, found, span * UNITS_M[found])
    return UNITS_M[found]


def check_rate_hz(path: Path, rate_hz: float, what: str) -> float:
    """Return a rate if motion is taken at such; a frame time in its place is turned into one, which is logged.

    Args:
        path: the file, for messages.
        rate_hz: what the file says.
        what: where it says so, for messages.
    Raises: FileFormatError: neither is one.
    """
    low, high = RATES_HZ
    if low <= rate_hz <= high:
        return rate_hz
    if rate_hz > 0.0 and low <= 1.0 / rate_hz <= high:
        logger.warning("%s: %s of %g Hz is one of no motion; taken for a frame time, %.4g Hz", path, what, rate_hz, 1.0 / rate_hz)
        return 1.0 / rate_hz
    raise FileFormatError(f"{path}: {what} is {rate_hz:g} Hz; expected {low:g} to {high:g} Hz, at which motion is taken")


def _spell_unit(text: str) -> str:
    """Return the short name of a unit, or what was given in its place."""
    name = text.strip().strip("\0[]()\"'").lower()
    return SPELLINGS.get(name.removesuffix("s"), name)


def _is_span_of_body(span_m: float, n_markers: int) -> bool:
    """Return whether so many markers on bodies may span so much."""
    return (WHOLE_BODY_M if n_markers >= N_WHOLE_BODY else SPAN_M[0]) <= span_m <= SPAN_M[1]


def _measure_span(points: Floats, valid: Bools) -> tuple[float, int]:
    """Return the diagonal of the box around the markers of a moment, median over moments, and how many markers there are then.

    Counted are moments in which at least half as many are seen as at best.
    """
    seen = valid.sum(axis=1)
    most = int(seen.max(initial=0))
    rows = np.flatnonzero(seen >= max(0.5 * most, 1.0))[:: max(len(seen) // 1000, 1)]
    if not len(rows):
        return 0.0, 0
    there = valid[rows][..., None]
    low, high = np.where(there, points[rows], np.inf).min(axis=1), np.where(there, points[rows], -np.inf).max(axis=1)
    return float(np.median(np.linalg.norm(high - low, axis=1))), most
