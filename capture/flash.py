"""The time offset between two cameras from a light that is switched on and off, by the mean brightness of their images.

A change of the light between two frames of one camera, and between two of the other, bounds the offset from both sides, by a
frame time each. Where in its bounds it is, the mean of several changes tells: ten of them (five flashes) to 5 ms at 30 Hz. That
is enough to pair the right frames; the rest is learned from the epipolar error.
"""

import numpy as np
from numpy.typing import NDArray

from capture.jump import Course, FoundOffset
from capture.packets import Floats

LEAST_LEVELS, NOISE_TIMES = 6.0, 8.0  # a change that counts: grey levels of 255, and so many usual ones
JITTER_S = 0.002  # of stamps
MAX_EDGES = 40


def light_changes(course: Course) -> tuple[NDArray[np.int64], Floats]:
    """Give the frames in which the light begins to change, and by how much: rising positive. course: brightness, (N, 1)."""
    step = np.diff(course.value[:, 0])
    least = max(LEAST_LEVELS, NOISE_TIMES * 1.4826 * float(np.median(np.abs(step)))) if len(step) else LEAST_LEVELS
    sign = np.where(np.abs(step) > least, np.sign(step), 0.0)
    # A shutter that is open while the light goes on shows half of it: the next frame's step is the same change.
    begins = (sign != 0.0) & (np.concatenate([[0.0], sign[:-1]]) != sign)
    at = np.flatnonzero(begins)[:MAX_EDGES]
    return at + 1, sign[at]


def flash_offset(left: Course, right: Course, max_lag_s: float = 0.5) -> FoundOffset | None:
    """Give the offset that explains the most changes of the light in both views; None where no two agree.

    At least two changes must be seen by both. The answer is the mean of all, within the bounds of each unless stamps jitter by
    more than JITTER_S. With shutters that keep their phase a change falls into one of two pairs of frames, hence a standard
    deviation of half a frame at most.
    """
    frames, signs = zip(*(light_changes(course) for course in (left, right)), strict=True)
    frame_s = _frame_s(left, right)
    pairs = _agreeing(left.t_s[frames[0]], signs[0], right.t_s[frames[1]], signs[1], max_lag_s, frame_s)
    if len(pairs) < 2:
        return None
    i, j = frames[0][[a for a, _ in pairs]], frames[1][[b for _, b in pairs]]
    low, high = right.t_s[j - 1] - left.t_s[i], right.t_s[j] - left.t_s[i - 1]
    mean_s, sigma_s = float(np.mean(0.5 * (low + high))), 0.5 * frame_s / np.sqrt(len(pairs))
    bounds = float(low.max()) - JITTER_S, float(high.min()) + JITTER_S
    if bounds[0] < bounds[1]:
        mean_s, sigma_s = float(np.clip(mean_s, *bounds)), min(sigma_s, (bounds[1] - bounds[0]) / np.sqrt(12.0))
    return FoundOffset(mean_s, float(sigma_s))


def _frame_s(left: Course, right: Course) -> float:
    """Give the frame time of the slower camera."""
    return max((float(np.median(np.diff(course.t_s))) for course in (left, right) if len(course.t_s) > 1), default=0.04)


def _agreeing(
    left_s: Floats, left_sign: Floats, right_s: Floats, right_sign: Floats, max_lag_s: float, frame_s: float
) -> list[tuple[int, int]]:
    """Give pairs of changes (left, right) that one lag explains: of the lags with most of them the smallest."""
    best: list[tuple[int, int]] = []
    lags = sorted((b - a for a in left_s for b in right_s if abs(b - a) <= max_lag_s), key=abs)
    for lag in lags:
        found, used = [], -1
        for a in range(len(left_s)):
            near = [
                b
                for b in range(used + 1, len(right_s))
                if right_sign[b] == left_sign[a] and abs(right_s[b] - left_s[a] - lag) < 1.2 * frame_s
            ]
            if near:
                used = min(near, key=lambda b: abs(right_s[b] - left_s[a] - lag))
                found.append((a, used))
        if len(found) > len(best):
            best = found
    return best
