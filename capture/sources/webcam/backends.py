"""OpenCV's camera backends and how they differ, and why a camera cannot be opened.

From the backends' sources and their users' reports. DirectShow is preferred to Media Foundation on Windows: it opens at once,
where the other may take 20 s, and sets exposure and MJPG more reliably. Its `grab` returns at once and `retrieve` waits.
"""

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import cv2

from config.errors import SettingsError

Flags = tuple[float, float]
# Some backends know the colour temperature by another name than OpenCV's own.
TEMPERATURE = cv2.CAP_PROP_WB_TEMPERATURE
OTHER_TEMPERATURES = (cv2.CAP_PROP_TEMPERATURE, cv2.CAP_PROP_WHITE_BALANCE_BLUE_U)


@dataclass(frozen=True, slots=True)
class Backend:
    """One backend.

    api: OpenCV's number; auto_exposure: values for manual and automatic; manual_first: automatic exposure must be switched off
    before a number is set (elsewhere the number does that, and the switch would be taken for one); waits_in_retrieve: `grab`
    does not wait for a frame; driver_time: CAP_PROP_POS_MSEC may be the driver's time; raw_jpeg: compressed frames are
    available; has_buffer: CAP_PROP_BUFFERSIZE works; has_controls: exposure and the like can be set; rate_first: changing the
    rate resets the pixel format, so it comes first.
    """

    name: str
    api: int
    title: str
    auto_exposure: Flags = (1.0, 3.0)
    manual_first: bool = True
    waits_in_retrieve: bool = False
    driver_time: bool = False
    raw_jpeg: bool = False
    has_buffer: bool = False
    has_controls: bool = True
    rate_first: bool = False


V4L2 = Backend("v4l2", cv2.CAP_V4L2, "Video4Linux", driver_time=True, raw_jpeg=True, has_buffer=True)
DSHOW = Backend("dshow", cv2.CAP_DSHOW, "DirectShow", auto_exposure=(0.25, 0.75), waits_in_retrieve=True, rate_first=True)
MSMF = Backend("msmf", cv2.CAP_MSMF, "Media Foundation", auto_exposure=(0.0, 1.0), manual_first=False)
AVFOUNDATION = Backend("avfoundation", cv2.CAP_AVFOUNDATION, "AVFoundation", has_controls=False)
BACKENDS = {backend.name: backend for backend in (V4L2, DSHOW, MSMF, AVFOUNDATION)}
BEST = {"linux": V4L2, "win32": DSHOW, "darwin": AVFOUNDATION}


def choose_backend(setting: str, platform: str = sys.platform) -> Backend:
    """Return the backend of a setting, for auto the best of the system. Raises SettingsError: none of that name."""
    name = setting.strip().lower()
    if name == "auto":
        return next((best for system, best in BEST.items() if platform.startswith(system)), V4L2)
    if name not in BACKENDS:
        raise SettingsError(f"camera.backend is {setting!r}; expected auto, {', '.join(BACKENDS)}")
    return BACKENDS[name]


GROUP_FIX = "sudo usermod -aG video $USER, then log in again"
PROC, DEV = Path("/proc"), Path("/dev")


def describe_open_failure(index: int, backend: Backend, dev: Path = DEV, proc: Path = PROC, platform: str = sys.platform) -> str:
    """Return why a listed camera cannot be opened, and what the user can do.

    Args:
        index: of the camera.
        backend: by which it is opened.
        dev, proc: the system's folders of devices and processes.
        platform: name of the system, as `sys.platform`.
    """
    if backend is V4L2 and platform.startswith("linux"):
        device = dev / f"video{index}"
        if not device.exists():
            return f"{device} is not there; plug it in anew"
        if not os.access(device, os.R_OK | os.W_OK):
            return f"your user may not open {device}; {GROUP_FIX}"
        programs = find_programs_using(device, proc)
        if programs:
            return f"{' and '.join(programs)} uses it; end that program"
        return "another program may be using it, or it cannot do what is asked; try it alone, and another USB port"
    if platform == "darwin":
        return "allow it for your terminal in System Settings, Privacy & Security, Camera, and end other programs that use it"
    other = "msmf" if backend.name == "dshow" else "dshow"
    return (
        "another program may be using it, or Settings, Privacy, Camera forbids it; "
        f"else try the other backend: --set camera.backend={other}"
    )


def find_programs_using(device: Path, proc: Path = PROC) -> list[str]:
    """Return the programs that have a device open, as far as this user may know, as `cheese (process 4711)`."""
    found = []
    for entry in sorted(proc.glob("[0-9]*"), key=lambda path: int(path.name)):
        if int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if any(_is_link_to(link, device) for link in (entry / "fd").iterdir()):
                found.append(f"{(entry / 'comm').read_text('utf-8').strip()} (process {entry.name})")
    return found


def _is_link_to(link: Path, device: Path) -> bool:
    """Return whether a link to an open file leads to a device."""
    try:
        return link.readlink() == device
    except OSError:
        return False
