"""Acquisition: label points with no previous pose to go by, at the start and after a loss.

Example poses are laid on the points (`reconstruct.hypotheses`), the best labellings are refined, joined by those with limbs
exchanged or the whole body turned round, and the few best are solved as any frame is: what is left of the solver's energy
says which of them a body would take. What stays ambiguous is decided by the next frames.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibration.constellation import assign
from calibration.subject import Subject
from capture.packets import MarkerFrame
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.kinematics import charted, local_markers
from database.rotations import Floats, geodesic_rad, matrix_from_rotvec
from reconstruct.candidates import Candidate, Found
from reconstruct.estimator import Estimator
from reconstruct.examples import Examples
from reconstruct.history import Moment
from reconstruct.hypotheses import Hypotheses, Ints, laid, refined
from reconstruct.labeller import opposite_markers
from reconstruct.local_model import local_gaussian
from reconstruct.nearest import nearest
from reconstruct.neighbourhood import Neighbourhood
from reconstruct.pose_index import pose_index, squared_distances
from reconstruct.upright import limb_swaps, mirror_order, placement, torso_pairs, upright_turn, without_heading

N_POSES, N_LISTED, N_CENTERS = 24_000, 8_000, 500
SLACK_M, GATE_M = 0.07, 0.25  # of laying examples on points
N_LAID, N_REFINED, N_SOLVED, N_VARIED, N_CARRIED = 300, 32, 6, 3, 3
GATES_M = (0.25, 0.20)  # of the rounds of refinement
LEFT_OVER_M = 0.35  # as how far off a marker counts that has no point while one is left over
SOLVED_GATE_M = 0.08  # how far from its point a marker of a solved pose may be
MISSING = 6.0  # energy of a marker without a point, twice that while a point is left over
LIKENESS, LIKENESS_M = 0.4, 0.03  # weight of the distance from the nearest example, and the usual one
CLEAR, CLEAR_SHARE, CLEAR_BESIDE = 2.0, 0.2, 1.0  # how much more energy a rival must have: the worse the best one fits, the more
REMEMBER = 0.8  # weight of the frames before in a labelling's energy, while it goes on
MAX_PAUSE_S = 0.1  # what was ambiguous longer ago is forgotten
BEYOND = 15.0  # no solving where the example alone puts a labelling so far behind the best
AVERTED = 4.0  # energy of a performer seen from behind
NEAR_S, NEAR_M, NEAR_RAD = 1.0, 0.3, 1.0  # for how long after a loss, and how far from there, a performer is sought
FAR = 8.0  # energy of being elsewhere

FrameOf = Callable[[Ints], MarkerFrame]


class Acquirer:
    """Holds the example poses that acquisition compares with, and what is still ambiguous."""

    def __init__(
        self,
        subject: Subject,
        examples: Examples,
        estimator: Estimator,
        settings: SolveSettings,
        root_rotvec: NDArray[np.float32] | None = None,
        viewpoint_m: Floats | None = None,
        up: Floats | None = None,
    ) -> None:
        """Prepare. estimator: solves the candidates; its history stays as it is; root_rotvec: orientation of the root in every
        example, (N, 3) [rad], Y up, upright if None; viewpoint_m: middle of the cameras, (3,) [m] world: performers mostly face
        them, None if unknown; up: of the world, (3,), the subject's if None.
        """
        self._viewpoint_m, self._torso = viewpoint_m, subject.markers.torso
        self._estimator, self._settings = estimator, settings
        stride = max(1, -(-len(examples) // N_POSES))
        pose = examples.pose[::stride].reshape(-1, N_JOINTS - 1, 3)
        joints = np.zeros((len(pose) + 1, N_JOINTS, 3))
        joints[1:, 1:] = pose
        joints[0] = charted(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
        tilt = np.tile(np.eye(3), (len(joints), 1, 1))
        if root_rotvec is not None:
            tilt[1:] = without_heading(matrix_from_rotvec(np.asarray(root_rotvec[::stride], float)))
        self._joints, self._tilt = joints, tilt
        local = local_markers(subject.skeleton, joints, subject.joint, subject.offset_m)
        upright = np.einsum("nij,nmj->nmi", tilt, local)
        self._every = max(1, len(upright) // N_LISTED)
        self._index = pose_index(upright[:: self._every], N_CENTERS)
        self._flat = upright.astype(np.float32)
        self._pairs = torso_pairs(upright[0], subject.markers.torso)
        self._swaps = limb_swaps(opposite_markers(subject))
        self._mirror = mirror_order(subject)
        self._up = upright_turn(subject.up if up is None else up)
        self._enough = max(5, round(0.6 * len(subject.markers)))
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._ambiguous: list[Candidate] = []
        self._began_ns = self._sought_ns = -(10**18)

    def seek(self, points_m: Floats, frame_of: FrameOf, t_ns: int, last: Moment | None = None) -> Found | None:
        """Label points (P, 3) [m] world at a time; None where nothing fits.

        frame_of: gives the frame in which every marker, (M,), has the given point or none, -1; last: pose before the loss.
        What is found need not be `trusted`: then the next frames decide, and this one's labellings are remembered for them.
        """
        if t_ns - self._sought_ns > MAX_PAUSE_S * 1e9 or t_ns <= self._sought_ns:
            self._ambiguous, self._began_ns = [], t_ns
        self._sought_ns = t_ns
        candidates = self._candidates(points_m, frame_of, t_ns, last) if len(points_m) >= self._enough else []
        self._ambiguous = candidates[:N_CARRIED]
        if not candidates:
            return None
        return self._decided(candidates, 1e-9 * (t_ns - self._began_ns))

    def _candidates(self, points_m: Floats, frame_of: FrameOf, t_ns: int, last: Moment | None) -> list[Candidate]:
        """Give the solved labellings of a frame, the best first, with what the frames before said of them."""
        hypotheses = self._hypotheses(np.ascontiguousarray(points_m @ self._up.T), t_ns, last)
        found: dict[bytes, Candidate] = {}
        least = np.inf
        for h in range(len(hypotheses)):
            known = self._known(hypotheses, h, len(points_m))
            if known > least + BEYOND:
                continue
            candidate = self._solved(points_m, frame_of, hypotheses, h, known)
            if candidate is None:
                continue
            least = min(least, candidate.energy)
            candidate = self._weighed(candidate, t_ns, last)
            key = candidate.choice.tobytes()
            if key not in found or candidate.energy < found[key].energy:
                found[key] = candidate
        return sorted(found.values(), key=lambda candidate: candidate.energy)

    def _weighed(self, candidate: Candidate, t_ns: int, last: Moment | None) -> Candidate:
        """Add what the cameras' side, the pose before a short loss and the frames before say of a labelling."""
        energy = candidate.energy + self._averted(candidate.moment)
        if last is not None:
            energy += _elsewhere(candidate.moment, last, 1e-9 * (t_ns - last.t_ns))
        earlier = [other.energy for other in self._ambiguous]
        before = [other.energy for other in self._ambiguous if candidate.follows(other)]
        if before:
            energy = (1.0 - REMEMBER) * energy + REMEMBER * min(before)
        elif earlier and energy > min(earlier):
            # What was no candidate a frame ago was worse than those that were, unless those were all wrong.
            energy = max(energy, max(earlier))
        return replace(candidate, energy=energy)

    def _averted(self, moment: Moment) -> float:
        """Give the energy of a back turned to the cameras: a body is nearly its own image turned by 180 degrees."""
        if self._viewpoint_m is None:
            return 0.0
        return AVERTED if moment.rotation[:, 2] @ (self._viewpoint_m - moment.position_m) < 0 else 0.0

    def _decided(self, candidates: list[Candidate], waited_s: float) -> Found:
        """Take the best labelling without the markers that a rival, as good but for a few, labels otherwise."""
        best = candidates[0]
        unsure = np.zeros(len(best.choice), bool)
        margin = np.inf
        fit = best.energy - best.beside
        clear = CLEAR + CLEAR_SHARE * fit + CLEAR_BESIDE * best.incomplete
        for rival in candidates[1:]:
            behind = rival.energy - best.energy
            differ = (rival.choice != best.choice) & (rival.choice >= 0) & (best.choice >= 0)
            sure = (best.choice >= 0) & ~(unsure | differ)
            if behind < clear and not (differ & self._torso).any() and sure.sum() >= self._enough:
                unsure |= differ
            elif differ.any():
                margin = min(margin, behind)
        choice = np.where(unsure, -1, best.choice)
        labelled = int((best.choice >= 0).sum())
        return Found(choice, best.moment, fit / labelled, best.incomplete / len(choice), margin, clear, waited_s)

    def _hypotheses(self, points: Floats, t_ns: int, last: Moment | None) -> Hypotheses:
        """Give the best few labellings of points in an upright world."""
        choice, root = laid(points, self._index.centers, self._pairs, SLACK_M, GATE_M, N_LAID)
        _, first = np.unique(choice, axis=0, return_index=True)
        first = np.sort(first)[:N_REFINED]
        found = refined(points, self._index, choice[first], root[first], GATES_M, LEFT_OVER_M).distinct()
        choice, root = self._variants(found, points, last)
        variants = refined(points, self._index, choice, root, GATES_M[-1:], LEFT_OVER_M, relabel=False)
        both = Hypotheses(*(np.concatenate([getattr(found, n), getattr(variants, n)]) for n in Hypotheses.__slots__)).distinct()
        return both.take(np.flatnonzero((both.choice >= 0).sum(axis=1) >= self._enough)[:N_SOLVED])

    def _variants(self, found: Hypotheses, points: Floats, last: Moment | None) -> tuple[Ints, Floats]:
        """Give the best labellings the other way round, limbs exchanged and the whole body turned by 180 degrees, and those that
        continue the candidates of the frame before and the pose before the loss."""
        choices, roots = [found.choice[:0]], [found.root[:0]]
        for choice, root in zip(found.choice[:N_VARIED], found.root[:N_VARIED], strict=True):
            exchanged = choice[self._swaps]
            choices += [exchanged, choice[self._mirror][None]]
            roots += [np.tile(root, (len(exchanged), 1)), (root * [-1.0, -1.0, 1.0, 1.0, 1.0])[None]]
        past = [(c.moment, c.marker_m) for c in self._ambiguous]
        past += [] if last is None else [(last, self._estimator.world(last))]
        for moment, marker_m in past:
            choices.append(assign(points, marker_m @ self._up.T, GATE_M)[None])
            roots.append(placement(self._up @ moment.rotation, self._up @ moment.position_m)[None])
        return np.concatenate(choices), np.concatenate(roots)

    def _solved(self, points: Floats, frame_of: FrameOf, hypotheses: Hypotheses, h: int, known: float) -> Candidate | None:
        """Solve one labelling; label what the solved pose explains better, and solve again where that changes anything."""
        c, s, *place = hypotheses.root[h]
        turn = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        number, choice = self._every * int(hypotheses.number[h]), hypotheses.choice[h]
        start = Moment(0, self._joints[number], self._up.T @ turn @ self._tilt[number], self._up.T @ np.array(place))
        near = self._neighbourhood(points, choice, turn, np.array(place))
        estimate = self._estimator.estimate(frame_of(choice), start, near)
        if estimate is None:
            return None
        better = assign(points, estimate.marker_m, SOLVED_GATE_M)
        if not np.array_equal(better, choice):
            choice = better
            estimate = self._estimator.estimate(frame_of(choice), estimate.moment, near)
        if estimate is None or (choice >= 0).sum() < self._enough or not np.isfinite(estimate.marker_m).all():
            return None
        laid_choice, incomplete = hypotheses.choice[h], _incomplete(choice, len(points))
        energy = known + MISSING * (sum(incomplete) - sum(_incomplete(laid_choice, len(points)))) + estimate.energy
        beside = MISSING * sum(incomplete) + _unlike(_cost_m2(laid_choice, len(points)))
        return Candidate(choice, estimate.moment, estimate.marker_m, points[choice], energy, beside, sum(incomplete))

    def _known(self, hypotheses: Hypotheses, h: int, n_points: int) -> float:
        """Give the part of a labelling's energy that needs no solving: unlike any example, missing, left over."""
        total_m2 = len(self._torso) * float(hypotheses.cost_m[h]) ** 2
        return _unlike(total_m2) + MISSING * sum(_incomplete(hypotheses.choice[h], n_points))

    def _neighbourhood(self, points: Floats, choice: Ints, turn: Floats, place: Floats) -> Neighbourhood:
        """Learn the local model of the examples nearest to a labelling."""
        s = self._settings
        used = choice >= 0
        local = np.zeros((len(choice), 3))
        local[used] = (points[choice[used]] @ self._up.T - place) @ turn
        d = squared_distances(self._flat, local, choice) / s.query_marker_sigma_m**2
        chosen = nearest(d, s.neighbours)
        d = d[chosen].astype(np.float64)
        width = max(float(d[len(d) // 2] - d[0]), 1e-9)
        weights = np.exp(-0.5 * s.sharpness * (d - d[0]) / width)
        examples = self._joints[chosen, 1:].reshape(len(chosen), -1)
        background = self._estimator.background
        model = local_gaussian(examples, weights, None, background, floor_rad=s.floor_rad, shrinkage=s.shrinkage)
        return Neighbourhood(self._every * chosen, weights, model)


def _incomplete(choice: Ints, n_points: int) -> tuple[int, int]:
    """Give how many markers have no point, and how many of those could have one that is left over."""
    used = int((choice >= 0).sum())
    missing = len(choice) - used
    return missing, min(missing, n_points - used)


def _cost_m2(choice: Ints, n_points: int) -> float:
    """Give what markers without a point add to the squared distances from an example, as `refined` counts them."""
    missing, left_over = _incomplete(choice, n_points)
    return left_over * LEFT_OVER_M**2 + (missing - left_over) * GATES_M[-1] ** 2


def _unlike(total_m2: float) -> float:
    """Give the energy of being unlike any example by so much in all."""
    return 0.5 * LIKENESS * total_m2 / LIKENESS_M**2


def _elsewhere(moment: Moment, last: Moment, gone_s: float) -> float:
    """Give the energy of a root that a performer cannot have reached from the last pose, at most FAR, none after a while."""
    if not 0.0 <= gone_s < NEAR_S:
        return 0.0
    away_m = float(np.linalg.norm(moment.position_m - last.position_m)) / (NEAR_M + 3.0 * gone_s)
    turned = float(geodesic_rad(moment.rotation, last.rotation)) / (NEAR_RAD + 4.0 * gone_s)
    return FAR * (1.0 - gone_s / NEAR_S) * min(1.0, away_m**2 + turned**2)
