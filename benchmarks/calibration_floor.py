"""Floors against the truth: boards in random places, walks with markers nobody has named, and a real walk against itself.

python -m benchmarks.calibration_floor [--boards N] [--motion DIR] [--real DIR] [--noise PX] [--json F]

Boards: a 9x6 board of 30 mm squares on the floor before random pairs of webcams, 0.2 px of noise, seen by both or by one.
Walks: the built-in motions, and with --motion real ones of a folder of AMC files; feet's markers as high as they truly are
(told) or as sets have them (nominal). --real: a folder with left.avi, right.avi, timestamps.csv, rig.toml and markers.toml.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from calibration.board import board_from_text
from calibration.camera import Rig
from calibration.floor import Floor, floored
from calibration.floor_board import floor_from_board
from calibration.floor_dwell import Moment
from calibration.floor_feet import FootHeights, heights_of_set
from calibration.floor_verdict import floor_verdict
from calibration.floor_walk import floor_from_walk
from calibration.placement import all_in_view, intrinsics_from_fov, looking_at
from calibration.rig_toml import read_rig
from calibration.triangulate import triangulate
from calibration.views import BoardView, ViewPair
from capture.recording import Recording, RecordingSpec
from capture.simulated_performer import Performer, performer_from_scene
from capture.simulated_scene import SimulatedScene
from config.errors import DuocapError
from config.markers import read_marker_set
from config.settings import Settings
from database.builtin import body
from database.rotations import Floats, matrix_from_rotvec
from tools.calibrate_floor_sources import Window, walk_moments

BOARD = board_from_text("9x6:30")
BOARD_NOISE_PX, N_VIEWS = 0.2, 5
LENS = np.array([-0.11, 0.06, 0.0004, -0.0003, 0.0])
MOTIONS = ("walk", "run", "demo")
REAL_MOTIONS = ("07/07_08", "16/16_15", "35/35_14", "09/09_09", "02/02_05", "05/05_18")
SETS = ("dark_room", "locomotion")
HALVES_S = ((8.5, 30.0), (8.5, 19.0), (19.0, 30.0), (8.5, 15.0), (15.0, 21.5), (21.5, 30.0))
UP = np.array([0.0, 1.0, 0.0])


def random_rig(rng: np.random.Generator) -> Rig:
    """Give two webcams 0.4 to 1.6 m apart, 0.6 to 2.2 m high, that look at the floor 1.5 to 3.5 m off."""
    matrix = intrinsics_from_fov((640, 480), float(rng.uniform(50.0, 70.0)))
    distance, half = rng.uniform(1.5, 3.5), 0.5 * rng.uniform(0.4, 1.6)
    places = [(side * half, rng.uniform(0.6, 2.2), distance + rng.uniform(-0.2, 0.2)) for side in (-1.0, 1.0)]
    cameras = [looking_at(name, (640, 480), matrix, at, (0.0, 0.3, 0.0), LENS) for name, at in zip("lr", places, strict=True)]
    return Rig(cameras[0], cameras[1])


def board_pairs(rig: Rig, rng: np.random.Generator) -> list[ViewPair] | None:
    """Give what both see of a board in a random place on the floor; None where it is not in view."""
    turn, at = rng.uniform(-np.pi, np.pi), np.array([rng.uniform(-0.4, 0.4), 0.0, rng.uniform(-0.6, 0.6)])
    R = matrix_from_rotvec(np.array([0.0, turn, 0.0])) @ matrix_from_rotvec(np.array([np.pi / 2, 0.0, 0.0]))
    corners = BOARD.points_m @ R.T + at
    if not all_in_view(rig, corners, 5.0):
        return None
    seen = np.ones(len(BOARD), bool)

    def view(px: Floats) -> BoardView:
        return BoardView(px + rng.normal(0.0, BOARD_NOISE_PX, px.shape), seen)

    return [ViewPair(view(rig.left.project(corners)), view(rig.right.project(corners))) for _ in range(N_VIEWS)]


def of_boards(count: int) -> dict[str, object]:
    """Measure boards."""
    rng = np.random.default_rng(1)
    found: dict[str, list[tuple[float, float, float, float, int]]] = {"both": [], "one": []}
    while len(found["both"]) < count:
        rig = random_rig(rng)
        pairs = board_pairs(rig, rng)
        if pairs is None:
            continue
        for name, seen in (("both", pairs), ("one", [ViewPair(pair.left, None) for pair in pairs])):
            floor = floor_from_board(rig, BOARD, seen)
            tilt, height = tilt_deg(floor.up), 1e3 * abs(float(floor.origin_m[1]))
            ratios = np.radians(tilt) / floor.tilt_sigma_rad, 1e-3 * height / floor.height_sigma_m
            found[name].append((tilt, height, *ratios, int(floor_verdict(rig, floor).grade)))
    result: dict[str, object] = {}
    for name, rows in found.items():
        table = np.array(rows)
        tilt, height = ((float(np.median(table[:, k])), float(table[:, k].max())) for k in range(2))
        off = int(((table[:, 0] > 2.0) | (table[:, 1] > 30.0)).sum())
        print(
            f"boards, {name:4} camera(s): tilt median {tilt[0]:.3f} worst {tilt[1]:.2f} degrees, height median {height[0]:.2f} "
            f"worst {height[1]:.1f} mm; off by more than 2 degrees or 30 mm {off} of {count}; "
            f"height error / sigma, RMS {np.sqrt(np.mean(table[:, 3] ** 2)):.2f}"
        )
        result[name] = {"tilt_deg": tilt, "height_mm": height, "off": off}
    return result


def tilt_deg(up: Floats, true: Floats = UP) -> float:
    """Give the angle between two normals [degrees]."""
    return float(np.degrees(np.arccos(np.clip(up @ true, -1.0, 1.0))))


def seen_walk(performer: Performer, noise_px: float, seed: int = 0) -> list[Moment]:
    """Give what the cameras make of a performer's markers, 30 times a second."""
    rng, rig = np.random.default_rng(seed), performer.rig
    t = np.arange(0.0, performer.duration_s, 1.0 / 30.0)
    moments = []
    for seconds, at in zip(t, performer.markers_of(*performer.joints_at(t)), strict=True):
        left, right = (camera.project(at) + rng.normal(0.0, noise_px, (len(at), 2)) for camera in rig.cameras)
        moments.append(Moment(float(seconds), *triangulate(rig, left, right, noise_px, noise_px)))
    return moments


def true_heights(performer: Performer) -> FootHeights:
    """Give how high the markers of the feet are in the T-pose."""
    names = performer.markers.names
    at = performer.markers_of(*performer.joints_at(np.array([0.5])))[0]
    groups = [[k for k, name in enumerate(names) if word in name] for word in ("toe", "ankle", "foot")]
    known = sorted((float(at[group, 1].mean()), "/".join(names[k] for k in group)) for group in groups if group)
    return FootHeights(np.array([height for height, _ in known]), tuple(name for _, name in known), 0.004, True)


def scenes(motion: Path | None) -> Iterator[SimulatedScene]:
    """Give the walks."""
    names = [*MOTIONS, *(str(file) for name in REAL_MOTIONS if motion and (file := motion / f"{name}.amc").exists())]
    for name in names:
        for markers in SETS:
            yield SimulatedScene(motion=name, markers=markers, fps=30.0, tpose_s=1.5, seconds=12.0)


def of_walks(motion: Path | None, noise_px: float) -> list[dict[str, object]]:
    """Measure walks."""
    results = []
    for scene in scenes(motion):
        performer = performer_from_scene(scene)
        moments = seen_walk(performer, noise_px)
        for how, heights in (("told", true_heights(performer)), ("nominal", heights_of_set(performer.markers, body(1.75)))):
            line = f"{Path(scene.motion).stem:6} {scene.markers:10} {how:8}"
            try:
                floor = floor_from_walk(performer.rig, moments, heights)
            except DuocapError as error:
                print(f"{line} no floor: {str(error)[:70]}")
                continue
            row = {"height_mm": 1e3 * float(floor.origin_m[1]), "tilt_deg": tilt_deg(floor.up)}
            grade = floor_verdict(performer.rig, floor).grade.word
            said = f"said: {1e3 * floor.height_sigma_m:4.1f} mm, {np.degrees(floor.tilt_sigma_rad):.2f}"
            seen = f"{floor.figures['contacts']:3.0f} stays, {floor.figures['standing_percent']:.0f}% standing"
            print(
                f"{line} height {row['height_mm']:6.1f} mm, tilt {row['tilt_deg']:5.2f} degrees ({said}), {seen}, "
                f"{performer.distance_m:.1f} m off: {grade}"
            )
            results.append({"motion": scene.motion, "markers": scene.markers, "heights": how, "verdict": grade, **row})
    return results


def of_real(folder: Path) -> None:
    """Compare the floors of parts of a real walk with that of the whole."""
    rig, worn = read_rig(folder / "rig.toml"), read_marker_set(folder / "markers.toml")
    spec = RecordingSpec(str(folder / "left.avi"), str(folder / "right.avi"), folder / "timestamps.csv")
    moments = walk_moments(Recording(spec, Settings().detector, worn), rig, Settings(), Window(), lambda done, total: None)
    heights = heights_of_set(worn, body(1.75))
    whole = floor_from_walk(rig, moments, heights)
    start = moments[0].t_s
    print(f"real walk, whole: {_described(rig, whole)}")
    for first, last in HALVES_S:
        part = floor_from_walk(rig, [moment for moment in moments if first <= moment.t_s - start <= last], heights)
        off = 1e3 * float(part.up @ (whole.origin_m - part.origin_m))
        tilt = tilt_deg(part.up, whole.up)
        print(f"  {first:4.1f} to {last:4.1f} s: {tilt:.2f} degrees and {off:5.1f} mm off it; {_described(rig, part)}")


def _described(rig: Rig, floor: Floor) -> str:
    """Say what is plausible or not."""
    world = floored(rig, replace(floor))
    cameras = " and ".join(f"{camera.center_m[1]:.2f}" for camera in world.cameras)
    return (
        f"cameras {cameras} m high, highest marker {floor.figures['highest_m']:.2f} m, {floor.figures['contacts']:.0f} stays, "
        f"{floor.notes[1].split(': ')[1]}"
    )


def main(words: Sequence[str] | None = None) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=50)
    parser.add_argument("--motion", type=Path)
    parser.add_argument("--real", type=Path)
    parser.add_argument("--noise", type=float, default=0.3)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(words)
    result = {"boards": of_boards(chosen.boards), "walks": of_walks(chosen.motion, chosen.noise)}
    if chosen.real:
        of_real(chosen.real)
    if chosen.json:
        chosen.json.write_text(json.dumps(result, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
