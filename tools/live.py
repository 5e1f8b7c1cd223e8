"""What a live run is made of, for `demo` and `run` alike: factories that travel to the spawned processes."""

from functools import partial
from pathlib import Path

from calibration.camera import Rig
from calibration.subject import Subject
from capture.clock import now_ns
from capture.detector import Detector
from capture.sources import Source
from config.settings import DetectorSettings, Settings
from database.store import open_database
from reconstruct.pipeline import Pipeline
from reconstruct.process import ReconstructionPlan
from stream.sink import StreamSink


def open_pipeline(rig: Rig, subject: Subject, database: Path, settings: Settings) -> Pipeline:
    """Open the database and make the pipeline with the clock of live runs. Raises DatabaseError."""
    return Pipeline(rig, subject, open_database(database), settings, clock=now_ns)


def open_detector(settings: DetectorSettings, source: Source) -> Detector:
    """Make the detector of a source."""
    return Detector(settings)


def reconstruction_plan(
    rig: Rig, subject: Subject, database: Path, settings: Settings, session: str, fps: float
) -> ReconstructionPlan:
    """Plan the reconstruction of two cameras at `fps`: pairs may be half a frame time apart, and a tenth for jitter."""
    return ReconstructionPlan(
        pipeline=partial(open_pipeline, rig, subject, database, settings),
        sink=partial(StreamSink, settings.stream.address, session, subject, rig, settings.stream.predict_ms),
        budget_ns=round(0.6e9 / fps),
    )
