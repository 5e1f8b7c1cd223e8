"""The step that shows takes, and makes files of them for other programs."""

from pathlib import Path

import viser

from stream.recording.folders import find_take
from stream.start.drawings import draw_nothing_but
from stream.start.form import FormButton, FormField, StepForm, Value
from stream.start.part import BACK
from stream.viewer.takes import TakeFeed
from tools.export import FORMATS
from tools.project_file import ProjectFile
from tools.start.step import Child, StartStep, StepContext, StepError, show_child, turn_until_left


class TakesStep(StartStep):
    """What was recorded."""

    title = "Takes"

    def find_result(self, project: ProjectFile) -> str:
        """Return the newest take's name."""
        takes = project.list_takes()
        return takes[0].name if takes else ""

    def find_missing(self, project: ProjectFile) -> str:
        """Return that one must be recorded."""
        return "" if project.list_takes() else "after a recording"

    def describe(self, context: StepContext) -> StepForm:
        """Return the takes to choose from."""
        names = tuple(str(path) for path in context.project.list_takes())
        if not names:
            return StepForm("See and edit takes", "There is none yet: record one first.")
        return StepForm(
            "See and edit takes",
            "The viewer plays a take and has all that edits it. Files are written beside the take.",
            (
                FormField("take", "Take", names[0], names),
                FormField("format", "File", (context.project.formats or ("bvh",))[0], tuple(FORMATS)),
                FormField("again", "Solve again", True, hint="with what comes after each frame: better, and takes longer"),
            ),
            (
                FormButton("see", "See it", viser.Icon.EYE, main=True),
                FormButton(
                    "pose", "Pose it", viser.Icon.HAND_MOVE, hint="Its poses as keys, to be dragged; kept beside the take"
                ),
                FormButton("write", "Write the file", viser.Icon.FILE_EXPORT),
            ),
        )

    def draw(self, context: StepContext, values: dict[str, Value]) -> str:
        """Return what can be done with it elsewhere."""
        return draw_nothing_but(
            (
                "See it: play, trim, cut, smooth, fill gaps, relabel; what is edited is a new take.",
                "Pose it: its poses are keys on a time line; drag joints, and the body follows: docs/posing.md.",
                "BVH for Blender and MotionBuilder, GLB for engines, TRC and MOT for OpenSim, C3D: docs/files.md.",
                "The same in a terminal in this folder: duocap view takes/NAME, duocap replay, duocap export.",
            )
        )

    def press(self, context: StepContext, button: str, values: dict[str, Value]) -> str:
        """Show a take, or write a file of it."""
        take = Path(str(values["take"]))
        if take not in context.project.list_takes():
            raise StepError(f"{take.name}: is there no longer; choose another take")
        if button == "see":
            with context.open_viewer(TakeFeed((find_take(take),)), BACK, edited=take) as (app, left):
                turn_until_left(app.update, left)
            return ""
        if button == "pose":
            return context.pose(take)
        return _write_file(context, take, str(values["format"]), bool(values["again"]))


def _write_file(context: StepContext, take: Path, kind: str, again: bool) -> str:
    """Write a take in a format, solved again where its detections are there; show it meanwhile. Raises DuocapError."""
    file = take.parent / f"{take.stem}{FORMATS[kind].suffix}"
    if again and take.is_dir():
        words = ["replay", str(take), "--out", str(file), "--no-publish"]
    else:
        words = ["export", str(take), "--out", str(file), "--format", kind]
    child = Child([*words, *context.given], context.tell)
    try:
        with context.open_viewer(TakeFeed((find_take(take),)), "Stop") as (app, left):
            show_child(app, left, child)
            if left.is_set():
                raise StepError(f"{file.name} was not written: it was stopped; press again to write it")
    finally:
        child.stop()
    child.finish()
    return f"written: {file}"
