"""Replay a recorded session: the reconstruction is given once more what it was given live, and gives the same poses.

What it is given comes from the journal in the session's take, turn by turn, or from the session's videos through the detectors.
"""

from collections.abc import Callable, Iterable

from capture.clock import now_ns
from capture.control import Order
from capture.packets import MarkerFrame, PairedBlobs
from config.errors import DuocapError
from reconstruct.journal import Turn
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose
from reconstruct.process import obey
from reconstruct.reconstruction import Reconstruction
from reconstruct.style.task import Learned
from stream.recording import Recording
from tools.live import open_book
from tools.replay import ReplayResult, Sink, note
from tools.replay_given import Given, in_time
from tools.replay_opening import Session
from tools.replay_styles import ReplayStyles
from tools.replay_verdict import Repeated, Verdict
from tools.run_orders import SKEW_SHARE

Progress = Callable[[int, int | None], None]


class NotingPipeline(Pipeline):
    """A pipeline that hands every pose on, with the markers it was made from."""

    noted: Callable[[Pose, MarkerFrame | None], None] | None = None

    def step(self, pair: PairedBlobs) -> Pose:
        """Give the pose of one pair."""
        pose = super().step(pair)
        if self.noted is not None:
            self.noted(pose, self.markers)
        return pose


def replay_session(
    session: Session,
    parts: Iterable[tuple[Iterable[Given], Recording | None]],
    *,
    sink: Sink | None = None,
    realtime: bool = False,
    progress: Progress = lambda done, total: None,
) -> tuple[ReplayResult, Verdict]:
    """Give a session's reconstruction what it was given; each part begins anew, as after a restart.

    parts: what is given, and the take to compare with, if any.
    """
    result, verdict = ReplayResult(), Verdict()
    pipeline = NotingPipeline(session.rig, session.subject, session.database, session.settings, clock=now_ns)
    pipeline.warm()
    begun_ns = now_ns()
    pipeline.noted = lambda pose, markers: note(result, pose, markers, session.subject, session.rig)
    budget_ns = session.info.budget_ns or round(SKEW_SHARE * 1e9 / min(camera.fps or 60.0 for camera in session.info.cameras))
    for given, recorded in parts:
        pipeline.forget()
        repeated = Repeated(session, recorded, sink, verdict)
        book = open_book(pipeline, session.style)
        run = Reconstruction(pipeline, repeated, budget_ns, session.settings.time, book)
        with ReplayStyles(book) as styles:
            for one in in_time(given, realtime):
                _give(one, run, repeated, styles, verdict)
                if recorded is None and isinstance(one, Turn) and (learned := styles.turn(one.t_ns)) is not None:
                    run.take_style(learned, one.t_ns)
                progress(len(result.poses), verdict.n_recorded or None)
            result.style = styles.last()
    result.wall_s = (now_ns() - begun_ns) * 1e-9
    if not result.poses:
        raise DuocapError(f"{session.folder}: no two pictures of one moment were recorded; there is nothing to replay")
    return result, verdict


def _give(one: Given, run: Reconstruction, repeated: Repeated, styles: ReplayStyles, verdict: Verdict) -> None:
    """Give the reconstruction one thing of what it was given live."""
    if isinstance(one, Turn):
        run.turn(list(one.received), one.t_ns)
        repeated.serve(now_ns())
    elif isinstance(one, Order):
        obey(one, run, repeated)
    elif isinstance(one, Learned):
        _take_style(one, run, styles)
    else:
        verdict.gaps.append(f"not all was recorded: {one.text}; poses after that may be others")


def _take_style(learned: Learned, run: Reconstruction, styles: ReplayStyles) -> None:
    """Use what was learned live; where the poses are others by now, as with other settings, learn of these instead."""
    if not run.take_style(learned, now_ns()) and (anew := styles.anew()) is not None:
        run.take_style(anew, now_ns())
