"""A camera node as a program: its camera's process here, its run on another machine."""

import contextlib
import re
from collections.abc import Callable
from functools import partial

import cv2

from capture.process.detector import open_detector
from capture.remote.node import CameraNode, NodePlan
from capture.sockets.endpoints import EndpointError, find_key_settings
from capture.sources.source import Source
from capture.sources.webcam.webcam import DeviceProvider
from config.per_camera import add_tuned_values, find_camera_settings
from config.settings import CAMERA_NAMES, Settings
from tools.interrupt import raise_if_interrupted, raise_on_interrupt
from tools.run.cameras import check_camera_source, find_stable_name, is_recorded, open_camera

PORT = 5572
HOST_PORT = re.compile(r"(?:tcp://)?(?P<host>\[[^\]]+\]|[^\[\]:/]+)(?::(?P<port>\d{1,5}))?")


def parse_control_address(text: str) -> str:
    """Return the address of HOST or HOST:PORT. Raises EndpointError for other texts."""
    match = HOST_PORT.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"] or PORT) < 65536:
        raise EndpointError(f"--connect {text}: expected a host, or host and port such as 192.168.1.10:{PORT}")
    return f"tcp://{match['host']}:{match['port'] or PORT}"


def plan_node(
    settings: Settings,
    camera: str,
    source: str,
    address: str,
    fps: float | None,
    tell: Callable[[str], None],
    devices: DeviceProvider | None = None,
) -> NodePlan:
    """Plan a node.

    Args:
        settings: settings of this machine.
        camera: name of the camera in the rig.
        source: source of the pictures as the user named it.
        address: address at which the run listens.
        fps: frame rate of recordings, and the one asked of webcams [Hz]; None for their own.
        tell: receives progress messages as text.
        devices: provider of webcams; None for this machine's own.
    Raises: DuocapError: a source that cannot be.
    """
    index = CAMERA_NAMES.index(camera)
    identity = check_camera_source(source, index, fps, settings, devices)
    names = ["", ""]
    names[index] = find_stable_name(source, identity)
    own = find_camera_settings(add_tuned_values(settings, names, tell), index)
    return NodePlan(
        index,
        address,
        partial(_open_and_report, partial(open_camera, source, index, fps, own.camera, identity, devices), tell),
        open_detector,
        paced=is_recorded(source),
        keys=find_key_settings(settings.stream),
    )


def _open_and_report(opener: Callable[[], Source], tell: Callable[[str], None]) -> Source:
    """Open the camera and say what it does otherwise than asked."""
    source = opener()
    if otherwise := source.facts.get("otherwise"):
        tell(f"it {otherwise}")
    return source


def run_node(settings: Settings, camera: str, source: str, address: str, fps: float | None, tell: Callable[[str], None]) -> None:
    """Serve one run after the other until Ctrl-C.

    Args:
        settings: settings of this machine.
        camera: name of the camera in the rig.
        source: source of the pictures as the user named it.
        address: address at which the run listens.
        fps: frame rate of recordings, and the one asked of webcams [Hz]; None for their own.
        tell: receives progress messages as text.
    Raises: DuocapError: a source or an address that cannot be.
    """
    cv2.setNumThreads(1)
    plan = plan_node(settings, camera, source, address, fps, tell)
    with raise_on_interrupt(), contextlib.suppress(KeyboardInterrupt):
        node = CameraNode(plan, tell)
        try:
            while True:
                node.turn()
                raise_if_interrupted()
        finally:
            node.close()
    tell("ended")
