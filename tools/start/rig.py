"""The step that calibrates the cameras: guided with the board, or by a file of an earlier calibration."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import viser

from calibration.board.pattern import board_from_text
from calibration.board.pdf import choose_default_board, draw_board_pdf
from calibration.formats.rig_file import read_rig
from calibration.formats.rig_toml import write_rig_toml
from config.errors import DuocapError
from stream.start.drawings import draw_board_guide
from stream.start.form import FormButton, FormField, StepForm, Value
from tools.calibrate.outcome import choose_picture_file
from tools.calibrate.rig import RigTask
from tools.guide.rig import calibrate_live
from tools.project_file import ProjectFile
from tools.run.cameras import is_recorded
from tools.start.desk import Desk, StepError

PAPER = "A4"


@dataclass(frozen=True, slots=True)
class RigWay:
    """A way to calibrate the cameras: a button of the step.

    Attributes:
        button: as it is shown.
        run: does it, and leaves the rig at the project's place.
        offered: whether it can be done here.
    """

    button: FormButton
    run: Callable[[Desk, dict[str, Value]], None]
    offered: Callable[[Desk], bool] = lambda desk: True


def calibrate_by_board(desk: Desk, values: dict[str, Value]) -> None:
    """Guide somebody with a board before the cameras, or play recordings of one to the guide. Raises DuocapError."""
    project, text = desk.project, str(values.get("board") or _find_board_text(desk.project))
    videos = [one.strip() for one in str(values.get("videos", "")).split(",") if one.strip()]
    if videos and len(videos) != len(project.cameras):
        raise StepError(f"{len(videos)} videos of the board for {len(project.cameras)} cameras; give one for each, in order")
    out = project.folder / project.rig
    task = RigTask(board_from_text(text), out, choose_picture_file(out, None, False))
    if text != project.board:
        desk.save(board=text)
    calibrate_live(desk.settings, videos or list(project.cameras), task, None, desk.open_guide, desk.tell)


def take_rig_file(desk: Desk, values: dict[str, Value]) -> None:
    """Take the rig of a file of any format that is read. Raises DuocapError."""
    name = str(values.get("file", "")).strip()
    if not name:
        raise StepError("no file is named; type where the rig's file is (rig.toml, or another program's), then press again")
    rig = read_rig(Path(name).expanduser(), n_views=len(desk.project.cameras))
    write_rig_toml(desk.project.folder / desk.project.rig, rig)


# Another way is a line here; it is offered where it can be done.
RIG_WAYS = {
    "board": RigWay(FormButton("board", "Begin with the board", viser.Icon.PLAYER_PLAY, main=True), calibrate_by_board),
    "file": RigWay(FormButton("file", "Take the rig of a file", viser.Icon.FILE_IMPORT), take_rig_file),
}


class RigStep:
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

    def describe(self, desk: Desk) -> StepForm:
        """Return what is asked of the board."""
        recorded = all(is_recorded(source) for source in desk.project.cameras)
        fields = [FormField("board", "Board", _find_board_text(desk.project), hint="kind:columns x rows:square in mm")]
        if recorded:
            hint = "cameras that are files: one of each camera in which the board is shown, with commas; empty: the same files"
            fields.append(FormField("videos", "Videos of the board", "", hint=hint))
        fields.append(FormField("file", "File of a rig", "", hint="rig.toml of before, or a calibration of another program"))
        buttons = [way.button for way in RIG_WAYS.values() if way.offered(desk)]
        buttons.insert(1, FormButton("print", "Save the board to print", viser.Icon.PRINTER, hint=f"PDF, {PAPER}, true to scale"))
        return StepForm(
            "Where do the cameras stand?",
            "Fix the cameras, print the board and glue it to something flat. Then the page says where to hold it.",
            tuple(fields),
            tuple(buttons),
            done=f"calibrated: {desk.project.rig}" if desk.project.has_rig else "",
        )

    def draw(self, desk: Desk, values: dict[str, Value]) -> str:
        """Return how the board is held."""
        return draw_board_guide(
            (
                "Print the board at 100 %, not fitted to the page. Measure a square: it must have the millimetres above.",
                "Stand where the performance will be, so that all cameras see the board.",
                "Tilt it, hold it still for a moment, go elsewhere. Good views are taken by themselves.",
            )
        )

    def press(self, desk: Desk, button: str, values: dict[str, Value]) -> str:
        """Print the board, or calibrate in one of the ways."""
        if button == "print":
            board = board_from_text(str(values.get("board") or _find_board_text(desk.project)))
            desk.page.hand_out("board.pdf", draw_board_pdf(board, PAPER))
            return "board.pdf is with your browser's downloads: print it at 100 %"
        RIG_WAYS[button].run(desk, values)
        desk.wanted = "performer"
        return ""

    def turn(self, desk: Desk) -> None:
        """Do nothing."""

    def leave(self) -> None:
        """Hold nothing."""


def _find_board_text(project: ProjectFile) -> str:
    """Return the board of the project, else the one that suits the paper."""
    return project.board or choose_default_board(PAPER).text
