"""Rival labels over time: labellings that may be right instead of the followed one, each with poses of its own, until settled.

A marker that is seen again, or that passes near another, may be labelled wrongly, and one frame does not tell: its energy is low
as soon as the pose has gone where the labels lead. The frames after it do. So other labels are followed as well, each from its
own history, and their energies are summed, older ones fading. Where a rival's sum is less by a margin, it is followed instead.

After short steps the sum is of -ln of the evidence, Laplace's: the energy and the volume that the observations leave of what was
expected (MacKay 1992, "Bayesian interpolation", the Occam factor). By the energy alone a hand, which may be nearly anywhere,
explains every point better than the marker of the waist whose point it is.
"""

from dataclasses import dataclass, replace

import numpy as np

from capture.packets import MarkerFrame, Points, Views
from capture.stereo.labels import marker_frame
from config.arrays import Bools, Floats, Ints
from reconstruct.doubt import Doubt
from reconstruct.estimator import Estimate, Estimator, EstimatorMemory
from reconstruct.labelling.alternatives import NEAREST_ROWS, Solved
from reconstruct.labelling.labeller import Estimating, Labeller, LabellerMemory, near_each_other
from reconstruct.labelling.proposals import Labels, exchanged, of_loose_points, point_costs, points_of
from reconstruct.labelling.shape import LabelCost

MAX_RIVALS = 3  # followed beside the labels that are published
MAX_AGE_S = 0.5  # for which a rival is followed
MAX_NEW = 3  # other labels that are tried in one frame
FADING = 0.9  # share of the sum of energies that is left after a frame
MOST_ENERGY = 60.0  # as which more counts: even right labels may surprise for a frame
PROPOSED = 40.0  # added to labels that are proposed for nothing but the nearest example
LIKENESS, MOST_SQUARED = 0.05, 100.0  # share of the nearest example's squared distance, and as how much more counts
LEFT_OVER = 20.0  # energy of a point without a label while a marker is hidden
MARGIN = 12.0  # by which a rival's sum must be less
HOPELESS, SLOW_HOPELESS = 45.0, 120.0  # by which a rival's sum may be more, after short steps and after long ones
SAME_FRAMES = 6  # with equal labels, after which a rival is no other labelling
SAME_M = 0.03  # nor where with equal labels no marker is farther from those of the followed pose
NEAR_M, NEAR_LIKELY = 0.2, 9.0  # likewise for two markers that are seen, and how near they must be
MET_M = 0.15  # two markers nearer than this may be taken for each other
MET_S, MET_AGAIN_S = 2.0, 0.5  # for so long after it: if the examples say so, and when one of them is seen again
REST_S, MAX_REST_S = 0.5, 4.0  # for which two markers near each other are not tried again; doubled while they stay near
NOT_TRIED = -(10**12), REST_S
SLOW_TEST_S, TEST_S = 0.12, 0.5  # how often limbs are tried exchanged, after long steps and after short ones
MAX_TESTED = 2  # and how many at a time
ALLOWED = 6.0  # by how much their distances may cost more
SIDES_COST = 15.0  # by how much less they cost where both sides of the body show that they are exchanged
USUAL_ENERGY, USUAL_SHARE, UNUSUAL = 10.0, 0.1, 1.5  # the usual energy, learned by this share; how many times it is unusual
OPEN, APART_M = 10.0, 0.1  # rivals with no more energy, and with a marker so far off, are another pose that is nearly as likely
UNSETTLED_M, UNLIKELY = 0.15, 3.0  # after a long step such rivals so far off, or so much energy a marker, leave the labels open
# After a long step labels are those of least energy of some that cost more by the shape of the body by less than NEAR_COST; a
# rival's sum, with a share of that cost, must then be less by SLOW_MARGIN only, and it is followed for SLOW_STEPS at least.
NEAR_COST, SLOW_NEW, SHAPE_SHARE, SLOW_MARGIN, SLOW_STEPS = 60.0, 10, 0.5, 1.0, 6

Labelled = tuple[MarkerFrame, Estimate | None]


@dataclass(frozen=True, slots=True)
class LabelMemory:
    """What a labelling of the past frames has led to."""

    estimator: EstimatorMemory
    labeller: LabellerMemory
    sigma_m: Floats | None = None


@dataclass(frozen=True, slots=True)
class Contender:
    """One labelling of a frame.

    memory: before the frame; energy: the sum; since_ns: when it began; same: frames in a row with the labels that are followed.
    """

    memory: LabelMemory
    frame: MarkerFrame
    estimate: Estimate | None
    energy: float
    since_ns: int
    same: int = 0


class Rivals:
    """Follows rival labels of one subject; estimate: solves a frame, None where its fit is implausible.

    switches: how often a rival was right; solved: frames of rivals that were solved; unsettled: whether the labels of the last
    frame, which came after a long step, are not to be trusted.
    """

    def __init__(self, labeller: Labeller, estimator: Estimator, estimate: Estimating) -> None:
        self._labeller, self._estimator, self._estimate = labeller, estimator, estimate
        self.switches = self.solved = 0
        self._upper = np.triu(np.ones((len(labeller.torso), len(labeller.torso)), bool), 1)
        self.forget()

    def forget(self) -> None:
        """Forget all frames."""
        self._rivals: list[Contender] = []  # with the memory after the last frame
        self._energy = 0.0
        self._seen: Bools | None = None
        self._tried: dict[tuple[int, int], tuple[int, float]] = {}  # when two markers were tried, and the rest after it [s]
        n = len(self._labeller.torso)
        self._met_ns = np.zeros((n, n), np.int64)  # when two markers were last near each other or hidden together
        self._began = False
        self._tested_ns, self._next_test = -(10**18), 0
        self._usual = USUAL_ENERGY
        self._open = self._sides = self._unlikely = self.unsettled = False

    @property
    def doubts(self) -> dict[Doubt, bool]:
        """What the hypotheses, and both sides of the body, show of the last frame."""
        return {Doubt.RIVALS: self._open, Doubt.SIDES: self._sides, Doubt.UNLIKELY: self._unlikely}

    def best(self, views: Views, points: Points, leading: Labelled, proposed: Solved | None) -> Labelled:
        """Return the labels to follow and their estimate; the leading ones, or a rival's.

        The estimator and the labeller then remember what led to them. points: of the pair; proposed: other labels to follow.
        """
        frame, estimate = leading
        if not frame.any_valid:
            self.forget()
            return frame, estimate
        if not self._began:
            self._met_ns[:], self._began = frame.t_capture_ns, True
        filler, self._estimator.filler = self._estimator.filler, None  # what it learns is of the published poses
        contenders = self._contenders(views, points, leading, proposed)
        chosen = self._chosen(contenders)
        first = contenders[chosen]
        others = [other for n, other in enumerate(contenders) if n != chosen]
        self._rivals = [self._followed(other) for other in self._kept(first, others)]
        self._judge(first)
        self._recall(first.memory)
        self._estimator.filler = filler
        self._energy, self._seen = first.energy, first.frame.shown
        self._meet(first.frame)
        self.switches += chosen > 0 and not (self._labeller.after_long_step and _is_new(first))
        return first.frame, first.estimate

    def _judge(self, first: Contender) -> None:
        """Note what speaks against the labels that are followed."""
        slow, energy = self._labeller.after_long_step, 0.0 if first.estimate is None else first.estimate.local_energy
        self._open = any(_differ(first, other, APART_M) for other in self._rivals)
        self._unlikely = slow and energy > UNLIKELY * int(first.frame.seen.any(axis=0).sum())
        self.unsettled = self._unlikely or (slow and any(_differ(first, other, UNSETTLED_M) for other in self._rivals))

    def _contenders(self, views: Views, points: Points, leading: Labelled, proposed: Solved | None) -> list[Contender]:
        """Return the followed labels, the rivals so far in this frame, and new ones."""
        frame, estimate = leading
        memory, t_ns = self._memory(None), frame.t_capture_ns
        cost, before = self._shape_cost(points), FADING * self._energy
        leader = Contender(memory, frame, estimate, before + _counted(frame, estimate) + _shaped(cost, points, frame), t_ns)
        known = [leader, *(self._advanced(rival, views, points, frame) for rival in self._rivals)]
        self._recall(memory)
        if proposed is not None:
            known.append(Contender(memory, *proposed, leader.energy + PROPOSED, t_ns))
        for other in self._others(views, points, leading, cost):
            # After a long step a rival may have come to the same labels by a worse way.
            if any(_same_labels(other, each.frame) for each in (known if cost is None else known[:1])):
                continue
            solved = self._solved(other)
            energy = before + _counted(other, solved) + _shaped(cost, points, other)
            known.append(Contender(memory, other, solved, energy, t_ns))
        if estimate is not None:
            for other in self._tested(views, points, frame, estimate.local_energy):
                if any(_same_labels(other, each.frame) for each in known):
                    continue
                self.solved += 1
                solved = self._estimate(other, estimate.state, None)
                energy = before + _counted(other, solved) + _shaped(cost, points, other)
                known.append(Contender(memory, other, solved, energy, t_ns))
        if len(known) == 1:
            return known
        known = [self._with_likeness(each) for each in known]
        return known if self._labeller.after_long_step else [self._with_volume(each) for each in known]

    def may_be_exchanged(self, t_ns: int, a: int, b: int) -> bool:
        """Return whether two markers were near each other, or hidden together, not long before a time."""
        met_ns = self._met_ns
        return not self._began or t_ns - min(met_ns[a, b], met_ns[a, a], met_ns[b, b]) < MET_S * 1e9

    def _meet(self, frame: MarkerFrame) -> None:
        """Note which markers are near each other, or hidden together: from now on one may be taken for the other."""
        near, t_ns = self._near(frame, MET_M), frame.t_capture_ns
        if not frame.all_valid:
            hidden = np.asarray(~frame.shown)
            near |= hidden[:, None] & hidden
        self._met_ns[near] = t_ns

    @staticmethod
    def _near(frame: MarkerFrame, limit_m: float) -> Bools:
        """Return which markers with points are near each other, (M, M)."""
        near = np.empty((len(frame.valid), len(frame.valid)), bool)
        near_each_other(frame.point_m, frame.valid, limit_m, near)
        return near

    def _with_likeness(self, contender: Contender) -> Contender:
        """Add to the energy how far the nearest example is from the labelled points."""
        if contender.estimate is None:
            return contender
        root = (contender.estimate.state.rotation, contender.estimate.state.position_m)
        query, rows = self._estimator.query(contender.frame, root, None), contender.estimate.near.rows[:NEAREST_ROWS]
        squared = self._estimator.likeness.least(query, rows, MOST_SQUARED)
        return replace(contender, energy=contender.energy + LIKENESS * squared)

    def _with_volume(self, contender: Contender) -> Contender:
        """Add to the energy how much less the observations leave open than what was expected."""
        if contender.estimate is None:
            return contender
        return replace(contender, energy=contender.energy + self._estimator.log_volume(contender.estimate))

    def _advanced(self, rival: Contender, views: Views, points: Points, leading: MarkerFrame) -> Contender:
        """Return a rival in the next frame, labelled by its own prediction."""
        self._recall(rival.memory)
        last, predicted = self._estimator.last, self._estimator.predict(views.t_capture_ns)
        assert last is not None and predicted is not None
        ahead_s = (views.t_capture_ns - last.t_ns) * 1e-9
        expected = self._labeller.expected(self._estimator.world(predicted), ahead_s, rival.memory.sigma_m)
        frame = self._labeller.label(views, points, self._estimator.rig, expected)
        estimate = self._solved(frame)
        same = rival.same + 1 if _same_labels(frame, leading) else 0
        shaped = _shaped(self._shape_cost(points), points, frame)
        energy = FADING * rival.energy + _counted(frame, estimate) + shaped
        return Contender(self._memory(rival.memory.sigma_m), frame, estimate, energy, rival.since_ns, same)

    def _shape_cost(self, points: Points) -> LabelCost | None:
        """Return what labels cost by the shape of the body, in the present labeller; None after a short step."""
        expected = self._labeller.predicted
        return None if expected is None else self._labeller.label_cost(points, expected)

    def _solved(self, frame: MarkerFrame) -> Estimate | None:
        """Solve a frame of a rival."""
        self.solved += 1
        return self._estimate(frame, None, None)

    def _chosen(self, contenders: list[Contender]) -> int:
        """Return the number of the labels to follow: the first unless others have a pose and less energy by a margin."""
        least = min((other.energy, n) for n, other in enumerate(contenders) if n == 0 or other.estimate is not None)[1]
        margin = SLOW_MARGIN if self._labeller.after_long_step else MARGIN
        return least if contenders[least].energy < contenders[0].energy - margin else 0

    def _kept(self, first: Contender, others: list[Contender]) -> list[Contender]:
        """Return the rivals to follow on: the likeliest of those that are not settled."""
        t_ns, slow = first.frame.t_capture_ns, self._labeller.after_long_step
        max_age_s = max(MAX_AGE_S, SLOW_STEPS * self._labeller.step_s) if slow else MAX_AGE_S
        open_ones = [
            other
            for other in others
            if other.estimate is not None
            and other.same < SAME_FRAMES
            and not (_same_labels(first.frame, other.frame) and not _apart(first, other, SAME_M))
            and other.energy < first.energy + (SLOW_HOPELESS if slow else HOPELESS)
            and (t_ns - other.since_ns) * 1e-9 < max_age_s
        ]
        open_ones.sort(key=lambda other: other.energy)
        return (_distinct(first, open_ones) if slow else open_ones)[:MAX_RIVALS]

    def _followed(self, rival: Contender) -> Contender:
        """Return a rival with the memory after its frame."""
        assert rival.estimate is not None
        self._recall(rival.memory)
        self._estimator.accept(rival.estimate)
        self._labeller.remember(rival.frame, rival.estimate.marker_m)
        return replace(rival, memory=self._memory(rival.estimate.near.sigma_m))

    def _memory(self, sigma_m: Floats | None) -> LabelMemory:
        """Return what estimator and labeller remember."""
        return LabelMemory(self._estimator.memory, self._labeller.memory, sigma_m)

    def _recall(self, memory: LabelMemory) -> None:
        """Let estimator and labeller remember a labelling's past."""
        self._estimator.memory, self._labeller.memory = memory.estimator, memory.labeller

    def _others(self, views: Views, points: Points, leading: Labelled, shaped: LabelCost | None) -> list[MarkerFrame]:
        """Return other labels of a frame that its prediction does not exclude, the likeliest first."""
        frame, _ = leading
        expected, seen = self._labeller.predicted, self._seen
        if expected is None or seen is None or not len(points.point_m):
            return []
        if shaped is not None:
            # At no energy at all they would still have too large a sum.
            limit = min(NEAR_COST, (_counted(*leading) + OPEN) / SHAPE_SHARE)
            close = shaped.others(points_of(frame, points), limit)[:SLOW_NEW]
            return [marker_frame(views, points, self._estimator.rig, other, expected) for _, other in close]
        near, loose = (
            self._due(frame),
            np.count_nonzero(frame.valid) < len(points.point_m) or np.count_nonzero(frame.valid & ~seen) > 0,
        )
        if not near and not loose:
            return []
        choice, cost = points_of(frame, points), point_costs(points, expected)
        found = self._of_near_points(near, frame.t_capture_ns, choice, cost)
        if loose:
            hidden = np.asarray(~frame.shown)
            met = frame.t_capture_ns - self._met_ns < MET_AGAIN_S * 1e9
            found = [*of_loose_points(choice, cost, (hidden, seen, met)), *found]
        found.sort(key=lambda other: other[0])
        return [marker_frame(views, points, self._estimator.rig, other, expected) for _, other in found[:MAX_NEW]]

    def _tested(self, views: Views, points: Points, frame: MarkerFrame, energy: float) -> list[MarkerFrame]:
        """Return labels of a frame with limbs exchanged that the shape of the body allows, a few at a time, each now and then.

        What is followed may have been wrong for long; then prediction excludes what is right. energy: of the labels followed; at
        high rates, where labels are seldom lost, nothing is tried while it is as usual.
        """
        shape, expected, slow = self._labeller.shape, self._labeller.predicted, self._labeller.after_long_step
        passed_s = (frame.t_capture_ns - self._tested_ns) * 1e-9
        if shape is None or expected is None or not len(points.point_m) or passed_s < (SLOW_TEST_S if slow else TEST_S):
            return []
        self._tested_ns = frame.t_capture_ns
        unusual = energy > UNUSUAL * self._usual
        self._usual += USUAL_SHARE * (min(energy, MOST_ENERGY) - self._usual)
        choice = points_of(frame, points)
        likely = shape.distances(points).allowed(choice, ALLOWED)
        self._sides = any(more < -SIDES_COST for more, _ in likely)
        if not (slow or unusual):
            return []
        n = min(MAX_TESTED, len(likely))
        chosen = [likely[(self._next_test + k) % len(likely)][1] for k in range(n)]
        self._next_test += n
        return [marker_frame(views, points, self._estimator.rig, other, expected) for other in chosen]

    def _due(self, frame: MarkerFrame) -> list[tuple[int, int]]:
        """Return the markers that are near each other and have not been tried exchanged for a while."""
        found = []
        for a, b in zip(*map(np.ndarray.tolist, (self._near(frame, NEAR_M) & self._upper).nonzero()), strict=True):
            tried_ns, rest_s = self._tried.get((a, b), NOT_TRIED)
            if (frame.t_capture_ns - tried_ns) * 1e-9 > rest_s:
                found.append((a, b))
        return found

    def _of_near_points(self, due: list[tuple[int, int]], t_ns: int, choice: Ints, cost: Floats) -> list[Labels]:
        """Return the labels of two markers that are near each other exchanged."""
        found = []
        for pair in due:
            more, other = exchanged(choice, cost, *pair)
            if more < NEAR_LIKELY:
                tried_ns, rest_s = self._tried.get(pair, NOT_TRIED)
                # Some are always near each other, as ankle and toe: soon they are tried seldom.
                again = (t_ns - tried_ns) * 1e-9 < 2.0 * rest_s
                self._tried[pair] = t_ns, min(2.0 * rest_s, MAX_REST_S) if again else REST_S
                found.append((more, other))
        return found


def _is_new(contender: Contender) -> bool:
    """Return whether it is one of the ways to go on from the labels that were followed, not an exchange of limbs."""
    estimate = contender.estimate
    return contender.since_ns == contender.frame.t_capture_ns and estimate is not None and not estimate.anew


def _differ(first: Contender, other: Contender, apart_m: float) -> bool:
    """Return whether a rival is nearly as likely as the labels that are followed, and another pose: a marker is so far off."""
    if first.estimate is None or other.estimate is None or other.energy > first.energy + OPEN:
        return False
    return _apart(first, other, apart_m)


def _apart(first: Contender, other: Contender, limit_m: float) -> bool:
    """Return whether the poses of two labellings have a marker farther apart than a limit, or there is no pose."""
    if first.estimate is None or other.estimate is None:
        return True
    return bool((((first.estimate.marker_m - other.estimate.marker_m) ** 2).sum(axis=1) > limit_m**2).any())


def _distinct(first: Contender, others: list[Contender]) -> list[Contender]:
    """Return the contenders, likeliest first, without those whose labels a likelier one has."""
    found = [first]
    for other in others:
        if not any(_same_labels(other.frame, each.frame) for each in found):
            found.append(other)
    return found[1:]


def _counted(frame: MarkerFrame, estimate: Estimate | None) -> float:
    """Return what a frame adds to the sum: its pose's energy, and something for points left over while markers are hidden."""
    left_over = min(len(frame.extra_m), len(frame.shown) - int(np.count_nonzero(frame.shown)))
    return (MOST_ENERGY if estimate is None else min(estimate.local_energy, MOST_ENERGY)) + LEFT_OVER * left_over


def _shaped(cost: LabelCost | None, points: Points, frame: MarkerFrame) -> float:
    """Return what the labels of a frame add to the sum by the shape of the body, nothing after a short step."""
    return 0.0 if cost is None else SHAPE_SHARE * float(cost.of(points_of(frame, points)[None])[0])


def _same_labels(first: MarkerFrame, second: MarkerFrame) -> bool:
    """Return whether two frames of one pair have the same labels."""
    return not (np.count_nonzero(first.seen != second.seen) or np.count_nonzero(first.image_px != second.image_px))
