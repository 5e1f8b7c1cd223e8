"""A rig calibrated by a wand against the same rig calibrated by a board, both rendered, with known truth.

    python -m benchmarks.calibration.wand [--seconds 25] [--views 24] [--seeds 2] [--json F]

Two cameras of 640x480 and 60 degrees, 1.1 m apart, at different heights and toed in, each with a mild barrel distortion. The
board (9x6 inner corners of 60 mm) is rendered, found and solved as in `duocap calibrate rig`. The wand (500 mm, markers of 25 mm)
is rendered as video of a dark room with reflections, occlusions, noise, and an error of 0.15 px of every marker, as in a real
recording, then detected as live and solved as in `duocap calibrate wand`. Errors: the cameras' distance, the rotation between
them, focal lengths, the epipolar distance of 400 points of the volume, and their positions as shares of their distance, after the
best rigid motion. Lenses are those of the board's calibration; `--focal` starts 6 % from them; --fov 60 is true but for the
distortion, --fov 64 is not.
"""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.report import parser_of, write_json
from calibration.board.find import find_board
from calibration.board.pattern import Board
from calibration.board.views import ViewPair
from calibration.camera import Camera, Rig
from calibration.epipolar import fundamental_matrix, ideal_pixels
from calibration.placement import intrinsics_from_fov
from calibration.quality.report import QualityReport
from calibration.solve.rig import solve_rig
from calibration.triangulate import triangulate
from calibration.wand.quality import wand_report
from calibration.wand.solve import solve_wand
from calibration.wand.tracks import Sightings, wand_tracks
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.arrays import Floats
from config.settings import Settings
from database.geometry.rigid import rigid_fit
from database.geometry.rotations import geodesic_rad
from tests.calibration.wand.scenes import SIZE, Wave, in_view, wand_rig, write_wand_videos
from tests.support.board_scenes import Look, render_board, scene_views
from tools.calibrate.wand import sightings_of, uncolored_markers

BOARD = Board("chessboard", 9, 6, 0.06)
HALF_M, MIDDLE_M = (0.8, 0.7, 0.7), (0.0, 1.0, 0.0)
Row = dict[str, float | str]


def volume(truth: Rig) -> Floats:
    """Return 400 points that both cameras see, (400, 3) [m]."""
    rng = np.random.default_rng(99)
    points = np.array(MIDDLE_M) + rng.uniform(-1.0, 1.0, (4000, 3)) * HALF_M
    return np.asarray(points[in_view(truth.left, points) & in_view(truth.right, points)][:400])


def errors(rig: Rig, truth: Rig) -> Row:
    """Return the errors of a rig."""
    at = volume(truth)
    px = [camera.project(at) for camera in truth.cameras]
    found, _ = triangulate(rig, px[0], px[1])
    R, t = rigid_fit(found, at)
    off = np.linalg.norm(found @ R.T + t - at, axis=1) / np.linalg.norm(at - truth.left.center_m, axis=1)
    F = fundamental_matrix(rig)
    left, right = (ideal_pixels(camera, p) for camera, p in zip(rig.cameras, px, strict=True))
    lines = left @ F.T
    apart = np.abs((lines * right).sum(axis=1)) / np.hypot(lines[:, 0], lines[:, 1])
    turns = [one.right.rotation @ one.left.rotation.T for one in (rig, truth)]
    focal = max(abs(a.focal_px / b.focal_px - 1.0) for a, b in zip(rig.cameras, truth.cameras, strict=True))
    return {
        "baseline_percent": 100.0 * (rig.baseline_m / truth.baseline_m - 1.0),
        "turn_deg": float(np.degrees(geodesic_rad(turns[0], turns[1]))),
        "focal_percent": 100.0 * focal,
        "epipolar_px": float(np.mean(apart)),
        "world_percent": 100.0 * float(np.sqrt(np.mean(off**2))),
    }


def by_board(truth: Rig, n_views: int, seed: int) -> Rig:
    """Render a board in many poses, find it and solve."""
    pairs = []
    for number, pose in enumerate(scene_views(BOARD, truth, n_views, seed)):
        images = [render_board(BOARD, camera, pose[:3], pose[3:], Look(noise=2.0), seed + number) for camera in truth.cameras]
        left, right = (find_board(image, BOARD, name=str(number), t_ns=number) for image in images)
        pairs.append(ViewPair(left, right))
    return solve_rig(BOARD, pairs, (SIZE, SIZE)).rig


def detect_videos(truth: Rig, path: Wave, seconds: float, late_s: float, seed: int) -> tuple[Sightings, Sightings]:
    """Render videos of a wand and detect its markers as live."""
    with tempfile.TemporaryDirectory() as folder:
        left, right = write_wand_videos(Path(folder), truth, path, seconds, late_s=late_s, noise_px=0.15, seed=seed)
        spec = RecordingSpec(str(left), str(right))
        return sightings_of(CaptureRecording(spec, Settings().detector, uncolored_markers(), min_markers=1))


def lenses_of_fov(fov_deg: float) -> tuple[Camera, Camera]:
    """Return both lenses by a field of view."""
    made = [
        Camera(name, SIZE, intrinsics_from_fov(SIZE, fov_deg), np.zeros(5), np.eye(3), np.zeros(3)) for name in ("left", "right")
    ]
    return made[0], made[1]


def off_by(cameras: tuple[Camera, Camera], share: float) -> tuple[Camera, Camera]:
    """Return lenses whose focal lengths are wrong."""
    made = []
    for camera in cameras:
        matrix = camera.matrix.copy()
        matrix[0, 0] *= 1.0 + share
        matrix[1, 1] *= 1.0 + share
        made.append(replace(camera, matrix=matrix))
    return made[0], made[1]


def wands(truth: Rig, lenses: tuple[Camera, Camera], seconds: float, seed: int) -> list[Row]:
    """Solve every kind of wand with every kind of lens."""
    rows: list[Row] = []
    wrong, plain, wide = off_by(lenses, 0.06), lenses_of_fov(60.0), lenses_of_fov(64.0)
    for n_markers, late_s in ((2, 0.0), (2, 0.008), (1, 0.0), (1, 0.008)):
        name = ("one", "two")[n_markers - 1] + (", 8 ms apart" if late_s else "")
        path = Wave(n_markers=n_markers, seed=seed, half_m=HALF_M, middle_m=MIDDLE_M)
        tracks = wand_tracks(detect_videos(truth, path, seconds, late_s, seed), n_markers)
        length_m, distance_m = (path.length_m, None) if n_markers == 2 else (None, truth.baseline_m)
        known = partial(solve_wand, tracks, length_m=length_m, distance_m=distance_m)
        ways = [("board's lenses", lenses, False, False), ("--focal", wrong, False, True)]
        if name == "two":
            ways += [("--fov 60", plain, True, False), ("--fov 64 --focal", wide, True, True)]
        for how, start, assumed, focal in ways:
            found = known(start, assumed_lens=assumed, focal=focal)
            report = wand_report(found, assumed_lens=assumed, focal_asked=focal)
            rows.append(row(f"{name}, {how}", found.rig, truth, report, 1e3 * found.offset_s))
        if name == "two, 8 ms apart":
            found = known(lenses, synchronised=True)
            rows.append(row(f"{name}, --synchronised", found.rig, truth, wand_report(found), 0.0))
    return rows


def row(name: str, rig: Rig, truth: Rig, report: QualityReport | None, offset_ms: float = float("nan")) -> Row:
    """Return a line of the table."""
    return {"name": name, **errors(rig, truth), "offset_ms": offset_ms, "verdict": "" if report is None else report.grade.word}


def show(rows: list[Row]) -> None:
    """Print a table."""
    keys = [key for key in rows[0] if key not in ("name", "verdict")]
    print(f"{'':<34}" + "".join(f"{key:>18}" for key in keys) + "  verdict")
    for line in rows:
        print(f"{line['name']:<34}" + "".join(f"{float(line[key]):18.4f}" for key in keys) + f"  {line['verdict']}")


def main() -> None:
    """Print a table for each seed."""
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--views", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    truth, results = wand_rig(), []
    for seed in range(given.seeds):
        board = by_board(truth, given.views, seed)
        rows = [row("board", board, truth, None), *wands(truth, board.cameras, given.seconds, seed)]
        print(f"seed {seed}")
        show(rows)
        results.append(rows)
    write_json(given.json, results)


if __name__ == "__main__":
    main()
