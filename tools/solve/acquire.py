"""Labels of one moment without any: which of its points are which markers, and how the body stands.

Poses of the database, each turned about the vertical, are laid on the points as a person of the mean size would show them; the
few that lie nearest are fitted in turns: the points are assigned to the markers (Hungarian method), and pose, lengths and marker
offsets are adjusted to that (as iterative closest points; Besl & McKay 1992). The least cost wins.
"""

from dataclasses import dataclass, replace

import numpy as np

from calibration.subject.adjust import AdjustedSubject, PoseMarkers, SubjectProblem, SubjectState, adjust_subject
from calibration.subject.constellation import assign_points
from calibration.subject.functional import WornMarkers
from calibration.subject.model import SkeletonSpace
from calibration.subject.motion import rest_rotvec_from_charted
from calibration.subject.poses import SPREAD
from config.arrays import Floats, Ints
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.store import PoseDatabase

N_POSES, N_TURNS, N_TRIED = 900, 20, 10  # of the database, of each about the vertical, and of these how many are fitted
BLOCK = 600  # clouds compared at a time
FAR_M = 0.30  # distance beyond which a point is no nearer to one cloud than to another
GATES_M = (0.35, 0.25, 0.18, 0.12, 0.10)  # farthest point that is taken for a marker, turn by turn
ROUGH_M, FINE_M = 0.03, 0.012  # standard deviation of a marker in the first turns and the last ones
MISSING = 12.0  # cost of a point without a marker, or of a marker without a point beyond those that must lack one
STEPS = 6


@dataclass(frozen=True, slots=True)
class Acquired:
    """Labels of a moment.

    Attributes:
        marker: of each point, (P,), -1 for none.
        cost: the lower, the likelier, by points.
        take: its markers, with what is expected.
        adjusted: body and pose.
    """

    marker: Ints
    cost: float
    take: PoseMarkers
    adjusted: AdjustedSubject


@dataclass(frozen=True, slots=True)
class _Clouds:
    """Markers of poses, T, about their middle, (T, M, 3) [m]; the poses from rest, (T, J, 3) [rad]; roots beside the middle."""

    marker_m: Floats
    rotvec: Floats
    root_m: Floats


class FoundLabels:
    """Finds labels of moments of one marker set."""

    def __init__(self, worn: WornMarkers, space: SkeletonSpace, database: PoseDatabase) -> None:
        self._worn, self._space = worn, space
        rows = np.unique(np.linspace(0, database.n_poses - 1, N_POSES).astype(int))
        rotvec = database.rotvec[rows].astype(float)
        G, p = compute_forward_kinematics(space.skeleton(np.zeros(space.n_parameters)), rotvec, np.zeros((len(rows), 3)))
        marker_m = p[:, worn.joint] + np.einsum("nmij,mj->nmi", G[:, worn.joint], worn.offset_m)
        middle = marker_m.mean(axis=1)
        self._clouds = _Clouds(marker_m - middle[:, None], rest_rotvec_from_charted(rotvec), -middle)

    def find(self, point_m: Floats) -> Acquired:
        """Return the likeliest labels of points, y up, (P, 3) [m]."""
        middle = point_m.mean(axis=0)
        candidates = self._lay(point_m - middle)
        return min((self._fit(point_m, middle, k, turn) for k, turn in candidates), key=lambda found: found.cost)

    def _lay(self, point_m: Floats) -> list[tuple[int, float]]:
        """Return the poses and their turns [rad] that lie nearest to points about their middle, no pose twice."""
        turns = np.arange(N_TURNS) * (2.0 * np.pi / N_TURNS)
        size = np.sqrt((point_m**2).sum(axis=1).mean())
        own = np.sqrt((self._clouds.marker_m**2).sum(axis=2).mean(axis=1))
        clouds = self._clouds.marker_m * np.clip(size / own, 0.85, 1.18)[:, None, None]
        far2 = np.empty((N_TURNS, len(clouds)))
        for k, turn in enumerate(turns):
            turned = point_m @ _turn_about_y(-turn).T
            for first in range(0, len(clouds), BLOCK):
                part = clouds[first : first + BLOCK]
                square = (
                    (part**2).sum(axis=2)[:, None] + (turned**2).sum(axis=1)[None, :, None] - 2.0 * turned @ part.swapaxes(1, 2)
                )
                square = np.minimum(square, FAR_M**2)
                far2[k, first : first + BLOCK] = square.min(axis=1).mean(axis=1) + square.min(axis=2).mean(axis=1)
        best = far2.argmin(axis=0)
        order = np.argsort(far2.min(axis=0))[:N_TRIED]
        return [(int(n), float(turns[best[n]])) for n in order]

    def _fit(self, point_m: Floats, middle: Floats, pose: int, turn: float) -> Acquired:
        """Return the labels that a pose leads to."""
        worn, space, R = self._worn, self._space, _turn_about_y(turn)
        expected = self._clouds.rotvec[pose].copy()
        expected[0] = rotvec_from_matrix(R @ matrix_from_rotvec(expected[0]))
        root_m = middle + R @ self._clouds.root_m[pose]
        marker_m = middle + self._clouds.marker_m[pose] @ R.T
        state = SubjectState(np.zeros(space.n_parameters), worn.offset_m, (expected,), (root_m,))
        for turn_number, gate_m in enumerate(GATES_M):
            sigma_m = ROUGH_M if turn_number < len(GATES_M) - 2 else FINE_M
            take = _make_take(point_m, assign_points(point_m, marker_m, gate_m), expected, root_m, sigma_m)
            adjusted = adjust_subject(SubjectProblem(space, worn, (take,)), state, STEPS)
            state, marker_m = adjusted.state, adjusted.placed[0].marker_m
        marker, point = np.full(len(point_m), -1), assign_points(point_m, marker_m, GATES_M[-1])
        marker[point[point >= 0]] = np.flatnonzero(point >= 0)
        n_found = int((point >= 0).sum())
        without = len(point_m) - n_found + max(min(len(point_m), len(worn.names)) - n_found, 0)
        return Acquired(marker, (adjusted.cost + MISSING * without) / len(point_m), take, adjusted)


def _make_take(point_m: Floats, point: Ints, expected: Floats, root_m: Floats, sigma_m: float) -> PoseMarkers:
    """Return the points that the markers take, (M,), as markers, with a pose that is expected."""
    at, valid = np.where((point >= 0)[:, None], point_m[np.maximum(point, 0)], 0.0), np.asarray(point >= 0)
    covariance = np.repeat(sigma_m**2 * np.eye(3)[None], len(point), axis=0)
    return PoseMarkers(at, valid, covariance, expected, SPREAD, root_m)


def adjust_together(found: list[Acquired], worn: WornMarkers, space: SkeletonSpace) -> AdjustedSubject:
    """Return one body that fits several moments; begins at that of the first."""
    first = found[0].adjusted.state
    state = SubjectState(
        first.y,
        first.offset_m,
        tuple(each.adjusted.state.rotvec[0] for each in found),
        tuple(each.adjusted.state.root_m[0] for each in found),
    )
    takes = tuple(replace(each.take, expected=each.adjusted.state.rotvec[0]) for each in found)
    return adjust_subject(SubjectProblem(space, worn, takes), state, 2 * STEPS)


def _turn_about_y(angle_rad: float) -> Floats:
    """Return a rotation about the vertical."""
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
