"""A simulated walk as the commands of recordings take it: videos, a small database, and a subject calibrated from it."""

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2

from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from capture.sources.simulated.scene import SimulatedScene
from database.builtin import build_person_skeleton, make_builtin_clip
from database.store import write_database
from database.tpose import compute_median_skeleton, make_tpose_clips
from tests.support.commands import Result, run_main
from tests.support.people import walk
from tools.simulate import Simulation, simulate_recording

FPS = 30.0
SCENE = SimulatedScene(
    motion="walk",
    views=3,
    seconds=2.2,
    tpose_s=1.5,
    markers="dark_room",
    fps=FPS,
    width_px=560,
    height_px=420,
    placement_mm=5.0,
    seed=4,
)
CLIP = slice(90, 140)  # frames of the clip that is replayed: steps, since who only stands in a recording is learned as background


@dataclass(frozen=True)
class Walked:
    """A folder with left.avi, right.avi, timestamps.csv, rig.toml, markers.toml, truth.npz and small.db; clip_*: a part.

    three.toml, three.csv: rig and stamps of the clip with a third camera at the side, clip_third.avi.
    ann.toml, ann.png: the subject, of two takes; calibrated: how the command that made it ended.
    """

    folder: Path
    simulation: Simulation
    calibrated: Result

    def cut(self, name: str, to: Path, frames: slice, fps: float = FPS, size: tuple[int, int] = SCENE.size) -> Path:
        """Write a video with part of another's frames, at another rate or size."""
        return cut(self.folder / name, to, frames, fps, size)

    def calibrate_words(self, *more: object, **changed: object) -> list[object]:
        """Return the arguments of `calibrate subject`, some of them changed."""
        given: dict[str, object] = {"left": "left.avi", "right": "right.avi", "rig": "rig.toml", "markers": "markers.toml"}
        given |= {"database": "small.db", "timestamps": "timestamps.csv", "out": "new.toml"} | changed
        return ["calibrate", "subject", *self._words(given), *more]

    def replay_words(self, *more: object, **changed: object) -> list[object]:
        """Return the arguments of `replay` of the clip, some of them changed."""
        given: dict[str, object] = {"left": "clip_left.avi", "right": "clip_right.avi", "third": None, "timestamps": "clip.csv"}
        given |= {"rig": "rig.toml", "subject": "ann.toml", "database": "small.db"} | changed
        return ["replay", *self._words(given), *more]

    def _words(self, given: dict[str, object]) -> list[object]:
        """Turn names and values into words; what names a file of the folder becomes its path."""
        value = {key: self.folder / v if isinstance(v, str) and "." in v else v for key, v in given.items()}
        views = (value.pop("left"), value.pop("right"), value.pop("third", None))
        words: list[object] = [view for view in views if view is not None]
        for key, v in value.items():
            words += [] if v is None else [f"--{key}", v]
        return words


def made_walk(folder: Path) -> Walked:
    """Simulate, build a small database without that walker's body, calibrate."""
    simulation = simulate_recording(SCENE, folder)
    (folder / "rig.toml").rename(folder / "three.toml")
    rig = read_rig_toml(folder / "three.toml")
    write_rig_toml(folder / "rig.toml", replace(rig, cameras=rig.cameras[:2]))
    bodies = [
        build_person_skeleton(1.6),
        build_person_skeleton(1.78, arm_ratio=1.03),
        build_person_skeleton(1.85, leg_ratio=1.03),
    ]
    clips = [walk(b, seed) for seed, b in enumerate(bodies)] + [make_builtin_clip("idle", bodies[0], 60.0, 3)]
    write_database(folder / "small.db", clips, make_tpose_clips(compute_median_skeleton(bodies), 60.0))
    for name in ("left.avi", "right.avi", "third.avi"):
        cut(folder / name, folder / f"clip_{name}", CLIP)
    table = [row.split(",") for row in (folder / "timestamps.csv").read_text(encoding="utf-8").splitlines()]
    clip = [table[0], *([str(k), *row[1:]] for k, row in enumerate(table[1:][CLIP]))]
    for name, rows, columns in (("three.csv", clip, 4), ("clip.csv", clip, 3), ("timestamps.csv", table, 3)):
        (folder / name).write_text("".join(",".join(row[:columns]) + "\n" for row in rows), encoding="utf-8")
    made = Walked(folder, simulation, Result(0, "", ""))
    takes = ("--take", "0:0.6", "--take", "0.7:1.4", "--name", "Ann")
    return Walked(folder, simulation, ended(made.calibrate_words(*takes, out="ann.toml")))


def cut(video: Path, to: Path, frames: slice, fps: float = FPS, size: tuple[int, int] = SCENE.size) -> Path:
    """Write a video with part of another's frames."""
    reader, images = cv2.VideoCapture(str(video)), []
    while (read := reader.read())[0]:
        images.append(read[1])
    writer = cv2.VideoWriter(str(to), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), fps, size)
    for image in images[frames]:
        writer.write(cv2.resize(image, size))
    writer.release()
    return to


def ended(words: Sequence[object]) -> Result:
    """Run `duocap WORDS` in this process, for a fixture that tests share."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_main(words)
    return Result(status, out.getvalue(), err.getvalue())
