"""Calibrate a performer with cameras that run: the T-pose is guided, then fitted, judged, drawn and written."""

from collections.abc import Callable, Sequence

from calibration.subject_toml import write_subject
from capture.packets import PairedBlobs
from config.errors import CalibrationError
from config.settings import Settings
from tools.calibrate_live_tpose import Outcome, Progress, watch_tpose
from tools.calibrate_subject import SubjectTask
from tools.calibration_words import check_verdict, say_verdict
from tools.subject_session import subject_from_pairs, summary_lines

Tell = Callable[[str], None]


def calibrate_subject_live(
    settings: Settings, sources: Sequence[str], task: SubjectTask, fps: float | None, learn_s: float, browser: bool, tell: Tell
) -> None:
    """Guide, then fit; the page shows the verdict too. Raises DuocapError: no camera, no T-pose held, or a verdict of fail."""

    def finish(pairs: list[PairedBlobs], progress: Progress) -> Outcome:
        result = subject_from_pairs(task.name, pairs, task.rig, task.markers, task.database, settings, task.known)
        for line in summary_lines(result):
            tell(line)
        say_verdict(result.verdict, tell)
        if task.picture is not None:
            from calibration.subject_picture import draw_subject

            progress("drawing", None)
            draw_subject(result.found, result.verdict, task.picture)
            tell(f"picture: {task.picture}")
        try:
            check_verdict(result.verdict, task.out)
        except CalibrationError as error:
            return Outcome(result.verdict, (), task.picture, error)
        write_subject(task.out, result.subject)
        tell(f"written to {task.out}")
        return Outcome(result.verdict, (f"written to {task.out}",), task.picture)

    skeletons = task.database.skeletons
    watch_tpose(
        settings, sources, task.rig, task.markers, skeletons, finish, fps=fps, learn_s=learn_s, browser=browser, tell=tell
    )
