"""How long a recording is in all that becomes of it: replay, recording of the stream, playing, and every export.

`python -m tests.zoo.durations [SECONDS]` prints one table for the clocks of `clocks.py`; exit status 1 if one duration is off by
more than a frame.
"""

import csv
import json
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from config.arrays import Floats
from database.files.read import read_clip
from database.marker_files.c3d import read_c3d
from database.marker_files.trc import read_trc
from stream.protocol.messages import PoseMessage
from stream.recording.playback import schedule_playback, select_playback_span
from stream.recording.recording import Recording, open_recording
from tests.support.files.gltf import parsed
from tests.tools.commands.walked import ended
from tests.zoo.walks import replay
from tools import export
from tools.replay.play import RecordingPlayer

FORMATS = {
    name: kind for name, kind in export.FORMATS.items() if name != "fbx"
}  # which needs Blender: tests/stream/export/test_fbx.py
ASKED_HZ = 50.0  # of --fps


@dataclass(frozen=True)
class Length:
    """How long something is [s], and the rate that its header tells [Hz], None where it has none."""

    seconds: float
    rate_hz: float | None = None


@dataclass(frozen=True)
class Durations:
    """What was found. told: by the report of the replay; own, asked: of each output, at its own rate and with --fps."""

    told: str
    own: dict[str, Length]
    asked: dict[str, Length] = field(default_factory=dict)

    def worst_frames(self, stamps_s: Floats) -> float:
        """Return by how many of its frames the worst duration is off the stamps, (N,) [s]."""
        whole_s, period_s = float(stamps_s[-1] - stamps_s[0]), float(np.median(np.diff(stamps_s)))
        off = [
            abs(length.seconds - whole_s) / (1.0 / length.rate_hz if length.rate_hz else period_s) for length in self.own.values()
        ]
        return max(*off, *(abs(length.seconds - whole_s) * ASKED_HZ for length in self.asked.values()))


def lengths_of(folder: Path, videos: list[Path], timestamps: Path | None) -> Durations:
    """Replay two videos and return how long all is that becomes of it."""
    mcap, report = folder / "walk.mcap", folder / "walk.json"
    result = replay(videos, "--record", mcap, "--report", report, timestamps=timestamps)
    assert result.status == 0, result.err
    recording = open_recording(mcap)
    captured = [pose.t_capture_ns for pose in recording.poses]
    own = {
        "replay": Length(json.loads(report.read_text(encoding="utf-8"))["time"]["seconds"]),
        "record": Length(1e-9 * (captured[-1] - captured[0])),
        "play": Length(_played_s(recording)),
        **exported(mcap, folder / "own"),
    }
    told = "; ".join([*result.out.splitlines()[1:2], *(line for line in result.err.splitlines() if "taken as" in line)])
    return Durations(told.replace(str(folder), ""), own, exported(mcap, folder / "asked", "--fps", ASKED_HZ))


class _Heard:
    """An outlet that keeps the poses it is given."""

    def __init__(self) -> None:
        self.captured_ns: list[int] = []

    def publish(self, message: object) -> None:
        """Keep when a pose was captured."""
        if isinstance(message, PoseMessage):
            self.captured_ns.append(message.t_capture_ns)

    def event(self, *_: object) -> None:
        """Let an event pass."""

    serve = event


def _played_s(recording: Recording) -> float:
    """Return how long poses are that `duocap play` publishes, each when it is due [s]."""
    heard = _Heard()
    player = RecordingPlayer(recording, "again", heard)  # type: ignore[arg-type]
    for step in schedule_playback(recording, select_playback_span(recording, None, None), 1.0, loop=False):
        player.publish(step, 10**15 + step.after_ns)
    return 1e-9 * (heard.captured_ns[-1] - heard.captured_ns[0])


def exported(mcap: Path, folder: Path, *more: object) -> dict[str, Length]:
    """Export a recording in every format and return how long each is, as its reader reads it."""
    folder.mkdir()
    files = {name: folder / f"walk{kind.suffix}" for name, kind in FORMATS.items()}
    result = ended(["export", mcap, *(word for file in files.values() for word in ("--out", file)), *more])
    assert result.status == 0, result.err
    return {name: READERS[name](file) for name, file in files.items()}


def _bvh(file: Path) -> Length:
    """Read the frames and their time."""
    motion = read_clip(file)
    lines = file.read_text(encoding="utf-8").splitlines()
    row = next(n for n, line in enumerate(lines) if line.startswith("Frame Time:"))
    assert len(lines) - row - 1 == motion.n_frames
    return Length((motion.n_frames - 1) / motion.fps, motion.fps)


def _trc(file: Path) -> Length:
    """Read the rows, whose times must be those of the header's rate."""
    points, header = read_trc(file), file.read_text(encoding="utf-8").splitlines()
    rate_hz = float(dict(zip(header[1].split("\t"), header[2].split("\t"), strict=True))["DataRate"])
    assert np.abs(points.seconds - np.arange(len(points.seconds)) / rate_hz).max() < 1e-5
    return Length((len(points.seconds) - 1) / rate_hz, rate_hz)


def _c3d(file: Path) -> Length:
    """Read the frames; the rate in the first block must be that of the parameters."""
    points = read_c3d(file)
    assert struct.unpack_from("<f", file.read_bytes(), 20)[0] == np.float32(points.fps)
    return Length((len(points.valid) - 1) / points.fps, points.fps)


def _csv(file: Path) -> Length:
    """Read the times of the rows."""
    with file.open(encoding="utf-8", newline="") as stream:
        seconds = [float(row["seconds"]) for row in csv.DictReader(stream)]
    return Length(seconds[-1] - seconds[0])


def _mcap(file: Path) -> Length:
    """Read the times of the poses."""
    poses = open_recording(file).poses
    return Length(1e-9 * (poses[-1].t_capture_ns - poses[0].t_capture_ns))


def _gltf(file: Path) -> Length:
    """Read the times of the keys; a player begins at 0."""
    content = parsed(file.read_bytes())
    samplers = content.tree["animations"][0]["samplers"]
    return Length(max(float(content.array(sampler["input"]).max()) for sampler in samplers))


def _mot(file: Path) -> Length:
    """Read the times of the rows."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = lines[lines.index("endheader") + 2 :]
    seconds = [float(row.split("\t")[0]) for row in rows]
    return Length(seconds[-1] - seconds[0])


READERS: dict[str, Callable[[Path], Length]] = {
    "bvh": _bvh, "trc": _trc, "c3d": _c3d, "csv": _csv, "markers": _csv, "glb": _gltf, "vrma": _gltf, "mcap": _mcap,
    "opensim-trc": _trc, "angles": _csv, "mot": _mot, "gait2392": _mot,
}  # fmt: skip


def main(seconds: float = 5.0) -> int:
    """Print the table and return the exit status."""
    from tests.zoo.clocks import CLOCKS

    outputs = ["replay", "record", "play", *FORMATS]
    print(f"| clock | stamps [s] | | {' | '.join(outputs)} | header [Hz] | off by [frames] |")
    print("|" + "---|" * (len(outputs) + 5))
    bad, told = 0, []
    for clock in CLOCKS:
        with tempfile.TemporaryDirectory() as folder:
            stamps_s = clock.stamps_s(seconds)
            found = lengths_of(Path(folder), *clock.write(Path(folder), stamps_s))
        worst = found.worst_frames(stamps_s)
        bad += not worst <= 1.0
        for words, lengths in (("", found.own), (f"--fps {ASKED_HZ:g}", found.asked)):
            cells = [f"{lengths[name].seconds:.3f}" if name in lengths else "" for name in outputs]
            rates = sorted({f"{length.rate_hz:.4f}" for length in lengths.values() if length.rate_hz})
            first = (clock.name, f"{stamps_s[-1] - stamps_s[0]:.3f}") if not words else ("", "")
            print(f"| {' | '.join((*first, words, *cells, ', '.join(rates), '' if words else f'{worst:.2f}'))} |", flush=True)
        told.append(f"{clock.name}: {found.told}")
    print("\nWhat the report says:\n\n- " + "\n- ".join(told))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
