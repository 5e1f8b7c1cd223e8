"""Is a camera well? Watched in its pictures: the same ones again and again, black, white, too few, a light switched on.

Cheap enough for every frame. Time comes from the frames' stamps. What is wrong must last before it is told, and be gone for a
while before it is forgotten; the words are for the user.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.news import News
from capture.packets import Blobs, Frame

SAMPLE_STEP = 16  # every so many-th pixel is looked at
FROZEN_NS = 400_000_000
FROZEN_FRAMES = 6  # some cameras send a picture twice now and then
REOPEN_NS = 4_000_000_000  # frozen for so long: opened anew, later ever less often
MAX_REOPEN_NS = 64_000_000_000
BLACK_PEAK = 24  # grey levels: what noise lifts single pixels to behind a lens cap
WHITE = 250
WHITE_SHARE = 0.4  # of the picture: a window is less
MAX_BLOBS_USUAL = 60  # two performers and a few reflections
LIGHT_STEP, LIGHT_SHARE = 12.0, 0.25  # change of the mean brightness [levels], and as a share of it, that is a lamp's
SLOW_SHARE = 0.72  # of the announced rate
UNEVEN_SHARE = 0.45  # of a frame's time: usual departure of the frames' distances
STAMP_JUMP_NS = 1_500_000_000
RATE_FRAMES = 128
RATE_NS = 2_000_000_000
LOOK_NS = 250_000_000  # what changes slowly is looked at so often
S = 1_000_000_000


@dataclass(slots=True)
class Trouble:
    """One thing that may be wrong: on after it was seen for on_ns, off again after it was not seen for off_ns."""

    on_ns: int
    off_ns: int
    on: bool = False
    words: str = ""
    _since_ns: int | None = None
    _seen: bool = False

    def step(self, seen: bool, t_ns: int, words: str = "") -> bool:
        """Take what is seen now; tells whether it went on or off."""
        if seen:
            self.words = words
        if self._since_ns is None or seen != self._seen or t_ns < self._since_ns:
            self._seen, self._since_ns = seen, t_ns
        if seen != self.on and t_ns - self._since_ns >= (self.on_ns if seen else self.off_ns):
            self.on = seen
            return True
        return False


class Health:
    """The health of one camera; `look` before, `saw` after detection of each frame. name: of the camera; fps: as announced.

    words: what is wrong now, worst first, empty when all is well.
    """

    def __init__(self, name: str, fps: float, news: News) -> None:
        self._name, self._fps, self._news = name, fps, news
        self._troubles = {
            "frozen": Trouble(S // 2, S // 2),
            "black": Trouble(S // 2, S // 2),
            "overexposed": Trouble(S // 2, S // 2),
            "slow": Trouble(2 * S, 4 * S),
            "uneven": Trouble(5 * S, 10 * S),
            "flooded": Trouble(2 * S, 3 * S),
        }
        self._last: Frame | None = None
        self._fresh = True
        self._n_same, self._t_fresh_ns = 0, 0
        self._reopen_ns, self._reopened_ns = REOPEN_NS, 0
        self._stamps: deque[int] = deque(maxlen=RATE_FRAMES)
        self._light: float | None = None
        self._look_due_ns = 0
        self._told: set[str] = set()
        self.words = ""

    def look(self, frame: Frame) -> bool:
        """Take a frame; tells whether it is a new picture and not the last one again."""
        t_ns, last, self._last = frame.t_capture_ns, self._last, frame
        self._fresh = last is None or not same_picture(frame, last)
        if last is not None and not 0 < t_ns - last.t_capture_ns < STAMP_JUMP_NS:
            self._stamps.clear()
        if self._fresh:
            if self._n_same < FROZEN_FRAMES:
                self._reopen_ns = REOPEN_NS
            self._n_same, self._t_fresh_ns = 0, t_ns
            self._stamps.append(t_ns)
        else:
            self._n_same += 1
        return self._fresh

    def saw(self, frame: Frame, blobs: Blobs) -> None:
        """Take what was detected in the frame, and say what is news."""
        t_ns = frame.t_capture_ns
        self._watch_light(blobs, t_ns)
        frozen = self._n_same >= FROZEN_FRAMES and t_ns - self._t_fresh_ns >= FROZEN_NS
        changed = self._troubles["frozen"].step(frozen, t_ns, "the same picture again and again: it is frozen")
        if t_ns >= self._look_due_ns or changed or self._look_due_ns - t_ns > S:  # the last: the clock was set back
            self._look_due_ns = t_ns + LOOK_NS
            self._judge(frame, blobs, t_ns)
            self._tell(t_ns)

    def frozen_for_long(self, t_ns: int) -> bool:
        """Tell, ever less often, that a picture has been frozen for so long that the camera is better opened anew."""
        if not self._troubles["frozen"].on or self._troubles["black"].on:
            return False
        if t_ns - max(self._t_fresh_ns, self._reopened_ns) < self._reopen_ns:
            return False
        self._reopened_ns, self._reopen_ns = t_ns, min(2 * self._reopen_ns, MAX_REOPEN_NS)
        return True

    def _judge(self, frame: Frame, blobs: Blobs, t_ns: int) -> None:
        """Look for all that is wrong for longer than a moment."""
        sample = frame.image[::SAMPLE_STEP, ::SAMPLE_STEP]
        black = len(blobs) == 0 and int(sample.max()) < BLACK_PEAK
        white = float((sample.min(axis=2) >= WHITE).mean())
        n = len(blobs)
        steps = self._troubles
        steps["black"].step(black, t_ns, "the picture is black: is the lens covered, or the light off?")
        words = f"{white:.0%} of the picture is white: too much light, or too long an exposure"
        steps["overexposed"].step(white > WHITE_SHARE, t_ns, words)
        words = f"{n} spots are taken for markers: reflections, or the background must be learned anew"
        steps["flooded"].step(n > MAX_BLOBS_USUAL, t_ns, words)
        rate_hz, uneven = self._rate(t_ns)
        slow = 0.0 < rate_hz < SLOW_SHARE * self._fps and not steps["frozen"].on
        words = f"{rate_hz:.0f} pictures a second come, {self._fps:.0f} were announced: dim light, or too slow a cable"
        steps["slow"].step(slow, t_ns, words)
        words = "its pictures come unevenly: too slow a cable or network, or a busy machine"
        steps["uneven"].step(not slow and uneven > UNEVEN_SHARE, t_ns, words)

    def _rate(self, t_ns: int) -> tuple[float, float]:
        """Give how many new pictures came a second lately, and how uneven their distances are, as a share; 0 if unknown."""
        recent = np.array([stamp for stamp in self._stamps if t_ns - stamp <= RATE_NS], float) * 1e-9
        if len(recent) < 4 or recent[-1] - recent[0] < 0.5e-9 * RATE_NS:
            return 0.0, 0.0
        steps = np.diff(recent)
        rate_hz = float(len(steps) / steps.sum())
        return rate_hz, float(np.abs(steps - steps.mean()).mean() * rate_hz)

    def _watch_light(self, blobs: Blobs, t_ns: int) -> None:
        """Say when the light changed at once; what follows slowly is usual."""
        if self._light is None:
            self._light = blobs.light
        change = blobs.light - self._light
        if abs(change) > max(LIGHT_STEP, LIGHT_SHARE * self._light):
            words = f"the light changed at once, from {self._light:.0f} to {blobs.light:.0f} of 255"
            self._news.say("light", f"{self._name} camera: {words}", t_ns)
            self._light = blobs.light
        self._light += 0.1 * (blobs.light - self._light)

    def _tell(self, t_ns: int) -> None:
        """Put what is wrong now into words, and tell what is new in it."""
        now = {key for key, trouble in self._troubles.items() if trouble.on}
        if now & {"black", "overexposed"}:
            now.discard("frozen")  # a covered lens gives the same black picture again and again
        self.words = "; ".join(self._troubles[key].words for key in self._troubles if key in now)
        for key in sorted(now - self._told):
            if self._news.say(key, f"{self._name} camera: {self._troubles[key].words}", t_ns):
                self._told.add(key)
        for key in sorted(self._told - now):
            self._told.discard(key)
            self._news.say(f"well-{key}", f"{self._name} camera: {WELL[key]}", t_ns)


WELL = {
    "frozen": "its pictures move again",
    "black": "there is light again",
    "overexposed": "the picture is no longer white",
    "slow": "its pictures come at their rate again",
    "uneven": "its pictures come evenly again",
    "flooded": "the spots are gone",
}


def same_picture(frame: Frame, other: Frame) -> bool:
    """Tell whether two frames show the very same picture, as no living sensor gives it: noise alone would tell them apart."""
    if frame.jpeg is not None and other.jpeg is not None:
        return frame.jpeg == other.jpeg
    if frame.image is other.image:
        return False  # a source that gives one array again and again tells nothing of the camera
    few, others = _sample(frame.image), _sample(other.image)
    return few.shape == others.shape and bool((few == others).all()) and np.array_equal(frame.image, other.image)


def _sample(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give some of the pixels, in which noise shows at once."""
    return image[::SAMPLE_STEP, ::SAMPLE_STEP]
