"""What doctor sees of ports, keys, clocks, and of the stream that runs on this machine or where the settings say."""

import contextlib
import errno
import re
import socket
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import psutil

from capture.clock import now_ns
from capture.sockets.endpoints import EndpointError, find_key_settings, is_loopback
from capture.sockets.keys import CLIENTS, SERVERS, KeyFileError, find_default_folder, has_own_pair, read_public_keys
from config.errors import DuocapError
from config.settings import Settings
from config.units import MS_PER_NS
from stream.protocol.latency import LAG, TOTAL, Receipt, compute_latency
from stream.protocol.messages import PoseMessage, SkeletonMessage, StatusMessage
from stream.publish.client import ServiceClient
from stream.publish.subscriber import Subscriber
from tools.doctor.finding import DoctorFinding, report_bad, report_good, report_note

INFO_MS = 800
LISTEN_S = 2.5  # status comes every second
CLOCK_S = 0.05
SKEWED_NS = 2_000_000  # bound of a node's clock beyond which pairs may be mismatched in fast motion
CONSOLE_SCRIPTS = ("duocap", "duocap.exe", "duocap-script.py")  # the first on Linux and macOS, the others on Windows
INTERPRETER = re.compile(r"pythonw?[\d.]*(\.exe)?$")
OPTIONS_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
SPAWNED = "--multiprocessing-fork"  # what multiprocessing gives the processes it spawns


def examine_network(settings: Settings) -> list[DoctorFinding]:
    """Examine the running stream, the clock, ports and keys; the stream first, as its ports are ours."""
    info, client = _find_running_stream(settings)
    try:
        findings = examine_clock() + examine_ports(settings, info is not None) + examine_keys(settings)
        if client is None or info is None:
            return [
                *findings,
                report_note("stream", f"nothing runs at {settings.stream.service}", "start: duocap demo, or duocap run"),
            ]
        return findings + examine_stream(settings, info, client)
    finally:
        if client is not None:
            client.close()


def examine_clock() -> list[DoctorFinding]:
    """Examine the clock that stamps frames: its resolution, and that it does not stand still."""
    stamps = [now_ns()]
    while len(stamps) < 100 and stamps[-1] - stamps[0] < CLOCK_S * 1e9:
        t_ns = now_ns()
        if t_ns > stamps[-1]:
            stamps.append(t_ns)
    step_ns = int(np.diff(stamps).min()) if len(stamps) > 1 else 0
    name = time.get_clock_info("perf_counter").implementation
    if step_ns > 1_000_000 or len(stamps) < 2:
        return [
            report_bad(
                "clock",
                f"{name} steps by {step_ns * MS_PER_NS:.1f} ms",
                "frames cannot be paired with such a clock; see your system's",
            )
        ]
    return [report_good("clock", f"{name}, steps of {step_ns} ns at most", step_ns=step_ns)]


def examine_ports(settings: Settings, ours_runs: bool) -> list[DoctorFinding]:
    """Examine whether the addresses of the settings are free."""
    viewer = f"tcp://{settings.viewer.host}:{settings.viewer.port}"
    named = {
        "stream.address": settings.stream.address,
        "stream.service": settings.stream.service,
        "viewer.port": viewer,
        "capture.control": settings.capture.control,
        "capture.inbox": settings.capture.inbox,
    }
    return [_examine_port(name, address, ours_runs) for name, address in named.items() if address]


def _examine_port(name: str, address: str, ours_runs: bool) -> DoctorFinding:
    """Look at one address."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    host = {"*": "0.0.0.0", "localhost": "127.0.0.1"}.get(host, host).strip("[]")
    try:
        taken = is_taken(host, int(port) if port != "*" else 0)
    except (OSError, ValueError) as error:
        return report_bad(
            "ports", f"{name} {address}: {error}", f"set {name} to an address of this machine, such as tcp://127.0.0.1:5570"
        )
    if not taken:
        return report_good("ports", f"{name} {address} is free")
    owner, is_ours = find_port_owner(int(port))
    if is_ours or (ours_runs and not owner):
        return report_good("ports", f"{name} {address}: a duocap has it{f' ({owner})' if owner else ''}")
    if name == "viewer.port":
        return report_note(
            "ports", f"{name} {address} is taken{f' by {owner}' if owner else ''}; the viewer takes the next free one"
        )
    what = f" by {owner}" if owner else ""
    return report_bad("ports", f"{name} {address} is taken{what}", f"end that program, or choose another port: --set {name}=...")


def is_taken(host: str, port: int) -> bool:
    """Return whether a port is taken; raises OSError where the host is not this machine's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES, 10048, 10013):
                return True
            raise
    return False


def find_port_owner(port: int) -> tuple[str, bool]:
    """Return which program listens at a port, empty where that cannot be known, and whether it is a duocap."""
    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port and connection.pid:
                return _identify_program(psutil.Process(connection.pid))
    return "", False


def _identify_program(process: psutil.Process) -> tuple[str, bool]:
    """Return name and number of a program, and whether it is a duocap."""
    ours = is_duocap(one.cmdline() for one in (process, *process.parents()))
    return f"{process.name()}, process {process.pid}", ours


def is_duocap(command_lines: Iterable[Sequence[str]]) -> bool:
    """Return whether a process is one of a running duocap. command_lines: its own, its parent's, its parent's parent's and so on.

    A duocap is the console script, or `python -m tools.launch`, or a process that `multiprocessing` started for one of these.
    Folders in paths and other arguments say nothing: a clone of the repository is called duocap, too.
    """
    return next((_starts_duocap(words) for words in command_lines if SPAWNED not in words), False)


def _starts_duocap(words: Sequence[str]) -> bool:
    """Return whether a command line starts duocap."""
    rest = [*words]
    if rest and INTERPRETER.match(_find_program_name(rest[0])):
        rest.pop(0)
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            if option in ("-m", "-c"):
                return option == "-m" and rest[:1] == ["tools.launch"]
            if option in OPTIONS_WITH_VALUE:
                rest = rest[1:]
    return bool(rest) and _find_program_name(rest[0]) in CONSOLE_SCRIPTS


def _find_program_name(path: str) -> str:
    """Return the last part of a path of any system, in small letters."""
    return path.replace("\\", "/").rpartition("/")[2].lower()


def examine_keys(settings: Settings) -> list[DoctorFinding]:
    """Examine the keys that other machines need."""
    try:
        chosen = find_key_settings(settings.stream)
        named = (settings.stream.address, settings.stream.service, settings.capture.control, settings.capture.inbox)
        others = [address for address in named if address and not is_loopback(address)]
    except EndpointError as error:
        return [report_bad("keys", str(error), "correct the setting")]
    folder = chosen.folder or find_default_folder()
    if chosen.open:
        return [
            report_note(
                "keys", "stream.open: anybody in the network can read the poses", "duocap keys make, and leave stream.open out"
            )
        ]
    if not has_own_pair(folder):
        if others or chosen.folder:
            return [
                report_bad(
                    "keys", f"{(others or [str(folder)])[0]} needs keys, and there are none in {folder}", "duocap keys make"
                )
            ]
        return [report_good("keys", "none, and none needed: only this machine is let in")]
    try:
        admitted, trusted = read_public_keys(folder, CLIENTS), read_public_keys(folder, SERVERS)
    except KeyFileError as error:
        return [report_bad("keys", str(error), "duocap keys make --force")]
    text = f"{folder}; admitted: {', '.join(admitted) or 'none'}; trusted: {', '.join(trusted) or 'none'}"
    return [report_good("keys", text, admitted=list(admitted), trusted=list(trusted))]


def _find_running_stream(settings: Settings) -> tuple[dict[str, Any] | None, ServiceClient | None]:
    """Return what runs where the settings say, if anything answers there."""
    if not settings.stream.service:
        return None, None
    client = None
    try:
        client = ServiceClient(settings.stream.service, find_key_settings(settings.stream), INFO_MS)
        return client.info(), client
    except DuocapError:
        return None, client


def examine_stream(settings: Settings, info: dict[str, Any], client: ServiceClient) -> list[DoctorFinding]:
    """Examine the running stream: who publishes, rate, latency, and every camera.

    Args:
        settings: settings of the stream.
        info: description that the stream gives of itself.
        client: client of its service.
    """
    try:
        offset_ns = client.clock_offset()
        heard = _receive_messages(settings, offset_ns)
    except DuocapError as error:
        return [report_bad("stream", str(error), "is it the same version, and are the settings the same?")]
    skeletons = [message for message, _ in heard if isinstance(message, SkeletonMessage)]
    who = skeletons[-1].subject if skeletons else info.get("subject", "")
    findings = [report_good("stream", f"{settings.stream.address}: session {info.get('session', '')}, subject {who}", **info)]
    findings.append(
        report_good(
            "stream",
            f"its clock minus this machine's: {offset_ns * MS_PER_NS:+.3f} ms, within {client.clock.error_ns * MS_PER_NS:.3f}",
            clock_offset_ns=offset_ns,
            clock_error_ns=client.clock.error_ns,
        )
    )
    findings += _judge_latency(settings, [Receipt(m, t_ns) for m, t_ns in heard if isinstance(m, PoseMessage)])
    statuses = [message for message, _ in heard if isinstance(message, StatusMessage)]
    return findings + (
        _examine_run_cameras(statuses[-1]) if statuses else [report_note("stream", f"no status came within {LISTEN_S:g} s")]
    )


def _receive_messages(settings: Settings, offset_ns: int) -> list[tuple[Any, int]]:
    """Listen for a while; give messages with the time of receipt on the publisher's clock."""
    subscriber = Subscriber(settings.stream.address, ("",), find_key_settings(settings.stream))
    try:
        heard, deadline_ns = [], now_ns() + round(LISTEN_S * 1e9)
        while now_ns() < deadline_ns:
            heard += [(message, now_ns() + offset_ns) for message in subscriber.receive(50)]
        return heard
    finally:
        subscriber.close()


def _judge_latency(settings: Settings, receipts: list[Receipt]) -> list[DoctorFinding]:
    """Judge the latency against the budget."""
    latency = compute_latency(receipts, settings.stream.budget_ms)
    if latency.total_ms is None:
        return [
            report_note("stream", "no pose was made from new pictures while doctor listened", "do the cameras send? see below")
        ]
    p50, p95, _ = latency.total_ms
    text = (
        f"{len(receipts) / LISTEN_S:.0f} poses/s, latency p50 {p50:.1f} ms, p95 {p95:.1f} of {latency.allowed_ms:.0f} ms allowed"
    )
    stages = {name: values[1] for name, values in latency.stages_ms.items() if name not in (TOTAL, LAG)}
    slowest = max(stages, key=lambda name: stages[name])
    if latency.is_over:
        fix = f"most of it is {slowest} (p95 {stages[slowest]:.1f} ms): end other programs, or have a node for a camera"
        return [report_note("stream", text, fix, p50_ms=p50, p95_ms=p95, stages_p95_ms=stages)]
    return [report_good("stream", text, p50_ms=p50, p95_ms=p95, stages_p95_ms=stages)]


def _examine_run_cameras(status: StatusMessage) -> list[DoctorFinding]:
    """Look at every camera of the run, and the clocks of nodes."""
    findings = []
    for name, camera in status.cameras.items():
        text = f"{name} camera: {camera.get('state', '?')}, {float(camera.get('fps', 0.0)):.0f} frames/s"
        if "node" in camera:
            text += f", node {camera['node']}"
        if "clock_offset_ns" in camera:
            offset, error, rtt = (
                float(camera.get(key, 0)) * MS_PER_NS for key in ("clock_offset_ns", "clock_error_ns", "rtt_ns")
            )
            text += f", its clock minus the run's {offset:+.3f} ms, within {error:.3f}, round trip {rtt:.2f} ms"
            if error > SKEWED_NS * MS_PER_NS:
                fix = "the way there is slow or busy, so its clock is known only so well; use a cable in place of wireless"
                findings.append(report_note("stream", text, fix, **camera))
                continue
        if camera.get("state") == "live":
            findings.append(report_good("stream", text, **camera))
        else:
            findings.append(report_note("stream", text, "is it plugged in, and its node running and in reach?", **camera))
    return findings
