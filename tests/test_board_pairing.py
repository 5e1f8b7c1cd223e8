"""Which sights of two cameras are of one moment."""

from hypothesis import given
from hypothesis import strategies as st

from capture.board_pairing import Moment, SightPairing
from capture.board_wire import Sight

BUDGET = 20


def sight(camera: int, t_ns: int) -> Sight:
    return Sight(camera, t_ns, t_ns, (640, 480), None)


def moments(pairing: SightPairing, *sights: tuple[int, int]) -> list[tuple[int, int]]:
    found = [pairing.push(sight(camera, t_ns)) for camera, t_ns in sights]
    return [(m.left.t_capture_ns, m.right.t_capture_ns) for m in found if m is not None and m.right is not None]


def test_the_nearest_within_the_budget() -> None:
    assert moments(SightPairing(2, BUDGET), (0, 100), (1, 115), (1, 200), (0, 190)) == [(100, 115), (190, 200)]
    assert moments(SightPairing(2, BUDGET), (0, 100), (1, 121), (0, 130)) == [(130, 121)]
    assert moments(SightPairing(2, BUDGET), (0, 100), (0, 118), (1, 120)) == [(118, 120)]


def test_a_camera_that_falls_behind_or_is_gone() -> None:
    late = [(0, t) for t in range(0, 2000, 100)] + [(1, 1900), (1, 2000), (0, 2005)]
    assert moments(SightPairing(2, BUDGET), *late) == [(1900, 1900), (2005, 2000)]


def test_one_camera_alone_needs_no_partner() -> None:
    moment = SightPairing(1, BUDGET).push(sight(0, 5))
    assert moment == Moment(sight(0, 5))
    assert moment is not None and len(moment.sights) == 1 and moment.t_ns == 5


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 30)), max_size=80))
def test_each_sight_is_used_once_and_time_never_goes_back(steps: list[tuple[int, int]]) -> None:
    pairing, t_ns = SightPairing(2, BUDGET), 0
    found: list[tuple[int, int]] = []
    for camera, later in steps:
        t_ns += later
        found += moments(pairing, (camera, t_ns))
    for side in range(2):
        times = [moment[side] for moment in found]
        assert times == sorted(set(times))
    assert all(abs(left - right) <= BUDGET for left, right in found)
