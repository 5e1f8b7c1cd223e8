"""The T-pose that was held: found in what the cameras see, live or in a recording, as nobody has to say when it was."""

from collections import deque
from collections.abc import Callable

import numpy as np

from calibration.camera import Rig
from calibration.guidance.advice import Advice
from calibration.guidance.subject import COME_IN, HOLD_NS, WINDOW_NS, SubjectGuide, UnlabelledPoints
from capture.packets import Views
from capture.recording.recording import CaptureRecording
from capture.stereo.matching import add_rig_error, match
from config.errors import CalibrationError
from config.settings import MatchSettings
from tools.calibrate.session import Window
from tools.progress import Progress, ignore_progress

LOOK_NS = 100_000_000  # between two looks at the pose
MAX_PAIRS = 2000


class HeldPose:
    """Views while a pose is held.

    Args:
        guide: says whether a pose is good.
        rig: the cameras.
        match_settings: how their points are matched.
    Attributes:
        pairs: the views since the pose began.
        advice: what the guide said last.
    """

    def __init__(self, guide: SubjectGuide, rig: Rig, match_settings: MatchSettings) -> None:
        self.guide, self._rig, self._match = guide, rig, match_settings
        self.pairs: deque[Views] = deque(maxlen=MAX_PAIRS)
        self.advice = Advice(COME_IN)
        self._look_due_ns = 0

    def add(self, pair: Views) -> None:
        """Keep a pair of views while the pose is held, and look at the pose now and then."""
        t_ns = pair.t_capture_ns
        self.pairs.append(pair)
        if 0 < self._look_due_ns - t_ns <= LOOK_NS:
            return
        self._look_due_ns = t_ns + LOOK_NS
        points = match(add_rig_error(pair, 0.0), self._rig, self._match, None)
        lone = tuple(pair[c].points_px[single] for c, single in enumerate(points.single))
        shared = (points.blob >= 0).sum(axis=1).tolist()
        n_spots = tuple(n + len(spots) for n, spots in zip(shared, lone, strict=True))
        self.advice = self.guide.add(UnlabelledPoints(t_ns, np.asarray(points.point_m), lone, n_spots))
        since_ns = self.guide.since_ns
        while self.pairs and (since_ns is None or self.pairs[0].t_capture_ns < since_ns):
            self.pairs.popleft()

    def list_pairs(self, what_next: str) -> list[Views]:
        """Return the views of the time in which the pose was held. Raises CalibrationError: it was not, why, and what to do."""
        if not self.guide.done:
            held_s = HOLD_NS * 1e-9
            raise CalibrationError(
                f"no T-pose was held for {held_s:.0f} s; the last advice was: {self.advice.words}; {what_next}"
            )
        return list(self.pairs)


def find_held_tpose(
    recording: CaptureRecording, make_held: Callable[[], HeldPose], progress: Progress = ignore_progress
) -> Window:
    """Return from when to when the first T-pose of a recording is held [s], or the longest that the guide saw a little too late:
    it sees only after a while that somebody stands still. Raises CalibrationError: none is.
    """
    held = make_held()
    begin_ns = end_ns = 0
    for n, (pair, _, _) in enumerate(recording.pairs()):
        progress(n + 1, recording.n_frames)
        held.add(pair)
        if held.guide.done:
            break
        if held.advice.good and pair.t_capture_ns - held.pairs[0].t_capture_ns > end_ns - begin_ns:
            begin_ns, end_ns = held.pairs[0].t_capture_ns, pair.t_capture_ns
    if not held.guide.done and end_ns - begin_ns >= HOLD_NS - WINDOW_NS:
        return begin_ns * 1e-9, end_ns * 1e-9
    still = "; who stands still for most of a video becomes its background: --background S:S"
    learned = recording.backgrounds is not None and recording.spec.background_s is None
    what_next = "say when one was, --from S --to S, or record one: facing the first two cameras"
    pairs = held.list_pairs(what_next + still * learned)
    return pairs[0].t_capture_ns * 1e-9, pairs[-1].t_capture_ns * 1e-9
