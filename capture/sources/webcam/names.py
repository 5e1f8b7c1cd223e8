"""List the cameras of this machine, and find the one that the user means.

Indices change when a camera is plugged in again, so the index is looked up at every opening. The user's text is turned once into
a `CameraIdentity`, which finds the same camera also after others came and went.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from capture.sources.webcam.backends import Backend
from config.errors import SourceError

log = logging.getLogger(__name__)

VID_PID = re.compile(r"(?i)(?P<id>[0-9a-f]{4}:[0-9a-f]{4})(?:\s*#(?P<number>\d+))?")
NUMBERED = re.compile(r"(?P<name>.*\S)\s*#(?P<number>\d+)")
SYSFS = Path("/sys/class/video4linux")


class ListedCamera(Protocol):
    """A camera as cv2-enumerate-cameras lists it."""

    index: int
    name: str
    path: str | None
    vid: int | None
    pid: int | None


@dataclass(frozen=True, slots=True)
class LocalCamera:
    """A camera of this machine, for one backend.

    index: of the backend, at present; name: its own; label: the name, with ` #2` for the second of that name; usb: vendor and
    product such as 046d:0825, empty where unknown; path: of the device; port: identifies the USB port.
    """

    index: int
    name: str
    label: str
    usb: str = ""
    path: str = ""
    port: str = ""


@dataclass(frozen=True, slots=True)
class CameraIdentity:
    """The camera that is meant during a run. unique: no other had its name, so that it may move to another port.

    index: for systems that do not list cameras, where name is empty.
    """

    name: str
    port: str
    unique: bool
    index: int = -1
    label: str = ""


Lister = Callable[[Backend], list[LocalCamera]]


def list_cameras(backend: Backend) -> list[LocalCamera]:
    """Return the cameras that a backend can open, in its order; empty where the system lists none."""
    try:
        from cv2_enumerate_cameras import enumerate_cameras

        found = enumerate_cameras(backend.api)
    except Exception as error:  # noqa: BLE001 - a binary module for each system: whatever it raises, numbers still work
        log.debug("cameras are not listed: %s", error)
        return []
    return label_cameras(found)


def label_cameras(found: Iterable[ListedCamera], port: Callable[[ListedCamera], str] | None = None) -> list[LocalCamera]:
    """Return cameras with unique labels: those of one name are numbered in the order of their ports."""
    port_of = port or _find_port
    cameras = [
        LocalCamera(
            entry.index,
            " ".join((entry.name or "").split()) or f"camera {entry.index}",
            "",
            f"{entry.vid:04x}:{entry.pid:04x}" if entry.vid is not None and entry.pid is not None else "",
            entry.path or "",
            port_of(entry),
        )
        for entry in found
    ]
    cameras.sort(key=lambda camera: camera.index)
    return [replace(camera, label=_make_label(camera, cameras)) for camera in cameras]


def _make_label(camera: LocalCamera, cameras: Sequence[LocalCamera]) -> str:
    """Return a camera's name, with a number from the second of that name on."""
    same = sorted((c for c in cameras if c.name == camera.name), key=lambda c: (c.port, c.index))
    number = same.index(camera) + 1
    return camera.name if number == 1 else f"{camera.name} #{number}"


def _find_port(entry: ListedCamera) -> str:
    """Return the port of a camera: the USB port on Linux, the device path elsewhere."""
    if sys.platform.startswith("linux") and entry.path:
        return find_usb_port(Path(entry.path).name) or entry.path
    return entry.path or str(entry.index)


def find_usb_port(device: str, sysfs: Path = SYSFS) -> str:
    """Return bus and port of a device such as video0, as in 1-4.2:1.0; empty where unknown."""
    try:
        return (sysfs / device / "device").resolve(strict=True).name
    except OSError:
        return ""


def find_camera(text: str, cameras: Sequence[LocalCamera]) -> LocalCamera:
    """Return the camera of a user's text: a number, a label, a name or a part of it, vendor:product, or a path.

    Raises SourceError: none, or more than one.
    """
    wanted = " ".join(text.split())
    for rule in (_find_by_number, _find_by_path, _find_by_usb, _find_by_label, _find_by_part):
        matching = rule(wanted, cameras)
        if len(matching) == 1:
            return matching[0]
        if len(matching) > 1:
            names = " or ".join(repr(camera.label) for camera in matching)
            raise SourceError(f"camera {text!r}: several fit, {names}; give the whole name")
    raise SourceError(f"camera {text!r}: there is no such camera; {describe_cameras(cameras)}")


def describe_cameras(cameras: Sequence[LocalCamera]) -> str:
    """Return a sentence that lists the cameras."""
    if not cameras:
        return "no camera is plugged in that this system lists (see duocap doctor)"
    return "there are: " + ", ".join(f"{camera.label!r} ({camera.index})" for camera in cameras)


def _find_by_number(wanted: str, cameras: Sequence[LocalCamera]) -> list[LocalCamera]:
    return [camera for camera in cameras if wanted.isascii() and wanted.isdigit() and camera.index == int(wanted)]


def _find_by_path(wanted: str, cameras: Sequence[LocalCamera]) -> list[LocalCamera]:
    real = os.path.realpath(wanted) if wanted.startswith("/dev/") else wanted  # by-id and by-path are links
    return [camera for camera in cameras if camera.path and real.casefold() == camera.path.casefold()]


def _find_by_usb(wanted: str, cameras: Sequence[LocalCamera]) -> list[LocalCamera]:
    match = VID_PID.fullmatch(wanted)
    if match is None:
        return []
    same = sorted((c for c in cameras if c.usb == match["id"].lower()), key=lambda c: (c.port, c.index))
    return same if match["number"] is None else same[int(match["number"]) - 1 :][:1] if int(match["number"]) else []


def _find_by_label(wanted: str, cameras: Sequence[LocalCamera]) -> list[LocalCamera]:
    match = NUMBERED.fullmatch(wanted)
    if match is not None and int(match["number"]) == 1:
        wanted = match["name"]
    return [camera for camera in cameras if camera.label.casefold() == wanted.casefold()]


def _find_by_part(wanted: str, cameras: Sequence[LocalCamera]) -> list[LocalCamera]:
    if not wanted or wanted.isdigit():
        return []  # a number is not a part of a name
    return [camera for camera in cameras if wanted.casefold() in camera.name.casefold()]


def identify_camera(text: str, cameras: Sequence[LocalCamera]) -> CameraIdentity:
    """Return the identity of a camera by the user's text. Raises SourceError: no such camera, or several."""
    if not cameras and text.strip().isascii() and text.strip().isdigit():
        return CameraIdentity("", "", False, int(text), f"camera {int(text)}")  # a system may have cameras without listing them
    camera = find_camera(text, cameras)
    return CameraIdentity(camera.name, camera.port, sum(c.name == camera.name for c in cameras) == 1, camera.index, camera.label)


def locate_camera(identity: CameraIdentity, cameras: Sequence[LocalCamera]) -> int:
    """Return the present index of a camera. Raises SourceError: it is not plugged in."""
    if not identity.name:
        return identity.index
    same = [camera for camera in cameras if camera.name == identity.name]
    at_port = [camera for camera in same if camera.port == identity.port]
    if at_port or (identity.unique and len(same) == 1):
        return (at_port or same)[0].index
    raise SourceError(f"camera {identity.label!r} is not plugged in; {describe_cameras(cameras)}")


def check_different(one: CameraIdentity | None, other: CameraIdentity | None, names: tuple[str, str]) -> None:
    """Raise SourceError if two are the same camera.

    Args:
        one, other: None: a source of another kind.
        names: of the two in the rig.
    """
    if one is not None and one == other:
        raise SourceError(
            f"{names[0]} and {names[1]} are the same camera, {one.label!r}; give each once (duocap doctor names all)"
        )
