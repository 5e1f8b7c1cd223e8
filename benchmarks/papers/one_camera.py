"""One camera: Chai & Hodgins 2005, section 8, which shows it in pictures, with a larger marker set.

Twice: rendered, where the markers have no labels and the performer must be found; and with labels and the first pose known, where
the solver alone is measured.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.mixture import measure_clips
from benchmarks.report import Row, number_columns, text_columns
from calibration.camera import Rig
from calibration.placement import make_facing_rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from config.settings import SolveSettings
from reconstruct.body_state import BodyState
from reconstruct.search.examples import Examples, compute_examples
from tools.evaluate.methods import EstimatorMethod, solve_by
from tools.evaluate.protocol import ProtocolClip, open_once
from tools.evaluate.synthesis.measure import errors_of

CLIPS, SETS = ("14_02", "07_08", "09_09"), ("boxing", "all_around")
QUICK_CLIP = "07_08"
NOISE_PX = 0.5  # of a marker's centre
DISTANCE_M = 5.0  # of the camera from the middle of the motion
RENDERED, KNOWN = "rendered", "labels and start known"


def place_camera(root_m: Floats) -> Rig:
    """Return cameras of which the first sees a motion, (N, 3) [m], from before its middle."""
    x, _, z = root_m.mean(axis=0)
    return make_facing_rig((640, 480), 60.0, DISTANCE_M, 1.0, 1.0, (x, 0.95, z))


class OneCameraMethod(EstimatorMethod):
    """The estimator of live capture, shown what the first camera sees."""

    def __init__(self, subject: Subject, examples: Examples, settings: SolveSettings, rig: Rig, seed: int) -> None:
        super().__init__(subject, examples, settings, rig=rig)
        self._camera, self._rng = rig.cameras[0], np.random.default_rng(seed)

    def step(self, frame: MarkerFrame, start: BodyState | None) -> BodyState:
        """Project the markers of a frame, with noise, and estimate."""
        px = self._camera.project(frame.point_m)
        inside = frame.valid & np.isfinite(px).all(axis=1) & ((px >= 0.0) & (px < self._camera.size)).all(axis=1)
        image_px, seen = np.zeros_like(frame.image_px), np.zeros_like(frame.seen)
        image_px[0, inside] = px[inside] + NOISE_PX * self._rng.normal(size=(int(inside.sum()), 2))
        seen[0] = inside
        sigma_px = np.full_like(frame.sigma_px, NOISE_PX)
        nothing = np.zeros_like(frame.valid)
        return super().step(replace(frame, valid=nothing, seen=seen, image_px=image_px, sigma_px=sigma_px), start)


def _solve_clip(which: ProtocolClip, markers: str, path: Path, request: Request) -> list[Row]:
    """Return the rows of one clip and marker set with labels and first pose known. Raises DuocapError."""
    query = replace(request, markers=markers).load_query(which, 5.0)
    examples, rig = compute_examples(query.subject, open_once(path)), place_camera(query.root_m)
    rows = list[Row]()
    for model in ("paper", "gaussian"):
        settings = replace(request.settings.solve, model=model)
        means = errors_of(query, solve_by(query, OneCameraMethod(query.subject, examples, settings, rig, request.seed))).means()
        about = {"given": KNOWN, "clip": which.stem, "behaviour": which.behaviour, "markers": markers, "cameras": 1}
        figures = {"deg": means["asf_deg"], "deg p95": means["asf_deg_p95"], "mm": means["position_mm"], "tracked %": 100.0}
        rows.append(about | {"model": model, "frames": len(query) - 1} | figures)
    return rows


def compute_one_camera(request: Request) -> Iterator[Row]:
    """Yield a row for each clip, marker set and number of cameras; quick: one clip is rendered for one. Raises DuocapError."""
    clips, path = request.find_clips(CLIPS)
    tasks = [partial(_solve_clip, clip, markers, path, request) for markers in SETS for clip in clips]
    yield from request.run(tasks, "one camera")
    rendered = replace(request, only=(QUICK_CLIP,)) if request.quick else request
    for markers in SETS[:1] if request.quick else SETS:
        for n_cameras in (1,) if request.quick else (2, 1):
            for row in measure_clips(rendered, CLIPS, markers, n_cameras):
                yield {"given": RENDERED, "model": "gaussian", "markers": markers, "cameras": n_cameras} | row


TABLE = PaperTable(
    "one-camera",
    "Chai & Hodgins 2005, section 8",
    "one camera: labels and first pose known; and two rendered cameras for the T-pose, then two or one, by marker set",
    (
        *text_columns("given", "behaviour", "clip", "markers", "model"),
        *number_columns(0, "cameras", "frames"),
        *number_columns(2, "deg", "deg p95"),
        *number_columns(1, "mm", "tracked %"),
    ),
    compute_one_camera,
)
