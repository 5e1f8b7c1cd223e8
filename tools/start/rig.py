"""The step that calibrates the cameras: guided with the board, by somebody who walks about, or by a file of an earlier one."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import viser

from calibration.board.pattern import board_from_text
from calibration.board.pdf import choose_default_board, draw_board_pdf
from calibration.formats.rig_file import read_rig
from calibration.formats.rig_toml import write_rig_toml
from capture.landmarks.pacing import OFF
from capture.landmarks.weights import has_weights
from capture.recording.recording import RecordingSpec
from capture.recording.session import read_session_camera_names
from config.errors import DuocapError
from config.words import format_count
from stream.guidance.page import GuidePage
from stream.start.drawings import draw_board_guide
from stream.start.form import FormButton, FormField, StepForm, Value
from tools.calibrate.body import BodyTask, calibrate_rig_by_body
from tools.calibrate.names import choose_camera_names
from tools.calibrate.outcome import choose_picture_file
from tools.calibrate.rig import RigTask
from tools.guide.page import GuideOutcome, Progress, guide_until_accepted
from tools.guide.rig import calibrate_live
from tools.interrupt import raise_if_interrupted
from tools.project_file import ProjectFile
from tools.run.cameras import is_recorded
from tools.start.step import Child, StartStep, StepContext, StepError

PAPER = "A4"
WALKS, WALK_S = "walks", 60.0  # where recordings for the rig go, beside the takes; ten times through the place at a stroll
HEIGHT_M = (0.6, 2.4)
TURN_S = 0.1
INTERPRETER = "ai_edge_litert"  # what runs the landmark networks; an extra


@dataclass(frozen=True, slots=True)
class RigWay:
    """A way to calibrate the cameras: a button of the step.

    Attributes:
        button: as it is shown.
        run: does it, and leaves the rig at the project's place.
        offered: whether it can be done here.
    """

    button: FormButton
    run: Callable[[StepContext, dict[str, Value]], None]
    offered: Callable[[StepContext], bool] = lambda context: True


def calibrate_by_board(context: StepContext, values: dict[str, Value]) -> None:
    """Guide somebody with a board before the cameras, or play recordings of one to the guide. Raises DuocapError."""
    project, text = context.project, str(values.get("board") or _find_board_text(context.project))
    videos = [one.strip() for one in str(values.get("videos", "")).split(",") if one.strip()]
    if videos and len(videos) != len(project.cameras):
        raise StepError(
            f"{format_count(len(videos), 'video')} of the board for {format_count(len(project.cameras), 'camera')}; give one "
            "for each, in order"
        )
    out = project.folder / project.rig
    task = RigTask(board_from_text(text), out, choose_picture_file(out, None, False))
    if text != project.board:
        context.save(board=text)
    calibrate_live(context.settings, videos or list(project.cameras), task, None, context.open_guide, context.tell)


def take_rig_file(context: StepContext, values: dict[str, Value]) -> None:
    """Take the rig of a file of any format that is read. Raises DuocapError."""
    name = str(values.get("file", "")).strip()
    if not name:
        raise StepError("no file is named; type where the rig's file is (rig.toml, or another program's), then press again")
    rig = read_rig(Path(name).expanduser(), n_views=len(context.project.cameras))
    write_rig_toml(context.project.folder / context.project.rig, rig)


def calibrate_by_body(context: StepContext, values: dict[str, Value]) -> None:
    """Calibrate by somebody who walks about: cameras are recorded for it, those that are files are it. Raises DuocapError."""
    project, height_m, fov_deg = context.project, float(values.get("height", 0.0)), float(values.get("fov", 0.0))
    lenses = str(values.get("file", "")).strip()
    if not HEIGHT_M[0] <= height_m <= HEIGHT_M[1]:
        raise StepError(f"{height_m:g} is no height of a person in metres; the body tells the scale: type 0.6 to 2.4")
    if bool(lenses) == bool(fov_deg):
        raise StepError("the lenses are needed in one way; type their field of view in degrees, or the file of an earlier rig")
    settings, recorded = context.choose_landmarks(), all(is_recorded(source) for source in project.cameras)

    def collect(page: GuidePage | None) -> tuple[tuple[GuidePage | None, tuple[str, ...]], str]:
        videos = project.cameras if recorded else (_record_walk(context, page),)
        return (page, videos), "by the body in the pictures"

    def finish(collected: tuple[GuidePage | None, tuple[str, ...]], progress: Progress) -> GuideOutcome:
        (page, videos), lines = collected, list[str]()

        def show(n: int, whole: int | None) -> None:
            progress("looking for the person", n / whole if whole else None)
            if page is not None:
                page.asked()  # raises PartLeftError

        names = choose_camera_names(videos) if recorded else read_session_camera_names(Path(videos[0]))
        given = tuple([Path(lenses).expanduser()] if lenses else [])
        task = BodyTask(RecordingSpec(videos), tuple(names), project.folder / project.rig, height_m, None, given, fov_deg or None)
        report = calibrate_rig_by_body(task, settings, lines.append, show)
        return GuideOutcome(report, tuple(line for line in lines if line not in report.lines))

    guide_until_accepted(context.open_guide("Calibrate the cameras by the body"), collect, finish, context.tell)


def _record_walk(context: StepContext, page: GuidePage | None) -> str:
    """Record the cameras while somebody walks about; return the session's folder. Raises DuocapError."""
    folder = context.project.folder / WALKS / time.strftime("%Y%m%d-%H%M%S")
    words = ["--out", str(folder), "--seconds", str(WALK_S), *context.given]
    child = Child(["record", *words], context.tell)
    try:
        while child.running:
            if page is not None:
                page.asked()
                page.solving(f"walk about where all cameras see you from head to foot; {child.last}")
            raise_if_interrupted()
            time.sleep(TURN_S)
    finally:
        child.stop()
    child.finish()
    return str(folder)


def can_see_bodies(context: StepContext) -> bool:
    """Return whether landmarks of a body can be found here, by two cameras or more."""
    model = context.settings.landmarks.model
    return (
        len(context.project.cameras) > 1 and find_spec(INTERPRETER) is not None and has_weights("full" if model == OFF else model)
    )


# Another way is a line here; it is offered where it can be done.
RIG_WAYS = {
    "board": RigWay(FormButton("board", "Begin with the board", viser.Icon.PLAYER_PLAY, main=True), calibrate_by_board),
    "body": RigWay(
        FormButton("body", "Begin with a walk, no board", viser.Icon.WALK, hint="by height and field of view, or a rig's file"),
        calibrate_by_body,
        can_see_bodies,
    ),
    "file": RigWay(FormButton("file", "Take the rig of a file", viser.Icon.FILE_IMPORT), take_rig_file),
}


class RigStep(StartStep):
    """Where the cameras stand and what their lenses do."""

    title = "Rig"

    def find_result(self, project: ProjectFile) -> str:
        """Return the verdict of the rig's calibration."""
        if not project.has_rig or not project.cameras:
            return ""
        try:
            rig = read_rig(project.folder / project.rig, n_views=len(project.cameras))
        except DuocapError:
            return ""
        return rig.grade or "known"

    def find_missing(self, project: ProjectFile) -> str:
        """Return that cameras come first."""
        return "" if project.cameras else "after the cameras"

    def describe(self, context: StepContext) -> StepForm:
        """Return what is asked of the board."""
        recorded = all(is_recorded(source) for source in context.project.cameras)
        fields = [FormField("board", "Board", _find_board_text(context.project), hint="kind:columns x rows:square in mm")]
        if recorded:
            hint = "cameras that are files: one of each camera in which the board is shown, with commas; empty: the same files"
            fields.append(FormField("videos", "Videos of the board", "", hint=hint))
        fields.append(FormField("file", "File of a rig", "", hint="rig.toml of before, or a calibration of another program"))
        if can_see_bodies(context):
            fields.append(FormField("height", "Height [m]", 0.0, hint="without a board: of the person who walks, shoes off"))
            fields.append(FormField("fov", "Field of view [deg]", 0.0, hint="without a board: across; 0: lenses as in the file"))
        buttons = [way.button for way in RIG_WAYS.values() if way.offered(context)]
        buttons.insert(1, FormButton("print", "Save the board to print", viser.Icon.PRINTER, hint=f"PDF, {PAPER}, true to scale"))
        return StepForm(
            "Where do the cameras stand?",
            "Fix the cameras, print the board and glue it to something flat. Then the page says where to hold it.",
            tuple(fields),
            tuple(buttons),
            done=f"calibrated: {context.project.rig}" if context.project.has_rig else "",
        )

    def draw(self, context: StepContext, values: dict[str, Value]) -> str:
        """Return how the board is held."""
        return draw_board_guide(
            (
                "Print the board at 100 %, not fitted to the page. Measure a square: it must have the millimetres above.",
                "Stand where the performance will be, so that all cameras see the board.",
                "Tilt it, hold it still for a moment, go elsewhere. Good views are taken by themselves.",
            )
        )

    def press(self, context: StepContext, button: str, values: dict[str, Value]) -> str:
        """Print the board, or calibrate in one of the ways."""
        if button == "print":
            board = board_from_text(str(values.get("board") or _find_board_text(context.project)))
            context.page.hand_out("board.pdf", draw_board_pdf(board, PAPER))
            return "board.pdf is with your browser's downloads: print it at 100 %"
        RIG_WAYS[button].run(context, values)
        context.wanted = "performer"
        return ""


def _find_board_text(project: ProjectFile) -> str:
    """Return the board of the project, else the one that suits the paper."""
    return project.board or choose_default_board(PAPER).text
