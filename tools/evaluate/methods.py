"""Methods that turn markers into poses: nearest neighbour, locally weighted regression, and the estimator's local models.

The first two are the peers of Chai & Hodgins 2005, Figure 6. They are given the same markers, first pose and root from the torso,
the query of eq. 2 with their own history, and settings that suit them on these clips (`PeerSettings`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import rotvec_from_matrix
from reconstruct.body_state import BodyState
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, find_nearest_examples
from reconstruct.search.graph_search import PoseSearch
from reconstruct.solve.root import fit_root_to_torso
from reconstruct.track.estimator import Estimator
from tools.evaluate.constant_velocity import MotionHistory
from tools.evaluate.queries import RIG, MotionQuery


class Method(Protocol):
    """Finds the poses of consecutive frames."""

    def step(self, frame: MarkerFrame, start: BodyState | None) -> BodyState:
        """Return the pose of a frame; start: the true pose, used for the first frame only."""


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """Settings of the peers.

    Attributes:
        marker_sigma_m, pose_sigma_rad: scales of the two terms of eq. 2.
        velocity_share, velocity_gain: as in `SolveSettings`.
        neighbours: K.
        bandwidth: bandwidth h of the kernel exp(-d / 2h), as a share of the K-th neighbour's distance.
        ridge_m: standard deviation of the markers below which a direction of marker space does not influence the pose [m].
    """

    marker_sigma_m: float = 0.03
    pose_sigma_rad: float = 0.3
    velocity_share: float = 0.5
    velocity_gain: float = 0.5
    neighbours: int = 300
    bandwidth: float = 0.3
    ridge_m: float = 0.02


class LookupMethod:
    """Common part of both peers: the root from the torso, the query, the history."""

    def __init__(self, subject: Subject, examples: Examples, tuning: PeerSettings) -> None:
        self.examples, self.tuning = examples, tuning
        self._subject = subject
        self._history = MotionHistory()
        self._seeds: NDArray[np.int64] | None = None

    def step(self, frame: MarkerFrame, start: BodyState | None) -> BodyState:
        """Return the pose made of the neighbours, with the root that fits its torso to the markers."""
        expected = self._history.predict(frame.t_capture_ns, self.tuning.velocity_gain) if start is None else start
        assert expected is not None, "the first frame comes with the true pose"
        root = self._root(frame, expected.joints, expected)
        seen = frame.valid
        local = np.where(seen[:, None], (frame.point_m - root[1]) @ root[0], 0.0)
        weight = np.where(seen, self.tuning.marker_sigma_m**-2.0, 0.0)
        pose_weight = np.full(3 * (N_JOINTS - 1), self.tuning.pose_sigma_rad**-2.0)
        query = Query(local, weight, expected.joints[1:].ravel(), pose_weight)
        rows, distances = find_nearest_examples(self.examples, query, self.tuning.neighbours, self._seeds)
        self._seeds = rows
        joints = np.zeros((N_JOINTS, 3))
        joints[1:] = self.pose(rows, distances.astype(np.float64), local, seen).reshape(-1, 3)
        rotation, position = self._root(frame, joints, expected)
        state = BodyState(frame.t_capture_ns, joints, rotation, position)
        self._history = self._history.then(state, self.tuning.velocity_share)
        return state

    def pose(self, rows: NDArray[np.int64], distances: Floats, local: Floats, seen: NDArray[np.bool_]) -> Floats:
        """Return joint coordinates, (D,) [rad]. rows: the neighbours, nearest first; local: markers at the default root."""
        raise NotImplementedError

    def _root(self, frame: MarkerFrame, joints: Floats, expected: BodyState) -> tuple[Floats, Floats]:
        """Fit the torso of a pose to the markers, or the whole pose where fewer than three torso markers are seen."""
        markers = compute_local_markers(self._subject.skeleton, joints[None], self._subject.joint, self._subject.offset_m)[0]
        known = (expected.rotation, expected.position_m)
        torso = self._subject.markers.torso
        enough = int((frame.valid & torso).sum()) >= 3
        return fit_root_to_torso(frame, markers, torso if enough else torso | frame.valid, known) or known


class NearestNeighbour(LookupMethod):
    """The pose of the nearest example."""

    def pose(self, rows: NDArray[np.int64], distances: Floats, local: Floats, seen: NDArray[np.bool_]) -> Floats:
        """Return the first."""
        return np.asarray(self.examples.pose[rows[0]], np.float64)


class WeightedRegression(LookupMethod):
    """Locally weighted linear regression from markers to joint coordinates (Atkeson, Moore & Schaal 1997), with a ridge."""

    def pose(self, rows: NDArray[np.int64], distances: Floats, local: Floats, seen: NDArray[np.bool_]) -> Floats:
        """Regress on the K nearest, weighted by exp(-d / 2h)."""
        columns = np.repeat(seen, 3)
        c = self.examples.marker_m[rows].astype(np.float64)[:, columns]
        q = self.examples.pose[rows].astype(np.float64)
        width = max(self.tuning.bandwidth * float(distances[-1] - distances[0]), 1e-9)
        weight = np.exp(-0.5 * (distances - distances[0]) / width)
        return ridge_regression(c, q, weight, local.ravel()[columns], self.tuning.ridge_m)


def ridge_regression(inputs: Floats, outputs: Floats, weights: Floats, at: Floats, ridge: float) -> Floats:
    """Return y at a point from the affine fit that minimises sum_k w_k |y_k - y(x_k)|^2 + ridge^2 |slope|^2, sum w_k = 1.

    inputs: (K, F); outputs: (K, D); weights: (K,), positive, of any scale; at: (F,). With equal inputs it is the weighted mean.
    """
    w = weights / weights.sum()
    x0, y0 = w @ inputs, w @ outputs
    x, y = inputs - x0, outputs - y0
    A = (x * w[:, None]).T @ x + ridge**2 * np.eye(x.shape[1])
    return np.asarray(y0 + np.linalg.solve(A, at - x0) @ ((x * w[:, None]).T @ y))


class EstimatorMethod:
    """The estimator of live capture; where it gives no pose, the predicted one is taken."""

    def __init__(
        self, subject: Subject, examples: Examples, settings: SolveSettings, search: PoseSearch | None = None, rig: Rig = RIG
    ) -> None:
        """Prepare.

        Args:
            subject: the performer.
            examples: the database for its markers.
            settings: of the solver.
            search: finds the nearest examples, exhaustively if None.
            rig: of the frames' image points.
        """
        self._estimator = Estimator(subject, examples, rig, settings, search)

    def step(self, frame: MarkerFrame, start: BodyState | None) -> BodyState:
        """Estimate, and add the estimate to the history."""
        estimate = self._estimator.estimate(frame, start)
        if estimate is None:
            predicted = self._estimator.predict(frame.t_capture_ns) or start
            assert predicted is not None
            return predicted
        self._estimator.accept(estimate)
        return estimate.state


NN_TUNING = PeerSettings(pose_sigma_rad=0.4, neighbours=1)
LWR_TUNING = PeerSettings()
AVERAGE_TUNING = PeerSettings(neighbours=100, ridge_m=1e3)  # so stiff that the slopes vanish
METHODS: dict[str, Callable[[Subject, Examples, SolveSettings], Method]] = {
    "NN": lambda subject, examples, _: NearestNeighbour(subject, examples, NN_TUNING),
    "LWR": lambda subject, examples, _: WeightedRegression(subject, examples, LWR_TUNING),
    "average": lambda subject, examples, _: WeightedRegression(subject, examples, AVERAGE_TUNING),
    "paper": lambda subject, examples, settings: EstimatorMethod(subject, examples, replace(settings, model="paper")),
    "paper-si": lambda subject, examples, settings: EstimatorMethod(subject, examples, replace(settings, model="paper-si")),
    "ours": lambda subject, examples, settings: EstimatorMethod(subject, examples, settings),
}
USUAL = ("NN", "LWR", "paper", "ours")


@dataclass(frozen=True, slots=True)
class SolvedMotion:
    """Poses found for N frames: rotvec (N, J, 3) charted [rad], root_m (N, 3) [m], and the mean time of a frame [ms]."""

    rotvec: Floats
    root_m: Floats
    frame_ms: float


def check_methods(names: Iterable[str]) -> None:
    """Raise DatabaseError unless all are methods."""
    for name in names:
        if name not in METHODS:
            raise DatabaseError(f"{name!r} is no method; take {', '.join(METHODS)}")


def solve(query: MotionQuery, examples: Examples, settings: SolveSettings, name: str) -> SolvedMotion:
    """Put the markers of a query through a method. Raises DatabaseError: no such method."""
    check_methods([name])
    return solve_by(query, METHODS[name](query.subject, examples, settings))


def solve_by(query: MotionQuery, method: Method) -> SolvedMotion:
    """Put the markers of a query through a method that is at its start."""
    rotvec, root_m = np.empty((len(query), N_JOINTS, 3)), np.empty((len(query), 3))
    spent_s = 0.0
    for n in range(len(query)):
        frame = query.frame(n)
        begin_s = perf_counter()
        state = method.step(frame, query.start if n == 0 else None)
        spent_s += perf_counter() - begin_s
        rotvec[n], root_m[n] = state.joints, state.position_m
        rotvec[n, 0] = rotvec_from_matrix(state.rotation)
    return SolvedMotion(rotvec, root_m, 1e3 * spent_s / len(query))
