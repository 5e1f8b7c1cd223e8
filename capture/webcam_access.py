"""Why a camera cannot be opened, in words: it is not there, belongs to others, or another program uses it."""

import contextlib
import os
import sys
from pathlib import Path

from capture.webcam_backends import V4L2, Backend

GROUP_FIX = "sudo usermod -aG video $USER, then log in again"
PROC, DEV = Path("/proc"), Path("/dev")


def why_not(index: int, backend: Backend, dev: Path = DEV, proc: Path = PROC, platform: str = sys.platform) -> str:
    """Say why a camera that is listed cannot be opened, and what to do."""
    if backend is V4L2 and platform.startswith("linux"):
        device = dev / f"video{index}"
        if not device.exists():
            return f"{device} is not there; plug it in anew"
        if not os.access(device, os.R_OK | os.W_OK):
            return f"your user may not open {device}; {GROUP_FIX}"
        users = users_of(device, proc)
        if users:
            return f"{' and '.join(users)} uses it; end that program"
        return "another program may be using it, or it cannot do what is asked; try it alone, and another USB port"
    if platform == "darwin":
        return "allow it for your terminal in System Settings, Privacy & Security, Camera, and end other programs that use it"
    other = "msmf" if backend.name == "dshow" else "dshow"
    return (
        "another program may be using it, or Settings, Privacy, Camera forbids it; "
        f"else try the other backend: --set camera.backend={other}"
    )


def users_of(device: Path, proc: Path = PROC) -> list[str]:
    """Name the programs that have a device open, as far as this user may know: `cheese (process 4711)`."""
    found = []
    for entry in sorted(proc.glob("[0-9]*"), key=lambda path: int(path.name)):
        if int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if any(_leads_to(link, device) for link in (entry / "fd").iterdir()):
                found.append(f"{(entry / 'comm').read_text('utf-8').strip()} (process {entry.name})")
    return found


def _leads_to(link: Path, device: Path) -> bool:
    """Tell whether an open file of a process is this device."""
    try:
        return link.readlink() == device
    except OSError:
        return False
