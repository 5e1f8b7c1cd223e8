"""The styles of a replay: learned in a thread beside it, and in use a fixed time of the recording later.

So the poses of a replay do not hang on how fast the machine is. What a live run learned is in its journal and not learned again,
unless the poses are others by now, as with other settings.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from capture.clock import now_ns
from reconstruct.models.style.learn.train import fit_style
from reconstruct.models.style.model import Style, StyleError
from reconstruct.models.style.session import SessionStyle
from reconstruct.models.style.task import LearnedStyle, LearnTask, extract_learned_part
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose
from tools.run.factories import open_session_style

DELAY_NS = 2_000_000_000  # of the recording; learning takes a second or five


class _EndedError(Exception):
    """Nobody waits for what is being learned any more."""


class ReplayStyles:
    """Learns the tasks of a session style, None for none; use it as a context manager, in one thread."""

    def __init__(self, session_style: SessionStyle | None) -> None:
        self._session_style = session_style
        self._worker = ThreadPoolExecutor(1, "style")
        self._future: Future[LearnedStyle | None] | None = None
        self._begun_ns, self._ended = 0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended = True
        self._worker.shutdown(wait=True, cancel_futures=True)

    def turn(self, t_ns: int) -> LearnedStyle | None:
        """Begin to learn if there is a task, at time t_ns of the recording; return the style begun DELAY_NS ago, once."""
        task = None if self._session_style is None else self._session_style.task()
        if task is not None:
            self._future, self._begun_ns = self._worker.submit(self._learned, task), t_ns
        if self._future is None or 0 <= t_ns - self._begun_ns < DELAY_NS:
            return None
        return self.rest()

    def rest(self) -> LearnedStyle | None:
        """Return the style that is still being learned, at the end of a recording; waits for it."""
        future, self._future = self._future, None
        return None if future is None else future.result()

    def anew(self) -> LearnedStyle | None:
        """Learn the pending task; waits for it."""
        pending = None if self._session_style is None else self._session_style.pending
        return None if pending is None else self._learned(pending)

    def last(self) -> Style | None:
        """Return the style at the end of a recording, also one that was still being learned."""
        learned = self.rest()
        if self._session_style is None:
            return None
        return (None if learned is None else self._session_style.take(learned)) or self._session_style.style

    def _learned(self, task: LearnTask) -> LearnedStyle | None:
        """Learn one task, from the last style if there is one; None for what no style can be learned of."""
        begun_ns = now_ns()
        last: Style | None = None if self._session_style is None else self._session_style.style
        try:
            style = fit_style(task.poses, task.skeleton, task.name, task.options, self._go_on, last)
            return extract_learned_part(task, style, 1e-9 * (now_ns() - begun_ns))
        except (StyleError, _EndedError):
            return None

    def _go_on(self, done: int, total: int, value: float) -> None:
        """Raise _EndedError once nobody waits any more."""
        if self._ended:
            raise _EndedError


class PipelineStyles(ReplayStyles):
    """The styles of a pipeline that is stepped on without a reconstruction around it."""

    def __init__(self, pipeline: Pipeline, session_style: SessionStyle | None) -> None:
        super().__init__(session_style)
        self._pipeline = pipeline
        if session_style is not None and session_style.style is not None:
            pipeline.take_style(session_style.style)

    def step(self, pose: Pose) -> None:
        """Take a pose that was made; let the pipeline use the style begun DELAY_NS ago."""
        if self._session_style is None:
            return
        self._session_style.add(pose)
        learned = self.turn(pose.t_capture_ns)
        style = None if learned is None else self._session_style.take(learned)
        if style is not None:
            self._pipeline.take_style(style)


def open_styles(pipeline: Pipeline, style: Path | None) -> PipelineStyles:
    """Return the styles of a replay. style: a file to begin with. Raises StyleError."""
    return PipelineStyles(pipeline, open_session_style(pipeline, style))
