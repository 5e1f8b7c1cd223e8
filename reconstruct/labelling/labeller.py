"""Labels from frame to frame: where each marker is expected, and which labels are in doubt after a pose is solved."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame, Points, Views
from capture.stereo.labels import ExpectedMarkers, label, marker_frame
from config.arrays import Bools, Floats, Ints, read_only
from config.jit import kernel
from config.joints import JOINT_INDEX, JOINTS, mirrored
from config.settings import LabelSettings
from database.geometry.rigid import RigidMotion
from reconstruct.estimator import Estimate
from reconstruct.history import BodyState
from reconstruct.labelling.proposals import exchange_labels
from reconstruct.labelling.shape import BodyShape, LabelCost
from reconstruct.models.local.neighbourhood import Neighbourhood
from reconstruct.observations import Rays, nearest_on_rays
from reconstruct.pose import Pose

CARRY_SIGMA_M = 0.015  # how much a marker's residual changes from frame to frame
MAX_CARRY_M = 0.04  # a marker with a larger residual is probably another marker
MISFIT_M, MISFIT_SIGMAS, MISFIT_FRAMES = 0.10, 5.0, 6  # a residual this large for so long: labels are wrong
DOUBT_FRAMES = 10  # markers missing while points are left over, for so many frames: labels may be wrong
FORGET = 0.9  # share of a marker's residual that is left after a frame without it
FRAME_S, MAX_SLOWER = 1.0 / 60.0, 3.0
LONG_STEP_S = 0.04  # after a longer step labels are those that fit the shape of the body as well
SURE_SIGMAS = 1.5  # of the standard deviation of a filled-in marker: its Gaussian is an approximation
ROOT_MARKERS = 2  # of the torso, seen, that almost fix the root
BACK = 3  # a marker that is seen again is as uncertain as one hidden for this part of the time: the limb has jumped to it
NEAR_M = 0.25  # markers this near may have been exchanged
RIVAL_SIGMAS, MAX_RIVALS = 4.0, 3  # how far off a marker may be expected and still be the one that is seen again
SURPRISE = 10.0  # energy that right labels of a marker seen again seldom leave
SECOND_OPINION = 4.0  # by how much an exchange of two labels must lower the energy
SWAP_M, SWAP_GAIN_M = 0.35, 0.05  # farthest that markers are suspected to be swapped, and by how much swapping must gain

Estimating = Callable[[MarkerFrame, BodyState | None, Neighbourhood | None], Estimate | None]


@dataclass(frozen=True, slots=True)
class LabellerMemory:
    """What a labeller remembers of the past frames; its fields are those of `Labeller`."""

    carry_m: Floats
    unseen: Ints
    predicted: ExpectedMarkers | None
    doubt: int
    misfit: int
    last_m: Floats
    step_s: float


@dataclass
class Labeller:
    """Predicts where every marker is, from the pose and what was seen of the marker.

    torso: markers that fix the root, (M,) bool, hardly free to move; opposite: pairs of markers on a left and a right joint of
    one kind, (M, M) bool; carry_m: smoothed residual of every marker, (M, 3); unseen: frames since it was seen, (M,); predicted:
    the last expectation; doubt: successive frames with points left over and markers missing; misfit: with a large residual;
    shape: of the body, which tells after long steps, or None; last_m: where every marker was seen last, (M, 3) [m]; step_s: of
    the last expectation.
    """

    settings: LabelSettings
    torso: Bools
    opposite: Bools
    shape: BodyShape | None = None
    carry_m: Floats = field(init=False)
    unseen: Ints = field(init=False)
    predicted: ExpectedMarkers | None = field(default=None, init=False)
    doubt: int = field(default=0, init=False)
    misfit: int = field(default=0, init=False)
    last_m: Floats = field(init=False)
    step_s: float = field(default=FRAME_S, init=False)
    _next_suspects: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._upper = np.triu(np.ones(self.opposite.shape, bool), 1)
        self.forget()

    def forget(self) -> None:
        """Start again, as with the first frame."""
        n = len(self.torso)
        self.carry_m, self.unseen, self.doubt = np.zeros((n, 3)), np.zeros(n, np.int64), 0
        self.misfit, self.predicted, self.last_m, self.step_s = 0, None, np.zeros((n, 3)), FRAME_S

    def move(self, motion: RigidMotion) -> None:
        """Go on in a world that is moved."""
        self.carry_m, self.last_m = self.carry_m @ motion.rotation.T, motion.move(self.last_m)

    @property
    def memory(self) -> LabellerMemory:
        """What is remembered of the past frames."""
        kept = (self.carry_m.copy(), self.unseen.copy(), self.predicted, self.doubt, self.misfit)
        return LabellerMemory(*kept, self.last_m, self.step_s)

    @memory.setter
    def memory(self, memory: LabellerMemory) -> None:
        self.carry_m, self.unseen, self.predicted = memory.carry_m.copy(), memory.unseen.copy(), memory.predicted
        self.doubt, self.misfit, self.last_m, self.step_s = memory.doubt, memory.misfit, memory.last_m, memory.step_s

    def expected(self, marker_m: Floats, ahead_s: float = FRAME_S, sure_m: Floats | None = None) -> ExpectedMarkers:
        """Return where each marker is expected, given where the predicted pose has it, (M, 3) [m].

        ahead_s: time since the last pose; the settings are for 60 frames a second, and at lower rates predictions are worse in
        proportion. sure_m: standard deviation of each marker that a pose model filled in, (M,) [m], a limit of its uncertainty.
        """
        s, slower = self.settings, min(max(ahead_s / FRAME_S, 1.0), MAX_SLOWER)
        # Where too little of the torso is seen, the root is uncertain and with it all of the torso.
        sure = self.torso & (np.count_nonzero(self.torso & (self.unseen == 0)) >= ROOT_MARKERS)
        limit = np.where(sure, s.max_torso_sigma_m, s.max_sigma_m)
        if sure_m is not None:
            limit = np.minimum(limit, np.hypot(s.sigma_m, SURE_SIGMAS * sure_m))
        sigma_m = np.minimum(slower * s.sigma_m + s.growth_m * self.unseen, slower * limit)
        self.predicted, self.step_s = ExpectedMarkers(marker_m + self.carry_m, sigma_m), ahead_s
        return self.predicted

    def label(self, views: Views, points: Points, rig: Rig, expected: ExpectedMarkers) -> MarkerFrame:
        """Label the points and the monocular blobs: each by itself, after a long step by the shape of the body as well."""
        cost = self.label_cost(points, expected)
        return (
            label(views, points, rig, expected) if cost is None else marker_frame(views, points, rig, cost.least()[1], expected)
        )

    @property
    def after_long_step(self) -> bool:
        """Whether the last expectation was for a step at which prediction alone does not tell."""
        return self.step_s >= LONG_STEP_S

    def label_cost(self, points: Points, expected: ExpectedMarkers) -> LabelCost | None:
        """Return the cost of labels by the shape of the body; None after a short step."""
        if self.shape is None or not self.after_long_step or not len(points.point_m):
            return None
        return self.shape.cost(points, expected, self.last_m, self.unseen == 0, self.step_s)

    def remember(self, frame: MarkerFrame, marker_m: Floats, rays: Rays | None = None) -> None:
        """Update the residuals from the markers of a frame and those of its pose, (M, 3) [m].

        rays: where one camera sees all there is; then only the residual across the ray is known.
        """
        valid = frame.valid if rays is None else rays.monocular
        point_m = frame.point_m if rays is None else read_only(nearest_on_rays(rays, marker_m))
        carry_m = self.carry_m.copy()
        misfits = _carry(read_only(valid), point_m, frame.covariance_m2, read_only(marker_m), carry_m)
        self.carry_m, self.misfit = carry_m, self.misfit + 1 if misfits else 0
        self.last_m = frame.point_m if frame.all_valid else np.where(frame.valid[:, None], frame.point_m, marker_m)
        self.unseen = np.where(frame.shown, self.unseen // BACK, self.unseen + 1)

    def coast(self) -> None:
        """Count a frame without a pose."""
        self.unseen = self.unseen + 1

    def rivals(self, frame: MarkerFrame) -> list[tuple[int, int]]:
        """Return markers that are seen again, each with a hidden one that its point may be instead; the nearest first."""
        if self.predicted is None:
            return []
        hidden, found = ~frame.shown, []
        for back in (frame.valid & (self.unseen > 0)).nonzero()[0]:
            off_m = np.linalg.norm(frame.point_m[back] - self.predicted.point_m, axis=1)
            sigmas = off_m / self.predicted.sigma_m
            found += [(float(sigmas[m]), int(back), int(m)) for m in np.flatnonzero(hidden & (sigmas < RIVAL_SIGMAS))]
        return [(back, m) for _, back, m in sorted(found)[:MAX_RIVALS]]

    def doubts(self, labelled: Bools, left_over: int) -> bool:
        """Return whether the labels of a frame are in doubt.

        They are where more points are left over than labelled, or some for long while markers are missing, or where the pose
        could not follow the markers for a while. labelled: (M,); left_over: points without a marker, or blobs where one camera
        sees all there is.
        """
        n_labelled = int(np.count_nonzero(labelled))
        self.doubt = self.doubt + 1 if min(left_over, len(labelled) - n_labelled) >= 2 else 0
        if self.doubt >= DOUBT_FRAMES or self.misfit >= MISFIT_FRAMES:
            self.doubt = self.misfit = 0
            return True
        return left_over >= max(self.settings.min_markers, n_labelled + 1)

    def suspects(self, labelled: Bools, point_m: Floats) -> tuple[int, int] | None:
        """Return the next pair of markers whose labels to try exchanged, one pair a frame; None if there is none.

        Pairs are near each other, or are the left and right one of a limb, which may have been exchanged when they last met.
        labelled: (M,); point_m: (M, 3) [m], of one camera's markers at an approximate depth.
        """
        n = len(labelled)
        suspected = np.empty((n, n), bool)
        near_each_other(read_only(point_m), read_only(labelled), NEAR_M, suspected)
        suspected |= self.opposite if labelled.all() else self.opposite & labelled & labelled[:, None]
        suspected &= self._upper
        found = suspected.ravel().nonzero()[0]
        if not len(found):
            return None
        self._next_suspects = (self._next_suspects + 1) % len(found)
        first, second = divmod(int(found[self._next_suspects]), n)
        return first, second


@kernel
def _carry(valid: Bools, point_m: Floats, covariance_m2: Floats, marker_m: Floats, carry_m: Floats) -> bool:
    """Update the smoothed residuals, (M, 3), in place; return whether a marker's residual is large.

    valid: whose points tell, (M,); point_m (M, 3) with covariance_m2 (M, 3, 3); marker_m: as the pose has them, (M, 3).
    """
    misfits = False
    for m in range(valid.shape[0]):
        C, off2, length2 = covariance_m2[m], 0.0, 0.0
        variance = (C[0, 0] + C[1, 1] + C[2, 2]) / 3.0
        gain = CARRY_SIGMA_M**2 / (CARRY_SIGMA_M**2 + variance) if valid[m] else 0.0
        for i in range(3):
            residual_m = point_m[m, i] - marker_m[m, i]
            off2 += residual_m * residual_m
            if not valid[m]:
                carry_m[m, i] *= FORGET
            carry_m[m, i] += gain * (residual_m - carry_m[m, i])
            length2 += carry_m[m, i] ** 2
        for i in range(3):
            carry_m[m, i] *= min(1.0, MAX_CARRY_M / max(math.sqrt(length2), 1e-9))
        misfits = misfits or (valid[m] and off2 > MISFIT_M**2 and off2 > MISFIT_SIGMAS**2 * variance)
    return misfits


@kernel
def near_each_other(point_m: Floats, valid: Bools, limit_m: float, near: Bools) -> None:
    """Write which of some markers, (M,) of (M, 3) [m], are near each other, itself among them, (M, M)."""
    for a in range(len(valid)):
        for b in range(a + 1):
            apart2 = 0.0
            for i in range(3):
                apart2 += (point_m[a, i] - point_m[b, i]) ** 2
            near[a, b] = near[b, a] = valid[a] and valid[b] and apart2 < limit_m**2


def relabel_by_energy(
    frame: MarkerFrame, estimate: Estimate, rivals: list[tuple[int, int]], solve: Estimating
) -> tuple[MarkerFrame, Estimate]:
    """Return the labels of least energy: the present ones, or those with a marker seen again taken for one of its rivals.

    A pose cannot reach a marker with a wrong limb at little energy. Nothing is tried where the energy is as low as with right
    labels. rivals: of `Labeller.rivals`; solve: returns the estimate of a frame, from its prediction.
    """
    best = frame, estimate
    for pair in rivals if estimate.energy > SURPRISE else []:
        other = exchange_labels(frame, *pair)
        solved = solve(other, None, None)
        if solved is not None and solved.energy < best[1].energy - SECOND_OPINION:
            best = other, solved
    return best


def opposite_markers(subject: Subject) -> Bools:
    """Return which markers are on a left and a right joint of one kind, off the torso, (M, M)."""
    kind = np.array([min(joint, JOINT_INDEX[mirrored(JOINTS[joint])]) for joint in subject.joint])
    limb = ~subject.markers.torso
    different = subject.joint[:, None] != subject.joint[None]
    return np.asarray((kind[:, None] == kind[None]) & different & limb[:, None] & limb[None])


def swapped_markers(pose: Pose, frame: MarkerFrame) -> list[tuple[int, int]]:
    """Return pairs of near markers whose points fit a finished pose much better exchanged.

    A pair is suspected when exchanging the two labels lowers the root mean square residual by half and by at least 5 cm.
    """
    valid = np.flatnonzero(pose.measured)
    found = []
    for n, a in enumerate(valid):
        for b in valid[n + 1 :]:
            if np.linalg.norm(frame.point_m[a] - frame.point_m[b]) > SWAP_M:
                continue
            kept = _rms_m(pose.marker_m[[a, b]], frame.point_m[[a, b]])
            swapped = _rms_m(pose.marker_m[[a, b]], frame.point_m[[b, a]])
            if swapped < 0.5 * kept and kept - swapped > SWAP_GAIN_M:
                found.append((int(a), int(b)))
    return found


def _rms_m(first: Floats, second: Floats) -> float:
    """Return the root mean square distance of corresponding points."""
    return float(np.sqrt(np.mean(np.sum((first - second) ** 2, axis=1))))
