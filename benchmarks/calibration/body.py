"""Rigs told by a body: landmarks of rendered people, with the true cameras (`benchmarks.reconstruct.landmarks` reads the files).

    python -m benchmarks.calibration.body FILE.npz... [--cameras 0 1] [--rate 20] [--json F]

Of the camera beside the first that is worst: turn; aside: the direction in which it stands; off: its distance, relative, the
scale by the person's stature; sigma: of turn and distance, as the report says. s: processor time.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.reconstruct.recorded_landmarks import Recording, read_recording
from benchmarks.report import TablePrinter, build_parser, number_columns, run_main, text_columns, write_json
from calibration.body.quality import compare_rigs, measure_pose_sigmas
from calibration.body.solve import BodyInput, BodyScale, BodySolution, solve_body
from calibration.body.views import BodyViews
from calibration.camera import Rig
from config.arrays import Floats
from config.landmarks import SOURCES
from config.settings import Settings
from database.geometry.skeleton import Skeleton
from reconstruct.models.physics.body import estimate_stature_m


@dataclass(frozen=True, slots=True)
class Score:
    """How far off a rig is, and by how much it says that it may be; see the module."""

    clip: str
    cameras: str
    turn_deg: float
    turn_sigma_deg: float
    off_percent: float
    off_sigma_percent: float
    aside_deg: float
    exchanged_percent: float
    seconds: float


def read_stature_m(path: Path) -> float:
    """Return how tall the person of a recording is [m]."""
    with np.load(path) as file:
        return estimate_stature_m(Skeleton("", file["offsets_m"], file["tails_m"]))


def collect_views(recording: Recording, cameras: list[int], settings: Settings) -> BodyViews:
    """Return what some cameras see."""
    seen = (recording.score >= settings.label.landmark_score) & recording.found[..., None]
    px = np.nan_to_num(recording.image_px)
    return BodyViews(recording.seconds, px[:, cameras].swapaxes(0, 1), seen[:, cameras].swapaxes(0, 1))


def score_rig(recording: Recording, cameras: list[int], stature_m: float) -> Score:
    """Return how far off the rig of a recording comes out."""
    settings = Settings()
    truth = Rig(tuple(recording.rig.cameras[c] for c in cameras))
    given = BodyInput(collect_views(recording, cameras, settings), truth.cameras, SOURCES, settings.solve.landmark_lasts_s)
    begin_s = process_time()
    found = solve_body(given, BodyScale(stature_m))
    turn_sigma, _ = measure_pose_sigmas(found)
    worst = int(np.argmax(compare_rigs(truth, found.rig)[0]))
    now, true = (_measure_shift_m(rig, worst + 1) for rig in (found.rig, truth))
    lengths = np.linalg.norm(now), np.linalg.norm(true)
    return Score(
        clip=recording.stem,
        cameras=" ".join(map(str, cameras)),
        turn_deg=float(compare_rigs(truth, found.rig)[0][worst]),
        turn_sigma_deg=float(turn_sigma[worst]),
        off_percent=float(100.0 * (lengths[0] / lengths[1] - 1.0)),
        off_sigma_percent=_measure_length_sigma(found, worst),
        aside_deg=float(np.degrees(np.arccos(np.clip(now @ true / (lengths[0] * lengths[1]), -1.0, 1.0)))),
        exchanged_percent=float(100.0 * (found.exchanged > 0).mean()),
        seconds=process_time() - begin_s,
    )


def _measure_shift_m(rig: Rig, camera: int) -> Floats:
    """Return where a camera is in the first one's frame, (3,) [m]."""
    first = rig.cameras[0]
    return np.asarray(first.rotation @ (rig.cameras[camera].center_m - first.center_m))


def _measure_length_sigma(found: BodySolution, worst: int) -> float:
    """Return the deviation of a camera's distance from the first one [%]."""
    t = found.rig.cameras[worst + 1].translation
    C = found.pose_covariance[6 * worst + 3 : 6 * worst + 6, 6 * worst + 3 : 6 * worst + 6]
    return float(100.0 * np.sqrt(t @ C @ t) / (t @ t))


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--cameras", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rate", type=float, default=20.0)
    options = parser.parse_args()
    percents = number_columns(1, "off_percent", "off_sigma_percent", "exchanged_percent")
    angles = number_columns(2, "turn_deg", "turn_sigma_deg", "aside_deg")
    table = TablePrinter((*text_columns("clip", "cameras"), *angles, *percents, *number_columns(0, "seconds")))
    for path in options.files:
        recording = read_recording(path).thinned(options.rate)
        table.add(score_rig(replace(recording, stem=path.stem), options.cameras, read_stature_m(path)))
    write_json(options.json, table.rows)


if __name__ == "__main__":
    run_main(main)
