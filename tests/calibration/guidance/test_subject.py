"""Guidance into a T-pose: simulated points of people who stand in all sorts of ways."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from calibration.guidance.subject import (
    COME_IN,
    FACE,
    HELD,
    HOLD,
    HOLD_NS,
    NO_TPOSE,
    PATIENCE_NS,
    SubjectGuide,
    UnlabelledPoints,
    advise_arms,
    advise_few,
    advise_forward,
    describe_count,
    describe_missing,
)
from calibration.subject.tpose import build_tpose_model
from config.arrays import Floats
from config.markers import MarkerSet, read_marker_set
from database.builtin.bodies import build_person_skeleton
from database.geometry.skeleton import Skeleton
from tests.support.rigs import synthetic_rig

RIG = synthetic_rig((-0.5, 1.2, 3.5), (0.5, 1.2, 3.5), (0.0, 1.0, 0.0))
TICK_NS = 100_000_000
NONE = np.zeros((0, 2))
SETS = ("locomotion", "all_around", "dark_room")
ONE_QUICKLY = [
    pytest.param("locomotion", marks=pytest.mark.slow),
    "all_around",
    pytest.param("dark_room", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def skeletons() -> list[Skeleton]:
    """Some people of different sizes."""
    return [build_person_skeleton(height) for height in (1.55, 1.65, 1.75, 1.85)]


def moment(t_ns: int, point_m: Floats, left_px: Floats = NONE) -> UnlabelledPoints:
    """Return what two cameras see: points, and lone spots of the left one."""
    return UnlabelledPoints(t_ns, point_m, (left_px, NONE), (len(point_m) + len(left_px), len(point_m)))


class Performer:
    """Somebody who wears markers a little off their places and stands before the rig."""

    def __init__(self, name: str, skeletons: Sequence[Skeleton], seed: int = 1) -> None:
        self.markers: MarkerSet = read_marker_set(name)
        self._skeletons, self._rng = skeletons, np.random.default_rng(seed)
        self._worn = self._rng.normal(0.0, 0.015, (len(self.markers), 3))
        self.guide = SubjectGuide(RIG, self.markers, skeletons)
        self.t_ns = 5_000_000_000

    def points(self, slopes: tuple[float, float] = (0.0, 0.0), turned_deg: float = 0.0) -> Floats:
        a = np.radians(turned_deg)
        R = np.array([[np.cos(a), 0.0, np.sin(a)], [0.0, 1.0, 0.0], [-np.sin(a), 0.0, np.cos(a)]])
        return (1.04 * build_tpose_model(self.markers, self._skeletons, slopes) + self._worn) @ R.T + [0.1, 1.0, 0.0]

    def seen(
        self, points: Floats, hidden: Sequence[int] = (), left_sees_hidden: bool = True, step_m: float = 0.0
    ) -> UnlabelledPoints:
        """Noisy points in any order; what is hidden is a lone spot of the left camera, or of none."""
        self.t_ns += TICK_NS
        noisy = points + self._rng.normal(0.0, 0.006, points.shape) + [step_m, 0.0, 0.0]
        kept = np.delete(noisy, list(hidden), axis=0)
        lone = RIG.cameras[0].project(points[list(hidden)]) if hidden and left_sees_hidden else NONE
        return moment(self.t_ns, kept[self._rng.permutation(len(kept))], lone)

    def words(self, points: Floats, ticks: int = 12, **seen: object) -> str:
        for _ in range(ticks):
            advice = self.guide.add(self.seen(points, **seen))  # type: ignore[arg-type]
        return advice.words


@pytest.mark.parametrize("name", SETS)
def test_a_good_pose_is_counted_down_and_taken(name: str, skeletons: list[Skeleton]) -> None:
    performer = Performer(name, skeletons)
    points = performer.points()
    words, since = [], None
    for _ in range(60):
        advice = performer.guide.add(performer.seen(points))
        words.append(advice.words)
        since = since or performer.guide.since_ns
        if advice.done:
            break
    assert words[0] == HOLD  # stillness takes a moment to be known
    assert any(text == "good: hold it, 2 s more" for text in words)
    assert words[-1] == HELD
    assert since is not None
    assert performer.t_ns - since == pytest.approx(HOLD_NS, abs=TICK_NS)


@pytest.mark.parametrize("name", ONE_QUICKLY)
@pytest.mark.parametrize(
    ("slopes", "words"),
    [
        ((-75.0, -75.0), "raise both arms"),
        ((-75.0, 0.0), "raise the left arm"),
        ((0.0, -70.0), "raise the right arm"),
        ((-28.0, 0.0), "raise the left arm"),
        ((0.0, 35.0), "lower the right arm"),
    ],
)
def test_arms_are_told_apart(name: str, slopes: tuple[float, float], words: str, skeletons: list[Skeleton]) -> None:
    performer = Performer(name, skeletons)
    assert performer.words(performer.points(slopes), 1) == words


@pytest.mark.parametrize("name", SETS)
def test_slopes_are_measured(name: str, skeletons: list[Skeleton]) -> None:
    performer = Performer(name, skeletons)
    stance = performer.guide.stance(performer.seen(performer.points((-20.0, 8.0))))
    assert stance is not None
    assert stance.slopes_deg == pytest.approx((-20.0, 8.0), abs=12.0)


def test_facing_the_cameras(skeletons: list[Skeleton]) -> None:
    performer = Performer("dark_room", skeletons)
    assert performer.words(performer.points(turned_deg=65.0), 1) == FACE
    assert performer.words(performer.points(turned_deg=-65.0), 1) == FACE
    assert performer.words(performer.points(turned_deg=20.0)).startswith("good")


@pytest.mark.parametrize("name", ONE_QUICKLY)
def test_a_missing_marker_is_named_with_the_camera_that_does_not_see_it(name: str, skeletons: list[Skeleton]) -> None:
    performer = Performer(name, skeletons)
    called = performer.markers.names[1]
    assert performer.words(performer.points(), 1, hidden=[1]) == f"the right camera does not see {called}"
    assert performer.words(performer.points(), 1, hidden=[1], left_sees_hidden=False) == f"not seen: {called}"


def test_after_a_while_it_goes_on_without_a_marker(skeletons: list[Skeleton]) -> None:
    performer = Performer("dark_room", skeletons)
    assert "does not see" in performer.words(performer.points(), 1, hidden=[4])
    performer.t_ns += PATIENCE_NS - 2 * TICK_NS
    assert "does not see" in performer.words(performer.points(), 1, hidden=[4])
    assert performer.words(performer.points(), 12, hidden=[4]).startswith("good, without right_elbow: hold it")


def test_a_marker_outside_of_a_picture(skeletons: list[Skeleton]) -> None:
    performer = Performer("dark_room", skeletons)
    near = performer.points() + [0.0, 0.0, 2.3]  # so near that the elbows leave the pictures
    hidden = [3, 4]
    words = performer.words(near, 3, hidden=hidden, left_sees_hidden=False)
    assert words.startswith("step back:") and "outside of the" in words


def test_motion_and_slips(skeletons: list[Skeleton]) -> None:
    performer = Performer("dark_room", skeletons)
    points = performer.points()
    for n in range(20):
        assert performer.guide.add(performer.seen(points, step_m=0.008 * n)).words == HOLD  # 8 cm a second
    assert performer.guide.since_ns is None
    assert performer.words(points, 15).startswith("good")
    begun_ns = performer.guide.since_ns
    for _ in range(2):
        performer.guide.add(performer.seen(points[:9]))  # two bad moments are forgiven
    assert performer.words(points, 1).startswith("good")
    assert performer.guide.since_ns == begun_ns
    for _ in range(5):
        performer.guide.add(performer.seen(points[:9]))
    assert performer.guide.since_ns is None


def test_a_marker_that_flickers_does_not_end_a_pose(skeletons: list[Skeleton]) -> None:
    performer = Performer("dark_room", skeletons)
    points = performer.points()
    performer.words(points, 10)
    begun_ns = performer.guide.since_ns
    for _ in range(4):
        assert "does not see" in performer.words(points, 5, hidden=[4])  # half a second, longer than a slip
        performer.words(points, 3)
    assert performer.guide.done and performer.guide.since_ns == begun_ns


def test_nobody_too_few_markers_and_no_pose_at_all(skeletons: list[Skeleton]) -> None:
    performer = Performer("dark_room", skeletons)
    assert performer.guide.add(moment(1, np.zeros((0, 3)))).words == COME_IN
    few = performer.guide.add(moment(2, performer.points()[:3], np.ones((9, 2))))
    assert few.words == "step back or turn: the right camera sees 3 of 14 markers"
    far = performer.guide.add(moment(2, performer.points()[:3] - (0.0, 0.0, 4.0), np.ones((9, 2))))
    assert far.words == "come nearer or turn: the right camera sees 3 of 14 markers"
    heap = np.random.default_rng(0).uniform(0.0, 0.5, (14, 3))
    assert performer.guide.add(moment(3, heap)).words == NO_TPOSE


def test_words() -> None:
    assert advise_arms((-20.0, 30.0), 14.0) == "raise the left arm"
    assert advise_arms((10.0, -10.0), 14.0) == ""
    assert advise_forward((0.0, 40.0), 25.0) == "right arm straight to the side, not forward"
    assert advise_forward((-40.0, 0.0), 25.0) == "left arm straight to the side, not back"
    assert advise_few(moment(0, np.zeros((9, 3))), 14, small=False) == "step back or turn: both cameras see 9 of 14 markers"
    assert describe_missing([("head", "left"), ("hand", "left")]) == "the left camera does not see head and hand"
    assert describe_missing([("head", "left"), ("hand", "right")]) == "not seen: head and hand"
    assert describe_missing([("a", "left"), ("b", "right"), ("c", "both"), ("d", "both")]).startswith(
        "4 markers are not seen: a, b, c"
    )


def test_with_more_cameras_two_of_them_are_enough(skeletons: list[Skeleton]) -> None:
    """A third camera behind the performer: it sees half of the markers, and asks for nothing that the others show."""
    behind = synthetic_rig((0.0, 1.2, -3.5), (0.5, 1.2, 3.5), (0.0, 1.0, 0.0)).cameras[0]
    performer = Performer("dark_room", skeletons)
    performer.guide = SubjectGuide(replace(RIG, cameras=(*RIG.cameras, behind)), performer.markers, skeletons)

    def words(points: Floats, ticks: int = 12, hidden: Sequence[int] = ()) -> str:
        for _ in range(ticks):
            pair = performer.seen(points, hidden)
            n_behind = len(points) // 2
            seen = UnlabelledPoints(pair.t_ns, pair.point_m, (*pair.lone_px, NONE), (*pair.n_spots, n_behind))
            advice = performer.guide.add(seen)
        return advice.words

    points = performer.points()
    assert words(points).startswith("good: hold it")
    assert words(performer.points(turned_deg=65.0), 1) == "face the left and the right camera"
    assert words(points, 1, hidden=[4]) == f"not seen by two cameras: {performer.markers.names[4]}"
    assert words(points[:5], 1) == "step back or turn: two cameras together see 5 of 14 markers"
    few = UnlabelledPoints(1, points[:5], (NONE,) * 3, (5, 4, 2))
    assert describe_count(few, 14) == "5 of 14 markers by two cameras: left camera 5, right camera 4, third camera 2"
