"""What the steps of the start page work at: the project, its settings, the page, and the parts that get it for a while."""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from capture.landmarks.pacing import OFF
from config.errors import DuocapError
from config.settings import LandmarkSettings, Settings
from stream.guidance.page import GuidePage
from stream.recording.folders import find_take
from stream.start.form import StepForm, Value
from stream.start.page import StartPage
from stream.start.part import GuidePart, add_back_button, add_note
from stream.viewer.app import App, EditedTake
from stream.viewer.feed import Feed
from stream.viewer.requests import ServiceRequests
from tools.arguments import open_database_or_default
from tools.interrupt import raise_if_interrupted
from tools.landmarks import check_landmarks
from tools.project_file import ProjectFile, write_project_file

if sys.platform == "win32":
    END_SIGNAL, OWN_GROUP = signal.CTRL_BREAK_EVENT, subprocess.CREATE_NEW_PROCESS_GROUP  # so that it alone is ended
else:
    END_SIGNAL, OWN_GROUP = signal.SIGINT, 0
STOP_S = 20.0  # a recording that is ended writes its last chunk, and its processes end in order
KEPT_LINES = 20
LEARN_S = 4.0  # of the empty room in a lit one
SETTLE_S = 1.5  # for browsers to draw the last pose: a body that still moves when it is taken away blanks viser's page


class StepError(DuocapError):
    """A step cannot be done as it was asked."""


class StartStep(ABC):
    """One step of the page. title: in the list."""

    title: str

    @abstractmethod
    def find_result(self, project: ProjectFile) -> str:
        """Return in a few words what came of it, empty while nothing has."""

    def find_missing(self, project: ProjectFile) -> str:
        """Return in a few words what has to be done before, empty where nothing has."""
        return ""

    @abstractmethod
    def describe(self, context: "StepContext") -> StepForm:
        """Return the form as it stands."""

    def draw(self, context: "StepContext", values: dict[str, Value]) -> str:
        """Return the drawing of how it is done, empty for none. values: of the fields."""
        return ""

    @abstractmethod
    def press(self, context: "StepContext", button: str, values: dict[str, Value]) -> str:
        """Do what a button says; return what came of it in words. Raises DuocapError."""

    def turn(self, context: "StepContext") -> None:  # noqa: B027 - most steps do nothing by themselves
        """Go on with what the step shows by itself; called some times a second while it is open."""

    def leave(self) -> None:  # noqa: B027 - most steps hold nothing
        """Let go of what the step holds, such as cameras."""


@dataclass(slots=True)
class StepContext:
    """The project at work.

    Attributes:
        settings: of the session, with the folder of the takes as that of recordings.
        tell: receives progress messages as text.
        given: options that the settings are made of, for commands in processes of their own.
        wanted: key of the step to go to next, empty to stay.
    """

    settings: Settings
    project: ProjectFile
    page: StartPage
    tell: Callable[[str], None]
    given: tuple[str, ...] = ()
    wanted: str = ""

    @property
    def database(self) -> Path | None:
        """The project's database, None for the default one."""
        return self.project.folder / self.project.database if self.project.database else None

    def choose_landmarks(self) -> Settings:
        """Return the settings with landmarks on: the model `full` where none is set. Raises LandmarksUnavailableError."""
        settings = self.settings
        if settings.landmarks.model == OFF:
            settings = replace(settings, landmarks=LandmarkSettings("full"))
        check_landmarks(settings.landmarks.model, None, self.tell)
        return settings

    def save(self, **values: Any) -> None:
        """Change the project and write it. Raises FileFormatError."""
        self.project = replace(self.project, **values)
        write_project_file(self.project)

    @contextlib.contextmanager
    def open_guide(self, title: str) -> Iterator[GuidePage | None]:
        """Give the page to a guided calibration while the block runs."""
        self.page.clear()
        try:
            yield GuidePart(self.page.server, title, self.page.dark)
        finally:
            self.page.build()

    @contextlib.contextmanager
    def open_viewer(
        self, feed: Feed, back: str, service: ServiceRequests | None = None, edited: Path | None = None
    ) -> Iterator[tuple[App, threading.Event]]:
        """Give the page to the viewer while the block runs.

        Args:
            feed: what is shown.
            back: label of the button that leads back; the event that is given is set when it is pressed.
            service: requests to the process that publishes, if it is a stream.
            edited: the take that may be edited, if it is one.
        """
        self.page.clear()
        take = None if edited is None else EditedTake(edited, partial(open_database_or_default, self.database))
        app = App(self.page.server, feed, self.page.dark, self.settings.stream.budget_ms, service, edited=take)
        try:
            yield app, add_back_button(self.page.server, back)
        finally:
            app.release()
            time.sleep(SETTLE_S)
            self.page.build()

    def pose(self, take: Path) -> str:
        """Give the page to posing until somebody goes back; return what came of it in words.

        Args:
            take: recording whose poses it begins with; the session beside it, if there is one, goes on instead.
        Raises: DuocapError.
        """
        from stream.posing.page.app import PosingApp
        from tools.pose import PoseTask, prepare_posing

        file = take.with_name(f"{take.stem}.pose.json")
        found, begin = (file, None) if file.exists() else (None, find_take(take))
        task = PoseTask(self.settings, session=found, database=self.database, take=begin, out=file)
        server, app = self.page.server, None
        self.page.clear()
        try:
            add_note(server)("Getting the models of poses ready; the first time that takes a minute.")
            prepared = prepare_posing(task, self.tell)
            self.page.clear()
            app = PosingApp(server, prepared.session, replace(prepared.options, dark=self.page.dark))
            turn_until_left(app.update, add_back_button(server))
        finally:
            if app is not None:
                app.release()
                time.sleep(SETTLE_S)
            self.page.build()
        return f"posed: {file}" if file.exists() else "nothing was posed"


class Child:
    """A command of duocap in a process of its own, whose words are kept. last: its last line."""

    def __init__(self, words: Sequence[str], tell: Callable[[str], None]) -> None:
        self._tell, self._lines = tell, deque[str](maxlen=KEPT_LINES)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tools.launch", *words],  # -P: nothing of the project's folder is imported
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            creationflags=OWN_GROUP,
        )
        self._reader = threading.Thread(target=self._read, name="start-child", daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def last(self) -> str:
        """Its last line, empty before the first."""
        return self._lines[-1] if self._lines else ""

    def stop(self) -> None:
        """End it in order, as Ctrl-C does."""
        if self.running:
            self._process.send_signal(END_SIGNAL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
        if self.running:
            self._process.kill()

    def finish(self) -> str:
        """Return its last words once it has ended. Raises StepError: it failed, with what it said."""
        code = self._process.wait()
        self._reader.join(STOP_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if code not in (0, 130):
            said = next((line for line in reversed(self._lines) if line.startswith("duocap: ")), self.last)
            raise StepError(said.removeprefix("duocap: ") or f"it ended with status {code} and no word; see the terminal")
        return self.last

    def _read(self) -> None:
        """Keep and tell what it says; the body of the thread."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip():
                self._lines.append(line.strip())
                self._tell(line.rstrip())


def turn_until_left(update: Callable[[], None], left: threading.Event) -> None:
    """Turn another page until somebody goes back."""
    while not left.is_set():
        update()
        raise_if_interrupted()


def show_child(app: App, left: threading.Event, child: Child) -> None:
    """Turn the viewer while a command runs, with its last words above; end the command when somebody goes back."""
    note = add_note(app.server)
    while child.running and not left.is_set():
        app.update()
        raise_if_interrupted()
        note(child.last)
    child.stop()
