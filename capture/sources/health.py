"""The health of a camera by its images: frozen, black, overexposed, slow, uneven, too many blobs, a change of light.

Cheap enough for every frame. Time comes from the frames. A condition must last before it is reported, and be gone for a while
before it is cleared.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.notices import NoticeLog
from capture.packets import Blobs, Frame
from config.units import NS_PER_S

SAMPLE_STEP = 16  # every 16th pixel is looked at
FROZEN_NS = 400_000_000
FROZEN_FRAMES = 6  # some cameras send an image twice now and then
REOPEN_NS = 4_000_000_000  # frozen for so long: the camera is opened again, later ever less often
MAX_REOPEN_NS = 64_000_000_000
BLACK_PEAK = 24  # grey levels: what noise lifts single pixels to behind a lens cap
WHITE = 250
WHITE_SHARE = 0.4  # of the image: a window is less
MAX_BLOBS_USUAL = 60  # two performers and a few reflections
LIGHT_STEP, LIGHT_SHARE = 12.0, 0.25  # change of the mean brightness [levels], and as a share of it, by a lamp
SLOW_SHARE = 0.72  # of the announced rate
UNEVEN_SHARE = 0.45  # mean deviation of the frame intervals, as a share of their mean
TIME_JUMP_NS = 1_500_000_000
RATE_FRAMES = 128
RATE_NS = 2 * NS_PER_S
CHECK_NS = NS_PER_S // 4  # between two checks of the slow conditions

# Condition: notice when it is cleared, and for how long it must last before it is reported and cleared [ns]; worst first.
CONDITIONS = {
    "frozen": ("its pictures move again", NS_PER_S // 2, NS_PER_S // 2),
    "black": ("there is light again", NS_PER_S // 2, NS_PER_S // 2),
    "overexposed": ("the picture is no longer white", NS_PER_S // 2, NS_PER_S // 2),
    "slow": ("its pictures come at their rate again", 2 * NS_PER_S, 4 * NS_PER_S),
    "uneven": ("its pictures come evenly again", 5 * NS_PER_S, 10 * NS_PER_S),
    "flooded": ("the spots are gone", 2 * NS_PER_S, 3 * NS_PER_S),
}


@dataclass(slots=True)
class HealthCondition:
    """A condition that goes on after it was seen for on_ns, and off after it was not seen for off_ns. text: for the user."""

    on_ns: int
    off_ns: int
    on: bool = False
    text: str = ""
    _since_ns: int | None = None
    _seen: bool = False

    def step(self, seen: bool, t_ns: int, text: str = "") -> bool:
        """Take what is seen now; return whether the condition went on or off.

        Args:
            seen: it is seen now.
            text: for the user.
        """
        if seen:
            self.text = text
        if self._since_ns is None or seen != self._seen or t_ns < self._since_ns:
            self._seen, self._since_ns = seen, t_ns
        if seen != self.on and t_ns - self._since_ns >= (self.on_ns if seen else self.off_ns):
            self.on = seen
            return True
        return False


class Health:
    """The health of one camera. Call `check_repeat` before and `check_blobs` after the detection of each frame.

    name: of the camera; fps: as announced, may change; message: what is wrong now, worst first, empty when all is well.
    """

    def __init__(self, name: str, fps: float, notices: NoticeLog) -> None:
        self._name, self.fps, self._notices = name, fps, notices
        self._conditions = {key: HealthCondition(on_ns, off_ns) for key, (_, on_ns, off_ns) in CONDITIONS.items()}
        self._last: Frame | None = None
        self._n_same, self._t_new_ns = 0, 0
        self._reopen_ns, self._reopened_ns = REOPEN_NS, 0
        self._times_ns: deque[int] = deque(maxlen=RATE_FRAMES)
        self._light: float | None = None
        self._check_due_ns = 0
        self._reported: set[str] = set()
        self.message = ""

    def check_repeat(self, frame: Frame) -> bool:
        """Take a frame; return whether its image is new and not the last one again."""
        t_ns, last, self._last = frame.t_capture_ns, self._last, frame
        is_new = last is None or not is_same_image(frame, last)
        if last is not None and not 0 < t_ns - last.t_capture_ns < TIME_JUMP_NS:
            self._times_ns.clear()
        if is_new:
            if self._n_same < FROZEN_FRAMES:
                self._reopen_ns = REOPEN_NS
            self._n_same, self._t_new_ns = 0, t_ns
            self._times_ns.append(t_ns)
        else:
            self._n_same += 1
        return is_new

    def check_blobs(self, frame: Frame, blobs: Blobs) -> None:
        """Take what was detected in the frame; add notices of what changed."""
        t_ns = frame.t_capture_ns
        self._check_light(blobs, t_ns)
        frozen = self._n_same >= FROZEN_FRAMES and t_ns - self._t_new_ns >= FROZEN_NS
        changed = self._conditions["frozen"].step(frozen, t_ns, "the same picture again and again: it is frozen")
        if t_ns >= self._check_due_ns or changed or self._check_due_ns - t_ns > NS_PER_S:  # the last: the clock was set back
            self._check_due_ns = t_ns + CHECK_NS
            self._check_slowly(frame, blobs, t_ns)
            self._report(t_ns)

    def needs_reopening(self, t_ns: int) -> bool:
        """Return, ever less often, whether the image has been frozen for so long that the camera should be opened again."""
        if not self._conditions["frozen"].on or self._conditions["black"].on:
            return False
        if t_ns - max(self._t_new_ns, self._reopened_ns) < self._reopen_ns:
            return False
        self._reopened_ns, self._reopen_ns = t_ns, min(2 * self._reopen_ns, MAX_REOPEN_NS)
        return True

    def _check_slowly(self, frame: Frame, blobs: Blobs, t_ns: int) -> None:
        """Step the conditions that need not be checked in every frame."""
        sample = _sample_pixels(frame.image)
        black = len(blobs) == 0 and int(sample.max()) < BLACK_PEAK
        white = float((sample.min(axis=2) >= WHITE).mean())
        n = len(blobs)
        steps = self._conditions
        steps["black"].step(black, t_ns, "the picture is black: is the lens covered, or the light off?")
        words = f"{white:.0%} of the picture is white: too much light, or too long an exposure"
        steps["overexposed"].step(white > WHITE_SHARE, t_ns, words)
        words = f"{n} spots are taken for markers: reflections, or the background must be learned anew"
        steps["flooded"].step(n > MAX_BLOBS_USUAL, t_ns, words)
        rate_hz, uneven = self._rate(t_ns)
        slow = 0.0 < rate_hz < SLOW_SHARE * self.fps and not steps["frozen"].on
        words = f"{rate_hz:.0f} pictures a second come, {self.fps:.0f} were announced: dim light, a slow cable, or a busy machine"
        steps["slow"].step(slow, t_ns, words)
        words = "its pictures come unevenly: too slow a cable or network, or a busy machine"
        steps["uneven"].step(not slow and uneven > UNEVEN_SHARE, t_ns, words)

    def _rate(self, t_ns: int) -> tuple[float, float]:
        """Return the rate of new images [Hz], and the mean deviation of their intervals as a share; 0 if unknown."""
        recent = np.array([time_ns for time_ns in self._times_ns if t_ns - time_ns <= RATE_NS], float) * 1e-9
        if len(recent) < 4 or recent[-1] - recent[0] < 0.5e-9 * RATE_NS:
            return 0.0, 0.0
        steps = np.diff(recent)
        rate_hz = float(len(steps) / steps.sum())
        return rate_hz, float(np.abs(steps - steps.mean()).mean() * rate_hz)

    def _check_light(self, blobs: Blobs, t_ns: int) -> None:
        """Add a notice when the light changes suddenly; slow changes are usual."""
        if self._light is None:
            self._light = blobs.light
        change = blobs.light - self._light
        if abs(change) > max(LIGHT_STEP, LIGHT_SHARE * self._light):
            words = f"the light changed at once, from {self._light:.0f} to {blobs.light:.0f} of 255"
            self._notices.add("light", f"{self._name} camera: {words}", t_ns)
            self._light = blobs.light
        self._light += 0.1 * (blobs.light - self._light)

    def _report(self, t_ns: int) -> None:
        """Update the message, and add notices of what changed in it."""
        now = {key for key, condition in self._conditions.items() if condition.on}
        if now & {"black", "overexposed"}:
            now.discard("frozen")  # a covered lens gives the same black picture again and again
        self.message = "; ".join(self._conditions[key].text for key in self._conditions if key in now)
        for key in sorted(now - self._reported):
            if self._notices.add(key, f"{self._name} camera: {self._conditions[key].text}", t_ns):
                self._reported.add(key)
        for key in sorted(self._reported - now):
            self._reported.discard(key)
            self._notices.add(f"well-{key}", f"{self._name} camera: {CONDITIONS[key][0]}", t_ns)


def is_same_image(frame: Frame, other: Frame) -> bool:
    """Return whether two frames hold the very same image, which the noise of a working sensor rules out."""
    if frame.jpeg is not None and other.jpeg is not None:
        return frame.jpeg == other.jpeg
    if frame.image is other.image:
        return False  # a source that gives one array again and again says nothing about the camera
    few, others = _sample_pixels(frame.image), _sample_pixels(other.image)
    return few.shape == others.shape and bool((few == others).all()) and np.array_equal(frame.image, other.image)


def _sample_pixels(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return every SAMPLE_STEP-th pixel."""
    return image[::SAMPLE_STEP, ::SAMPLE_STEP]
