"""A session that is recorded while it runs: its folder, what is written there by whom, and how it does.

The camera processes write pictures, the reconstruction its take; this process writes what describes them, and looks at the disk.
"""

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from calibration.subject.subject import Subject, read_subject, write_subject
from capture.clock import now_ns
from capture.process.plan import CameraPlan
from capture.recording.sink import VideoSink
from capture.sources.network.address import hide_secrets
from config.errors import DuocapError
from config.files import write_atomically
from config.loading import format_settings
from config.settings import CAMERA_NAMES, Settings
from config.words import format_count
from database.store import compute_poses_checksum, open_database
from stream.recording.folders import make_session_folder
from stream.recording.recorder import RecordingError
from stream.recording.session import (
    RIG,
    SETTINGS,
    STYLE,
    SUBJECT,
    SessionCamera,
    SessionDatabase,
    SessionInfo,
    write_session,
)
from tools.run.child import ChildProcess
from tools.run.parts import AwaitedNode

MB = 1e-6
FEW_MINUTES = 10.0  # left on the disk: worth saying more than once
MIN_FREE_BYTES = 200_000_000  # less is not enough to begin with


def add_video_recorder(plan: CameraPlan | AwaitedNode) -> CameraPlan | AwaitedNode:
    """Add a video recorder to a camera's plan; it idles until it is told to record.

    The plan of a node is returned as it is, because the node records its own pictures.
    """
    if isinstance(plan, AwaitedNode):
        return plan
    return replace(plan, sinks=(*plan.sinks, partial(VideoSink, CAMERA_NAMES[plan.camera])))


def identify_database(file: Path) -> SessionDatabase:
    """Return the identity of a database. Raises DatabaseError."""
    return SessionDatabase(str(file), open_database(file).n_poses, compute_poses_checksum(file))


class SessionFolder:
    """The folder of a session that is being recorded; made at once.

    Args:
        sources: the cameras as the user named them.
        rig, subject, database: None where only pictures and detections are recorded.
        style: a file that can be read, of the style to begin with. `rig`, `subject` and `style` are as they were read back from
            the folder: what is used must be what is written, to the last bit.
    Raises: RecordingError: the folder exists, cannot be made, or its disk is nearly full; FileFormatError.
    """

    def __init__(
        self,
        folder: Path,
        session: str,
        settings: Settings,
        sources: Sequence[str],
        rig: Rig | None = None,
        subject: Subject | None = None,
        database: Path | None = None,
        style: Path | None = None,
    ) -> None:
        mark = None if database is None else identify_database(database)
        self.folder = make_session_folder(folder)
        if shutil.disk_usage(folder).free < MIN_FREE_BYTES:
            folder.rmdir()
            raise RecordingError(f"{folder}: its disk is nearly full; make room, or record elsewhere")
        write_atomically(folder / SETTINGS, format_settings(settings))
        self.rig, self.subject = rig, subject
        if rig is not None:
            write_rig_toml(folder / RIG, rig)
            self.rig = read_rig_toml(folder / RIG)
        if subject is not None:
            write_subject(folder / SUBJECT, subject)
            self.subject = read_subject(folder / SUBJECT)
        self.style = None if style is None else folder / STYLE
        if style is not None and self.style is not None:
            shutil.copyfile(style, self.style)
        self.info = SessionInfo(
            session=session,
            when=datetime.now().astimezone().isoformat(timespec="milliseconds"),
            when_ns=now_ns(),
            cameras=tuple(SessionCamera(hide_secrets(source)) for source in sources),
            subject="" if subject is None else subject.name,
            markers=() if subject is None else subject.markers.names,
            database=mark,
        )
        self._begun_ns, self.begun = now_ns(), False
        write_session(folder, self.info)

    def describe(self, cameras: Sequence[ChildProcess], budget_ns: int) -> None:
        """Write down how the cameras are, once they are ready. Raises FileFormatError."""
        described = tuple(_describe_camera(camera, child) for camera, child in zip(self.info.cameras, cameras, strict=True))
        self.info = replace(self.info, cameras=described, budget_ns=budget_ns)
        self._begun_ns, self.begun = now_ns(), True
        write_session(self.folder, self.info)

    def finish(self, figures: Mapping[str, int | float | str]) -> None:
        """Write down that the session ended in order; a disk that is full by now keeps the description there is.

        Nothing is left of a session that was given up before all cameras were there: its name is free for another attempt.
        """
        if not self.begun:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        when = datetime.now().astimezone().isoformat(timespec="milliseconds")
        self.info = replace(self.info, end={"when": when, "bytes": self.n_bytes(), **figures})
        with contextlib.suppress(DuocapError, OSError):
            write_session(self.folder, self.info)

    def n_bytes(self) -> int:
        """Return how much there is in the folder."""
        with contextlib.suppress(OSError):
            return sum(file.stat().st_size for file in self.folder.iterdir())
        return 0

    def line(self, cameras: Sequence[ChildProcess]) -> str:
        """Return in words its size, the time until the disk is full, and the drops."""
        n_bytes, seconds = self.n_bytes(), max(1e-9 * (now_ns() - self._begun_ns), 1e-3)
        words = [f"{n_bytes * MB:.0f} MB"]
        with contextlib.suppress(OSError):
            rate = n_bytes / seconds
            words.append(f"{format_time_left(shutil.disk_usage(self.folder).free / rate)} left on the disk" if rate > 0.0 else "")
        n_lost = sum(child.counts.get("unrecorded", 0) for child in cameras)
        words.append(f"{format_count(n_lost, 'picture')} not recorded" if n_lost else "")
        return f"recording {self.folder.name}: " + ", ".join(word for word in words if word)


def format_time_left(seconds: float) -> str:
    """Return for how long a disk will do."""
    minutes = seconds / 60.0
    if minutes >= 120.0:
        return f"{min(minutes / 60.0, 999.0):.0f} h"
    return f"{minutes:.0f} min" if minutes >= FEW_MINUTES else f"only {minutes:.1f} min"


def _describe_camera(camera: SessionCamera, child: ChildProcess) -> SessionCamera:
    """Return a camera with what its process told of it."""
    counts, details = child.counts, dict(child.details)
    details.pop("preview", None)
    name, stamp = str(details.pop("name", "")), str(details.pop("stamp", ""))
    fps = counts.get("fps_mhz", 0) / 1000.0
    return SessionCamera(camera.source, name, counts.get("width", 0), counts.get("height", 0), fps, stamp, details)
