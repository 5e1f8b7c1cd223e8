"""Hypotheses: what may be true of the performer, each with labels and poses of its own, and how likely each is.

Where it is open which point is which marker, a hypothesis goes on as several; the frames that follow tell them apart by their
evidence (multiple hypothesis tracking; Reid 1979). Those with equal labels and poses are merged, those that are far less likely
than the best are dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame, Points, Views
from config.arrays import Bools, Floats, Ints
from config.settings import LabelSettings
from database.geometry.rigid import RigidMotion
from reconstruct.track.association import Association, ExpectedMarkers, associate
from reconstruct.track.belief import Belief, predict_points
from reconstruct.track.estimator import Estimate, Estimator, EstimatorMemory
from reconstruct.track.landmarks import doubt_landmarks, place_landmarks, rank_exchanges

UNUSUAL = 5.0  # misfit of a marker beyond which a pose is less sure, and a body is sought anywhere
LEFT_OVER = 5.0  # misfit of a point without a marker while a marker has none
FADING = 0.94  # share of the score that is left after a frame: what a pose explains badly it does so for many frames
SAME_M = 0.03  # hypotheses of equal labels with all markers nearer than this are one
LASTING, FORGET = 0.1, 0.97  # share of a marker's residual that is learned, and kept, in a frame
MAX_LASTING_M = 0.04


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A hypothesis after a frame: a belief and labels.

    Attributes:
        memory: memory that the next frame is solved from.
        score: ln of its probability, up to a constant of all.
        seen: markers that the last frame with any shows, (M,).
        lasting_m: residuals that markers keep, (M, 3) [m].
        frame, estimate: the last, None where nothing was seen.
        exchanged: what the landmarks of each view have exchanged, (V,) or none (0,).
    """

    memory: EstimatorMemory
    score: float
    seen: Bools
    lasting_m: Floats
    frame: MarkerFrame
    estimate: Estimate | None
    exchanged: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def belief(self) -> Belief:
        """Its belief about pose and velocity."""
        assert self.memory.belief is not None
        return self.memory.belief

    def moved(self, motion: RigidMotion) -> "Hypothesis":
        """Return the hypothesis in a world that is moved."""
        memory = replace(self.memory, belief=self.belief.moved(motion))
        return replace(self, memory=memory, lasting_m=self.lasting_m @ motion.rotation.T)


@dataclass(frozen=True, slots=True)
class Branch:
    """One way a hypothesis may go on: its association, the estimate solved from it, and the score with both."""

    origin: Hypothesis
    association: Association
    estimate: Estimate
    score: float


def predict_markers(hypothesis: Hypothesis, t_ns: int, estimator: Estimator, s: LabelSettings) -> ExpectedMarkers:
    """Return where a hypothesis expects the markers at a time."""
    estimator.memory = hypothesis.memory
    predicted, subject = estimator.predict_belief(t_ns), estimator.subject
    assert predicted is not None
    point_m, covariance = predict_points(predicted, subject.skeleton, subject.joint, subject.offset_m)
    seen = np.where(hypothesis.seen, s.stays_seen, s.seen_again)
    seconds = (t_ns - hypothesis.belief.state.t_ns) * 1e-9
    share = estimator.compute_landmark_share(seconds)
    return ExpectedMarkers(point_m + hypothesis.lasting_m, covariance, seen, estimator.limb_orders, seconds, share)


def track(
    hypotheses: Sequence[Hypothesis],
    expected: Sequence[ExpectedMarkers],
    views: Views,
    points: Points,
    rig: Rig,
    estimator: Estimator,
    s: LabelSettings,
) -> list[Hypothesis]:
    """Return the hypotheses after a moment, the likeliest first; none where none explains it."""
    found = [
        associate_all(each, views, points, rig, markers, estimator, s) for each, markers in zip(hypotheses, expected, strict=True)
    ]
    first = [(each, ways[0]) for each, ways in zip(hypotheses, found, strict=True)]
    if len(first) == len(found[0]) == 1:
        return [follow_branch(branch, estimator) for branch in solve_branch(*first[0], estimator, alone=True)]
    branches = [branch for each, way in first for branch in solve_branch(each, way, estimator)]
    others = [(each, way) for each, ways in zip(hypotheses, found, strict=True) for way in ways[1:]]
    others.sort(key=lambda other: other[1].likeliness - other[0].score)
    for each, way in others[: s.beam]:
        branches += solve_branch(each, way, estimator)
    branches.sort(key=lambda branch: -branch.score)
    return [follow_branch(branch, estimator) for branch in select_distinct_branches(branches, estimator.subject.markers.worn, s)]


def associate_all(
    hypothesis: Hypothesis,
    views: Views,
    points: Points,
    rig: Rig,
    expected: ExpectedMarkers,
    estimator: Estimator,
    s: LabelSettings,
) -> list[Association]:
    """Return the likeliest ways to label a moment, with what the landmarks of each view may have exchanged; the best first.

    Args:
        hypothesis: that expects the markers.
        views: what the cameras saw at one time.
        points: of the views.
        rig: the cameras.
        expected: markers as they are expected.
        estimator: of the subject.
        s: settings of labels.
    """
    markers = estimator.subject.markers
    if markers.worn.all():
        return associate(views, points, rig, expected, s, s.beam)
    ways = associate(views, points, rig, expected.only(markers.worn), s, s.beam)
    before = hypothesis.exchanged if len(hypothesis.exchanged) else np.zeros(len(views), np.int64)
    exchanges = rank_exchanges(views, rig, markers, expected, before, s)
    found = []
    for way in ways:
        for each in exchanges:
            frame = place_landmarks(way.frame, views, rig, markers, expected.point_m, each.states, s)
            frame = doubt_landmarks(frame, views, rig, markers, expected, each.states, s)
            likeliness = way.likeliness + each.likeliness
            found.append(Association(way.point, frame, way.cost + each.cost, likeliness, each.states))
    return sorted(found, key=lambda way: way.likeliness)[: s.beam]


def solve_branch(origin: Hypothesis, association: Association, estimator: Estimator, alone: bool = False) -> list[Branch]:
    """Return the way a hypothesis goes on with an association, none where that has no pose.

    Args:
        origin, association: the hypothesis, and its labels of a frame.
        estimator: solves the frame.
        alone: whether there is no other way, which it would be weighed against: its score stays as it is.
    """
    estimator.memory = origin.memory
    estimate = estimator.estimate(association.frame)
    if estimate is None or not np.isfinite(estimate.marker_m).all():
        return []
    if alone:
        return [Branch(origin, association, estimate, origin.score)]
    gained = estimator.log_evidence(estimate) - association.cost
    return [Branch(origin, association, estimate, FADING * origin.score + gained)]


def select_distinct_branches(branches: Sequence[Branch], worn: Bools, s: LabelSettings) -> list[Branch]:
    """Return the likeliest of the branches, given the likeliest first, no two with equal labels of what is worn and pose."""
    kept = list[Branch]()
    for branch in branches:
        if len(kept) == s.beam or branch.score < branches[0].score - s.hopeless:
            break
        if not any(_are_alike(branch, other, worn) for other in kept):
            kept.append(branch)
    return kept


def _are_alike(first: Branch, second: Branch, worn: Bools) -> bool:
    """Return whether two branches have the same labels of what is worn, (M,), and nearly the same pose."""
    one, other = first.association.frame, second.association.frame
    if not np.array_equal(one.seen[:, worn], other.seen[:, worn]):
        return False
    if not np.array_equal(one.image_px[:, worn], other.image_px[:, worn]):
        return False
    apart2 = ((first.estimate.marker_m - second.estimate.marker_m) ** 2).sum(axis=1)
    return bool(apart2.max() < SAME_M**2)


def follow_branch(branch: Branch, estimator: Estimator) -> Hypothesis:
    """Return the hypothesis after a branch's frame."""
    frame, estimate, origin = branch.association.frame, branch.estimate, branch.origin
    estimator.memory = origin.memory
    search = estimate.search
    estimator.conclude(estimate)
    residual_m = frame.point_m - estimate.marker_m
    lasting_m = np.where(
        frame.valid[:, None], origin.lasting_m + LASTING * (residual_m - origin.lasting_m), FORGET * origin.lasting_m
    )
    lasting_m *= np.minimum(1.0, MAX_LASTING_M / np.maximum(np.linalg.norm(lasting_m, axis=1, keepdims=True), 1e-9))
    memory = EstimatorMemory(estimator.belief, search)
    seen = frame.shown if frame.shown.any() else origin.seen  # where nothing is seen, it is not the markers that are hidden
    return Hypothesis(memory, branch.score, seen, lasting_m, frame, estimate, branch.association.exchanged)


def compute_misfit(hypothesis: Hypothesis) -> float:
    """Return how far a pose is from the observations, for every marker and point left over; about 1.5 for right labels.

    Landmarks of a view count by their share.
    """
    frame, estimate = hypothesis.frame, hypothesis.estimate
    if estimate is None:
        return 0.0
    share = estimate.share
    if share is None:
        shown, n = float(np.count_nonzero(frame.shown)), len(frame.shown)
    else:
        worn = share == 1.0
        n, shown = int(np.count_nonzero(worn)), float(np.count_nonzero(frame.shown[worn]))
    left_over = min(len(frame.extra_m), n - shown)
    if share is not None:
        shown += float((frame.seen * share)[:, ~worn].sum())
    return (estimate.local_energy + LEFT_OVER * left_over) / max(shown, 1.0)
