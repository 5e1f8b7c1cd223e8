"""The start page's steps without a browser: what leads to what, what the project keeps, what is said when something fails."""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest

from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from calibration.quality.report import QualityReport
from config.loading import load_settings
from stream.start.form import Pressed, StepForm, StepRow, StepState, Value
from stream.start.part import PartLeftError
from tests.support.rigs import synthetic_rig
from tools.calibrate.body import BodyTask
from tools.project_file import ProjectFile, read_project_file
from tools.run.parts import ProcessFaultError
from tools.start import rig as rig_step
from tools.start.record import choose_take_name
from tools.start.start import NEW_FOLDER, StartSession, choose_project_folder
from tools.start.step import Child, StepContext, StepError


class Page:
    """Stands for the page. pressed: to be taken once; opened: step and form that are shown; rows: the list."""

    n_pages, dark = 1, True

    def __init__(self) -> None:
        self.pressed: list[Pressed] = []
        self.rows: Sequence[StepRow] = ()
        self.form: StepForm | None = None
        self.step = self.drawing = ""
        self.handed: list[tuple[str, bytes]] = []

    def build(self) -> None:
        pass

    def clear(self) -> None:
        pass

    def take_pressed(self) -> list[Pressed]:
        pressed, self.pressed = self.pressed, []
        return pressed

    def values(self) -> dict[str, Value]:
        return {field.key: field.value for field in self.form.fields} if self.form is not None else {}

    def show_steps(self, rows: Sequence[StepRow], opened: str) -> None:
        self.rows = rows

    def show_form(self, step: str, form: StepForm) -> None:
        self.step, self.form = step, form

    def show_drawing(self, drawing: str) -> None:
        self.drawing = drawing

    def show_pictures(self, pictures: Sequence[object]) -> None:
        pass

    def hand_out(self, name: str, content: bytes) -> None:
        self.handed.append((name, content))


class Bench:
    """A session in the present folder, whose page is pressed by `press`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
        monkeypatch.setattr("tools.start.cameras.list_sources", lambda settings, folder: ["C920", "left.avi"])
        monkeypatch.setattr("tools.start.cameras.LivePicture", Look)
        self.page = Page()
        project = ProjectFile(**values)  # type: ignore[arg-type]
        self.context = StepContext(load_settings(), project, self.page, lambda words: None)  # type: ignore[arg-type]
        self.session = StartSession(self.context)
        self.session.turn()

    def press(self, button: str, **values: Value) -> StepForm:
        """Press a button of the open step; `step` alone goes to another."""
        self.page.pressed = [Pressed(self.page.step, button, self.page.values() | values)]
        self.session.turn()
        assert self.page.form is not None
        return self.page.form

    def go(self, step: str) -> StepForm:
        self.page.pressed = [Pressed(step, "", {})]
        self.session.turn()
        assert self.page.form is not None
        return self.page.form


class Look:
    """Stands for a camera that is looked at."""

    fault, image = "", None

    def __init__(self, source: str, number: int, settings: object) -> None:
        self.source = source

    def draw(self, chosen: bool) -> None:
        pass

    def end(self) -> None:
        pass

    def join(self, timeout: float) -> None:
        pass


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_cameras_that_are_ticked_are_kept_and_the_rig_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    assert bench.page.step == "cameras" and [row.state for row in bench.page.rows][1:5] == 4 * [StepState.WAITING]
    form = bench.press("use", **{"camera C920": False, "camera left.avi": False})
    assert "no camera is ticked" in form.error and read_project_file(Path()) is None
    bench.press("use", **{"camera C920": True, "camera left.avi": True})
    assert bench.page.step == "rig"
    kept = read_project_file(Path())
    assert kept is not None and kept.cameras == ("C920", "left.avi")
    assert bench.page.rows[0].result == "2 cameras"


def test_a_lit_room_is_seen_in_the_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    for grey, wanted_s in ((120, 4.0), (3, 0.0)):
        bench = Bench(monkeypatch)
        monkeypatch.setattr(Look, "image", np.full((48, 64, 3), grey, np.uint8))
        bench.session.turn()
        bench.press("use", **{"camera C920": True, "camera left.avi": grey > 100})
        kept = read_project_file(Path())
        assert kept is not None and kept.background == wanted_s


def test_a_step_that_waits_says_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.go("record")
    form = bench.press("record", name="a")
    assert form.error == "Record comes after the performer; do that step first"


def test_a_session_goes_on_where_it_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    write_rig_toml(Path("rig.toml"), synthetic_rig((-0.5, 1.0, 3.0), (0.5, 1.0, 3.0), (0.0, 1.0, 0.0)))
    bench = Bench(monkeypatch, cameras=("left.avi", "right.avi"))
    assert bench.page.step == "performer"
    assert [row.state for row in bench.page.rows][:4] == [StepState.DONE, StepState.DONE, StepState.READY, StepState.WAITING]


def test_a_rig_is_taken_from_a_file_and_faults_are_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench(monkeypatch, cameras=("left.avi", "right.avi"))
    assert bench.page.step == "rig" and "<svg" in bench.page.drawing
    assert "no file is named" in bench.press("file", file=" ").error
    assert "nowhere.toml" in bench.press("file", file="nowhere.toml").error
    given = synthetic_rig((-0.5, 1.0, 3.0), (0.5, 1.0, 3.0), (0.0, 1.0, 0.0))
    write_rig_toml(tmp_path / "given.toml", given)
    bench.press("file", file="given.toml")
    assert bench.page.step == "performer" and len(read_rig_toml(Path("rig.toml")).cameras) == 2


def test_the_board_is_handed_out_and_calibrated_with(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, done = Bench(monkeypatch, cameras=("left.avi", "right.avi")), list[object]()
    bench.press("print")
    assert bench.page.handed[0][0] == "board.pdf" and bench.page.handed[0][1].startswith(b"%PDF")
    monkeypatch.setattr(
        rig_step, "calibrate_live", lambda settings, sources, task, *rest: done.append((sources, task.board.text))
    )
    form = bench.press("board", board="chessboard:7x5:30", videos="a.avi")
    assert "1 video of the board for 2 cameras" in form.error
    bench.press("board", board="chessboard:7x5:30", videos="a.avi, b.avi")
    assert done == [(["a.avi", "b.avi"], "chessboard:7x5:30")] and bench.page.step == "performer"
    assert bench.context.project.board == "chessboard:7x5:30"


def test_the_body_calibrates_where_landmarks_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, done = Bench(monkeypatch, cameras=("left.avi", "right.avi")), list[BodyTask]()
    monkeypatch.setattr(rig_step, "has_weights", lambda model: False)
    bench.session.turn()
    assert bench.page.form is not None and "body" not in [button.key for button in bench.page.form.buttons]
    monkeypatch.setattr(rig_step, "has_weights", lambda model: True)
    monkeypatch.setattr(rig_step, "find_spec", lambda name: True)
    monkeypatch.setattr(StepContext, "choose_landmarks", lambda context: context.settings)
    monkeypatch.setattr(StepContext, "open_guide", lambda context, title: nullcontext())
    monkeypatch.setattr(rig_step, "is_recorded", lambda source: True)
    report = QualityReport(())

    def calibrate(task: BodyTask, *rest: object) -> QualityReport:
        done.append(task)
        return report

    monkeypatch.setattr(rig_step, "calibrate_rig_by_body", calibrate)
    bench.session.turn()
    assert "is no height" in bench.press("body", height=0.0, fov=60.0).error
    assert "the lenses are needed in one way" in bench.press("body", height=1.8, fov=0.0).error
    bench.press("body", height=1.8, fov=60.0)
    assert bench.page.step == "performer" and done[0].spec.files == ("left.avi", "right.avi")
    assert (done[0].stature_m, done[0].fov_deg, done[0].out) == (1.8, 60.0, Path("rig.toml"))


def test_a_part_that_is_left_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, cameras=("left.avi", "right.avi"))

    def leave(*_: object) -> None:
        raise PartLeftError

    monkeypatch.setattr(rig_step, "calibrate_live", leave)
    assert "left before its end" in bench.press("board").done and bench.page.step == "rig"


def test_a_process_that_dies_is_said_and_the_page_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, cameras=("left.avi", "right.avi"))

    def die(*_: object) -> None:
        raise ProcessFaultError("the left process has not answered for 5 s")

    monkeypatch.setattr(rig_step, "calibrate_live", die)
    assert "has not answered for 5 s; that is a fault" in bench.press("board").error
    assert bench.press("print").error == ""


def test_vmc_is_kept_for_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch)
    bench.go("send")
    bench.press("keep", program="VSeeFace", vmc=True)
    assert bench.context.project.vmc == ("vseeface",) and bench.page.rows[-1].result == "vseeface"
    bench.press("keep", program="VSeeFace", vmc=False)
    assert bench.context.project.vmc == ()


def test_a_take_gets_a_free_name_and_never_replaces_one(tmp_path: Path) -> None:
    project = ProjectFile(tmp_path)
    assert choose_take_name(project) == "take-1"
    for n in (1, 2):
        (tmp_path / "takes" / f"take-{n}").mkdir(parents=True)
        (tmp_path / "takes" / f"take-{n}" / "session.toml").touch()
    assert choose_take_name(project) == "take-3"


def test_a_command_that_fails_is_told_in_its_own_words() -> None:
    child = Child(["export", "nowhere.mcap", "--format", "bvh"], lambda line: None)
    with pytest.raises(StepError, match=r"^nowhere\.mcap: "):
        child.finish()
    child.stop()


def test_where_a_project_goes(tmp_path: Path) -> None:
    assert choose_project_folder(Path("given"), tmp_path) == Path("given")
    assert choose_project_folder(None, tmp_path) == tmp_path, "an empty folder"
    (tmp_path / "thesis.odt").touch()
    assert choose_project_folder(None, tmp_path) == tmp_path / NEW_FOLDER, "no project among other things"
    (tmp_path / "project.toml").touch()
    assert choose_project_folder(None, tmp_path) == tmp_path
    with suppress(OSError):
        (tmp_path / "project.toml").unlink()
