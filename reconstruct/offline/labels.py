"""Labels of a recorded take: the tracker of live capture with more hypotheses, and the path of the likeliest at the end.

So what a later frame tells decides the labels of those before it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame, Views
from capture.stereo.matching import match
from config.settings import Settings
from reconstruct.history import BodyState
from reconstruct.labelling.monocular import ViewAcquirer
from reconstruct.search.examples import PoseTable, root_rotvec
from reconstruct.search.index import search_index
from reconstruct.track.acquisition import Acquirer
from reconstruct.track.estimator import Estimator
from reconstruct.track.hypotheses import Hypothesis
from reconstruct.track.paths import Paths, find_parents
from reconstruct.track.tracker import Tracker

BEAM, BRANCH, HOPELESS = 12, 12.0, 30.0  # as `LabelSettings`, of recorded takes


@dataclass(frozen=True, slots=True)
class Labelled:
    """A frame with labels and the pose that was found with them."""

    frame: MarkerFrame
    state: BodyState


class PathTracker:
    """Tracks a take frame after frame and remembers the path of every hypothesis that is followed."""

    def __init__(self, rig: Rig, subject: Subject, database: PoseTable, settings: Settings) -> None:
        label = replace(settings.label, beam=BEAM, branch=BRANCH, hopeless=HOPELESS)
        self._rig, self._match = rig, settings.match
        index = search_index(subject, database)
        estimator = Estimator(subject, index.examples, rig, settings.solve, index.search())
        acquirer = Acquirer(subject, index.examples, estimator, settings.solve, root_rotvec(database), rig.middle_m)
        view_acquirer = ViewAcquirer(subject, index.examples)
        self._tracker = Tracker(subject, estimator, acquirer, view_acquirer, replace(settings, label=label))
        self.paths = Paths[Labelled | None]()

    def step(self, views: Views) -> None:
        """Follow all hypotheses to the next frame."""
        tracker = self._tracker
        expected, before = tracker.expect(views.t_capture_ns), tracker.hypotheses
        points = match(views, self._rig, self._match, expected[0].point_m if expected else None)
        after = tracker.step(views, points, expected).hypotheses
        self.paths.follow(find_parents(before, after) or [None], [_labelled(each) for each in after] or [None])


def _labelled(hypothesis: Hypothesis) -> Labelled:
    """Return what is kept of a hypothesis."""
    assert hypothesis.frame is not None
    return Labelled(hypothesis.frame, hypothesis.belief.state)


def label_take(
    views: Sequence[Views],
    rig: Rig,
    subject: Subject,
    database: PoseTable,
    settings: Settings,
    progress: Callable[[int], None] = lambda done: None,
) -> Sequence[Labelled | None]:
    """Return the labels and poses of consecutive frames, decided with all that comes after; None where nobody was followed.

    Args:
        views: of all frames, without false detections.
        rig: in the world of the take.
        subject: whom they show.
        database: poses.
        settings: of the run.
        progress: is told how many frames are done.
    """
    tracker = PathTracker(rig, subject, database, settings)
    for n, each in enumerate(views):
        tracker.step(each)
        progress(n + 1)
    return tracker.paths.likeliest
