"""When a process is started again, by hand."""

from capture.process.control import RoomSettings
from capture.process.plan import CameraPlan
from config.settings import Settings
from tests.support.fakes import CountingSource
from tools.run.cameras import plan_camera
from tools.run.child import FIRST_PAUSE_NS, GOOD_NS, MAX_PAUSE_NS, QUICK_NS, ChildProcess, Restarts, format_duration


def test_pauses_grow_up_to_a_limit_and_never_end() -> None:
    restarts = Restarts()
    pauses = [restarts.died(QUICK_NS) for _ in range(40)]
    assert pauses[:4] == [0, FIRST_PAUSE_NS, 2 * FIRST_PAUSE_NS, 4 * FIRST_PAUSE_NS]
    assert pauses[6:] == [MAX_PAUSE_NS] * 34 and restarts.n == 40


def test_a_good_minute_makes_a_clean_record() -> None:
    restarts = Restarts()
    assert [restarts.died(0), restarts.died(1), restarts.died(QUICK_NS - 1)] == [0, FIRST_PAUSE_NS, 2 * FIRST_PAUSE_NS]
    assert restarts.died(GOOD_NS) == 0 and restarts.died(QUICK_NS) == FIRST_PAUSE_NS


def test_what_dies_at_once_every_time_is_given_up() -> None:
    restarts = Restarts()
    assert [restarts.died(QUICK_NS - 1) is None for _ in range(4)] == [False, False, False, True]
    restarts = Restarts()
    assert [restarts.died(worked) is None for worked in (0, 0, QUICK_NS, 0, 0, 0, 0)] == [False] * 6 + [True]


def test_durations_in_words() -> None:
    assert [format_duration(s * 10**9) for s in (8, 89, 720, 7200)] == ["8 s", "89 s", "12 min", "2.0 h"]


def test_a_camera_process_that_is_started_again_is_patient_and_learns_no_room_with_the_performer_in_it() -> None:
    settings = Settings()
    plan = plan_camera("http://127.0.0.1:9/video", 1, settings, None, RoomSettings(learn_s=7.0))
    assert isinstance(plan, CameraPlan) and 0.0 < plan.patience_s < 1000.0
    child = ChildProcess("right", None, plan)
    child.again()
    first, second = (made.detector(CountingSource(1)) for made in (plan, child.plan))
    assert first._live.learning and not second._live.learning
    assert child.plan.patience_s == float("inf") and child.plan.again() == child.plan
