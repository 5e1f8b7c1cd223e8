"""A wand's solution on real markers: a performer's, taken one by one for a wand of one marker, against the board's rig.

    python -m benchmarks.calibration_wand_real FOLDER [--json F]

FOLDER holds left.avi, right.avi, timestamps.csv and rig.toml of a board. The markers are detected as live, followed in each
camera, and matched across both with the board's rig, which says which is which and nothing else. Their courses laid end to end
are the wand; its scale is the board's baseline. Even markers give a rig, the epipolar error is that of the odd ones, with either
rig; then the other way round. What the world is like is told by the steadiest pairs of markers, such as on one shin: how much
longer they are far away than near. The board's rig has an error of its own, and the cameras were read one after the other.
"""

import argparse
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np

from calibration.camera import Rig
from calibration.epipolar import fundamental_matrix, ideal_pixels
from calibration.rig_file import read_rig
from calibration.triangulate import triangulate
from calibration.wand import WandSolution, WandTrack, WandViews
from calibration.wand_solve import solve_wand
from calibration.wand_tracks import views_at
from calibration.wand_verdict import wand_verdict
from capture.matching import match
from capture.packets import Blobs, Floats, PairedBlobs
from capture.recording import Recording, RecordingSpec
from capture.tracks import Tracks
from config.markers import read_marker_set
from config.settings import Settings
from database.rotations import geodesic_rad

APART_S = 1000.0  # between two markers' courses
LEAST_FRAMES = 60


def courses(folder: Path, rig: Rig) -> list[tuple[WandTrack, WandTrack]]:
    """Give the course of every marker in both cameras, longest first."""
    settings, markers = Settings(), read_marker_set(folder / "markers.toml")
    spec = RecordingSpec(str(folder / "left.avi"), str(folder / "right.avi"), folder / "timestamps.csv")
    tracks, votes = (Tracks(), Tracks()), Counter[tuple[int, int]]()
    seen: tuple[dict[int, list[tuple[float, Floats]]], ...] = ({}, {})
    for pair, _, _ in Recording(spec, settings.detector, markers).pairs():
        numbers = [follow(tracks[side], view, seen[side]) for side, view in enumerate((pair.left, pair.right))]
        points = match(PairedBlobs(pair.left, pair.right), rig, settings.match, None)
        votes.update(zip(numbers[0][points.left], numbers[1][points.right], strict=True))
    found, taken = [], (set[int](), set[int]())
    for (left, right), count in votes.most_common():
        if count < LEAST_FRAMES or left in taken[0] or right in taken[1]:
            continue
        taken[0].add(left)
        taken[1].add(right)
        found.append((track_of(seen[0][left]), track_of(seen[1][right])))
    return found


def follow(tracks: Tracks, view: Blobs, seen: dict[int, list[tuple[float, Floats]]]) -> Floats:
    """Note every blob under the number of its track, and give these."""
    numbers = tracks.step(view).track
    for number, px in zip(numbers, view.points_px, strict=True):
        seen.setdefault(int(number), []).append((view.t_capture_ns * 1e-9, px))
    return numbers


def track_of(rows: list[tuple[float, Floats]]) -> WandTrack:
    """Give a marker's course as that of a wand of one marker."""
    t_s = np.array([t for t, _ in rows])
    run = np.r_[0, np.cumsum(np.diff(t_s) > 0.06)]
    return WandTrack(t_s, np.array([px for _, px in rows])[:, None], run)


def end_to_end(tracks: list[WandTrack]) -> WandTrack:
    """Lay courses one after the other, so that they are one marker's."""
    t_s = np.concatenate([track.t_s + APART_S * k for k, track in enumerate(tracks)])
    run = np.concatenate([track.run + 1000 * k for k, track in enumerate(tracks)])
    return WandTrack(t_s, np.concatenate([track.points_px for track in tracks]), run)


def epipolar_px(rig: Rig, views: WandViews) -> Floats:
    """Give the mean distance of both points of every pair from the other's line, (N,) [px]."""
    F = fundamental_matrix(rig)
    left, right = (ideal_pixels(camera, px.reshape(-1, 2)) for camera, px in zip(rig.cameras, views.points_px, strict=True))
    to_right, to_left = left @ F.T, right @ F
    algebraic = np.abs((to_right * right).sum(axis=1))
    return np.asarray(
        0.5 * (algebraic / np.hypot(to_right[:, 0], to_right[:, 1]) + algebraic / np.hypot(to_left[:, 0], to_left[:, 1]))
    )


def bent(rig: Rig, found: list[tuple[WandTrack, WandTrack]], offset_s: float) -> float:
    """Give how many times as long the steadiest pairs of markers are far away as near, the median of five pairs."""
    places = []
    for left, right in found:
        views = views_at(left, right, offset_s)
        points, _ = triangulate(rig, views.points_px[0, :, 0], views.points_px[1, :, 0])
        places.append(dict(zip(views.t_s.round(4), rig.left.to_camera(points), strict=True)))
    pairs = []
    for a, b in itertools.combinations(places, 2):
        shared = sorted(set(a) & set(b))
        length = np.array([np.linalg.norm(a[t] - b[t]) for t in shared])
        depth = np.array([a[t][2] for t in shared])
        near, far = depth < np.quantile(depth, 0.2), depth > np.quantile(depth, 0.8)
        ratio = float(np.median(length[far]) / np.median(length[near]))
        spread = np.std(length[near]) / np.mean(length[near]) + np.std(length[far]) / np.mean(length[far])
        pairs.append((float(spread), ratio))
    return float(np.median([ratio for _, ratio in sorted(pairs)[:5]]))


def report(name: str, solution: WandSolution, board: Rig, held_out: list[tuple[WandTrack, WandTrack]]) -> dict[str, float]:
    """Print how a solution compares with the board's rig, and give the figures."""
    left, right = (end_to_end([pair[side] for pair in held_out]) for side in (0, 1))
    views = views_at(left, right, solution.offset_s)
    as_stamped = views_at(left, right, 0.0)
    turn = board.right.rotation @ board.left.rotation.T
    now, before = solution.rig.right.translation, board.right.translation - turn @ board.left.translation
    cosine = float(now @ before / (np.linalg.norm(now) * np.linalg.norm(before)))
    figures = {
        "observations": float(solution.n_shared),
        "noise_px": solution.sigma_px,
        "offset_ms": 1e3 * solution.offset_s,
        "offset_sigma_ms": 1e3 * solution.offset_sigma_s,
        "turn_deg": float(np.degrees(geodesic_rad(solution.rig.right.rotation, turn))),
        "turn_sigma_deg": float(np.degrees(np.sqrt(np.trace(solution.relative_covariance[:3, :3])))),
        "direction_deg": float(np.degrees(np.arccos(min(cosine, 1.0)))),
        "held_out_wand_px": float(np.median(epipolar_px(solution.rig, views))),
        "held_out_board_px": float(np.median(epipolar_px(board, views))),
        "held_out_board_as_stamped_px": float(np.median(epipolar_px(board, as_stamped))),
    }
    figures |= {"bent_wand": bent(solution.rig, held_out, solution.offset_s), "bent_board": bent(board, held_out, 0.0)}
    verdict = wand_verdict(solution)
    figures["world_sigma_percent"] = verdict.figures["world_sigma_percent"]
    print(name, verdict.grade.word)
    for key, value in figures.items():
        print(f"  {key:<28} {value:8.3f}")
    return figures


def main() -> None:
    """Print it all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    board = read_rig(args.folder / "rig.toml")
    found = courses(args.folder, board)
    print(f"{len(found)} courses of markers, {sum(len(left.t_s) for left, _ in found)} places")
    results = {}
    for name, fitted, held in (("even", found[::2], found[1::2]), ("odd", found[1::2], found[::2]), ("all", found, found)):
        wand = tuple(end_to_end([pair[side] for pair in fitted]) for side in (0, 1))
        solution = solve_wand((wand[0], wand[1]), board.cameras, distance_m=board.baseline_m)
        results[name] = report(name, solution, board, held)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
