"""Methods that turn markers into poses, behind one Protocol: nearest neighbour, weighted regression, the estimator's models.

Nearest neighbour and locally weighted regression are the peers of Chai & Hodgins 2005, Figure 6. They get the same markers, the
same start, the same root from the torso and the query of eq. 2 with the smoothness of their own history, and settings that are
good for them on these clips: those of `Tuning`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from capture.packets import MarkerFrame
from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.kinematics import local_markers
from database.rotations import Floats
from reconstruct.estimator import Estimator
from reconstruct.examples import Examples
from reconstruct.history import History, Moment
from reconstruct.nearest import Query, nearest_examples
from reconstruct.root import root_from_torso
from tools.evaluation.queries import RIG


class Method(Protocol):
    """Finds the pose of one frame after the other."""

    def step(self, frame: MarkerFrame, start: Moment | None) -> Moment:
        """Give the pose of a frame; start: the true pose, at the first frame only."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What the peers are run with.

    marker_sigma_m, pose_sigma_rad: scales of the two terms of eq. 2; velocity_share, velocity_gain: as in the settings;
    neighbours: K; bandwidth: of the kernel exp(-d / 2h), h this share of the K-th neighbour's distance; ridge_m: standard
    deviation of a marker below which a direction of marker space says nothing of the pose [m].
    """

    marker_sigma_m: float = 0.03
    pose_sigma_rad: float = 0.3
    velocity_share: float = 0.5
    velocity_gain: float = 0.5
    neighbours: int = 300
    bandwidth: float = 0.3
    ridge_m: float = 0.02


class Lookup:
    """What both peers share: the root from the torso, the query, the history."""

    def __init__(self, subject: Subject, examples: Examples, tuning: Tuning) -> None:
        self.examples, self.tuning = examples, tuning
        self._subject = subject
        self._history = History()
        self._seeds: NDArray[np.int64] | None = None

    def step(self, frame: MarkerFrame, start: Moment | None) -> Moment:
        """Find the neighbours, give the pose they make and the root that fits its torso to the markers."""
        expected = self._history.predict(frame.t_capture_ns, self.tuning.velocity_gain) if start is None else start
        if expected is None:
            raise AssertionError("the first frame comes with the true pose")
        root = self._root(frame, expected.joints, expected)
        seen = frame.valid
        local = np.where(seen[:, None], (frame.point_m - root[1]) @ root[0], 0.0)
        weight = np.where(seen, self.tuning.marker_sigma_m**-2.0, 0.0)
        pose_weight = np.full(3 * (N_JOINTS - 1), self.tuning.pose_sigma_rad**-2.0)
        asked = Query(local, weight, expected.joints[1:].ravel(), pose_weight)
        chosen, distances = nearest_examples(self.examples, asked, self.tuning.neighbours, self._seeds)
        self._seeds = chosen
        joints = np.zeros((N_JOINTS, 3))
        joints[1:] = self.pose(chosen, distances.astype(np.float64), local, seen).reshape(-1, 3)
        rotation, position = self._root(frame, joints, expected)
        moment = Moment(frame.t_capture_ns, joints, rotation, position)
        self._history = self._history.then(moment, self.tuning.velocity_share)
        return moment

    def pose(self, chosen: NDArray[np.int64], distances: Floats, local: Floats, seen: NDArray[np.bool_]) -> Floats:
        """Give joint coordinates, (D,) [rad], from the neighbours, nearest first; local: markers at the default root."""
        raise NotImplementedError

    def _root(self, frame: MarkerFrame, joints: Floats, expected: Moment) -> tuple[Floats, Floats]:
        """Fit the torso of a pose to the markers, or all of the pose where fewer than three torso markers are seen."""
        markers = local_markers(self._subject.skeleton, joints[None], self._subject.joint, self._subject.offset_m)[0]
        known = (expected.rotation, expected.position_m)
        torso = self._subject.markers.torso
        enough = int((frame.valid & torso).sum()) >= 3
        return root_from_torso(frame, markers, torso if enough else torso | frame.valid, known) or known


class NearestNeighbour(Lookup):
    """The pose of the nearest example."""

    def pose(self, chosen: NDArray[np.int64], distances: Floats, local: Floats, seen: NDArray[np.bool_]) -> Floats:
        """Take the first."""
        return np.asarray(self.examples.pose[chosen[0]], np.float64)


class WeightedRegression(Lookup):
    """Locally weighted linear regression from markers to joint coordinates (Atkeson, Moore & Schaal 1997), with a ridge."""

    def pose(self, chosen: NDArray[np.int64], distances: Floats, local: Floats, seen: NDArray[np.bool_]) -> Floats:
        """Regress on the K nearest, weighted by exp(-d / 2h)."""
        columns = np.repeat(seen, 3)
        c = self.examples.marker_m[chosen].astype(np.float64)[:, columns]
        q = self.examples.pose[chosen].astype(np.float64)
        width = max(self.tuning.bandwidth * float(distances[-1] - distances[0]), 1e-9)
        weight = np.exp(-0.5 * (distances - distances[0]) / width)
        return ridge_regression(c, q, weight, local.ravel()[columns], self.tuning.ridge_m)


def ridge_regression(inputs: Floats, outputs: Floats, weights: Floats, at: Floats, ridge: float) -> Floats:
    """Give y at a point from the affine fit that minimises sum_k w_k |y_k - y(x_k)|^2 + ridge^2 |slope|^2, sum w_k = 1.

    inputs: (K, F); outputs: (K, D); weights: (K,), any positive scale; at: (F,). With equal inputs it is the weighted mean.
    """
    w = weights / weights.sum()
    x0, y0 = w @ inputs, w @ outputs
    x, y = inputs - x0, outputs - y0
    A = (x * w[:, None]).T @ x + ridge**2 * np.eye(x.shape[1])
    return np.asarray(y0 + np.linalg.solve(A, at - x0) @ ((x * w[:, None]).T @ y))


class Solved:
    """The estimator of live capture; where it gives no pose, the predicted one stands."""

    def __init__(self, subject: Subject, examples: Examples, settings: SolveSettings) -> None:
        self._estimator = Estimator(subject, examples, RIG, settings)

    def step(self, frame: MarkerFrame, start: Moment | None) -> Moment:
        """Estimate, and take it into the history."""
        estimate = self._estimator.estimate(frame, start)
        if estimate is None:
            predicted = self._estimator.predict(frame.t_capture_ns) or start
            assert predicted is not None
            return predicted
        self._estimator.accept(estimate)
        return estimate.moment


NN_TUNING = Tuning(pose_sigma_rad=0.4, neighbours=1)
LWR_TUNING = Tuning()
AVERAGE_TUNING = Tuning(neighbours=100, ridge_m=1e3)  # so stiff that the slopes vanish
METHODS: dict[str, Callable[[Subject, Examples, SolveSettings], Method]] = {
    "NN": lambda subject, examples, _: NearestNeighbour(subject, examples, NN_TUNING),
    "LWR": lambda subject, examples, _: WeightedRegression(subject, examples, LWR_TUNING),
    "average": lambda subject, examples, _: WeightedRegression(subject, examples, AVERAGE_TUNING),
    "paper": lambda subject, examples, settings: Solved(subject, examples, replace(settings, model="paper")),
    "ours": lambda subject, examples, settings: Solved(subject, examples, settings),
}
USUAL = ("NN", "LWR", "paper", "ours")


def method(name: str, subject: Subject, examples: Examples, settings: SolveSettings) -> Method:
    """Make a method by its name. Raises DatabaseError: no such method."""
    if name not in METHODS:
        raise DatabaseError(f"{name!r} is no method; take {', '.join(METHODS)}")
    return METHODS[name](subject, examples, settings)
