"""The step that records: `duocap run` in this project, with the viewer on the page."""

import viser

from capture.sockets.endpoints import find_key_settings
from config.errors import DuocapError
from stream.publish.publisher import choose_address
from stream.recording.folders import check_recording_name
from stream.start.drawings import draw_nothing_but
from stream.start.form import FormButton, FormField, StepForm, Value
from stream.viewer.feed import LiveFeed
from stream.viewer.requests import ServiceRequests
from tools.project_file import ProjectFile
from tools.start.step import Child, StartStep, StepContext, StepError, show_child

STOP = "Stop"


class RecordStep(StartStep):
    """A take: videos, time stamps, detections and poses in a folder."""

    title = "Record"

    def find_result(self, project: ProjectFile) -> str:
        """Return how many takes there are."""
        n = len(project.list_takes())
        return "" if not n else f"{n} take{'s' * (n > 1)}"

    def find_missing(self, project: ProjectFile) -> str:
        """Return what comes first."""
        return "" if project.cameras and project.has_rig and project.has_subject else "after the performer"

    def describe(self, context: StepContext) -> StepForm:
        """Return what a take is called, and where it goes."""
        project, name = context.project, choose_take_name(context.project)
        return StepForm(
            "Record a take",
            f"It goes to {(project.folder / project.takes).absolute()}: a folder of its name, with videos and poses. "
            "The viewer opens here; you stop it there.",
            (FormField("name", "Name", name),),
            (
                FormButton("record", "Record", viser.Icon.PLAYER_RECORD, main=True),
                FormButton("look", "Look first, record nothing", viser.Icon.EYE),
            ),
        )

    def draw(self, context: StepContext, values: dict[str, Value]) -> str:
        """Return what happens."""
        return draw_nothing_but(
            (
                f"It runs: duocap run --record {context.project.takes}/{values.get('name', '')}, the rest is in project.toml.",
                "In a lit room step out of view while it counts down, and in again when it says so.",
                "The body appears as soon as somebody stands there. Press Stop at the end.",
            )
        )

    def press(self, context: StepContext, button: str, values: dict[str, Value]) -> str:
        """Run `duocap run` until Stop is pressed, or the sources end."""
        settings, words = choose_address(context.settings), ["run", "--headless", *context.given]
        name = str(values["name"]).strip()
        place = self._make_place(context.project, name) if button == "record" else ""
        if place:
            words += ["--record", place]
        stream = settings.stream
        words += ["--set", f"stream.address={stream.address}", "--set", "viewer.port=0"]
        keys = find_key_settings(stream)
        feed = LiveFeed(stream.address, 60.0 * settings.viewer.history_minutes, keys)
        service = ServiceRequests(stream.service, keys, stream.address) if stream.service else None
        child = Child(words, context.tell)
        try:
            with context.open_viewer(feed, STOP, service) as (app, left):
                show_child(app, left, child)
        finally:
            child.stop()
        said = child.finish()
        if not place:
            return said
        context.wanted = "takes"
        return f"recorded: {place}"

    @staticmethod
    def _make_place(project: ProjectFile, name: str) -> str:
        """Return where a take of a name goes. Raises DuocapError."""
        check_recording_name(name)
        place = project.folder / project.takes / name
        if place.exists():
            raise StepError(f"a take {name!r} is there already, and nothing is ever replaced; choose another name")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DuocapError(f"{place.parent}: cannot be made ({error.strerror}); make room, or move the project") from error
        return str(place)


def choose_take_name(project: ProjectFile) -> str:
    """Return a name that no take has."""
    names = {path.stem for path in project.list_takes()}
    return next(name for n in range(1, len(names) + 2) if (name := f"take-{n}") not in names)
