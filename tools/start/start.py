"""The start page as a whole: its server, the steps in their order, and the loop that does what is pressed."""

import contextlib
import logging
import os
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path

from config.errors import DuocapError, describe_reason
from config.settings import Settings
from stream.start.form import Pressed, StepRow, StepState
from stream.start.page import StartPage
from stream.start.part import PartLeftError
from stream.web.document import PagePreference
from stream.web.server import close_server, serve_page
from tools.interrupt import raise_if_interrupted, raise_on_interrupt
from tools.progress import Tell
from tools.project_file import PROJECT, ProjectFile, read_project_file
from tools.run.parts import ProcessFaultError
from tools.start.cameras import CamerasStep
from tools.start.performer import PerformerStep
from tools.start.record import RecordStep
from tools.start.rig import RigStep
from tools.start.send import SendStep
from tools.start.step import StartStep, StepContext
from tools.start.takes import TakesStep
from tools.viewer import can_browse, open_browser, tell_page, wants_dark

log = logging.getLogger(__name__)

TURN_S = 0.08
ROWS_S = 2.0  # between two looks at files that another program may have changed
NEW_FOLDER = "duocap-project"  # for a start in a folder that holds other things


@dataclass(frozen=True, slots=True)
class StartPlan:
    """What is to be opened.

    Attributes:
        given: the options that the settings are made of, for commands that the page runs.
        folder: of the project, None: the present one, or one in it (`choose_project_folder`).
        browser: open the system's.
    """

    settings: Settings
    given: tuple[str, ...] = ()
    folder: Path | None = None
    browser: bool = True


def choose_project_folder(given: Path | None, here: Path) -> Path:
    """Return the folder of the project: the one that is given; else this one if it holds a project or nothing; else one in it."""
    if given is not None:
        return given
    is_own = (here / PROJECT).is_file() or not any(here.iterdir())
    return here if is_own else here / NEW_FOLDER


def serve_start_page(plan: StartPlan, tell: Tell) -> None:
    """Serve the start page until Ctrl-C. Raises DuocapError: the folder or the server cannot be had, the project is damaged."""
    folder = choose_project_folder(plan.folder, Path.cwd())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)  # sources and files are named as commands in the folder name them
    except OSError as error:
        raise DuocapError(f"{folder}: cannot be the project's folder ({describe_reason(error)}); give another") from error
    project = read_project_file(Path()) or ProjectFile()
    recordings = str(Path(project.takes).absolute())
    settings = replace(plan.settings, stream=replace(plan.settings.stream, recordings=recordings))
    view, preference = settings.viewer, PagePreference()
    page = serve_page(view.host, view.port, "duocap", preference)
    tell_page("start page", page.url, view.port, tell, f" (Ctrl-C ends it); project: {Path.cwd()}")
    context = StepContext(settings, project, StartPage(page.server, str(Path.cwd()), wants_dark(view.theme)), tell, plan.given)
    if view.theme == "auto":  # the browser knows better than the system that serves
        preference.listen(context.page.prefer_dark)
    if plan.browser and can_browse():
        open_browser(page.url)
    try:
        with raise_on_interrupt():
            StartSession(context).run()
    except KeyboardInterrupt:
        tell(f"the start page has ended; to go on: duocap start {shlex.quote(str(Path.cwd()))}")
    finally:
        close_server(page.server)


class StartSession:
    """The steps of a context, one of them open."""

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self._steps: dict[str, StartStep] = {
            "cameras": CamerasStep(),
            "rig": RigStep(),
            "performer": PerformerStep(),
            "record": RecordStep(),
            "takes": TakesStep(),
            "send": SendStep(),
        }
        self._error = self._done = ""
        self._rows, self._rows_due_s = self._list_rows(), 0.0
        self._opened = next((row.key for row in self._rows if row.state is StepState.READY), "takes")
        context.page.build()

    def run(self) -> None:
        """Show and obey until interrupted."""
        try:
            while True:
                self.turn()
                raise_if_interrupted()
                time.sleep(TURN_S)
        finally:
            self._steps[self._opened].leave()

    def turn(self) -> None:
        """Do what was pressed, and show how things stand."""
        context, step = self._context, self._steps[self._opened]
        for pressed in context.page.take_pressed():
            self._obey(pressed)
            step, self._rows_due_s = self._steps[self._opened], 0.0
        if time.monotonic() >= self._rows_due_s:
            self._rows, self._rows_due_s = self._list_rows(), time.monotonic() + ROWS_S
        form = step.describe(context)
        context.page.show_steps(self._rows, self._opened)
        context.page.show_form(self._opened, replace(form, error=self._error or form.error, done=self._done or form.done))
        context.page.show_drawing(step.draw(context, context.page.values()))
        if self._opened != "cameras":
            context.page.show_pictures(())
        step.turn(context)

    def _list_rows(self) -> list[StepRow]:
        """Return the steps with how far they are."""
        rows = []
        for key, step in self._steps.items():
            missing, result = step.find_missing(self._context.project), step.find_result(self._context.project)
            state = StepState.WAITING if missing else StepState.DONE if result else StepState.READY
            rows.append(StepRow(key, step.title, state, missing or result))
        return rows

    def _obey(self, pressed: Pressed) -> None:
        """Open another step, or do what a button of the open one says."""
        self._error = self._done = ""
        if not pressed.button:
            self._open(pressed.step)
            return
        step = self._steps[pressed.step]
        if pressed.step != self._opened:
            return
        try:
            if step.find_missing(self._context.project):
                raise DuocapError(f"{step.title} comes {step.find_missing(self._context.project)}; do that step first")
            if pressed.button not in ("add", "search"):
                step.leave()
            self._done = step.press(self._context, pressed.button, pressed.values)
        except PartLeftError:
            self._done = "left before its end; nothing was changed"
        except DuocapError as error:
            self._error = " ".join(str(error).split())
        except ProcessFaultError as error:
            log.exception("a part of the start page failed")
            self._error = f"{error}; that is a fault of duocap's, or the machine is too busy: end other programs and try again"
        if self._context.wanted and not self._error:
            wanted, self._context.wanted = self._context.wanted, ""
            done, self._done = self._done, ""
            self._open(wanted)
            self._done = done

    def _open(self, key: str) -> None:
        """Open a step."""
        with contextlib.suppress(KeyError):
            self._steps[self._opened].leave()
            self._opened = key if key in self._steps else self._opened
