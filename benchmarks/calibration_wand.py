"""A rig by a wand beside the same rig by a board, both rendered, both against the truth.

    python -m benchmarks.calibration_wand [--seconds 25] [--views 24] [--seeds 2] [--json F]

Two cameras of 640x480 and 60 degrees, 1.1 m apart, at unlike heights and turned to each other, with mild barrels of their own.
The board (9x6 inner corners of 60 mm) is rendered, found and solved as `duocap calibrate rig` does. The wand (500 mm, markers of
25 mm) is rendered as video of a dark room with reflections, occlusions, noise, and every marker drawn 0.15 px beside its place,
as much as the markers of a real recording are off, detected as live and solved as `duocap calibrate wand` does. Errors: the
cameras' distance, the right camera's turn against the left one, focal lengths, the epipolar distance of 400 points of the volume,
and places in the volume as shares of their distance, with the whole world moved so that it fits best. Lenses are those the board
gave; `--focal` starts 6 % off them; --fov 60 is true but for the distortion, --fov 64 is not.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from calibration.board import Board
from calibration.board_find import find_board
from calibration.camera import Camera, Rig
from calibration.epipolar import fundamental_matrix, ideal_pixels
from calibration.placement import intrinsics_from_fov
from calibration.solve_rig import solve_rig
from calibration.triangulate import triangulate
from calibration.verdict import Verdict
from calibration.views import ViewPair
from calibration.wand import Sightings
from calibration.wand_solve import solve_wand
from calibration.wand_tracks import wand_tracks
from calibration.wand_verdict import wand_verdict
from capture.packets import Floats
from capture.recording import Recording, RecordingSpec
from config.settings import Settings
from database.rigid import rigid_fit
from database.rotations import geodesic_rad
from tests.board_scenes import Look, render_board, scene_views
from tests.wand_scenes import SIZE, Wave, in_view, wand_rig, write_wand_videos
from tools.calibrate_wand import sightings_of, uncolored_markers

BOARD = Board("chessboard", 9, 6, 0.06)
HALF_M, MIDDLE_M = (0.8, 0.7, 0.7), (0.0, 1.0, 0.0)
Row = dict[str, float | str]


def volume(truth: Rig) -> Floats:
    """Give 400 points that both cameras see, (400, 3) [m]."""
    rng = np.random.default_rng(99)
    points = np.array(MIDDLE_M) + rng.uniform(-1.0, 1.0, (4000, 3)) * HALF_M
    return np.asarray(points[in_view(truth.left, points) & in_view(truth.right, points)][:400])


def errors(rig: Rig, truth: Rig) -> Row:
    """Give the errors of a rig."""
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
    """Render a board in many places, find it and solve."""
    pairs = []
    for number, pose in enumerate(scene_views(BOARD, truth, n_views, seed)):
        images = [render_board(BOARD, camera, pose[:3], pose[3:], Look(noise=2.0), seed + number) for camera in truth.cameras]
        left, right = (find_board(image, BOARD, name=str(number), t_ns=number) for image in images)
        pairs.append(ViewPair(left, right))
    return solve_rig(BOARD, pairs, (SIZE, SIZE)).rig


def seen_in_videos(truth: Rig, path: Wave, seconds: float, late_s: float, seed: int) -> tuple[Sightings, Sightings]:
    """Render videos of a wand and detect the bright spots as live."""
    with tempfile.TemporaryDirectory() as folder:
        left, right = write_wand_videos(Path(folder), truth, path, seconds, late_s=late_s, noise_px=0.15, seed=seed)
        spec = RecordingSpec(str(left), str(right))
        return sightings_of(Recording(spec, Settings().detector, uncolored_markers(), least_markers=1))


def guessed(fov_deg: float) -> tuple[Camera, Camera]:
    """Give both lenses by a field of view."""
    made = [
        Camera(name, SIZE, intrinsics_from_fov(SIZE, fov_deg), np.zeros(5), np.eye(3), np.zeros(3)) for name in ("left", "right")
    ]
    return made[0], made[1]


def off_by(cameras: tuple[Camera, Camera], share: float) -> tuple[Camera, Camera]:
    """Give lenses whose focal lengths are wrong."""
    made = []
    for camera in cameras:
        matrix = camera.matrix.copy()
        matrix[0, 0] *= 1.0 + share
        matrix[1, 1] *= 1.0 + share
        made.append(replace(camera, matrix=matrix))
    return made[0], made[1]


def wands(truth: Rig, lenses: tuple[Camera, Camera], seconds: float, seed: int) -> list[Row]:
    """Solve every kind of wand."""
    rows: list[Row] = []
    two = Wave(seed=seed, half_m=HALF_M, middle_m=MIDDLE_M)
    one = Wave(n_markers=1, seed=seed, half_m=HALF_M, middle_m=MIDDLE_M)
    seen = {
        "two": seen_in_videos(truth, two, seconds, 0.0, seed),
        "two, 8 ms apart": seen_in_videos(truth, two, seconds, 0.008, seed),
        "one": seen_in_videos(truth, one, seconds, 0.0, seed),
        "one, 8 ms apart": seen_in_videos(truth, one, seconds, 0.008, seed),
    }
    for name, sightings in seen.items():
        n_markers = 2 if name.startswith("two") else 1
        tracks = wand_tracks(sightings, n_markers)
        scale = {"length_m": two.length_m} if n_markers == 2 else {"distance_m": truth.baseline_m}
        known = solve_wand(tracks, lenses, **scale)
        rows.append(row(f"{name}, board's lenses", known.rig, truth, wand_verdict(known), 1e3 * known.offset_s))
        focal = solve_wand(tracks, off_by(lenses, 0.06), focal=True, **scale)
        rows.append(row(f"{name}, --focal", focal.rig, truth, wand_verdict(focal, focal_asked=True), 1e3 * focal.offset_s))
        if name == "two":
            plain = solve_wand(tracks, guessed(60.0), assumed_lens=True, **scale)
            rows.append(row(f"{name}, --fov 60", plain.rig, truth, wand_verdict(plain, assumed_lens=True), 1e3 * plain.offset_s))
            both = solve_wand(tracks, guessed(64.0), assumed_lens=True, focal=True, **scale)
            verdict = wand_verdict(both, assumed_lens=True, focal_asked=True)
            rows.append(row(f"{name}, --fov 64 --focal", both.rig, truth, verdict, 1e3 * both.offset_s))
        if name == "two, 8 ms apart":
            blind = solve_wand(tracks, lenses, synchronised=True, **scale)
            rows.append(row(f"{name}, --synchronised", blind.rig, truth, wand_verdict(blind), 0.0))
    return rows


def row(name: str, rig: Rig, truth: Rig, verdict: Verdict | None, offset_ms: float = float("nan")) -> Row:
    """Give a line of the table."""
    return {"name": name, **errors(rig, truth), "offset_ms": offset_ms, "verdict": "" if verdict is None else verdict.grade.word}


def show(rows: list[Row], say: Callable[[str], None] = print) -> None:
    """Print a table."""
    keys = [key for key in rows[0] if key not in ("name", "verdict")]
    say(f"{'':<34}" + "".join(f"{key:>18}" for key in keys) + "  verdict")
    for line in rows:
        say(f"{line['name']:<34}" + "".join(f"{float(line[key]):18.4f}" for key in keys) + f"  {line['verdict']}")


def main() -> None:
    """Print it all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--views", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    truth, results = wand_rig(), []
    for seed in range(args.seeds):
        board = by_board(truth, args.views, seed)
        rows = [row("board", board, truth, None), *wands(truth, board.cameras, args.seconds, seed)]
        print(f"seed {seed}")
        show(rows)
        results.append(rows)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
