"""A live run of two or three network cameras on loopback that is recorded, in a process of its own that may be killed."""

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path

import cv2

from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml
from calibration.subject.subject import Subject, read_subject
from capture.packets import Views
from config.loading import load_settings
from config.settings import Settings
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose
from tests.support.ports import free_address
from tests.tools.commands.walked import made_walk
from tools.run import factories as live
from tools.run.run import LiveRun, run_live


@dataclass(frozen=True)
class Stage:
    """What a run needs. jpegs: what each camera shows, again and again."""

    folder: Path
    jpegs: tuple[list[bytes], ...]

    @property
    def database(self) -> Path:
        return self.folder / "small.db"


def set_stage(folder: Path) -> Stage:
    """Render a walk, build a small database, calibrate the walker."""
    made_walk(folder)
    return Stage(folder, tuple(pictures(folder / f"{side}.avi") for side in ("left", "right", "third")))


def pictures(video: Path) -> list[bytes]:
    """Return the pictures of a video as JPEGs, forth and back, so that nothing jumps when they begin again."""
    reader, found = cv2.VideoCapture(str(video)), []
    while True:
        ok, image = reader.read()
        if not ok:
            return found + found[-2:0:-1]
        found.append(bytes(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()))


class StumblingPipeline(Pipeline):
    """A pipeline that now and then takes so long that pairs are overrun."""

    def step(self, pair: Views) -> Pose:
        if self._estimator.last is not None and pair.t_capture_ns // 1_000_000 % 7 == 0:
            time.sleep(0.15)
        return super().step(pair)


def open_stumbling_pipeline(rig: Rig, subject: Subject, database: Path, settings: Settings) -> Pipeline:
    """Make a pipeline as live runs do."""
    return StumblingPipeline(rig, subject, live.open_database(database), settings, clock=live.now_ns)


def run_recorded(stage: Path, urls: Sequence[str], folder: Path, seconds: float, stumbling: bool, sets: Sequence[str]) -> None:
    """Run and record; the body of a process."""
    if stumbling:
        live.open_pipeline = open_stumbling_pipeline
    settings = load_settings(None, [f"stream.address={free_address()}", "stream.service=", "stream.preview=false", *sets])
    rig, subject = read_rig_toml(stage / ("rig.toml" if len(urls) == 2 else "three.toml")), read_subject(stage / "ann.toml")
    what = LiveRun(tuple(urls), rig, subject, stage / "small.db", record=folder, seconds=seconds)
    report = run_live(settings, what, print, lambda *told: None)
    print("\n".join(report.lines()))


def recording_process(
    stage: Stage, urls: Sequence[str], folder: Path, seconds: float = 600.0, stumbling: bool = False, sets: Sequence[str] = ()
) -> SpawnProcess:
    """Start a run that is recorded."""
    process = multiprocessing.get_context("spawn").Process(
        target=run_recorded, args=(stage.folder, urls, folder, seconds, stumbling, tuple(sets))
    )
    process.start()
    return process
