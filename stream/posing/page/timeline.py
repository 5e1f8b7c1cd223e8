"""The motion between the keys, made in a thread while the page goes on, and where in it the page is."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor

from config.errors import DuocapError
from config.words import format_count
from reconstruct.posing.protocol import Poser
from stream.posing.document import Document, Keyframe
from stream.posing.motion import Motion, solve_keyframe_motion

log = logging.getLogger(__name__)

# What a motion follows from, its keys, the model and its shares: it is made again when these change.
MotionTask = tuple[tuple[Keyframe, ...], str, tuple[float, ...]]


class Timeline:
    """The newest motion. time_s: of the slider; playing: the motion; used from one thread.

    A motion that is out of date while it is made is thrown away, and the newest keys are next.
    """

    def __init__(self) -> None:
        self.time_s, self.playing = 0.0, False
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="posing-motion")
        self._done: tuple[MotionTask, Motion | None] | None = None
        self._running: tuple[MotionTask, Future[Motion]] | None = None
        self._progress = (0, 1)
        self._fault = ""

    def update(self, document: Document, poser: Poser) -> Motion | None:
        """Return the motion of the keys if it is made; have it made if it is not."""
        task = document.keys, document.model, document.shares
        if self._running is not None and self._running[1].done():
            self._collect(*self._running)
            self._running = None
        if self._done is not None and self._done[0] == task:
            return self._done[1]
        if self._running is None and len(document.keys) > 1:
            self._progress, self._fault = (0, 1), ""
            self._running = task, self._worker.submit(solve_keyframe_motion, document, poser, self._show)
        return None

    def step(self, seconds: float, motion: Motion) -> None:
        """Go on by some time; from the end it begins again."""
        self.time_s += seconds
        if not motion.begin_s <= self.time_s <= motion.end_s:
            self.time_s = motion.begin_s

    def words(self, document: Document, motion: Motion | None) -> str:
        """Return in words which motion can be played."""
        if self._fault:
            return self._fault
        n_keys = len(document.keys)
        if n_keys < 2:
            return f"{format_count(n_keys, 'key')}; two or more make a motion"
        if motion is None:
            return f"making the motion: {100 * self._progress[0] // max(self._progress[1], 1)} %"
        return f"{n_keys} keys, {motion.end_s - motion.begin_s:.2f} s"

    def close(self) -> None:
        """Make no more motions."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _collect(self, task: MotionTask, future: "Future[Motion]") -> None:
        """Take up a motion that is made."""
        try:
            self._done = task, future.result()
        except DuocapError as error:
            self._fault, self._done = str(error), (task, None)
        except Exception:  # a fault of ours must not end the page, which is left without a motion
            log.exception("the motion could not be made")
            self._fault, self._done = "the motion could not be made; see the log", (task, None)

    def _show(self, done: int, total: int) -> None:
        """Note how much is done; called from the thread."""
        self._progress = done, total
