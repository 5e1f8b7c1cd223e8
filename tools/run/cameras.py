"""What a user names as a camera, as a plan for its process: a webcam, a stream of the network, a recording, or a node elsewhere.

CAM is a number, a stable name or part of it, vendor:product or a device path (`capture.sources.webcam.names`), `http://` or
`rtsp://`, a
video file or a folder of images, played in real time, or `node`.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import combinations
from pathlib import Path

from capture.process.control import RoomSettings
from capture.process.detector import open_detector
from capture.process.plan import CameraPlan
from capture.sources.network.address import hide_secrets, is_mjpeg_url, is_rtsp_url, parse_network_address
from capture.sources.network.mjpeg import MjpegHttp
from capture.sources.network.rtsp import Rtsp
from capture.sources.source import IMAGE_SUFFIXES, CameraError, Source, open_source, register_source
from capture.sources.webcam.backends import V4L2, choose_backend, describe_open_failure
from capture.sources.webcam.names import CameraIdentity, check_different, identify_camera
from capture.sources.webcam.settings import check_settings
from capture.sources.webcam.webcam import DeviceProvider, Webcam
from config.errors import SourceError
from config.markers import MarkerSet
from config.per_camera import add_tuned_values, find_camera_settings
from config.settings import CAMERA_NAMES, CameraSettings, Settings
from tools.progress import Tell
from tools.run.parts import AwaitedNode

NODE = "node"
NETWORK_PATIENCE_S = 60.0  # a phone's app is perhaps not running yet
VIDEO_SUFFIXES = frozenset({".avi", ".mp4", ".mkv", ".mov", ".m4v", ".webm", ".mpg", ".mpeg", ".wmv", ".mjpg", ".mjpeg", ".ts"})
ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")
SEPARATORS = ("/", "\\")


class CameraKind(StrEnum):
    """Kinds of a CAM."""

    NODE = "node"
    WEBCAM = "webcam"
    NETWORK = "network"
    RECORDED = "recorded"


def find_camera_kind(source: str) -> CameraKind:
    """Return the kind of camera that a user's word means. Raises SourceError: an address of an unknown kind, or no such file."""
    if source == NODE:
        return CameraKind.NODE
    if is_mjpeg_url(source) or is_rtsp_url(source):
        return CameraKind.NETWORK
    if ADDRESS.match(source):
        raise SourceError(f"{hide_secrets(source)}: cameras of the network are http:// (MJPEG) and rtsp://")
    if (source.isascii() and source.isdigit()) or source.startswith(("/dev/", "\\\\?\\")):
        return CameraKind.WEBCAM
    if Path(source).exists() or _looks_like_file(source):
        return CameraKind.RECORDED
    return CameraKind.WEBCAM


def _looks_like_file(source: str) -> bool:
    """Return whether somebody must have meant a file, were it there or not."""
    return Path(source).suffix.lower() in VIDEO_SUFFIXES | IMAGE_SUFFIXES or any(mark in source for mark in SEPARATORS)


def is_recorded(source: str) -> bool:
    """Return whether a source is a recording, to be played at its own pace; anything else gives frames when it has them."""
    return source != NODE and not ADDRESS.match(source) and find_camera_kind(source) is CameraKind.RECORDED


register_source(
    lambda source: is_mjpeg_url(source) or is_rtsp_url(source),
    lambda source, camera, fps, seconds: (MjpegHttp if is_mjpeg_url(source) else Rtsp)(source, camera, fps),
)
# A webcam as it is by default, for commands that have no settings for it.
register_source(
    lambda source: source.isascii() and source.isdigit(),
    lambda source, camera, fps, seconds: open_camera(source, camera, fps, CameraSettings()),
)


def open_camera(
    source: str,
    camera: int,
    fps: float | None,
    settings: CameraSettings | None = None,
    identity: CameraIdentity | None = None,
    devices: DeviceProvider | None = None,
) -> Source:
    """Open a source, in whatever process, as often as needed.

    Args:
        source: source of the pictures as the user named it.
        camera: number of the camera in the rig.
        fps: frame rate of recordings, and the one asked of webcams [Hz]; None for their own.
        settings: settings of webcams.
        identity: identity of the webcam, if known already, so that it is found again after others came and went.
        devices: provider of webcams; None for this machine's own.
    Raises: SourceError, SettingsError.
    """
    if find_camera_kind(source) is not CameraKind.WEBCAM:
        return open_source(source, camera, fps)
    wanted, found = _merge_camera_request(settings or CameraSettings(), fps), devices or DeviceProvider()
    return Webcam(identity or find_webcam(source, wanted, found), camera, wanted, found)


def _merge_camera_request(settings: CameraSettings, fps: float | None) -> CameraSettings:
    """Return what is asked of a webcam, at the rate that was given on the command line if one was."""
    return settings if fps is None else replace(settings, fps=fps)


def find_webcam(source: str, settings: CameraSettings, devices: DeviceProvider) -> CameraIdentity:
    """Find the webcam that is meant.

    Args:
        source: source of the pictures as the user named it.
        devices: provider of webcams; None for this machine's own.
    Raises: SourceError: none, or several; SettingsError: no such backend.
    """
    backend = choose_backend(settings.backend)
    return identify_camera(source, devices.lister(backend))


def describe_room(markers: MarkerSet, learn_s: float, landmarks: str) -> RoomSettings:
    """Return what detectors need to know of room and performer.

    Args:
        markers: that the performer wears.
        learn_s: time at the start in which the performer is out of view [s].
        landmarks: the model that finds the body's, `off` for none.
    """
    colors = tuple((float(r), float(g), float(b)) for r, g, b in markers.color_rgb[markers.has_color])
    return RoomSettings(colors, learn_s, landmarks, bool(markers.worn.any()))


def plan_camera(
    source: str,
    camera: int,
    settings: Settings,
    fps: float | None,
    room: RoomSettings | None = None,
    devices: DeviceProvider | None = None,
) -> CameraPlan | AwaitedNode:
    """Plan one camera of a run.

    Args:
        source: CAM as above.
        camera: number of the camera in the rig.
        settings: settings of the whole run.
        fps: frame rate of recordings, and the one asked of webcams [Hz].
        room: settings for learning the background.
        devices: provider of webcams; None for this machine's own.
    Raises: SourceError, SettingsError.
    """
    own, room = find_camera_settings(settings, camera), room or RoomSettings()
    if source == NODE:
        return AwaitedNode(own.detector, room)
    kind = find_camera_kind(source)
    identity = find_webcam(source, own.camera, devices or DeviceProvider()) if kind is CameraKind.WEBCAM else None
    return CameraPlan(
        camera,
        partial(open_camera, source, camera, fps, own.camera, identity, devices),
        partial(open_detector, own.detector, room=room),
        paced=kind is CameraKind.RECORDED,
        preview=settings.stream.preview,
        patience_s=NETWORK_PATIENCE_S if kind is CameraKind.NETWORK else 0.0,
        detector_again=partial(open_detector, own.detector, room=replace(room, learn_s=0.0)),
    )


def check_camera_source(
    source: str, camera: int, fps: float | None, settings: Settings | None = None, devices: DeviceProvider | None = None
) -> CameraIdentity | None:
    """Check a camera without opening it: better an error now than from its process later.

    A recording is opened and closed again, a webcam looked for, an address taken apart. Gives which webcam it is, if it is one.

    Args:
        source: source of the pictures as the user named it.
        camera: number of the camera in the rig.
        fps: frame rate of recordings, and the one asked of webcams [Hz]; None for their own.
        devices: provider of webcams; None for this machine's own.
    Raises: SourceError, SettingsError.
    """
    kind = find_camera_kind(source)
    if kind is CameraKind.RECORDED:
        open_source(source, camera, fps).close()
    elif kind is CameraKind.NETWORK:
        parse_network_address(source)
    elif kind is CameraKind.WEBCAM:
        wanted = _merge_camera_request(find_camera_settings(settings or Settings(), camera).camera, fps)
        check_settings(wanted)
        identity = find_webcam(source, wanted, devices or DeviceProvider())
        if devices is None and identity.name and choose_backend(wanted.backend) is V4L2:
            _check_access(identity)
        return identity
    return None


def _check_access(identity: CameraIdentity) -> None:
    """Raise SourceError where this user may not open a camera of Linux."""
    device = Path(f"/dev/video{identity.index}")
    if device.exists() and not os.access(device, os.R_OK | os.W_OK):
        raise CameraError(identity.label, f"cannot be opened: {describe_open_failure(identity.index, V4L2)}")


def check_camera_sources(
    sources: Sequence[str], settings: Settings, fps: float | None, tell: Tell, devices: DeviceProvider | None = None
) -> Settings:
    """Check the cameras before anything is started; return the settings with the tuned values for them.

    Args:
        sources: sources of the cameras as the user named them.
        fps: frame rate of recordings, and the one asked of webcams [Hz]; None for their own.
        tell: receives progress messages as text.
        devices: provider of webcams; None for this machine's own.
    Raises: SourceError: also if two are the same camera; SettingsError.
    """
    identities = [check_camera_source(source, camera, fps, settings, devices) for camera, source in enumerate(sources)]
    for one, other in combinations(range(len(sources)), 2):
        names = (CAMERA_NAMES[one], CAMERA_NAMES[other])
        check_different(identities[one], identities[other], names)
        if sources[one] == sources[other] and find_camera_kind(sources[one]) is not CameraKind.NODE:
            raise SourceError(f"{names[0]} and {names[1]} are the same camera, {hide_secrets(sources[one])}; give each once")
    return add_tuned_values(
        settings, [find_stable_name(source, identity) for source, identity in zip(sources, identities, strict=True)], tell
    )


def find_stable_name(source: str, identity: CameraIdentity | None) -> str:
    """Return the name by which a camera's tuned settings are kept; empty where it has none that stays."""
    if source == NODE or is_recorded(source):
        return ""
    return hide_secrets(source) if identity is None else identity.label
