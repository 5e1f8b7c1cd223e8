"""Replay a recorded session: the reconstruction is given once more what it was given live, and gives the same poses.

What it is given comes from the journal in the session's take, turn by turn, or from the session's videos through the detectors.
"""

from collections.abc import Callable, Iterable

from calibration.world import place_rig_in_world
from capture.clock import now_ns
from capture.packets import Views
from capture.process.control import Order
from config.errors import DuocapError
from reconstruct.models.style.task import LearnedStyle
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose
from reconstruct.process.journal import JournalTurn
from reconstruct.process.main import follow_order
from reconstruct.process.reconstruction import Reconstruction
from stream.recording.recording import Recording
from tools.progress import Progress, ignore_progress
from tools.replay.given import Given, wait_in_real_time
from tools.replay.opening import OpenedSession
from tools.replay.replay import PoseSink, ReplayResult, record_pose
from tools.replay.styles import ReplayStyles
from tools.replay.verify import VerifyingSink, VerifyResult
from tools.run.factories import open_session_style
from tools.run.orders import SKEW_SHARE


class ObservedPipeline(Pipeline):
    """A pipeline that hands every pose on, with the labels it was made from."""

    noted: Callable[[Pose], None] | None = None

    def step(self, pair: Views) -> Pose:
        """Return the pose of one pair."""
        pose = super().step(pair)
        if self.noted is not None:
            self.noted(pose)
        return pose


def replay_session(
    session: OpenedSession,
    parts: Iterable[tuple[Iterable[Given], Recording | None]],
    *,
    sink: PoseSink | None = None,
    realtime: bool = False,
    progress: Progress = ignore_progress,
) -> tuple[ReplayResult, VerifyResult]:
    """Replay the input of a session's reconstruction; each part begins anew, as after a restart.

    Args:
        session: opened session with its files and settings.
        parts: input of each part, and the take to compare with, if any.
        sink: receives the poses.
        realtime: whether the replay runs at the speed of the recording.
        progress: called with the amount done and the whole amount.
    """
    rig = place_rig_in_world(session.rig, session.subject.world)
    pipeline = ObservedPipeline(rig, session.subject, session.database, session.settings, clock=now_ns)
    result, verdict = ReplayResult(pipeline.rig), VerifyResult()
    pipeline.warm()
    begun_ns = now_ns()
    pipeline.noted = lambda pose: record_pose(result, pose, pipeline)
    budget_ns = session.info.budget_ns or round(SKEW_SHARE * 1e9 / min(camera.fps or 60.0 for camera in session.info.cameras))
    for given, recorded in parts:
        pipeline.forget()
        repeated = VerifyingSink(session, recorded, sink, verdict)
        session_style = open_session_style(pipeline, session.style)
        run = Reconstruction(pipeline, repeated, budget_ns, session.settings.time, session_style)
        with ReplayStyles(session_style) as styles:
            for one in wait_in_real_time(given, realtime):
                _feed_reconstruction(one, run, repeated, styles, verdict)
                if recorded is None and isinstance(one, JournalTurn) and (learned := styles.turn(one.t_ns)) is not None:
                    run.take_style(learned, one.t_ns)
                progress(len(result.poses), verdict.n_recorded or None)
            result.style = styles.last()
    result.wall_s = (now_ns() - begun_ns) * 1e-9
    if not result.poses:
        raise DuocapError(f"{session.folder}: no two pictures of one moment were recorded; there is nothing to replay")
    return result, verdict


def _feed_reconstruction(
    one: Given, run: Reconstruction, repeated: VerifyingSink, styles: ReplayStyles, verdict: VerifyResult
) -> None:
    """Return the reconstruction one thing of what it was given live."""
    if isinstance(one, JournalTurn):
        run.turn(list(one.received), one.t_ns)
        repeated.serve(now_ns())
    elif isinstance(one, Order):
        follow_order(one, run, repeated)
    elif isinstance(one, LearnedStyle):
        # Where the poses are others by now, as with other settings, a style of these is learned instead.
        if not run.take_style(one, now_ns()) and (anew := styles.anew()) is not None:
            run.take_style(anew, now_ns())
    else:
        verdict.gaps.append(f"not all was recorded: {one.text}; poses after that may be others")
