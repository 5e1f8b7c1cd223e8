"""Floors against the truth: boards in random positions, and walks with unlabelled markers.

    python -m benchmarks.calibration.floor [--boards N] [--motion DIR] [--noise PX] [--json F]

Boards: a 9x6 board of 30 mm squares on the floor before random pairs of webcams, 0.2 px of noise, seen by both or by one.
Walks: the built-in motions, with --motion also real ones from a folder of AMC files; heights of the feet's markers as they truly
are (told) or as marker sets have them (nominal).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.report import parser_of, write_json
from calibration.board.pattern import board_from_text
from calibration.board.views import BoardView, ViewPair
from calibration.camera import Rig
from calibration.floor.board import floor_from_board
from calibration.floor.dwell import PointFrame
from calibration.floor.feet import FootHeights, heights_of_set
from calibration.floor.quality import floor_report
from calibration.floor.walk import floor_from_walk
from calibration.placement import all_in_view, intrinsics_from_fov, looking_at
from calibration.triangulate import triangulate
from capture.sources.simulated.performer import Performer, performer_from_scene
from capture.sources.simulated.scene import SimulatedScene
from config.arrays import Floats
from config.errors import DuocapError
from database.builtin import body
from database.geometry.rotations import matrix_from_rotvec

BOARD = board_from_text("9x6:30")
BOARD_NOISE_PX, N_VIEWS = 0.2, 5
LENS = np.array([-0.11, 0.06, 0.0004, -0.0003, 0.0])
MOTIONS = ("walk", "run", "demo")
REAL_MOTIONS = ("07/07_08", "16/16_15", "35/35_14", "09/09_09", "02/02_05", "05/05_18")
SETS = ("dark_room", "locomotion")
UP = np.array([0.0, 1.0, 0.0])


def random_rig(rng: np.random.Generator) -> Rig:
    """Return two webcams 0.4 to 1.6 m apart, 0.6 to 2.2 m high, that look at the floor 1.5 to 3.5 m away."""
    matrix = intrinsics_from_fov((640, 480), float(rng.uniform(50.0, 70.0)))
    distance, half = rng.uniform(1.5, 3.5), 0.5 * rng.uniform(0.4, 1.6)
    centers = [(side * half, rng.uniform(0.6, 2.2), distance + rng.uniform(-0.2, 0.2)) for side in (-1.0, 1.0)]
    cameras = [looking_at(name, (640, 480), matrix, at, (0.0, 0.3, 0.0), LENS) for name, at in zip("lr", centers, strict=True)]
    return Rig(cameras[0], cameras[1])


def board_pairs(rig: Rig, rng: np.random.Generator) -> list[ViewPair] | None:
    """Return both cameras' views of a board in a random position on the floor; None where it is not in view."""
    angle, at = rng.uniform(-np.pi, np.pi), np.array([rng.uniform(-0.4, 0.4), 0.0, rng.uniform(-0.6, 0.6)])
    R = matrix_from_rotvec(np.array([0.0, angle, 0.0])) @ matrix_from_rotvec(np.array([np.pi / 2, 0.0, 0.0]))
    corners = BOARD.points_m @ R.T + at
    if not all_in_view(rig, corners, 5.0):
        return None
    seen = np.ones(len(BOARD), bool)

    def view(px: Floats) -> BoardView:
        return BoardView(px + rng.normal(0.0, BOARD_NOISE_PX, px.shape), seen)

    return [ViewPair(view(rig.left.project(corners)), view(rig.right.project(corners))) for _ in range(N_VIEWS)]


def tilt_deg(up: Floats) -> float:
    """Return the angle of a normal from the vertical [deg]."""
    return float(np.degrees(np.arccos(np.clip(up @ UP, -1.0, 1.0))))


def measure_boards(count: int) -> dict[str, object]:
    """Measure floors from boards."""
    rng = np.random.default_rng(1)
    found: dict[str, list[tuple[float, float, float]]] = {"both": [], "one": []}
    while len(found["both"]) < count:
        rig = random_rig(rng)
        pairs = board_pairs(rig, rng)
        if pairs is None:
            continue
        for name, seen in (("both", pairs), ("one", [ViewPair(pair.left, None) for pair in pairs])):
            floor = floor_from_board(rig, BOARD, seen)
            height_mm = 1e3 * abs(float(floor.origin_m[1]))
            found[name].append((tilt_deg(floor.up), height_mm, 1e-3 * height_mm / floor.height_sigma_m))
    result: dict[str, object] = {}
    for name, rows in found.items():
        tilt, height, ratio = np.array(rows).T
        wrong = int(((tilt > 2.0) | (height > 30.0)).sum())
        print(
            f"boards, {name:4} camera(s): tilt median {np.median(tilt):.3f} worst {tilt.max():.2f} degrees, height median "
            f"{np.median(height):.2f} worst {height.max():.1f} mm; off by more than 2 degrees or 30 mm {wrong} of {count}; "
            f"height error / sigma, RMS {np.sqrt(np.mean(ratio**2)):.2f}"
        )
        result[name] = {"tilt_deg": tilt, "height_mm": height, "off": wrong}
    return result


def seen_walk(performer: Performer, noise_px: float) -> list[PointFrame]:
    """Return the triangulated markers of a performer, 30 times a second."""
    rng, rig = np.random.default_rng(0), performer.rig
    t = np.arange(0.0, performer.duration_s, 1.0 / 30.0)
    frames = []
    for seconds, at in zip(t, performer.markers_of(*performer.joints_at(t)), strict=True):
        left, right = (camera.project(at) + rng.normal(0.0, noise_px, (len(at), 2)) for camera in rig.cameras)
        frames.append(PointFrame(float(seconds), *triangulate(rig, left, right, noise_px, noise_px)))
    return frames


def true_heights(performer: Performer) -> FootHeights:
    """Return the true heights of the feet's markers in the T-pose."""
    names = performer.markers.names
    at = performer.markers_of(*performer.joints_at(np.array([0.5])))[0]
    groups = [[k for k, name in enumerate(names) if part in name] for part in ("toe", "ankle", "foot")]
    known = sorted((float(at[group, 1].mean()), "/".join(names[k] for k in group)) for group in groups if group)
    return FootHeights(np.array([height for height, _ in known]), tuple(name for _, name in known), 0.004, True)


def scenes(motion: Path | None) -> Iterator[SimulatedScene]:
    """Yield the walks."""
    names = [*MOTIONS, *(str(file) for name in REAL_MOTIONS if motion and (file := motion / f"{name}.amc").exists())]
    for name in names:
        for markers in SETS:
            yield SimulatedScene(motion=name, markers=markers, fps=30.0, tpose_s=1.5, seconds=12.0)


def measure_walks(motion: Path | None, noise_px: float) -> list[dict[str, object]]:
    """Measure floors from walks."""
    results = []
    for scene in scenes(motion):
        performer = performer_from_scene(scene)
        frames = seen_walk(performer, noise_px)
        for how, heights in (("told", true_heights(performer)), ("nominal", heights_of_set(performer.markers, body(1.75)))):
            line = f"{Path(scene.motion).stem:6} {scene.markers:10} {how:8}"
            try:
                floor = floor_from_walk(performer.rig, frames, heights)
            except DuocapError as error:
                print(f"{line} no floor: {str(error)[:70]}")
                continue
            height_mm, tilt = 1e3 * float(floor.origin_m[1]), tilt_deg(floor.up)
            grade = floor_report(performer.rig, floor).grade.word
            print(
                f"{line} height {height_mm:6.1f} mm, tilt {tilt:5.2f} degrees (said: {1e3 * floor.height_sigma_m:4.1f} mm, "
                f"{np.degrees(floor.tilt_sigma_rad):.2f}), {floor.figures['contacts']:3.0f} stays, {performer.distance_m:.1f} m "
                f"off: {grade}"
            )
            about = {"motion": scene.motion, "markers": scene.markers, "heights": how, "verdict": grade}
            results.append({**about, "height_mm": height_mm, "tilt_deg": tilt})
    return results


def main(words: Sequence[str] | None = None) -> None:
    """Run what was asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--boards", type=int, default=50)
    parser.add_argument("--motion", type=Path)
    parser.add_argument("--noise", type=float, default=0.3)
    given = parser.parse_args(words)
    write_json(given.json, {"boards": measure_boards(given.boards), "walks": measure_walks(given.motion, given.noise)})


if __name__ == "__main__":
    main()
