"""A camera node as a program: its camera's process here, its run on another machine."""

import contextlib
import re
from collections.abc import Callable
from functools import partial

import cv2

from capture.process.detector import open_detector
from capture.remote.node import CameraNode, NodePlan
from capture.sockets.endpoints import EndpointError, key_settings
from capture.sources.source import Source
from capture.sources.webcam.webcam import DeviceProvider
from config.per_camera import settings_of, with_tuned
from config.settings import CAMERA_NAMES, Settings
from tools.interrupt import interruptible, raise_if_interrupted
from tools.run.cameras import check_camera, is_recorded, open_camera, stable_name

PORT = 5572
HOST_PORT = re.compile(r"(?:tcp://)?(?P<host>\[[^\]]+\]|[^\[\]:/]+)(?::(?P<port>\d{1,5}))?")


def control_address(text: str) -> str:
    """Return the address of HOST or HOST:PORT. Raises EndpointError for what is neither."""
    match = HOST_PORT.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"] or PORT) < 65536:
        raise EndpointError(f"--connect {text}: expected a host, or host and port such as 192.168.1.10:{PORT}")
    return f"tcp://{match['host']}:{match['port'] or PORT}"


def node_plan(
    settings: Settings,
    camera: str,
    source: str,
    address: str,
    fps: float | None,
    tell: Callable[[str], None],
    devices: DeviceProvider | None = None,
) -> NodePlan:
    """Plan a node; settings: of this machine, for its webcam. Raises DuocapError: a source that cannot be."""
    index = CAMERA_NAMES.index(camera)
    identity = check_camera(source, index, fps, settings, devices)
    names = ["", ""]
    names[index] = stable_name(source, identity)
    own = settings_of(with_tuned(settings, names, tell), index)
    return NodePlan(
        index,
        address,
        partial(_opened, partial(open_camera, source, index, fps, own.camera, identity, devices), tell),
        open_detector,
        paced=is_recorded(source),
        keys=key_settings(settings.stream),
    )


def _opened(opener: Callable[[], Source], tell: Callable[[str], None]) -> Source:
    """Open the camera and say what it does otherwise than asked."""
    source = opener()
    if otherwise := source.facts.get("otherwise"):
        tell(f"it {otherwise}")
    return source


def run_node(settings: Settings, camera: str, source: str, address: str, fps: float | None, tell: Callable[[str], None]) -> None:
    """Serve one run after the other until Ctrl-C. Raises DuocapError: a source or an address that cannot be."""
    cv2.setNumThreads(1)
    plan = node_plan(settings, camera, source, address, fps, tell)
    with interruptible(), contextlib.suppress(KeyboardInterrupt):
        node = CameraNode(plan, tell)
        try:
            while True:
                node.turn()
                raise_if_interrupted()
        finally:
            node.close()
    tell("ended")
