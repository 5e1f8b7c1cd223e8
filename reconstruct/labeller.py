"""What labelling remembers from frame to frame: where each marker sits against the model, and what is in doubt."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from capture.labels import Expected
from capture.packets import Bools, Floats, MarkerFrame
from config.joints import JOINT_INDEX, JOINTS, mirrored
from config.settings import LabelSettings
from reconstruct.estimator import Estimate
from reconstruct.sight import Sight, nearest_on_line

CARRY_SIGMA_M = 0.015  # how much a marker's distance from the model changes from frame to frame
MAX_CARRY_M = 0.04  # a marker further from its place in the pose than this is rather another marker
STRAIN_M, STRAIN_SIGMAS, STRAIN_FRAMES = 0.10, 5.0, 6  # a marker so far from its place in the pose, for so long: labels are wrong
DOUBT_FRAMES = 10  # markers missing while points are left over, for so many frames: perhaps the labels are wrong
FORGET = 0.9  # share of a marker's carried residual that is left after a frame without it
FRAME_S, MOST_SLOWER = 1.0 / 60.0, 3.0
SURE_SIGMAS = 1.5  # of what a filled pose thinks to know of a marker: its Gaussian is an approximation
ROOT_MARKERS = 2  # of the torso, in sight, that nearly fix the root
BACK = 3  # a marker that is back is as surely expected as one unseen for this part of the time: the limb has jumped to it
NEAR_M = 0.25  # markers this near may have been taken for each other
RIVAL_SIGMAS, RIVALS = 4.0, 3  # how far off a marker may be expected and still be the one that is back, and how many are tried
SURPRISE = 10.0  # energy that right labels of a marker that is back seldom leave
SECOND_OPINION = 4.0  # how much less energy two labels must have the other way round, to be exchanged


@dataclass
class Labeller:
    """Predicts where every marker is to be found.

    torso: markers that fix the root, (M,) bool: the body leaves them little room;
    opposite: pairs of markers on a left and a right joint of one kind, (M, M) bool;
    carry_m: smoothed distance of every marker from its place in the pose, (M, 3); unseen: frames since it was seen, (M,);
    predicted: the last expectation;
    doubt: frames in a row with points left over and markers missing; strain: with a marker far from its place in the pose.
    """

    settings: LabelSettings
    torso: Bools
    opposite: Bools
    carry_m: Floats = field(init=False)
    unseen: NDArray[np.int64] = field(init=False)
    predicted: Expected | None = field(default=None, init=False)
    doubt: int = field(default=0, init=False)
    strain: int = field(default=0, init=False)
    _turn: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        n = len(self.torso)
        self.carry_m, self.unseen, self.doubt = np.zeros((n, 3)), np.zeros(n, np.int64), 0
        self.strain, self.predicted = 0, None

    def expected(self, marker_m: Floats, ahead_s: float = FRAME_S, sure_m: Floats | None = None) -> Expected:
        """Give where each marker is to be found, from where the pose's motion puts it `ahead_s` later, (M, 3) [m].

        Settings are for 60 frames a second; at lower rates predictions are worse in proportion. sure_m: how sure the pose is of
        each marker that was not seen, (M,) [m], if that is known: then its uncertainty grows no further than that.
        """
        s, slower = self.settings, float(np.clip(ahead_s / FRAME_S, 1.0, MOST_SLOWER))
        # The root is no longer sure, and with it none of the torso, where too little of it is seen.
        sure = self.torso & (int((self.torso & (self.unseen == 0)).sum()) >= ROOT_MARKERS)
        most = np.where(sure, s.max_torso_sigma_m, s.max_sigma_m)
        if sure_m is not None:
            most = np.minimum(most, np.hypot(s.sigma_m, SURE_SIGMAS * sure_m))
        sigma_m = np.minimum(slower * s.sigma_m + s.growth_m * self.unseen, slower * most)
        self.predicted = Expected(marker_m + self.carry_m, sigma_m)
        return self.predicted

    def remember(self, frame: MarkerFrame, marker_m: Floats, sight: Sight | None = None) -> None:
        """Note where the markers of a frame were, against those of its pose, (M, 3) [m].

        sight: lines of sight, where one camera saw all there is: markers are then off across the line only.
        """
        valid = frame.valid if sight is None else sight.alone
        point_m = frame.point_m if sight is None else nearest_on_line(sight, marker_m)
        variance = np.trace(frame.covariance_m2[valid], axis1=1, axis2=2) / 3.0
        off_m = np.linalg.norm(point_m[valid] - marker_m[valid], axis=1)
        strained = (off_m > STRAIN_M) & (off_m > STRAIN_SIGMAS * np.sqrt(variance))
        self.strain = self.strain + 1 if strained.any() else 0
        gain = CARRY_SIGMA_M**2 / (CARRY_SIGMA_M**2 + variance)
        carry = np.where(valid[:, None], self.carry_m, FORGET * self.carry_m)
        carry[valid] += gain[:, None] * (point_m[valid] - marker_m[valid] - carry[valid])
        self.carry_m = carry * np.minimum(1.0, MAX_CARRY_M / np.maximum(np.linalg.norm(carry, axis=1), 1e-9))[:, None]
        self.unseen = np.where(frame.seen.any(axis=0), self.unseen // BACK, self.unseen + 1)

    def coast(self) -> None:
        """Note a frame without a pose."""
        self.unseen = self.unseen + 1

    def rivals(self, frame: MarkerFrame) -> list[tuple[int, int]]:
        """Give markers that are back, each with one out of sight that may be there in its place; the nearest first."""
        if self.predicted is None:
            return []
        gone = ~frame.seen.any(axis=0)
        found = []
        for back in np.flatnonzero(frame.valid & (self.unseen > 0)):
            off_m = np.linalg.norm(frame.point_m[back] - self.predicted.point_m, axis=1)
            sigmas = off_m / self.predicted.sigma_m
            found += [(float(sigmas[m]), int(back), int(m)) for m in np.flatnonzero(gone & (sigmas < RIVAL_SIGMAS))]
        return [(back, m) for _, back, m in sorted(found)[:RIVALS]]

    def doubts(self, named: Bools, left_over: int) -> bool:
        """Tell whether labels leave too much over: more points than they name, or some for too long while markers are missing;
        or whether the pose could not follow them for a while.

        named: markers that have a point, (M,); left_over: points without a marker; blobs, where one camera sees all there is.
        """
        self.doubt = self.doubt + 1 if min(left_over, int((~named).sum())) >= 2 else 0
        if self.doubt >= DOUBT_FRAMES or self.strain >= STRAIN_FRAMES:
            self.doubt = self.strain = 0
            return True
        return left_over >= max(self.settings.min_markers, int(named.sum()) + 1)

    def suspects(self, named: Bools, point_m: Floats) -> tuple[int, int] | None:
        """Give the next pair of markers to try the other way round, one a frame in turn; None without any.

        Pairs are near each other, or are the left and right one of a limb, which may have been exchanged when they last met.
        named: markers that have a point, (M,), and the points, (M, 3) [m]; of one camera's, as far as it sees them apart.
        """
        shown = np.flatnonzero(named)
        far = np.linalg.norm(point_m[shown][:, None] - point_m[shown][None], axis=2)
        first, second = np.nonzero(np.triu((far < NEAR_M) | self.opposite[np.ix_(shown, shown)], 1))
        if not len(first):
            return None
        self._turn = (self._turn + 1) % len(first)
        return int(shown[first[self._turn]]), int(shown[second[self._turn]])


def explained(
    frame: MarkerFrame, estimate: Estimate, rivals: list[tuple[int, int]], solve: Callable[[MarkerFrame], Estimate | None]
) -> tuple[MarkerFrame, Estimate]:
    """Give the labels of least energy: those there are, or of a marker that is back those of one of its rivals.

    A pose cannot reach a marker with a wrong limb at little energy. Nothing is tried where these labels leave as little as right
    ones do. rivals: as of `Labeller.rivals`; solve: the estimate of a frame.
    """
    best = frame, estimate
    for pair in rivals if estimate.energy > SURPRISE else []:
        other = exchanged(frame, *pair)
        solved = solve(other)
        if solved is not None and solved.energy < best[1].energy - SECOND_OPINION:
            best = other, solved
    return best


def opposite_markers(subject: Subject) -> Bools:
    """Tell which markers sit on a left and a right joint of one kind, off the torso, (M, M)."""
    kind = np.array([min(joint, JOINT_INDEX[mirrored(JOINTS[joint])]) for joint in subject.joint])
    limb = ~subject.markers.torso
    different = subject.joint[:, None] != subject.joint[None]
    return np.asarray((kind[:, None] == kind[None]) & different & limb[:, None] & limb[None])


def exchanged(frame: MarkerFrame, first: int, second: int) -> MarkerFrame:
    """Give a frame with the labels of two markers exchanged."""
    order = np.arange(len(frame.valid))
    order[[first, second]] = order[[second, first]]
    return replace(
        frame,
        valid=frame.valid[order],
        point_m=frame.point_m[order],
        covariance_m2=frame.covariance_m2[order],
        seen=frame.seen[:, order],
        image_px=frame.image_px[:, order],
        sigma_px=frame.sigma_px[:, order],
        epipolar_px=frame.epipolar_px[order],
    )
