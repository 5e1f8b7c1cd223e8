"""What the nearest poses say of every frame of a take: where the joints are, how fast they move, and how their motion bends.

Neighbours come from the database and from the take's own other frames, compared with markers that are seen or, with less weight,
where the last solution has them. A performer's own way of moving is thereby known wherever it was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints
from database.geometry.kinematics import compute_local_markers
from reconstruct.models.local.gaussian import fit_local_gaussian
from reconstruct.models.local.model import DOFS
from reconstruct.models.local.motion import (
    compute_bend_covariance,
    compute_drift_shape,
    compute_weighted_moments,
    find_example_ends,
    find_example_starts,
)
from reconstruct.offline.motion import TakeMotion
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query
from reconstruct.search.graph_search import PoseSearch

NEIGHBOURS, OWN_NEIGHBOURS = 40, 20
MAX_OWN = 3000  # frames of the take that are candidates
OWN_APART_S = 0.33  # frames nearer in time are no examples of each other
MARKER_SIGMA_M, POSE_SIGMA_RAD = 0.03, 0.28  # usual distance of a frame from a good neighbour
UNSEEN_SIGMA_M, UNSEEN_M_S, MAX_UNSEEN_M = 0.06, 0.3, 0.5  # of a marker that is not seen, growing with the time to where it is
BACKGROUND, FLOOR_RAD, SHRINKAGE = 0.1, 0.04, 0.1  # as in `SolveSettings`; narrower, as many frames are solved together
STEP_SPREAD, STEP_DRIFT_RAD = 10.0, 0.05  # variances of the neighbours' steps, and what is added to them
BEND_SHARE = 0.25  # of the database's covariance of second differences that is added to the neighbours'
ENOUGH = 10  # neighbours with a frame before and after, for their second differences to count


@dataclass(frozen=True, slots=True)
class FramePriors:
    """Gaussians of N frames: pose q, step and second difference of the joints, in frames of the database.

    Attributes:
        pose, step, bend: (N, D) [rad]; their precisions: (N, D, D).
        rows: the nearest poses of the database, nearest first, (N, K).
    """

    pose: Floats
    pose_precision: Floats
    step: Floats
    step_precision: Floats
    bend: Floats
    bend_precision: Floats
    rows: Ints

    def departure(self, motion: TakeMotion) -> Floats:
        """Return the squared distances of solved poses from the neighbours', and those expected, summed over frames, (2, D)."""
        apart = motion.joints[:, 1:].reshape(len(motion), -1) - self.pose
        expected = np.linalg.inv(self.pose_precision)
        return np.stack([(apart**2).sum(axis=0), np.einsum("nii->i", expected)])

    def part(self, frames: slice) -> "FramePriors":
        """Return those of some frames."""
        return FramePriors(**{field.name: getattr(self, field.name)[frames] for field in fields(self)})

    def then(self, after: "FramePriors") -> "FramePriors":
        """Return these and those of the frames after them."""
        both = {f.name: (getattr(self, f.name), getattr(after, f.name)) for f in fields(self)}
        return FramePriors(**{name: np.concatenate(parts) for name, parts in both.items()})

    def widened(self, variance: Floats) -> "FramePriors":
        """Return the priors with wider Gaussians of poses; variance: factor of each coordinate's, (D,)."""
        share = 1.0 / np.sqrt(variance)
        return replace(self, pose_precision=self.pose_precision * share[:, None] * share)


class NeighbourPriors:
    """Fits `FramePriors` for one subject."""

    def __init__(self, subject: Subject, examples: Examples, search: PoseSearch, covariance: Floats) -> None:
        """Prepare; covariance: of the database's poses, (D, D) [rad^2]."""
        self._subject, self._examples, self._search = subject, examples, search
        self._background, self._drift = BACKGROUND * covariance, STEP_DRIFT_RAD**2 * compute_drift_shape(covariance)
        self._starts = find_example_starts(examples)
        self._ends = find_example_ends(self._starts)
        self._usual_bend = compute_bend_covariance(examples)[:DOFS, :DOFS]

    def fit(self, motion: TakeMotion, markers: "QueryMarkers", part: slice, own: "OwnExamples | None") -> FramePriors:
        """Return the priors of some frames.

        Args:
            motion: the poses of the take.
            markers: markers of all frames.
            part: the frames wanted.
            own: the take's own frames as examples, or None.
        """
        n = part.stop - part.start
        pose, step, bend = np.empty((3, n, DOFS))
        of_pose, of_step, of_bend = np.empty((3, n, DOFS, DOFS))
        found = FramePriors(pose, of_pose, step, of_step, bend, of_bend, np.zeros((n, NEIGHBOURS), np.int64))
        for k, t in enumerate(range(part.start, part.stop)):
            self._fit_frame(k, t, motion, markers, own, found)
        return found

    def _fit_frame(
        self, k: int, t: int, motion: TakeMotion, markers: "QueryMarkers", own: "OwnExamples | None", found: FramePriors
    ) -> None:
        """Fit the priors of frame t of the take and write them to row k."""
        pose = motion.joints[t, 1:].ravel()
        query = Query(markers.local_m[t], markers.weight[t], pose, np.full(DOFS, POSE_SIGMA_RAD**-2.0))
        rows, squared = self._search.nearest(query, NEIGHBOURS)
        found.rows[k] = rows[np.minimum(np.arange(NEIGHBOURS), len(rows) - 1)]
        near, distance = self._steps(rows), squared.astype(np.float64)
        if own is not None:
            other, others_distance = own.nearest(t, markers, pose)
            distance = np.concatenate([distance, others_distance])
            order = np.argsort(distance, kind="stable")
            near, distance = near.with_others(other).at(order), distance[order]
        weight = np.exp(-0.5 * (distance - distance[0]) / max(float(distance[len(distance) // 2] - distance[0]), 1e-9))
        model = fit_local_gaussian(near.pose, weight, self._background, floor_rad=FLOOR_RAD, shrinkage=SHRINKAGE)
        found.pose[k], found.pose_precision[k] = model.mean[1:].ravel(), model.precision
        found.step[k], covariance = compute_weighted_moments(near.step, weight)
        found.step_precision[k] = np.linalg.inv(STEP_SPREAD * covariance + self._drift)
        usual, inside = BEND_SHARE * self._usual_bend, near.inside
        if inside.sum() >= ENOUGH:
            found.bend[k], covariance = compute_weighted_moments(near.bend[inside], weight[inside])
            found.bend_precision[k] = np.linalg.inv(covariance + usual)
        else:
            found.bend[k], found.bend_precision[k] = 0.0, np.linalg.inv(usual)

    def _steps(self, rows: Ints) -> "ExampleSteps":
        """Return poses of the database with their steps and second differences."""
        before = np.maximum(rows - 1, self._starts[rows])
        after = np.minimum(rows + 1, self._ends[rows] - 1)
        poses = self._examples.pose
        first, now, last = (poses[which].astype(np.float64) for which in (before, rows, after))
        return ExampleSteps(now, now - first, last - 2.0 * now + first, after - before == 2)


@dataclass(frozen=True, slots=True)
class ExampleSteps:
    """Poses (K, D) with their steps from the pose before and their second differences (K, D), and which have both, (K,)."""

    pose: Floats
    step: Floats
    bend: Floats
    inside: Bools

    def at(self, which: Ints) -> "ExampleSteps":
        """Return some of them."""
        return ExampleSteps(self.pose[which], self.step[which], self.bend[which], self.inside[which])

    def with_others(self, other: "ExampleSteps") -> "ExampleSteps":
        """Return these and others."""
        return ExampleSteps(
            np.concatenate([self.pose, other.pose]),
            np.concatenate([self.step, other.step]),
            np.concatenate([self.bend, other.bend]),
            np.concatenate([self.inside, other.inside]),
        )


@dataclass(frozen=True, slots=True)
class QueryMarkers:
    """Markers of all frames at the default root, seen or estimated: local_m (N, M, 3) [m], weight (N, M) [1/m^2]."""

    local_m: Floats
    weight: Floats


def compute_query_markers(
    subject: Subject, frames: Sequence[MarkerFrame], motion: TakeMotion, far_s: Floats | None = None
) -> QueryMarkers:
    """Return the markers by which the frames of a take are compared.

    Args:
        subject: the performer.
        frames: the markers of each frame.
        motion: the poses of the take.
        far_s: time from each frame to where a marker is seen, (N, M) [s], or None.
    """
    valid = np.array([frame.valid for frame in frames])
    point = np.array([frame.point_m for frame in frames])
    variance = np.array([np.trace(frame.covariance_m2, axis1=1, axis2=2) / 3.0 for frame in frames]) + MARKER_SIGMA_M**2
    estimated = compute_local_markers(subject.skeleton, motion.joints, subject.joint, subject.offset_m)
    seen = np.einsum("nmi,nij->nmj", point - motion.position_m[:, None], motion.rotation)
    far_s = compute_seconds_to_seen(motion.seconds, valid) if far_s is None else far_s
    unseen_m = np.minimum(UNSEEN_SIGMA_M + UNSEEN_M_S * far_s, MAX_UNSEEN_M)
    weight = np.where(valid, 1.0 / variance, 1.0 / (MARKER_SIGMA_M**2 + unseen_m**2))
    return QueryMarkers(np.where(valid[..., None], seen, estimated), weight)


def compute_seconds_to_seen(seconds: Floats, valid: Bools) -> Floats:
    """Return the time from every frame to the nearest one in which a marker is seen, (N, M) [s]; infinite where there is none."""
    result = np.full(valid.shape, np.inf)
    for m in range(valid.shape[1]):
        known = seconds[valid[:, m]]
        if len(known):
            after = np.clip(np.searchsorted(known, seconds), 0, len(known) - 1)
            nearest = np.minimum(np.abs(known[after] - seconds), np.abs(known[np.maximum(after - 1, 0)] - seconds))
            result[:, m] = nearest
    return result


class OwnExamples:
    """The frames of a take as examples of each other, a few thousand at most."""

    def __init__(self, subject: Subject, frames: Sequence[MarkerFrame], motion: TakeMotion) -> None:
        """Take the inner frames; motion: as solved last."""
        n = len(frames)
        self._at = np.arange(1, n - 1, max(1, n // MAX_OWN))
        self._seconds = motion.seconds
        pose = motion.joints[:, 1:].reshape(n, -1)
        h = motion.step_frames
        back, forth = h[self._at - 1, None], h[self._at, None]
        velocity = (pose[self._at] - pose[self._at - 1]) / back, (pose[self._at + 1] - pose[self._at]) / forth
        now = pose[self._at]
        bend = (velocity[1] - velocity[0]) * 2.0 / (back + forth)
        self._steps = ExampleSteps(now, velocity[0], bend, np.ones(len(now), bool))

    def nearest(self, t: int, markers: QueryMarkers, pose: Floats) -> tuple[ExampleSteps, Floats]:
        """Return the nearest frames to frame t, not next to it in time, and their squared distances, nearest first.

        Args:
            t: number of the frame.
            markers: markers of all frames.
            pose: joint coordinates of the query, (D,) [rad].
        """
        apart = np.flatnonzero(np.abs(self._seconds[self._at] - self._seconds[t]) > OWN_APART_S)
        at = self._at[apart]
        # A marker that neither frame shows says little.
        weight = 1.0 / (1.0 / markers.weight[t] + 1.0 / markers.weight[at] - MARKER_SIGMA_M**2)
        squared = (((markers.local_m[at] - markers.local_m[t]) ** 2).sum(axis=2) * weight).sum(axis=1)
        squared += ((self._steps.pose[apart] - pose) ** 2).sum(axis=1) * POSE_SIGMA_RAD**-2.0
        order = np.argsort(squared)[:OWN_NEIGHBOURS]
        return self._steps.at(apart[order]), squared[order]
