"""Fill-in: which weight held-out checks choose, whose markers they hide, and what a pose model can do wrong."""

from dataclasses import replace

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from config.settings import SolveSettings
from reconstruct.body_state import BodyState
from reconstruct.missing.fill_in import KEPT, LIMB, LIMBS, WEIGHTS, FillIn, HeldOutRecord
from reconstruct.missing.pose_model import PartialFrame, PoseGaussian
from reconstruct.models.local.model import DOFS
from reconstruct.search.examples import compute_examples
from reconstruct.solve.solver import FrameProblem, Solution
from reconstruct.track.estimator import Estimator
from tests.support.people import PERIOD_NS, front_rig, marker_frame_of, person, walk, worn_markers
from tests.support.performances import build_walks

SUBJECT = person("boxing", 1)
NAMES = SUBJECT.markers.names
CLIP = walk(SUBJECT.skeleton, 3, speed=0.8)
MARKERS = worn_markers(SUBJECT, CLIP.rotvec[:60], CLIP.root_m[:60])[0]
ANKLES = np.array(["foot" not in name for name in NAMES])


class Truth:
    """A pose model that is told the truth, plus an error [rad]; not finite if the error is not."""

    def __init__(self, error_rad: float) -> None:
        self.error_rad = error_rad
        self.asked = 0

    def predict(self, frame: PartialFrame, held_out: bool = False) -> PoseGaussian:
        self.asked += 1
        true = CLIP.rotvec[round(frame.state.t_ns / PERIOD_NS), 1:].ravel()
        return PoseGaussian(true + self.error_rad, 0.02**-2.0 * np.eye(DOFS), 0.0)

    def accept(self, state: BodyState) -> None:
        pass

    def forget(self) -> None:
        pass


@pytest.fixture(scope="module")
def estimator() -> Estimator:
    """Return an estimator whose database knows other walks."""
    return Estimator(SUBJECT, compute_examples(SUBJECT, build_walks(2, ())), front_rig(), SolveSettings())


def run(estimator: Estimator, filler: FillIn | None, first_gap: int = 20, n_frames: int = 26) -> np.ndarray:
    """Return joints (N, J, 3) of some frames; the feet's markers are missing from `first_gap` on."""
    estimator.forget()
    estimator.filler = filler
    joints = []
    for n in range(n_frames):
        shown = ANKLES if n >= first_gap else np.ones(len(NAMES), bool)
        frame = replace(marker_frame_of(MARKERS[n], shown), t_capture_ns=n * PERIOD_NS)
        turned = BodyState(0, CLIP.rotvec[0], np.eye(3), CLIP.root_m[0])
        estimate = estimator.estimate(frame, turned if n == 0 else None)
        assert estimate is not None
        estimator.accept(estimate)
        joints.append(estimate.state.joints)
    estimator.filler = None
    return np.array(joints)


def solved_frame(estimator: Estimator) -> tuple[FrameProblem, Solution]:
    """Return the problem and the solution of the first frame."""
    estimator.forget()
    estimate = estimator.estimate(marker_frame_of(MARKERS[0], ANKLES), BodyState(0, CLIP.rotvec[0], np.eye(3), CLIP.root_m[0]))
    assert estimate is not None
    return estimate.problem, estimate.solution


def missed_rad(joints: np.ndarray) -> float:
    """Return how far the legs are from the truth in the last four frames."""
    last, legs = np.arange(len(joints))[-4:, None], np.flatnonzero(LIMB < 2)
    return float(np.sqrt(np.mean((joints[last, legs] - CLIP.rotvec[last, legs]) ** 2)))


def test_a_guess_counts_by_the_second_and_not_by_the_frame(estimator: Estimator) -> None:
    """What is told of a frame is carried: twelve frames of a sixtieth of a second tell as much as one of a fifth."""
    filler = FillIn({"any": Truth(0.0)}, SUBJECT, {"any": Trusting()}, every_frames=1000)
    shares = [min(SolveSettings().pose_rate * seconds, 1.0) for seconds in (1.0 / 60.0, 0.2)]
    problem, solution = solved_frame(estimator)
    gained = [filler.fill(problem, solution, 0, share) for share in shares]
    added = [filled.model.precision - problem.model.precision for filled in gained if filled is not None]
    np.testing.assert_allclose(12.0 * added[0], added[1], atol=1e-6)
    assert np.trace(added[1]) > 0.0 and filler.fill(problem, solution, 0, 0.0) is None


def test_a_good_guess_is_taken_up_and_helps(estimator: Estimator) -> None:
    """After six checks of each limb; what these gain over a local model that misses by 2 cm must first outweigh the prior."""
    filler = FillIn({"any": Truth(0.0)}, SUBJECT, every_frames=1)
    joints = run(estimator, filler, 30, 36)
    assert (filler.weights()["any"][:2] > 0.0).all()
    assert missed_rad(joints) < 0.5 * missed_rad(run(estimator, None, 30, 36))


def test_a_bad_guess_is_not_used(estimator: Estimator) -> None:
    """The poses are those of the local model alone, to the bit."""
    filler = FillIn({"any": Truth(1.0)}, SUBJECT, every_frames=2)
    assert np.array_equal(run(estimator, filler), run(estimator, None))
    assert not filler.weights()["any"].any()


@pytest.mark.parametrize("error", [np.nan, np.inf])
def test_a_guess_without_numbers_is_none(estimator: Estimator, error: float) -> None:
    filler = FillIn({"any": Truth(error)}, SUBJECT, {"any": Trusting()}, every_frames=2)
    assert np.array_equal(run(estimator, filler), run(estimator, None))


class Trusting(HeldOutRecord):
    """A record that trusts whatever comes."""

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(LIMBS) + 1, WEIGHTS[-1]), np.zeros(len(LIMBS) + 1)


def test_markers_missing_from_the_second_frame_on_are_filled(estimator: Estimator) -> None:
    told = Truth(0.0)
    joints = run(estimator, FillIn({"any": told}, SUBJECT, {"any": Trusting()}), first_gap=1)
    assert told.asked >= 25 and np.isfinite(joints).all()
    assert missed_rad(joints) < 0.8 * missed_rad(run(estimator, None, first_gap=1))


def test_limbs_are_checked_in_turn_and_enough_markers_stay() -> None:
    filler = FillIn({"any": Truth(0.0)}, SUBJECT, every_frames=1)
    frame = marker_frame_of(MARKERS[0])
    hidden = [filler.hidden(frame) for _ in range(5)]
    assert sorted(NAMES[m] for h in hidden if h is not None for m in np.flatnonzero(h)) == sorted(
        np.array(NAMES)[~SUBJECT.markers.torso]
    )
    few = np.array([name in ("left_hand", "waist_left", "waist_right") for name in NAMES])
    assert filler.hidden(marker_frame_of(MARKERS[0], few)) is None


def test_a_check_is_evaluated_with_the_next_frame(estimator: Estimator) -> None:
    """One frame is solved, the next evaluates it; forgetting drops what is not evaluated yet."""
    filler = FillIn({"any": Truth(0.0)}, SUBJECT, every_frames=1)
    estimator.forget()
    estimator.filler = filler
    told = []
    for n in range(4):
        if n == 3:
            filler.forget()
        frame = replace(marker_frame_of(MARKERS[n]), t_capture_ns=n * PERIOD_NS)
        estimate = estimator.estimate(frame, BodyState(0, CLIP.rotvec[0], np.eye(3), CLIP.root_m[0]) if n == 0 else None)
        assert estimate is not None
        estimator.accept(estimate)
        told.append(filler.records["any"].n_checks)
    estimator.filler = None
    kept = KEPT ** (1.0 / len(LIMBS))
    assert told == [0.0, 1.0, 1.0 + kept, 1.0 + kept]


def test_the_weight_with_the_least_loss_is_chosen_if_it_is_worth_it() -> None:
    record = HeldOutRecord()
    for _ in range(20):
        record.add(0, np.array([[0.10, 0.08, 0.05, 0.02, 0.03]]))
        record.add(1, np.array([[0.05, 0.05, 0.05, 0.05, 0.05]]))
    assert record.weights()[0][0] == WEIGHTS[3]
    for _ in range(40):
        for limb in (0, 1):
            record.add(limb, np.array([[0.05, 0.1, 0.15, 0.2, 0.25]]))
    assert not record.weights()[0].any()


def test_a_gain_that_may_be_chance_is_not_trusted() -> None:
    """Few checks, or some that gain much and others that lose much: no weight; the same mean gained each time: taken."""
    steady, few, torn = HeldOutRecord(), HeldOutRecord(), HeldOutRecord()
    for turn in range(10):
        steady.add(turn % 5, np.array([[0.10, 0.09, 0.08, 0.07, 0.03]]))
        guessed = 0.14 if turn % 3 == 0 else 0.02
        torn.add(turn % 5, np.array([[0.10, 0.10, 0.10, 0.10, guessed]]))
    for turn in range(2):
        few.add(turn, np.array([[0.10, 0.09, 0.08, 0.07, 0.05]]))
    assert (steady.weights()[0][:-1] == WEIGHTS[-1]).all()  # the trunk is never checked by itself
    assert not few.weights()[0].any() and not torn.weights()[0].any()


def test_each_limb_takes_the_model_that_its_checks_favour(estimator: Estimator) -> None:
    """The left leg's checks favour one, the right leg's another, the arms' neither; a model without a weight is not asked."""
    left, right = HeldOutRecord(), HeldOutRecord()
    for _ in range(10):
        for limb, (by_left, by_right) in enumerate([(0.01, 0.03), (0.04, 0.01), (0.1, 0.1), (0.1, 0.1)]):
            for record, error in ((left, by_left), (right, by_right)):
                record.add(limb, np.array([[0.1, 0.1, 0.1, error, 0.1]]))
    models = {"left": Truth(0.0), "right": Truth(0.0), "neither": Truth(1.0)}
    filler = FillIn(models, SUBJECT, {"left": left, "right": right}, every_frames=1000)
    weights = filler.weights()
    assert weights["left"][:2].tolist() == [WEIGHTS[3], 0.0] and weights["right"][:2].tolist() == [0.0, WEIGHTS[3]]
    assert not weights["neither"].any() and not weights["left"][2:4].any() and not weights["right"][2:4].any()
    joints = run(estimator, filler)
    assert models["left"].asked > models["neither"].asked == 2 < models["right"].asked  # twice by checks
    assert missed_rad(joints) < 0.8 * missed_rad(run(estimator, None))


def test_every_joint_belongs_to_a_limb_or_the_trunk() -> None:
    assert LIMB[JOINT_INDEX["leftHand"]] == LIMB[JOINT_INDEX["leftShoulder"]] == LIMBS.index("leftShoulder")
    assert LIMB[JOINT_INDEX["hips"]] == LIMB[JOINT_INDEX["upperChest"]] == len(LIMBS)
