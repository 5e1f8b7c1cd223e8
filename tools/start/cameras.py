"""The step that chooses cameras by their live pictures."""

from pathlib import Path

import viser

from capture.background.statistics import is_dark
from capture.sources.network.address import hide_secrets
from config.settings import CAMERA_NAMES
from stream.start.form import FormButton, FormField, StepForm, Value
from tools.project_file import ProjectFile
from tools.run.cameras import check_camera_source
from tools.start.live_pictures import LivePicture, end_looks, list_sources
from tools.start.step import LEARN_S, StartStep, StepContext, StepError

TICK = "camera "  # before the source in a field's key


class CamerasStep(StartStep):
    """Webcams, network cameras and video files, each with its picture and a box to tick."""

    title = "Cameras"

    def __init__(self) -> None:
        self._looks: list[LivePicture] = []
        self._shown: list[tuple[int, str, bool]] = []  # what is on the page: the picture, its fault, whether it is ticked
        self._added: list[str] = []
        self._lit: dict[str, bool] = {}  # whether the room was, in the last picture of a source
        self._sources: list[str] | None = None

    def find_result(self, project: ProjectFile) -> str:
        """Return how many cameras there are."""
        n = len(project.cameras)
        return "" if not n else f"{n} camera{'s' * (n > 1)}"

    def describe(self, context: StepContext) -> StepForm:
        """Return a box for each source."""
        chosen = context.project.cameras or tuple(self._find_sources(context)[: len(CAMERA_NAMES)])
        boxes = tuple(FormField(TICK + one, hide_secrets(one), one in chosen) for one in self._find_sources(context))
        faults = "; ".join(dict.fromkeys(look.fault for look in self._looks if look.fault))
        words = "Tick the cameras that see the performer from head to foot, two or more; ticked ones have a green frame."
        if not boxes:
            words = "No camera was found. Plug in two webcams and search again, or add a phone's address or a video file below."
        return StepForm(
            "Which cameras?",
            words,
            (
                *boxes,
                FormField("other", "Another", "", hint="http:// or rtsp:// address of a phone or camera, or a file"),
            ),
            (
                FormButton("use", "Use the ticked cameras", viser.Icon.CHECK, main=True),
                FormButton("add", "Add the other one", viser.Icon.PLUS),
                FormButton("search", "Search again", viser.Icon.REFRESH),
            ),
            error=faults,
        )

    def press(self, context: StepContext, button: str, values: dict[str, Value]) -> str:
        """Add a camera, search again, or keep the choice."""
        if button == "search":
            self.leave()
            return ""
        if button == "add":
            return self._add(context, str(values.get("other", "")).strip())
        ticked = tuple(one for one in self._find_sources(context) if values.get(TICK + one))
        if not ticked:
            raise StepError("no camera is ticked; one at least is needed, two or more measure depth; tick them and press again")
        if len(ticked) > len(CAMERA_NAMES):
            raise StepError(f"{len(ticked)} cameras are ticked; a rig has at most {len(CAMERA_NAMES)}; untick some")
        if ticked != context.project.cameras:
            lit = any(self._lit.get(one, False) for one in ticked)
            context.save(cameras=ticked, background=LEARN_S if lit else 0.0)
        context.wanted = "rig"
        return ""

    def turn(self, context: StepContext) -> None:
        """Show the newest pictures."""
        sources = self._find_sources(context)
        if [look.source for look in self._looks] != sources:
            end_looks(self._looks)
            self._looks, self._shown = [LivePicture(source, n, context.settings) for n, source in enumerate(sources)], []
        values = context.page.values()
        ticked = [bool(values.get(TICK + look.source)) for look in self._looks]
        shown = [(id(look.image), look.fault, tick) for look, tick in zip(self._looks, ticked, strict=True)]
        if shown != self._shown and context.page.n_pages:
            self._shown = shown
            context.page.show_pictures([look.draw(tick) for look, tick in zip(self._looks, ticked, strict=True)])

    def leave(self) -> None:
        """Close the cameras; what their pictures tell of the room is kept."""
        self._lit |= {look.source: not is_dark(look.image) for look in self._looks if look.image is not None}
        end_looks(self._looks)
        self._looks, self._shown, self._sources = [], [], None

    def _find_sources(self, context: StepContext) -> list[str]:
        """Return the sources that are offered: those of the project first."""
        if self._sources is None:
            found = [*context.project.cameras, *list_sources(context.settings, context.project.folder), *self._added]
            self._sources = list(dict.fromkeys(found))
        return self._sources

    def _add(self, context: StepContext, source: str) -> str:
        """Offer one source more."""
        if not source:
            raise StepError("the field is empty; type an address (http://, rtsp://), the name of a camera, or a file")
        source = str(Path(source).expanduser()) if source.startswith("~") else source
        check_camera_source(source, 0, None, context.settings)
        self._added.append(source)
        self._sources = None
        return ""
