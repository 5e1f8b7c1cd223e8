"""What doctor sees of cameras: each opened for a second in a process of its own, with the formats and rates really reached, then
all of them at once.
"""

import multiprocessing
import os
import platform
import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import cv2

from capture.clock import now_ns
from capture.sources.network.address import hide_secrets, parse_network_address
from capture.sources.source import CameraError, Source
from capture.sources.webcam.backends import GROUP_FIX, V4L2, choose_backend
from capture.sources.webcam.names import LocalCamera, find_usb_port, list_cameras
from capture.sources.webcam.webcam import DeviceProvider
from config.errors import DuocapError, SettingsError
from config.settings import CameraSettings, Settings
from tools.doctor.finding import DoctorFinding, report_bad, report_good, report_note
from tools.run.cameras import open_camera
from tools.run.child_start import limit_threads

OPEN_S = 40.0  # Media Foundation may take 20 to open a camera, and a new process a few to begin
LOOK_S = 1.0
SETTLE_S = 0.3  # frames of before all cameras were open are not counted
SLOW_SHARE = 0.85
# What a camera's rate and picture need on the cable, roughly: of USB 2's 480 Mbit/s some 280 are left for pictures.
USB2_MBIT = 280.0
BITS = {"MJPG": 2.0, "YUYV": 16.0, "YUY2": 16.0, "UYVY": 16.0, "NV12": 12.0}  # a pixel; of MJPG a guess on the safe side

Figures = dict[str, int | float | str]
Opener = Callable[[], Source]


@dataclass(frozen=True, slots=True)
class CameraProbe:
    """Result of probing a camera.

    Attributes:
        rate_hz: frame rate over a second [Hz].
        error: why nothing was, empty where all went well.
        driver_failed: whether the driver crashed or hung.
    """

    facts: Figures
    size: tuple[int, int] = (0, 0)
    rate_hz: float = 0.0
    light: float = 0.0
    error: str = ""
    driver_failed: bool = False


def examine_cameras(
    settings: Settings, devices: DeviceProvider | None = None, folder: Path = Path("/dev")
) -> list[DoctorFinding]:
    """Examine every camera for about a second: its pictures, and what hinders it.

    Args:
        devices: provider of webcams; None for this machine's own.
        folder: folder of the devices on Linux.
    """
    wanted = settings.camera
    try:
        backend = choose_backend(wanted.backend)
    except SettingsError as error:
        return [report_bad("cameras", str(error), "correct it, or leave it at auto")]
    found = devices.lister(backend) if devices is not None else list_cameras(backend)
    closed = _list_forbidden_devices(folder) if backend is V4L2 and devices is None else []
    findings = [report_bad("cameras", f"may not be opened: {', '.join(closed)}", GROUP_FIX)] if closed else []
    if not found and not closed:
        findings.append(_find_no_camera())
    seen = [camera for camera in found if camera.path not in closed]
    openers = [partial(open_camera, str(camera.index), 0, None, wanted, None, devices) for camera in seen]
    looks = [probe_camera(opener) for opener in openers]
    findings += [judge_local_camera(camera, look, wanted) for camera, look in zip(seen, looks, strict=True)]
    alone = {camera.label: look for camera, look in zip(seen, looks, strict=True) if not look.error}
    if len(alone) < 2:
        return findings
    together = probe_cameras([opener for camera, opener in zip(seen, openers, strict=True) if camera.label in alone])
    return [*findings, judge_concurrent_rates(found, alone, dict(zip(alone, together, strict=True)))]


def _list_forbidden_devices(folder: Path) -> list[str]:
    """List the devices this user may not open."""
    if platform.system() != "Linux":
        return []
    return [str(device) for device in sorted(folder.glob("video*")) if not os.access(device, os.R_OK | os.W_OK)]


def _find_no_camera() -> DoctorFinding:
    """Return the finding that there is no camera, and what else there is."""
    others = "network cameras (duocap doctor --camera http://...), files, folders and camera nodes work without one"
    if platform.system() == "Linux":
        return report_note("cameras", "no camera is plugged in (/dev/video*)", others)
    return report_note("cameras", "this system lists no camera", f"plug one in, or try it by number: --camera 0; {others}")


def probe_cameras(openers: Sequence[Opener], open_s: float = OPEN_S) -> list[CameraProbe]:
    """Open cameras and, once all are open, read them at the same time for a second."""
    meeting = multiprocessing.get_context("spawn").Barrier(len(openers), timeout=open_s)
    with ThreadPoolExecutor(len(openers)) as threads:
        return list(threads.map(lambda opener: probe_camera(opener, 2.0 * open_s, meeting), openers))


def probe_camera(opener: Opener, open_s: float = OPEN_S, meeting: Barrier | None = None) -> CameraProbe:
    """Open a camera for a second in a process of its own, so that a driver that hangs, or crashes, takes nothing with it.

    Args:
        opener: opens the camera.
        open_s: time that opening may take [s].
        meeting: barrier at which the processes of cameras that are read at once wait for each other.
    """
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[CameraProbe] = context.Queue()
    process = context.Process(target=_probe_in_process, args=(opener, answers, meeting), name="duocap-doctor-camera", daemon=True)
    with limit_threads():
        process.start()
    try:
        return _wait_for_answer(process, answers, open_s)
    finally:
        for end in (process.terminate, process.kill):
            if process.is_alive():
                end()
                process.join(2.0)


def _wait_for_answer(process: Any, answers: "multiprocessing.Queue[CameraProbe]", open_s: float) -> CameraProbe:
    """Wait for what a process saw, or for its end."""
    t_end_ns = now_ns() + round(open_s * 1e9)
    while now_ns() < t_end_ns:
        is_alive = process.is_alive()
        with suppress(queue.Empty):
            return answers.get(timeout=0.1 if is_alive else 0.5)  # its last words may still be on the way
        if not is_alive:
            return CameraProbe({}, error="its driver crashed the process that opened it", driver_failed=True)
    return CameraProbe({}, error=f"its driver did not answer within {open_s:g} s", driver_failed=True)


def _probe_in_process(opener: Opener, answers: "multiprocessing.Queue[CameraProbe]", meeting: Barrier | None) -> None:
    """Open a camera, count frames over a second, tell; the target of a process."""
    cv2.setNumThreads(1)
    try:
        answers.put(measure_source(opener, meeting=meeting))
    except DuocapError as error:
        words = error.problem if isinstance(error, CameraError) else str(error)
        answers.put(CameraProbe({}, error=" ".join(words.split())))
    answers.close()
    answers.join_thread()
    os._exit(0)  # without waiting for a driver's threads


def measure_source(opener: Opener, meeting: Barrier | None = None) -> CameraProbe:
    """Return the figures of a source over a second.

    Args:
        opener: opens the source.
        meeting: barrier at which those that are read at the same time wait, once the source is open or cannot be opened.
    Raises: the exceptions of opening and reading.
    """
    try:
        source = opener()
    finally:
        _wait_at_barrier(meeting)
    try:
        t_settled_ns = now_ns() + round(SETTLE_S * 1e9)
        while meeting is not None and now_ns() < t_settled_ns and source.read() is not None:
            pass
        stamps, light, t_begin_ns = [], 0.0, now_ns()
        while now_ns() - t_begin_ns < LOOK_S * 1e9 and (frame := source.read()) is not None:
            stamps.append(frame.t_capture_ns)
            light = float(frame.image[::16, ::16].mean())
        span_ns = stamps[-1] - stamps[0] if len(stamps) > 1 else 0
        rate = (len(stamps) - 1) * 1e9 / span_ns if span_ns > 0 else 0.0
        return CameraProbe(dict(source.facts), source.size, rate, light)
    finally:
        source.close()


def _wait_at_barrier(meeting: Barrier | None) -> None:
    """Wait for the others; without those that do not come in time."""
    if meeting is not None:
        with suppress(BrokenBarrierError):
            meeting.wait()


def judge_local_camera(camera: LocalCamera, look: CameraProbe, wanted: CameraSettings) -> DoctorFinding:
    """Judge the pictures of a webcam against the settings.

    Args:
        camera: the webcam.
        look: result of probing the camera.
        wanted: settings that are asked of it.
    """
    who = f"{camera.label!r} ({', '.join(part for part in (str(camera.index), camera.usb, camera.path) if part)})"
    figures = _collect_probe_figures(look) | {
        "index": camera.index,
        "usb": camera.usb,
        "path": camera.path,
        "label": camera.label,
    }
    if look.error:
        return report_bad("cameras", f"{who}: {look.error}", _format_opening_fix(look), **figures)
    text = f"{who}: {_format_delivered(look)}"
    otherwise = str(look.facts.get("otherwise", ""))
    if look.rate_hz < SLOW_SHARE * wanted.fps:
        return report_note("cameras", f"{text}; asked for {wanted.fps:g} frames/s", _format_slow_fix(look, wanted), **figures)
    if otherwise:
        return report_note("cameras", f"{text}; it {otherwise}", "set camera.width, height, fps to what it has", **figures)
    return report_good("cameras", text, **figures)


def _format_slow_fix(look: CameraProbe, wanted: CameraSettings) -> str:
    """Return in words what makes a camera faster."""
    announced = look.facts.get("fps_announced")
    if isinstance(announced, int | float) and announced < SLOW_SHARE * wanted.fps:
        return f"it has {announced:g} frames/s at this size: a smaller one may be faster, or --set camera.fps={announced:g}"
    return (
        "a fixed, short exposure (--set camera.exposure=..., see docs/cameras.md), more light, and a USB port of its own; "
        "see that nothing else keeps the machine busy"
    )


def _format_opening_fix(look: CameraProbe) -> str:
    """Return in words what mends a camera that does not open, where its own words do not."""
    if look.driver_failed:
        return "plug it in anew, at another port; on Windows try --set camera.backend=msmf or dshow; look for a newer driver"
    return "see the line above; then duocap doctor again"


def _format_delivered(look: CameraProbe) -> str:
    """Return in words what came."""
    facts = look.facts
    code = f" {facts['fourcc']}" if "fourcc" in facts else ""
    stamps = {"driver": ", stamped by its driver", "sender": ", stamped by the sender"}.get(str(facts.get("stamp", "")), "")
    damaged = facts.get("damaged") or facts.get("corrupt")
    lost = f", {damaged} damaged" if damaged else ""
    return f"{look.size[0]}x{look.size[1]}{code}, {look.rate_hz:.1f} frames/s reached{stamps}{lost}"


def _collect_probe_figures(look: CameraProbe) -> dict[str, Any]:
    """Return what was seen for --json."""
    return {"facts": look.facts, "size": list(look.size), "rate_hz": round(look.rate_hz, 2), "light": round(look.light, 1)}


def probe_network_camera(url: str, look: Callable[[Opener], CameraProbe] = probe_camera) -> DoctorFinding:
    """Probe a camera of the network."""
    shown = hide_secrets(url)
    try:
        parse_network_address(url)
    except DuocapError as error:
        return report_bad("cameras", str(error), "write its address as its app shows it")
    saw = look(partial(open_camera, url, 0, None))
    if saw.error:
        fix = "start its app; the phone and this machine must be in one network; open the address in a browser"
        return report_bad("cameras", f"{shown}: {saw.error}" if saw.driver_failed else saw.error, fix, address=shown)
    finding = report_good("cameras", f"{shown}: {_format_delivered(saw)}", address=shown, **_collect_probe_figures(saw))
    if saw.rate_hz < 20.0:
        fix = "in its app choose a smaller picture or a higher rate; a 5 GHz network or a cable carries more"
        return replace(finding, verdict=report_note("", "").verdict, fix=fix)
    return finding


def judge_concurrent_rates(
    found: Sequence[LocalCamera],
    alone: Mapping[str, CameraProbe],
    together: Mapping[str, CameraProbe],
    place: Callable[[str], str] = find_usb_port,
) -> DoctorFinding:
    """Return whether cameras that are read at once reach the rates of each alone; if not, which share a cable, and what to do.

    Args:
        found: the webcams.
        alone, together: results of probing each camera, by label.
        place: bus and port of a device.
    """
    told = [f"{label!r} {_format_rate(probe)}" for label, probe in together.items()]
    short = [label for label, probe in together.items() if probe.error or probe.rate_hz < SLOW_SHARE * alone[label].rate_hz]
    figures = {"together_hz": {label: round(probe.rate_hz, 2) for label, probe in together.items()}}
    if not short:
        return report_good("cameras", f"all {len(together)} at once reach their rates: {', '.join(told)}", **figures)
    text = f"all {len(together)} at once are slower than each alone: " + ", ".join(
        f"{words} (alone {alone[label].rate_hz:.1f})" if label in short else words
        for label, words in zip(together, told, strict=True)
    )
    shared = [line for line in _format_shared_port(found, alone, place) if any(repr(label) in line for label in short)]
    packed = "a lower rate or smaller pictures (--set camera.fps=..., width, height)"
    if any(str(alone[label].facts.get("fourcc", "MJPG")) != "MJPG" for label in short):
        packed = f"--set camera.fourcc=MJPG, or {packed}"
    fix = f"plug one of them into a port of its own, best at another controller; else {packed}"
    if not shared:
        fix = f"they share no cable that is known of, so the machine may be short: {packed}, or a node for some of them"
    return report_note("cameras", "; ".join((text, *shared)), fix, **figures)


def _format_rate(probe: CameraProbe) -> str:
    """Return in words what came of a camera while the others were read."""
    return f"is not read: {probe.error}" if probe.error else f"{probe.rate_hz:.1f} frames/s"


def _format_shared_port(found: Sequence[LocalCamera], alone: Mapping[str, CameraProbe], place: Callable[[str], str]) -> list[str]:
    """Return in words which cameras share a port of the machine, else a bus, and what they need there; empty where unknown."""
    ports: dict[str, list[str]] = {}
    for camera in found:
        where = place(Path(camera.path).name) if camera.path.startswith("/dev/") else ""
        if (trunk := find_usb_trunk(where)) and camera.label in alone:
            ports.setdefault(trunk, []).append(camera.label)
    buses: dict[str, list[str]] = {}
    for trunk, labels in ports.items():
        buses.setdefault(trunk.partition("-")[0], []).extend(labels)
    groups = {f"port {trunk}": labels for trunk, labels in ports.items() if len(labels) > 1}
    groups |= {f"bus {bus}": labels for bus, labels in buses.items() if len(labels) > 1 and labels not in groups.values()}
    return [
        f"{' and '.join(map(repr, labels))} share the USB {name} and need about "
        f"{sum(estimate_bandwidth_mbit(alone[label]) for label in labels):.0f} of some {USB2_MBIT:.0f} Mbit/s of USB 2"
        for name, labels in groups.items()
    ]


def find_usb_trunk(place: str) -> str:
    """Return the port of the machine through which a device is connected: 1-4 of 1-4.2:1.0; empty if it is no USB place."""
    bus, _, ports = place.partition(":")[0].partition("-")
    return f"{bus}-{ports.split('.')[0]}" if bus.isdigit() and ports else ""


def estimate_bandwidth_mbit(look: CameraProbe) -> float:
    """Estimate a camera's bandwidth on the cable [Mbit/s]."""
    bits = BITS.get(str(look.facts.get("fourcc", "")), 16.0)
    return look.size[0] * look.size[1] * max(look.rate_hz, 0.0) * bits * 1e-6
