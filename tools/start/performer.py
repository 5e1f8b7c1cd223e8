"""The step that calibrates the performer: what is worn, then a T-pose before the cameras."""

import viser

from calibration.formats.rig_file import read_rig
from calibration.subject.subject import read_subject
from capture.landmarks.pacing import OFF
from config.errors import DuocapError
from config.markers import list_preset_names, read_marker_set
from stream.start.drawings import draw_tpose_guide
from stream.start.form import FormButton, FormField, StepForm, Value
from tools.arguments import open_database_or_default
from tools.calibrate.outcome import choose_picture_file
from tools.calibrate.session import PerformerPrior
from tools.calibrate.subject import SubjectTask
from tools.guide.subject import calibrate_subject_live
from tools.project_file import ProjectFile
from tools.start.step import LEARN_S, StartStep, StepContext, StepError

HEIGHT_M = (0.5, 2.5)
NONE = "none"
DEFAULT_MARKERS = "all_around"


class PerformerStep(StartStep):
    """Bones, and where markers sit on them."""

    title = "Performer"

    def find_result(self, project: ProjectFile) -> str:
        """Return who it is and what is worn."""
        if not project.has_subject:
            return ""
        try:
            known = read_subject(project.folder / project.subject)
        except DuocapError:
            return ""
        return f"{known.name}, {f'{len(known.markers)} markers' if known.markers.worn.any() else 'no markers'}"

    def find_missing(self, project: ProjectFile) -> str:
        """Return that the rig comes first."""
        return "" if project.cameras and project.has_rig else "after the rig"

    def describe(self, context: StepContext) -> StepForm:
        """Return what is asked of the performer."""
        project, presets = context.project, list_preset_names()
        worn = project.markers or DEFAULT_MARKERS
        options = tuple(dict.fromkeys([worn, *presets]))
        return StepForm(
            "Who performs, and wears what?",
            "Hold a T-pose before the cameras for three seconds: arms out to the sides, legs straight. The page says when.",
            (
                FormField("markers", "Markers", worn, options, f"{NONE}: by landmarks of the body in the pictures"),
                FormField("name", "Name", "performer"),
                FormField("height", "Height [m]", 0.0, hint="shoes off; 0: not known, then it is estimated"),
                FormField(
                    "lit",
                    "Lit room",
                    project.background > 0.0,
                    hint="As the pictures tell; the empty room is learned first",
                ),
            ),
            (FormButton("pose", "Begin with the T-pose", viser.Icon.PLAYER_PLAY, main=True),),
            done=f"calibrated: {project.subject}" if project.has_subject else "",
        )

    def draw(self, context: StepContext, values: dict[str, Value]) -> str:
        """Return how to stand."""
        return draw_tpose_guide(
            (
                "Put the markers on, each where its name says (docs/subject.md); in bare feet or the shoes of the take.",
                "Stand where all cameras see you from head to foot, facing between the first two.",
                "Hold the T-pose until the page flashes green; where you stand is the world's origin, and the floor is found.",
            )
        )

    def press(self, context: StepContext, button: str, values: dict[str, Value]) -> str:
        """Guide into the T-pose and fit the performer."""
        project, height_m = context.project, float(values["height"])
        if height_m and not HEIGHT_M[0] <= height_m <= HEIGHT_M[1]:
            raise StepError(f"{height_m:g} is no height of a person in metres; expected 0.5 to 2.5, or 0 where it is not known")
        markers = read_marker_set(str(values["markers"]))
        learn_s = LEARN_S if values["lit"] and markers.worn.any() else 0.0  # landmarks need no empty room
        settings, out = context.settings, project.folder / project.subject
        if not markers.worn.all() or settings.landmarks.model != OFF:
            settings = context.choose_landmarks()
        context.save(markers=str(values["markers"]), background=learn_s)
        task = SubjectTask(
            str(values["name"]).strip() or "performer",
            read_rig(project.folder / project.rig, n_views=len(project.cameras)),
            markers,
            open_database_or_default(context.database),
            PerformerPrior(height_m or None),
            out,
            choose_picture_file(out, None, False),
        )
        calibrate_subject_live(settings, project.cameras, task, None, learn_s, context.open_guide, context.tell)
        context.wanted = "record"
        return ""
