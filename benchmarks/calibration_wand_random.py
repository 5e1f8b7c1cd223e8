"""A wand's verdict over random rigs: how wrong the world is, and whether it ever passes when it should not.

    python -m benchmarks.calibration_wand_random [--rigs 12] [--json F]

Baselines of 0.3 to 3 m, 45 to 80 degrees, some cameras on their side, 0.05 to 0.5 px of noise, stamps up to 20 ms late,
reflections, lost markers, wands of 25 to 80 cm, 20 to 60 s. Bright spots are made, not rendered. Each rig with its true lenses,
with focal lengths 2 to 6 % wrong, and with those and --focal; with a wand of two and one marker. World: places as shares of their
distance, with the whole world moved so that it fits best. Wrong passes: of a world that is off by more than 2 %.
"""

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig
from calibration.placement import place_rig
from calibration.triangulate import triangulate
from calibration.wand_solve import solve_wand
from calibration.wand_tracks import wand_tracks
from calibration.wand_verdict import wand_verdict
from config.errors import CalibrationError
from database.rigid import rigid_fit
from database.rotations import matrix_from_rotvec
from tests.wand_scenes import SIZE, Wave, both_sightings, in_view

WRONG = 0.02
KINDS = {"true lenses": (False, False), "wrong lenses": (True, False), "wrong lenses, --focal": (True, True)}


def random_rig(rng: np.random.Generator) -> Rig:
    """Give a rig that looks at the middle of the volume."""
    b, d, fov = np.exp(rng.uniform(np.log(0.3), np.log(3.0))), rng.uniform(2.2, 4.5), rng.uniform(45.0, 80.0)
    places = [(sign * b / 2.0, rng.uniform(0.6, 1.8), d + rng.uniform(-0.3, 0.3)) for sign in (-1.0, 1.0)]
    rig = place_rig(SIZE, fov, places[0], places[1], (rng.uniform(-0.2, 0.2), 1.0, 0.0))
    if rng.random() > 0.3:
        return rig
    return Rig(rolled(rig.left, rng.uniform(-0.3, 0.3)), rolled(rig.right, float(rng.choice([-1.57, 0.5, -0.4]))))


def rolled(camera: Camera, angle_rad: float) -> Camera:
    """Give a camera turned about its axis."""
    R = matrix_from_rotvec([0.0, 0.0, angle_rad]) @ camera.rotation
    return replace(camera, rotation=R, translation=-R @ camera.center_m)


def longer(camera: Camera, factor: float) -> Camera:
    """Give a camera of another focal length."""
    matrix = camera.matrix.copy()
    matrix[0, 0] *= factor
    matrix[1, 1] *= factor
    return replace(camera, matrix=matrix)


def world_error(rig: Rig, truth: Rig, path: Wave) -> float:
    """Give the typical error of the places that both cameras see."""
    at = path.at(np.linspace(0.0, 20.0, 150)).reshape(-1, 3)
    at = at[in_view(truth.left, at) & in_view(truth.right, at)]
    found, _ = triangulate(rig, truth.left.project(at), truth.right.project(at))
    R, t = rigid_fit(found, at)
    off = np.linalg.norm(found @ R.T + t - at, axis=1) / np.linalg.norm(at - truth.left.center_m, axis=1)
    return float(np.sqrt(np.mean(off**2)))


def solved(seed: int, n_markers: int, wrong: bool, focal: bool) -> tuple[str, float, float]:
    """Give verdict, error of the world and what was said of it."""
    rng = np.random.default_rng((seed, 41))
    truth, path = random_rig(rng), Wave(float(rng.choice([0.25, 0.5, 0.8])), n_markers, pace=rng.uniform(0.5, 1.5), seed=seed)
    factor = 1.0 + float(rng.choice([-1.0, 1.0])) * rng.uniform(0.02, 0.06) if wrong else 1.0
    how = {"noise_px": float(np.exp(rng.uniform(np.log(0.05), np.log(0.5)))), "lost": rng.uniform(0.0, 0.15), "seed": seed}
    sightings = both_sightings(truth, path, rng.uniform(20.0, 60.0), late_s=rng.uniform(-0.02, 0.02), **how)
    lenses = (longer(truth.left, factor), longer(truth.right, factor))
    scale = {"length_m": path.length_m} if n_markers == 2 else {"distance_m": truth.baseline_m}
    try:
        solution = solve_wand(wand_tracks(sightings, n_markers), lenses, focal=focal, **scale)
    except CalibrationError:
        return "error", float("nan"), float("nan")
    verdict = wand_verdict(solution, focal_asked=focal)
    return verdict.grade.word, world_error(solution.rig, truth, path), solution.world_sigma


def main() -> None:
    """Print it all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rigs", type=int, default=12)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = {}
    for n_markers in (2, 1):
        for kind, (wrong, focal) in KINDS.items():
            rows = [solved(seed, n_markers, wrong, focal) for seed in range(args.rigs)]
            off = np.array([error for _, error, _ in rows])
            verdicts = dict(Counter(word for word, _, _ in rows))
            passes = sum(word == "pass" and error > WRONG for word, error, _ in rows)
            print(
                f"{n_markers} {kind:<22} world {100 * np.nanmedian(off):6.3f} % median, {100 * np.nanmax(off):6.3f} % worst; "
                f"{verdicts}; wrong passes {passes}"
            )
            results[f"{n_markers} {kind}"] = rows
    if args.json:
        args.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
