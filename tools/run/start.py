"""The start of a run in words: what is waited for, what each camera is and does otherwise than asked, when to step aside."""

import math
from collections.abc import Mapping, Sequence

from calibration.camera import Rig
from calibration.world import World
from capture.clock import now_ns
from capture.sources.network.address import hide_secrets
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES
from config.units import NS_PER_S
from tools.progress import Tell
from tools.run.cameras import CameraKind, find_camera_kind
from tools.run.child import ChildProcess
from tools.run.supervisor import Supervisor

PATIENCE_NS, MOST_PATIENCE_NS = 5_000_000_000, 20_000_000_000
SOLVER = "the solver, which prepares itself once for each subject"
FIRST_START = "; the first start after an installation takes a minute or two"
STEP_OUT_S = 5
COUNTED = (3, 2, 1)


class StartProgress:
    """Tells how the cameras come, each once, and now and then which are still waited for."""

    def __init__(self, sources: Sequence[str], tell: Tell, third: str = SOLVER) -> None:
        """Prepare. sources: the cameras as the user named them; third: what the third process is."""
        self._third, self._patience_ns, self._hint = third, PATIENCE_NS, FIRST_START
        self._sources, self._tell = dict(zip(CAMERA_NAMES, sources, strict=False)), tell
        self._told: set[str] = set()
        self._due_ns = now_ns() + PATIENCE_NS

    def look(self, run: Supervisor) -> None:
        """Tell the news; call it often."""
        for child in run.cameras:
            if child.ready and not child.away and child.name not in self._told:
                self._told.add(child.name)
                self._tell(format_opened_camera(child.name, child.counts, child.details))
                self._due_ns = now_ns() + PATIENCE_NS
        waiting = [child for child in run.children.values() if not child.is_node and not child.ready]
        if waiting and now_ns() >= self._due_ns:
            self._patience_ns = min(2 * self._patience_ns, MOST_PATIENCE_NS)
            self._due_ns = now_ns() + self._patience_ns
            self._tell("still waiting for " + " and ".join(self._waiting_words(child) for child in waiting) + self._hint)
            self._hint = ""

    def _waiting_words(self, child: ChildProcess) -> str:
        """Return in words what a process that is not ready is doing."""
        source = self._sources.get(child.name)
        if source is None:
            return self._third
        kind = find_camera_kind(source)
        if kind is CameraKind.NETWORK:
            return f"the {child.name} camera at {hide_secrets(source)}"
        return f"the {child.name} camera" + (", which may take a while to open" if kind is CameraKind.WEBCAM else "")


def await_cameras(run: Supervisor, sources: Sequence[str], tell: Tell, third: str = SOLVER) -> None:
    """Wait until all is ready, with progress in words.

    Args:
        sources: sources of the cameras as the user named them.
        tell: receives progress messages as text.
        third: description of the process beside the cameras.
    Raises: RunError.
    """
    host = run.entrance.removeprefix("tcp://")
    for name, source in zip(CAMERA_NAMES, sources, strict=False):
        if find_camera_kind(source) is CameraKind.NODE:
            tell(f"waiting for the {name} camera; there, say: duocap node --camera {name} --source CAMERA --connect {host}")
    tell("getting ready")
    opening = StartProgress(sources, tell, third)
    run.wait_ready(watch=opening.look)
    opening.look(run)


def check_sizes(rig: Rig, cameras: Sequence[ChildProcess]) -> None:
    """Raise CalibrationError unless a camera's pictures have the size of its calibration; one that tells none is believed."""
    for child, calibrated in zip(cameras, rig.cameras, strict=True):
        size = (child.counts.get("width", 0), child.counts.get("height", 0))
        if all(size) and size != calibrated.size:
            (width, height), (wanted_width, wanted_height) = size, calibrated.size
            raise CalibrationError(
                f"the {child.name} camera gives {width}x{height}, but the rig was calibrated at {wanted_width}x{wanted_height}; "
                f"set the camera to that size (--set camera.width={wanted_width} for a webcam, in its app for a phone) "
                "or calibrate at this one"
            )


def format_rig_quality(rig: Rig) -> str:
    """Return in a line the verdict on the rig's calibration, empty where it passed or nobody judged it."""
    if rig.grade in ("", "pass"):
        return ""
    error = "" if math.isnan(rig.error_px) else f", {rig.error_px:.2f} px"
    return (
        f"the rig's calibration is {rig.grade} (its own verdict{error}): sizes and places may be off; "
        "the picture beside the rig's file says why, duocap calibrate rig makes a better one"
    )


def format_missing_world(rig: Rig, world: World | None) -> str:
    """Return in a line that a run begins without a world, and why; empty where the world is known."""
    if rig.floor_known or (world is not None and world.holds_for(rig)):
        return ""
    why = "the subject does not know a world"
    if world is not None:
        why = "the subject's world is of another rig, or of this one before" if world.cameras else f"{world.by} only"
    return (
        f"no floor is known ({why}): the first seconds in which somebody stands or walks level the world; "
        "duocap calibrate subject with this rig, or duocap calibrate floor, makes it known"
    )


def format_opened_camera(name: str, counts: Mapping[str, int], details: Mapping[str, int | float | str]) -> str:
    """Return in words which camera has opened, and its deviations from the settings.

    Args:
        name: name of the camera.
        counts: counts of its process.
        details: details that its process told.
    """
    called = details.get("name") or details.get("address")
    parts = [f"{name} camera: {called}" if called else f"{name} camera"]
    if counts.get("width"):
        parts.append(f"{counts['width']}x{counts['height']}, {counts.get('fps_mhz', 0) / 1000.0:.4g} frames/s")
    if "fourcc" in details:
        parts.append(str(details["fourcc"]))
    words = ", ".join(parts)
    otherwise = details.get("otherwise")
    return f"{words}; it {otherwise}" if otherwise else words


def wait_for_empty_room(run: Supervisor, seconds: float, tell: Tell) -> None:
    """Count down until the background is learned, looking after the processes meanwhile.

    Args:
        seconds: until the background is learned [s].
        tell: receives progress messages as text.
    """
    tell(f"please step out of all cameras' view: the background is learned for {seconds:g} s, in {STEP_OUT_S}")
    for left_s in range(STEP_OUT_S, 0, -1):
        if left_s in COUNTED:
            tell(f"{left_s}")
        t_next_ns = now_ns() + NS_PER_S
        while now_ns() < t_next_ns:
            run.turn(50)
