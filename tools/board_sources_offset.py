"""By how much one camera's stamps are late, from when things move in the pictures of both.

A board that is moved and rests changes both cameras' pictures at the same times: the two courses of change are laid over
each other (cross-correlation). Good to a part of a frame, which is near enough to solve for the rest from the corners' motion.
"""

import numpy as np

from capture.sources import Source
from database.rotations import Floats
from tools.board_sources_found import small

RATE_HZ = 200.0
MAX_OFFSET_S = 2.0
MIN_LENGTH_S = 3.0
MIN_CORRELATION = 0.5
CEILING = 95.0  # percentile at which change is cut off: a lamp that is switched must not decide alone
NS = 1e9


def change_of(film: Source) -> tuple[Floats, Floats]:
    """Give times between neighbouring pictures [s] and how much changed from one to the next [grey levels]."""
    times, changes = [], []
    before, t_before_ns = None, 0
    while (frame := film.read()) is not None:
        now = small(frame.image).astype(np.float32)
        if before is not None:
            times.append(0.5 * (frame.t_capture_ns + t_before_ns) / NS)
            changes.append(float(np.abs(now - before).mean()))
        before, t_before_ns = now, frame.t_capture_ns
    return np.array(times), np.array(changes)


def offset_between(left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> float | None:
    """Give by how much the right times are late [s] from both courses of change, None where they are not alike.

    left, right: times, increasing [s], and changes, (N,) each.
    """
    if min(len(left[0]), len(right[0])) < 2:
        return None
    start, end = max(left[0][0], right[0][0]), min(left[0][-1], right[0][-1])
    if end - start < MIN_LENGTH_S:
        return None
    reach = round(min(MAX_OFFSET_S, 0.3 * (end - start)) * RATE_HZ)
    grid = np.arange(start, end, 1.0 / RATE_HZ)
    one, other = (_evened(np.interp(grid, times, np.minimum(c, np.percentile(c, CEILING)))) for times, c in (left, right))
    scores = np.array([_correlation(one, other, shift) for shift in range(-reach, reach + 1)])
    best = int(np.argmax(scores))
    if scores[best] < MIN_CORRELATION or best in (0, len(scores) - 1):
        return None
    before, peak, after = scores[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    return float((best - reach + (0.5 * (before - after) / bend if bend < 0.0 else 0.0)) / RATE_HZ)


def _evened(course: Floats) -> Floats:
    """Even a course of change over a frame's time, so that where frames fall matters less."""
    width = round(0.05 * RATE_HZ)
    return np.convolve(course, np.ones(width) / width, mode="same")


def _correlation(one: Floats, other: Floats, shift: int) -> float:
    """Give how well `other`, taken `shift` samples later, fits on `one`."""
    n = len(one) - abs(shift)
    a, b = (one[:n], other[shift : shift + n]) if shift >= 0 else (one[-shift:], other[:n])
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12))
