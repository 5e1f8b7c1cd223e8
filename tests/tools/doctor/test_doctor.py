"""Doctor: every guard seen failing, the running stream looked at through real sockets, exit status and JSON."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from capture.clock import now_ns
from capture.sockets.keys import CLIENTS, add_public_key, make_key_pairs
from config.settings import CaptureSettings, LandmarkSettings, Settings, StreamSettings, ViewerSettings
from reconstruct.pose import TrackingState
from reconstruct.process.sink import RunStatus
from stream.publish.sink import StreamSink
from tests.support import fakes
from tests.support.ports import free_address
from tools.cli import build_application
from tools.doctor.finding import Severity, convert_findings, format_findings, has_hindrance, report_bad, report_good, report_note
from tools.doctor.landmarks import compute_rates_hz, examine_landmarks
from tools.doctor.machine import can_write_to, examine_opencv, examine_packages, parse_version
from tools.doctor.network import examine_clock, examine_keys, examine_network, examine_ports, is_duocap


def settings(**stream: object) -> Settings:
    """Return settings with free ports."""
    addresses = {"address": free_address(), "service": free_address(), **stream}
    viewer = ViewerSettings(port=int(free_address().rpartition(":")[2]))
    return Settings(stream=StreamSettings(**addresses), viewer=viewer, capture=CaptureSettings(free_address(), free_address()))


def test_versions_compare_as_numbers() -> None:
    assert (
        parse_version("4.12.0.88") == (4, 12, 0, 88)
        and parse_version("2.10") > parse_version("2.9.1")
        and parse_version("5.0.0rc2") == (5, 0, 0)
    )
    assert all(finding.verdict is Severity.GOOD for finding in examine_packages(Settings()))


def test_opencv_variants_side_by_side_and_one_that_cannot_be_loaded() -> None:
    assert examine_opencv({"opencv-python": "5.0", "opencv-python-headless": None}, lambda: None) == []
    (both,) = examine_opencv({"opencv-python": "5.0", "opencv-python-headless": "4.12"}, lambda: None)
    assert both.verdict is Severity.BAD and "pip uninstall -y opencv-python opencv-python-headless" in both.fix

    def broken() -> None:
        raise ImportError("libGL.so.1: cannot open shared object file")

    (missing,) = examine_opencv({"opencv-python": "5.0"}, broken)
    assert missing.verdict is Severity.BAD and "apt install libgl1" in missing.fix and "headless" in missing.fix
    assert examine_opencv({"opencv-python": None})[0].fix == "pip install opencv-python"


def test_folders_that_cannot_be_written_to(tmp_path: Path) -> None:
    assert can_write_to(tmp_path / "not" / "there" / "yet")
    (tmp_path / "file").touch()
    assert can_write_to(tmp_path / "file" / "below")  # the nearest folder above is asked
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_taken_port_is_named_with_its_owner_and_a_free_one_is_free() -> None:
    chosen = settings()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        chosen = replace(chosen, stream=replace(chosen.stream, address=f"tcp://127.0.0.1:{port}"))
        first, *others = examine_ports(chosen, ours_runs=False)
        assert first.verdict is Severity.BAD and f"process {os.getpid()}" in first.text
        assert "--set stream.address" in first.fix
        assert all(finding.verdict is Severity.GOOD and "is free" in finding.text for finding in others) and len(others) == 4
        viewer = replace(chosen, viewer=ViewerSettings(port=port))
        assert next(f for f in examine_ports(viewer, False) if "viewer" in f.text).verdict is Severity.NOTE
    assert examine_ports(chosen, False)[0].verdict is Severity.GOOD
    elsewhere = replace(chosen, capture=CaptureSettings("tcp://192.0.2.1:5572", "nonsense"))
    assert [f.verdict for f in examine_ports(elsewhere, False)[-2:]] == [Severity.BAD, Severity.BAD]


SHELL = ("/bin/bash",)
SPAWNED = ("/home/x/venv/bin/python", "-c", "from multiprocessing.spawn import spawn_main; ...", "--multiprocessing-fork")


@pytest.mark.parametrize(
    "lineage",
    [
        [("/home/x/venv/bin/python3.12", "/home/x/venv/bin/duocap", "run", "--left", "0"), SHELL],
        [
            ("/Library/Frameworks/Python.framework/Resources/Python.app/Contents/MacOS/Python", "/Users/x/bin/duocap", "demo"),
            SHELL,
        ],
        [(r"C:\x\Scripts\python.exe", r"C:\x\Scripts\duocap.exe", "run"), (r"C:\x\Scripts\duocap.exe", "run")],
        [(r"C:\x\Python311\pythonw.exe", r"C:\x\Scripts\duocap-script.py", "view")],
        [("duocap", "play", "walk.mcap"), SHELL],
        [("python", "-X", "dev", "-u", "-m", "tools.launch", "run"), SHELL],
        [SPAWNED, ("python", "-m", "tools.launch", "run"), SHELL],
    ],
)
def test_a_running_duocap_is_recognised_by_its_program(lineage: list[tuple[str, ...]]) -> None:
    assert is_duocap(lineage)


@pytest.mark.parametrize(
    "lineage",
    [
        [("/home/x/duocap/.venv/bin/python", "/home/x/duocap/.venv/bin/pytest", "tests/tools"), SHELL],
        [("/home/x/duocap/.venv/bin/python", "-m", "pytest"), ("/home/x/venv/bin/python", "/home/x/venv/bin/duocap", "run")],
        [SPAWNED, ("/home/x/duocap/.venv/bin/python", "-m", "pytest"), ("duocap", "run")],
        [("vim", "duocap/README.md"), SHELL],
        [("python", "-c", "import time", "duocap")],
        [("python", "-X", "duocap", "serve.py")],
        [(r"C:\x\duocap\python.exe", r"C:\x\duocap\serve.py")],
        [],
    ],
)
def test_a_folder_or_an_argument_named_duocap_is_no_duocap(lineage: list[tuple[str, ...]]) -> None:
    assert not is_duocap(lineage)


def test_keys_are_asked_for_only_where_other_machines_get_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.doctor.network.find_default_folder", lambda: tmp_path / "own")
    chosen = settings()
    assert examine_keys(chosen)[0].verdict is Severity.GOOD and "none needed" in examine_keys(chosen)[0].text
    reachable = replace(chosen, capture=CaptureSettings("tcp://192.168.1.10:5572", "tcp://192.168.1.10:5573"))
    assert examine_keys(reachable)[0].verdict is Severity.BAD and examine_keys(reachable)[0].fix == "duocap keys make"
    made = make_key_pairs(tmp_path / "own")
    add_public_key(tmp_path / "own", CLIENTS, "raspberry", made["client"])
    assert (
        examine_keys(reachable)[0].verdict is Severity.GOOD
        and "admitted: raspberry; trusted: none" in examine_keys(reachable)[0].text
    )
    assert examine_keys(settings(open=True))[0].verdict is Severity.NOTE
    assert examine_keys(settings(open=True, keys="x"))[0].verdict is Severity.BAD


def test_the_clock_is_fine_enough() -> None:
    (found,) = examine_clock()
    assert found.verdict is Severity.GOOD and found.figures is not None and 0 < found.figures["step_ns"] < 1_000_000


@contextmanager
def running(chosen: Settings, cameras_seen: dict[str, dict[str, int | float | str]]) -> Iterator[None]:
    """Publish poses 5 ms after their capture, and a status a second, from a thread."""
    end = threading.Event()
    ready = threading.Event()

    def publish() -> None:
        sink = StreamSink(chosen.stream.address, "s1", fakes.subject(), fakes.rig())
        sink.fanout.open_service(chosen.stream)
        ready.set()
        k = 0
        while not end.wait(0.02):
            sink.pose(replace(fakes.pose(k, now_ns() - 5_000_000, np.zeros(3)), latency_ns={"read": 1, "solve": 4_000_000}))
            if k % 50 == 0:
                rates = {"left": 60.0, "right": 58.0, "pose": 58.0}
                sink.status(RunStatus(now_ns(), TrackingState.TRACKING, rates, {"late": 0}, {"median": 0.0}, cameras_seen))
            sink.serve(now_ns())
            k += 1
        sink.close()

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        assert ready.wait(20)
        yield
    finally:
        end.set()
        thread.join(10)


def test_a_running_stream_is_described_with_its_latency_cameras_and_clocks() -> None:
    chosen = settings(budget_ms=4.0)
    patient = replace(chosen, stream=replace(chosen.stream, budget_ms=10_000.0))
    clock_figures = {"clock_offset_ns": 10**12, "clock_error_ns": 9_000_000, "rtt_ns": 18_000_000}
    seen: dict[str, dict[str, int | float | str]] = {
        "left": {"state": "live", "fps": 60.0, "node": "ready", **clock_figures},
        "right": {"state": "silent", "fps": 0.0},
    }
    with running(chosen, seen):
        found = [f for f in examine_network(chosen) if f.area == "stream"]
        ours = [f for f in examine_network(patient) if f.area == "stream"]
    text = "\n".join(f.text for f in found)
    assert "session s1, subject Ann" in text and not has_hindrance(found)
    offset = next(f.figures for f in found if f.figures and "clock_error_ns" in f.figures and "fps" not in f.figures)
    assert abs(offset["clock_offset_ns"]) <= offset["clock_error_ns"]  # one machine, one clock
    late = next(f for f in found if "poses/s" in f.text)
    assert (
        late.verdict is Severity.NOTE
        and late.figures is not None
        and late.figures["p50_ms"] >= 5.0
        and "most of it is" in late.fix
    )
    assert next(f for f in ours if "poses/s" in f.text).verdict is Severity.GOOD
    left, right = found[-2:]
    assert left.verdict is Severity.NOTE and "+1000000.000 ms, within 9.000, round trip 18.00 ms" in left.text
    assert right.verdict is Severity.NOTE and "right camera: silent" in right.text


def test_lines_and_status() -> None:
    findings = [
        report_good("ports", "free"),
        report_note("cameras", "none", "plug one in"),
        report_bad("keys", "none", "make some"),
    ]
    text = format_findings(findings)
    assert [line.strip() for line in text[:5]] == ["ports", "ok  free", "cameras", "none", "-> plug one in"]
    assert text[5:] == ["keys", "  BAD none", "        -> make some", "1 thing hinders a run"]
    assert (
        format_findings(findings[:1])[-1] == "nothing hinders a run"
        and not has_hindrance(findings[:2])
        and convert_findings(findings)["ok"] is False
    )


@pytest.mark.parametrize("taken", [False, True])
def test_the_command_says_by_its_status_whether_something_hinders(taken: bool) -> None:
    chosen = settings()
    options = {
        "stream.address": chosen.stream.address,
        "stream.service": chosen.stream.service,
        "capture.control": chosen.capture.control,
        "capture.inbox": chosen.capture.inbox,
    }
    words = ["doctor", "--json"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        if taken:
            options["capture.inbox"] = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        for key, value in options.items():
            words += ["--set", f"{key}={value}"]
        result = CliRunner().invoke(build_application("doctor"), words)
    content = json.loads(result.stdout)
    assert (result.exit_code, content["ok"]) == ((1, False) if taken else (0, True))
    assert {"packages", "processor", "kernels", "ports", "clock", "keys", "stream"} <= {f["area"] for f in content["findings"]}


@pytest.mark.parametrize(("n_cores", "expected"), [(1, (70.0, 35.0)), (2, (70.0, 35.0)), (3, (70.0, 70.0)), (16, (70.0, 70.0))])
def test_two_cameras_share_what_the_reconstruction_leaves(n_cores: int, expected: tuple[float, float]) -> None:
    assert compute_rates_hz(10.0, n_cores) == pytest.approx(expected)


def test_landmarks_hinder_only_where_they_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUOCAP_LANDMARKS", str(tmp_path))
    (finding,) = examine_landmarks(Settings())
    assert finding.verdict is Severity.NOTE
    (finding,) = examine_landmarks(Settings(landmarks=LandmarkSettings("full")))
    assert finding.verdict is Severity.BAD and ("duocap landmarks get" in finding.fix or "pip install" in finding.fix)
