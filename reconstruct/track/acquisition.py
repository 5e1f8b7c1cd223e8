"""Acquisition: label points without a previous pose, at the start and after a loss.

Example poses are placed on the points (`hypotheses`), and the best labellings are refined. Added to them are the same with limbs
exchanged or the body turned by 180 degrees. The best few are solved like any frame: the energy that the solver leaves tells which
of them a body can take. Ambiguities are left to the next frames.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calibration.subject.constellation import assign_points
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats, Ints, Singles
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.acquire.candidates import Hypotheses, place_on_points, refine_hypotheses
from reconstruct.acquire.upright import (
    build_pose_index,
    choose_torso_pairs,
    compute_mirror_order,
    compute_squared_distances,
    find_opposite_markers,
    list_limb_swaps,
    placement_from_root,
    remove_heading,
)
from reconstruct.body_state import BodyState, build_tpose
from reconstruct.models.local.model import Neighbours, weigh_neighbours
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import find_nearest
from reconstruct.track.estimator import Estimator

# Whether a labelling is trusted.
MAX_ENERGY, MAX_LATE_ENERGY = 9.0, 10.0  # per marker with a point: at once, and after PATIENCE_S
INCOMPLETE = 8.0  # the energy counts 1 + this times the share of missing markers and points left over
LATE_MARGIN, PATIENCE_S = 0.8, 0.5  # share of the required margin that suffices after a while, where no point is in question
MARGIN, MARGIN_SHARE, MARGIN_INCOMPLETE = 2.0, 0.2, 1.0  # required margin: constant, by the best fit's energy, by what is missing
SAME_M = 0.10  # markers of one labelling move no farther than this from frame to frame

# The search.
N_POSES, N_LISTED, N_CENTERS = 24_000, 8_000, 500
SLACK_M, GATE_M = 0.07, 0.25  # of placing examples on points
N_PLACED, N_REFINED, N_SOLVED, N_VARIED, N_CARRIED = 300, 32, 6, 3, 3
GATES_M = (0.25, 0.20)  # of the rounds of refinement
LEFT_OVER_M = 0.35  # distance that a marker without a point counts while a point is left over
SOLVED_GATE_M = 0.08  # distance of a solved marker from its point

# Energies.
MISSING = 6.0  # of a marker without a point, twice that while a point is left over
EXAMPLE_WEIGHT, EXAMPLE_SIGMA_M = 0.4, 0.03  # of the distance from the nearest example
REMEMBER = 0.8  # weight of the previous frames in a labelling's energy, while it goes on
MAX_PAUSE_S = 0.1  # candidates of earlier frames are forgotten
BEYOND = 15.0  # no solving where the example alone puts a labelling so far behind the best
AVERTED = 4.0  # of a performer seen from behind
NEAR_S, NEAR_M, NEAR_RAD = 1.0, 0.3, 1.0  # how long after a loss, and how near, the performer is expected
FAR = 8.0  # of being elsewhere

FrameOf = Callable[[Ints], MarkerFrame]


@dataclass(frozen=True, slots=True)
class Acquisition:
    """A labelling without a previous pose: point of each marker, (M,), -1 for none or unsure, and the pose solved from it.

    Attributes:
        energy: energy of the solver and of the distance from the nearest example, per labelled marker.
        incomplete: markers without a point and as many points left over, as a share of all markers.
        margin: difference to the energy of the next labelling that differs in more than the unsure markers; required_margin.
        waited_s: time since the search began.
    """

    point_of_marker: Ints
    state: BodyState
    energy: float
    incomplete: float
    margin: float
    required_margin: float
    waited_s: float

    @property
    def trusted(self) -> bool:
        """Whether the labels are used; the limits are wider after PATIENCE_S.

        Where markers are missing and points are left over, a false point may pass for a marker: the rest must fit better.
        """
        energy = self.energy * (1.0 + INCOMPLETE * self.incomplete)
        if energy < MAX_ENERGY and self.margin > self.required_margin:
            return True
        required = self.required_margin if self.incomplete else LATE_MARGIN * self.required_margin
        return self.waited_s > PATIENCE_S and energy < MAX_LATE_ENERGY and self.margin > required


@dataclass(frozen=True, slots=True)
class Candidate:
    """A solved labelling: point of each marker, (M,), pose, its markers (M, 3) [m] and their points (M, 3), energy.

    base_energy: the part for missing markers and points left over, `incomplete` of them.
    """

    choice: Ints
    state: BodyState
    marker_m: Floats
    point_m: Floats
    energy: float
    base_energy: float
    incomplete: int

    def follows(self, other: "Candidate") -> bool:
        """Return whether it is the same labelling one frame later."""
        both = (self.choice >= 0) & (other.choice >= 0)
        if both.sum() < 0.7 * max((self.choice >= 0).sum(), (other.choice >= 0).sum()):
            return False
        return bool((np.linalg.norm(self.point_m - other.point_m, axis=1)[both] < SAME_M).all())


class Acquirer:
    """Labels points by example poses; remembers the best candidates of the previous frame."""

    def __init__(
        self,
        subject: Subject,
        examples: Examples,
        estimator: Estimator,
        settings: SolveSettings,
        root_rotvec: Singles | None = None,
    ) -> None:
        """Prepare.

        estimator: solves the candidates, its history is left as it is; root_rotvec: orientation of the root in every example,
        (N, 3) [rad], Y up, upright if None.
        """
        self.viewpoint_m: Floats | None = None  # midpoint of the cameras, (3,) [m] world, which performers mostly face
        self._torso = subject.markers.torso
        self._estimator, self._settings = estimator, settings
        self._stride = stride = max(1, -(-len(examples) // N_POSES))
        pose = examples.pose[::stride].reshape(-1, N_JOINTS - 1, 3)
        joints = np.zeros((len(pose) + 1, N_JOINTS, 3))
        joints[1:, 1:] = pose
        joints[0] = build_tpose()
        tilt = np.tile(np.eye(3), (len(joints), 1, 1))
        if root_rotvec is not None:
            tilt[1:] = remove_heading(matrix_from_rotvec(np.asarray(root_rotvec[::stride], float)))
        self._joints, self._tilt = joints, tilt
        local = compute_local_markers(subject.skeleton, joints, subject.joint, subject.offset_m)
        upright = np.einsum("nij,nmj->nmi", tilt, local)
        self._every = max(1, len(upright) // N_LISTED)
        self._index = build_pose_index(upright[:: self._every], N_CENTERS)
        self._flat = upright.astype(np.float32)
        self._pairs = choose_torso_pairs(upright[0], subject.markers.torso)
        self._swaps = list_limb_swaps(find_opposite_markers(subject))
        self._mirror = compute_mirror_order(subject)
        self._min_labelled = max(5, round(0.6 * len(subject.markers)))
        self.forget()

    def forget(self) -> None:
        """Forget the candidates."""
        self._ambiguous: list[Candidate] = []
        self._began_ns = self._last_ns = -(10**18)

    def acquire(self, points_m: Floats, frame_of: FrameOf, t_ns: int, last: BodyState | None = None) -> Acquisition | None:
        """Label points (P, 3) [m] world at a time; None where nothing fits.

        frame_of: returns the frame in which every marker, (M,), has the given point, -1 for none; last: pose before the loss.
        Where the result is not `trusted`, the candidates are remembered and the next frames decide.
        """
        if t_ns - self._last_ns > MAX_PAUSE_S * 1e9 or t_ns <= self._last_ns:
            self._ambiguous, self._began_ns = [], t_ns
        self._last_ns = t_ns
        candidates = self._candidates(points_m, frame_of, t_ns, last) if len(points_m) >= self._min_labelled else []
        self._ambiguous = candidates[:N_CARRIED]
        if not candidates:
            return None
        return self._decide(candidates, 1e-9 * (t_ns - self._began_ns))

    def _candidates(self, points_m: Floats, frame_of: FrameOf, t_ns: int, last: BodyState | None) -> list[Candidate]:
        """Return the solved labellings of a frame, the best first, weighed with the previous frames."""
        hypotheses = self._hypotheses(np.ascontiguousarray(points_m), last)
        found: dict[bytes, Candidate] = {}
        least = np.inf
        for h in range(len(hypotheses)):
            known = self._known_energy(hypotheses, h, len(points_m))
            if known > least + BEYOND:
                continue
            candidate = self._solve(points_m, frame_of, hypotheses, h, known)
            if candidate is None:
                continue
            least = min(least, candidate.energy)
            candidate = self._weigh(candidate, t_ns, last)
            key = candidate.choice.tobytes()
            if key not in found or candidate.energy < found[key].energy:
                found[key] = candidate
        return sorted(found.values(), key=lambda candidate: candidate.energy)

    def _weigh(self, candidate: Candidate, t_ns: int, last: BodyState | None) -> Candidate:
        """Add to the energy what the cameras' position, the pose before a short loss and the previous frames tell."""
        energy = candidate.energy + self._averted(candidate.state)
        if last is not None:
            energy += _compute_relocation_energy(candidate.state, last, 1e-9 * (t_ns - last.t_ns))
        earlier = [other.energy for other in self._ambiguous]
        before = [other.energy for other in self._ambiguous if candidate.follows(other)]
        if before:
            energy = (1.0 - REMEMBER) * energy + REMEMBER * min(before)
        elif earlier and energy > min(earlier):
            # What was no candidate a frame ago was worse than those that were, unless those were all wrong.
            energy = max(energy, max(earlier))
        return replace(candidate, energy=energy)

    def _averted(self, state: BodyState) -> float:
        """Return the energy of a back turned to the cameras: a body nearly equals itself turned by 180 degrees."""
        if self.viewpoint_m is None:
            return 0.0
        return AVERTED if state.rotation[:, 2] @ (self.viewpoint_m - state.position_m) < 0 else 0.0

    def _decide(self, candidates: list[Candidate], waited_s: float) -> Acquisition:
        """Take the best labelling without the few markers that an almost equally good one labels otherwise."""
        best = candidates[0]
        unsure = np.zeros(len(best.choice), bool)
        margin = np.inf
        fit = best.energy - best.base_energy
        required = MARGIN + MARGIN_SHARE * fit + MARGIN_INCOMPLETE * best.incomplete
        for rival in candidates[1:]:
            behind = rival.energy - best.energy
            differ = (rival.choice != best.choice) & (rival.choice >= 0) & (best.choice >= 0)
            sure = (best.choice >= 0) & ~(unsure | differ)
            if behind < required and not (differ & self._torso).any() and sure.sum() >= self._min_labelled:
                unsure |= differ
            elif differ.any():
                margin = min(margin, behind)
        choice = np.where(unsure, -1, best.choice)
        labelled = int((best.choice >= 0).sum())
        return Acquisition(choice, best.state, fit / labelled, best.incomplete / len(choice), margin, required, waited_s)

    def _hypotheses(self, points: Floats, last: BodyState | None) -> Hypotheses:
        """Return the best few labellings of points in an upright world."""
        choice, root = place_on_points(points, self._index.centers, self._pairs, SLACK_M, GATE_M, N_PLACED)
        _, first = np.unique(choice, axis=0, return_index=True)
        first = np.sort(first)[:N_REFINED]
        found = refine_hypotheses(points, self._index, choice[first], root[first], GATES_M, LEFT_OVER_M).distinct()
        choice, root = self._variants(found, points, last)
        variants = refine_hypotheses(points, self._index, choice, root, GATES_M[-1:], LEFT_OVER_M, relabel=False)
        both = found.joined(variants).distinct()
        return both.take(np.flatnonzero((both.choice >= 0).sum(axis=1) >= self._min_labelled)[:N_SOLVED])

    def _variants(self, found: Hypotheses, points: Floats, last: BodyState | None) -> tuple[Ints, Floats]:
        """Return labellings and placements to try besides the best ones.

        These are the best with limbs exchanged and with the body turned by 180 degrees, and those that continue the candidates of
        the previous frame and the pose before the loss.
        """
        choices, roots = [found.choice[:0]], [found.root[:0]]
        for choice, root in zip(found.choice[:N_VARIED], found.root[:N_VARIED], strict=True):
            exchanged = choice[self._swaps]
            choices += [exchanged, choice[self._mirror][None]]
            roots += [np.tile(root, (len(exchanged), 1)), (root * [-1.0, -1.0, 1.0, 1.0, 1.0])[None]]
        past = [(c.state, c.marker_m) for c in self._ambiguous]
        past += [] if last is None else [(last, self._estimator.world(last))]
        for state, marker_m in past:
            choices.append(assign_points(points, marker_m, GATE_M)[None])
            roots.append(placement_from_root(state.rotation, state.position_m)[None])
        return np.concatenate(choices), np.concatenate(roots)

    def _solve(self, points: Floats, frame_of: FrameOf, hypotheses: Hypotheses, h: int, known: float) -> Candidate | None:
        """Solve one labelling; assign the points to the solved pose, and solve again where that changes a label."""
        (c, s), position_m = hypotheses.root[h, :2], hypotheses.root[h, 2:].copy()
        heading = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        number, choice = self._every * int(hypotheses.number[h]), hypotheses.choice[h]
        start = BodyState(0, self._joints[number], heading @ self._tilt[number], position_m)
        near = self._neighbours(points, choice, heading, position_m)
        estimate = self._estimator.estimate(frame_of(choice), start, near)
        if estimate is None:
            return None
        better = assign_points(points, estimate.marker_m, SOLVED_GATE_M)
        if not np.array_equal(better, choice):
            choice = better
            estimate = self._estimator.estimate(frame_of(choice), estimate.state, near)
        if estimate is None or (choice >= 0).sum() < self._min_labelled or not np.isfinite(estimate.marker_m).all():
            return None
        first_choice, incomplete = hypotheses.choice[h], _count_missing(choice, len(points))
        energy = known + MISSING * (sum(incomplete) - sum(_count_missing(first_choice, len(points)))) + estimate.energy
        base = MISSING * sum(incomplete) + _compute_example_energy(_compute_missing_cost_m2(first_choice, len(points)))
        return Candidate(choice, estimate.state, estimate.marker_m, points[choice], energy, base, sum(incomplete))

    def _known_energy(self, hypotheses: Hypotheses, h: int, n_points: int) -> float:
        """Return the part of a labelling's energy that needs no solving: distance from examples, missing, left over."""
        total_m2 = len(self._torso) * float(hypotheses.cost_m[h]) ** 2
        return _compute_example_energy(total_m2) + MISSING * sum(_count_missing(hypotheses.choice[h], n_points))

    def _neighbours(self, points: Floats, choice: Ints, heading: Floats, position: Floats) -> Neighbours:
        """Return the examples nearest to a labelling."""
        s = self._settings
        used = choice >= 0
        local = np.zeros((len(choice), 3))
        local[used] = (points[choice[used]] - position) @ heading
        d = compute_squared_distances(self._flat, local, choice) / s.query_marker_sigma_m**2
        chosen = find_nearest(d, s.neighbours)
        poses = self._joints[chosen, 1:].reshape(len(chosen), -1).astype(np.float32)
        return weigh_neighbours(np.maximum(chosen - 1, 0) * self._stride, poses, d[chosen], s.sharpness)


def _count_missing(choice: Ints, n_points: int) -> tuple[int, int]:
    """Return how many markers have no point, and how many of those could have one that is left over."""
    used = int((choice >= 0).sum())
    missing = len(choice) - used
    return missing, min(missing, n_points - used)


def _compute_missing_cost_m2(choice: Ints, n_points: int) -> float:
    """Return what missing markers add to the squared distances from an example, as `hypotheses.refine` counts them."""
    missing, left_over = _count_missing(choice, n_points)
    return left_over * LEFT_OVER_M**2 + (missing - left_over) * GATES_M[-1] ** 2


def _compute_example_energy(total_m2: float) -> float:
    """Return the energy of a sum of squared distances from the nearest example."""
    return 0.5 * EXAMPLE_WEIGHT * total_m2 / EXAMPLE_SIGMA_M**2


def _compute_relocation_energy(state: BodyState, last: BodyState, gone_s: float) -> float:
    """Return the energy of a root far from the last pose, at most FAR and zero after NEAR_S."""
    if not 0.0 <= gone_s < NEAR_S:
        return 0.0
    away = float(np.linalg.norm(state.position_m - last.position_m)) / (NEAR_M + 3.0 * gone_s)
    turned = float(compute_geodesic_rad(state.rotation, last.rotation)) / (NEAR_RAD + 4.0 * gone_s)
    return FAR * (1.0 - gone_s / NEAR_S) * min(1.0, away**2 + turned**2)
