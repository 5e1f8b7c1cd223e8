"""One collection of views with cameras that are made up: trouble, starting again, finishing, what is said in the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from calibration.board.views import BoardView
from calibration.guidance.advice import Advice
from capture.process.board_detection import BoardDetection
from config.errors import CalibrationError
from stream.guidance.html import CameraCondition
from stream.guidance.page import AGAIN, FINISH
from tests.calibration.guidance.views import BOARD, MS, SIZE, board_view
from tools.guide.boards import LEAST_VIEWS, BoardSession
from tools.guide.show import GuideShow

TICK_MS = 100


@dataclass
class Cameras:
    """Stands for cameras that run."""

    started: bool = True
    ended: bool = False
    sizes: tuple[tuple[int, int], ...] = (SIZE, SIZE)
    period_ns: int = 33 * MS
    wrong: str = ""
    heard_from: list[int] = field(default_factory=list)

    def trouble(self) -> str:
        return self.wrong

    def heard(self, camera: int, t_ns: int) -> None:
        self.heard_from.append(camera)

    def words(self) -> list[CameraCondition]:
        return [CameraCondition("left camera", True), CameraCondition("right camera", True)]


class Page:
    """Stands for the page. pressed: to be fetched once; shown: all advice."""

    n_pages = 0

    def __init__(self) -> None:
        self.pressed, self.shown, self.ready = list[str](), list[Advice](), list[bool | None]()

    def asked(self) -> list[str]:
        pressed, self.pressed = self.pressed, []
        return pressed

    def begin(self) -> None:
        pass

    def show(self, advice: Advice, cameras: Sequence[CameraCondition], ready: bool | None) -> None:
        self.shown.append(advice)
        self.ready.append(ready)


class Bench:
    def __init__(self, sizes: tuple[tuple[int, int], ...] = (SIZE, SIZE)) -> None:
        self.told, self.cameras, self.page = list[str](), Cameras(sizes=sizes), Page()
        self.session = BoardSession(BOARD, GuideShow(None, self.told.append), self.told.append, stills=False)
        self._t_ms = 1000

    def with_page(self) -> "Bench":
        show = GuideShow(self.page, self.told.append)  # type: ignore[arg-type]
        show.paint = lambda cameras, eye_of: None  # type: ignore[method-assign]
        self.session = BoardSession(BOARD, show, self.told.append, stills=False)
        return self

    def turn(self, *sights: BoardDetection) -> None:
        self.session.turn(self.cameras, sights, self._t_ms * MS)  # type: ignore[arg-type]

    def moment(self, left: BoardView | None, right: BoardView | None, words: str = "", size: tuple[int, int] = SIZE) -> None:
        self._t_ms += TICK_MS
        t_ns = self._t_ms * MS
        self.turn(*(BoardDetection(n, 0, t_ns + n * MS, size, view, words) for n, view in enumerate((left, right))))

    def hold(self, x: float, y: float, distance_m: float = 0.6) -> None:
        for _ in range(8):
            view = board_view(x, y, distance_m, t_ms=self._t_ms + TICK_MS)
            self.moment(view, view)


def test_views_are_counted_and_told() -> None:
    bench = Bench()
    bench.hold(0.3, 0.3)
    bench.hold(0.6, 0.6)
    assert bench.session.guide is not None
    assert bench.session.guide.n_shared == 2
    assert any("2 views by both cameras" in line for line in bench.told)
    assert set(bench.cameras.heard_from) == {0, 1}
    assert not bench.session.over


def test_too_few_views_are_refused_with_what_was_seen_instead() -> None:
    bench = Bench()
    bench.turn()
    bench.hold(0.3, 0.3)
    bench.moment(None, None, "the board seen has 7x5 inner corners")
    with pytest.raises(
        CalibrationError, match=r"only 1 good view of the board .* by both cameras, at least 6 .*7x5 inner corners"
    ):
        bench.session.collected()
    never = Bench()
    with pytest.raises(CalibrationError, match="only 0 good views"):
        never.session.collected()


def test_what_is_seen_instead_is_said_at_once() -> None:
    bench = Bench().with_page()
    for _ in range(12):
        bench.moment(None, None, "half of the board is out of the picture")
    assert bench.page.shown[-1].words == "half of the board is out of the picture"
    for _ in range(12):
        bench.moment(None, None)
    assert bench.page.shown[-1].words == "show the board to the cameras"


def test_finish_now_needs_enough_and_start_again_forgets() -> None:
    bench = Bench().with_page()
    bench.hold(0.2, 0.2)
    bench.page.pressed = [FINISH]
    bench.turn()
    assert not bench.session.over
    assert bench.page.ready[-1] is False
    for k in range(LEAST_VIEWS):
        bench.hold(0.15 + 0.12 * k, 0.7)
    assert bench.page.ready[-1] is True
    bench.page.pressed = [AGAIN]
    bench.turn()
    assert bench.session.guide is not None and bench.session.guide.n_shared == 0
    for k in range(LEAST_VIEWS):
        bench.hold(0.15 + 0.12 * k, 0.7)
    bench.page.pressed = [FINISH]
    bench.turn()
    assert bench.session.over
    collected = bench.session.collected()
    assert len(collected.moments) == LEAST_VIEWS
    assert (collected.sizes, collected.names) == ((SIZE, SIZE), ("left", "right"))
    assert any(line.startswith("not quite complete: ") for line in bench.told)


def test_trouble_comes_before_advice() -> None:
    bench = Bench().with_page()
    bench.hold(0.3, 0.3)
    bench.cameras.wrong = "the right camera: it is gone; looking for it"
    bench.turn()
    assert bench.page.shown[-1].words == "the right camera: it is gone; looking for it"
    assert not bench.page.shown[-1].good
    assert bench.page.shown[-1].progress > 0.0
    bench.cameras.wrong = ""
    bench.hold(0.6, 0.6)
    assert "gone" not in bench.page.shown[-1].words


def test_a_camera_that_changes_its_size_ends_it() -> None:
    bench = Bench()
    bench.hold(0.3, 0.3)
    with pytest.raises(CalibrationError, match="the left camera now gives 1280x720, at first it gave 640x480"):
        bench.moment(None, None, size=(1280, 720))


def test_recordings_that_end_are_given_a_moment() -> None:
    bench = Bench()
    bench.hold(0.3, 0.3)
    bench.cameras.ended = True
    bench.moment(None, None)
    assert not bench.session.over
    for _ in range(9):
        bench.moment(None, None)
    assert bench.session.over


def test_one_camera_alone_needs_no_other() -> None:
    bench = Bench(sizes=(SIZE,))
    for k in range(3):
        for n in range(8):
            view = board_view(0.2 + 0.25 * k, t_ms=1000.0 + 1000 * k + TICK_MS * n)
            bench._t_ms = 1000 + 1000 * k + TICK_MS * n
            bench.turn(BoardDetection(0, 0, view.t_ns, SIZE, view))
    assert bench.session.guide is not None
    assert bench.session.guide.n_shared == 3
