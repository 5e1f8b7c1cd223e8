"""What a user names as a camera, as a plan for its process: a file or folder played in real time, or a node elsewhere."""

from functools import partial
from pathlib import Path

from capture.mjpeg_http import open_mjpeg
from capture.network_address import is_mjpeg_url
from capture.process import CameraPlan
from capture.sources import Source, open_source, register_source
from config.settings import Settings
from tools.live import open_detector
from tools.supervisor import AwaitedNode

NODE = "node"

register_source(is_mjpeg_url, open_mjpeg)


def is_recorded(source: str) -> bool:
    """Tell whether a source is a recording, to be played at its own pace; anything else gives frames when it has them."""
    return Path(source).exists()


def open_camera(source: str, camera: int, fps: float | None) -> Source:
    """Open a source, in whatever process. Raises SourceError."""
    return open_source(source, camera, fps)


def camera_plan(source: str, camera: int, settings: Settings, fps: float | None) -> CameraPlan | AwaitedNode:
    """Plan one camera of a run. source: a file, a folder, another kind that is registered, or `node`; camera: 0 left, 1 right."""
    if source == NODE:
        return AwaitedNode(settings.detector)
    return CameraPlan(
        camera,
        partial(open_camera, source, camera, fps),
        partial(open_detector, settings.detector),
        paced=is_recorded(source),
        preview=settings.stream.preview,
    )


def check_camera(source: str, camera: int, fps: float | None) -> None:
    """Open a recording and close it again: better an error now than from its process later. Raises SourceError."""
    if source != NODE and is_recorded(source):
        open_source(source, camera, fps).close()
