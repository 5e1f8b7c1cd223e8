"""Cost of the viewer over time: frames a second in the browser, CPU and memory of the viewer and of the browser.

    python -m benchmarks.stream.viewer --minutes 10

A walking figure is published at 60 Hz; `duocap view` shows it to a headless Chromium, which draws by software. Every ten seconds
one line; at the end the growth of memory, by a straight line through the second half.
"""

import shutil
import subprocess
import sys
import time

import numpy as np
import psutil

from benchmarks.report import build_parser, write_json
from tests.support.ports import free_port
from tests.support.viewer.browser import Browser
from tests.support.viewer.walking_stream import WalkingStream

MB = 1e-6


def measure_usage(root: psutil.Process) -> tuple[float, float]:
    """Return CPU seconds and memory [MB] of a process and its children."""
    seconds = memory = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times, info = process.cpu_times(), process.memory_info()
        except psutil.Error:
            continue
        seconds += times.user + times.system
        memory += info.rss * MB
    return seconds, memory


def compute_slope(minutes: list[float], values: list[float]) -> float:
    """Return the growth a minute over the second half."""
    half = len(minutes) // 2
    return float(np.polyfit(minutes[half:], values[half:], 1)[0]) if len(minutes) - half > 2 else float("nan")


def main() -> None:
    """Run and report."""
    parser = build_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("chromium is not installed")
    port, rows = free_port(), []
    with WalkingStream() as stream:
        command = [sys.executable, "-m", "tools.launch", "view", "--no-browser", "--port", str(port), "--theme", "dark"]
        viewer = subprocess.Popen([*command, "--set", f"stream.address={stream.address}", "--set", "stream.service="])
        try:
            with Browser(chromium) as browser:
                time.sleep(5.0)
                browser.open(f"http://127.0.0.1:{port}")
                browser.wait("poses", lambda: "poses / s" in browser.text(), 90.0)
                rows = measure_usage_rows(options.minutes, psutil.Process(viewer.pid), browser, stream)
        finally:
            viewer.terminate()
            viewer.wait()
    print_summary(rows)
    write_json(options.json, rows)


def measure_usage_rows(minutes: float, viewer: psutil.Process, browser: Browser, stream: WalkingStream) -> list[dict[str, float]]:
    """Take a line every ten seconds.

    Args:
        minutes: how long [min].
        viewer: the viewer's process.
        browser: the browser.
        stream: what is viewed.
    """
    begun, rows = time.monotonic(), []
    page = psutil.Process(browser.process.pid)
    before_s, before_viewer, before_browser = begun, measure_usage(viewer)[0], measure_usage(page)[0]
    while time.monotonic() - begun < 60.0 * minutes:
        time.sleep(7.0)
        hz = browser.frames_hz(3.0)
        now, mine, theirs = time.monotonic(), measure_usage(viewer), measure_usage(page)
        row = {
            "minute": (now - begun) / 60.0,
            "frames_hz": hz,
            "viewer_cpu": (mine[0] - before_viewer) / (now - before_s),
            "viewer_mb": mine[1],
            "browser_cpu": (theirs[0] - before_browser) / (now - before_s),
            "browser_mb": theirs[1],
            "script_mb": float(browser.evaluate("performance.memory.usedJSHeapSize")) * MB,
            "worst_publish_ms": 1e3 * stream.worst_s,
        }
        before_s, before_viewer, before_browser = now, mine[0], theirs[0]
        rows.append(row)
        print("  ".join(f"{key} {value:.2f}" for key, value in row.items()), flush=True)
    return rows


def print_summary(rows: list[dict[str, float]]) -> None:
    """Sum up."""
    minutes = [row["minute"] for row in rows]
    for key in ("frames_hz", "viewer_cpu", "browser_cpu"):
        print(f"{key}: median {np.median([row[key] for row in rows]):.2f}, worst {min(row[key] for row in rows):.2f}")
    for key in ("viewer_mb", "browser_mb", "script_mb"):
        values = [row[key] for row in rows]
        print(f"{key}: {values[0]:.0f} at first, {values[-1]:.0f} at last, {compute_slope(minutes, values):+.2f} a minute")


if __name__ == "__main__":
    main()
