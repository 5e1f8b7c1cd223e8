"""A performer without markers: landmarks as cameras find them, with errors that last; left and right exchanged, some missing."""

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import Blobs, Landmarks, Views
from config.arrays import Floats
from config.landmarks import LANDMARKS, SOURCES, Exchange
from tests.support.people import blobs_of

ERROR_M, LASTS_S, MISSING, FRAME_S = 0.012, 0.1, 0.02, 1.0 / 60.0


def landmark_views(
    rig: Rig, subject: Subject, marker_m: Floats, exchanged: dict[tuple[int, int], Exchange] | None = None, seed: int = 0
) -> list[Views]:
    """Return what cameras see of markers (N, M, 3) that are landmarks.

    exchanged: by frame and camera; errors are Gaussian, ERROR_M across the line of sight, and last LASTS_S.
    """
    rng, rows = np.random.default_rng(seed), subject.markers.landmark
    keep = np.exp(-FRAME_S / LASTS_S)
    error = rng.normal(size=(len(rig), len(rows), 2))
    found = []
    for n, at_m in enumerate(marker_m):
        error = keep * error + np.sqrt(1.0 - keep**2) * rng.normal(size=error.shape)
        found.append(Views(tuple(_see(rig, c, n, at_m, rows, error[c], rng, exchanged or {}) for c in range(len(rig)))))
    return found


def _see(
    rig: Rig,
    c: int,
    n: int,
    at_m: Floats,
    rows: np.ndarray,
    error: Floats,
    rng: np.random.Generator,
    exchanged: dict[tuple[int, int], Exchange],
) -> Blobs:
    """Return one camera's view of one moment."""
    camera = rig.cameras[c]
    depth_m = camera.to_camera(at_m)[:, 2]
    px, score = np.zeros((len(LANDMARKS), 2)), np.zeros(len(LANDMARKS))
    px[rows] = camera.project(at_m) + error * (ERROR_M * camera.focal_px / depth_m)[:, None]
    score[rows] = np.where(rng.random(len(rows)) < MISSING, 0.1, 0.9)
    source = SOURCES[exchanged.get((n, c), Exchange.NOTHING)]
    empty = blobs_of(c, n, np.zeros((0, 2)))
    parts = (empty.points_px, empty.area_px, empty.color_rgb, empty.sigma_px, empty.light)
    return Blobs(c, n, empty.t_capture_ns, *parts, Landmarks(px[source], score[source], 1.0))
