"""Calibrations with known truth: errors against the Cramer-Rao bound, and how often the verdict was wrong.

    python -m benchmarks.calibration_synthetic [--n 200] [--first 0] [--seed 6] [--only ADVERSITY] [--json F]

Random rigs (baseline 0.1 to 2 m, focal length 500 to 1500 px, toed in more or less), 6 to 40 views of a 9x6 board, noise of 0.05
to 0.5 px; half of the scenes have nothing wrong, the others one of: poor coverage, a bent board, motion between unsynchronised
cameras, outliers and views whose corners are in reverse order, a strong lens with all five coefficients, a camera moved half
way, few views. Errors are divided by the sigma that the Cramer-Rao bound at the truth allows; their RMS over scenes without
adversity is 1 for a solver that wastes nothing. The world is off by the largest relative error of a distance between points in
the performer's room, at least a third of it apart, for the cameras as they stand after the calibration.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.calibration_scene import ADVERSITIES, Scene, random_scene
from benchmarks.calibration_truth import at_truth
from calibration.camera import Rig
from calibration.depth import volume_points_m
from calibration.rig_evidence import covariance_of, evidence_of
from calibration.rig_verdict import rig_verdict
from calibration.solve_rig import solve_rig
from calibration.verdict import Grade
from calibration.world_error import N_LENS, world_off
from config.errors import CalibrationError
from database.rotations import rotvec_from_matrix

NUMBERS = ("left focal", "right focal", "baseline", "rotation")
OFF = 0.02


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a scene: grade, or refused; how far the world is off and may be by the verdict's own account [%]; errors of
    NUMBERS, in px, px, mm, degrees, and in sigmas of the bound; whether only shallow depth kept it from a pass."""

    scene: str
    adversity: str
    grade: str
    off_percent: float
    told_percent: float
    errors: dict[str, float] = field(default_factory=dict)
    by_bound: dict[str, float] = field(default_factory=dict)
    shallow_only: bool = False
    seconds: float = 0.0
    words: str = ""


def row_of(scene: Scene) -> Row:
    """Calibrate a scene and judge the verdict."""
    began = time.perf_counter()
    try:
        solution = solve_rig(scene.board, scene.pairs, (scene.truth.left.size, scene.truth.right.size))
    except CalibrationError as error:
        return Row(scene.name, scene.adversity, "refused", float("nan"), float("nan"), words=str(error))
    verdict = rig_verdict(solution)
    seconds = time.perf_counter() - began
    off = 100.0 * world_off(scene.performing, solution.rig, volume_points_m(scene.performing, verdict.figures["distance_m"]))
    errors, sigmas = _errors(scene, solution.rig), _bounds(scene)
    bad = [finding for finding in verdict.findings if finding.grade is not Grade.PASS]
    return Row(
        scene.name,
        scene.adversity,
        verdict.grade.word,
        off,
        verdict.figures.get("world_off_percent", float("nan")),
        errors,
        {name: errors[name] / sigmas[name] for name in NUMBERS},
        len(bad) == 1 and bad[0].text.startswith("at "),
        seconds,
        bad[0].text if bad else "",
    )


def _errors(scene: Scene, rig: Rig) -> dict[str, float]:
    """Give the errors of NUMBERS."""
    truth = scene.truth
    turn = rotvec_from_matrix(rig.right.rotation @ rig.left.rotation.T @ truth.left.rotation @ truth.right.rotation.T)
    return {
        "left focal": rig.left.focal_px - truth.left.focal_px,
        "right focal": rig.right.focal_px - truth.right.focal_px,
        "baseline": 1e3 * (rig.baseline_m - truth.baseline_m),
        "rotation": float(np.degrees(np.linalg.norm(turn))),
    }


def _bounds(scene: Scene) -> dict[str, float]:
    """Give the Cramer-Rao bounds of NUMBERS at the truth, the lens' own coefficients and square pixels known to be enough."""
    covariance = covariance_of(evidence_of(at_truth(scene)))
    focal = np.zeros((2, len(covariance)))
    for side in range(2):
        focal[side, side * N_LENS : side * N_LENS + 2] = 0.5
    t = scene.truth.right.translation
    along = np.zeros(len(covariance))
    along[2 * N_LENS + 3 : 2 * N_LENS + 6] = t / np.linalg.norm(t)
    turn = covariance[2 * N_LENS : 2 * N_LENS + 3, 2 * N_LENS : 2 * N_LENS + 3]
    return {
        "left focal": float(np.sqrt(focal[0] @ covariance @ focal[0])),
        "right focal": float(np.sqrt(focal[1] @ covariance @ focal[1])),
        "baseline": 1e3 * float(np.sqrt(along @ covariance @ along)),
        "rotation": float(np.degrees(np.sqrt(np.trace(turn)))),
    }


def report(rows: list[Row]) -> dict[str, float]:
    """Print the tables and give the figures."""
    figures: dict[str, float] = {}
    solved = [row for row in rows if row.grade != "refused"]
    clean = [row for row in solved if row.adversity == "none"]
    print(f"\n{len(rows)} scenes, {len(clean)} of them without adversity: error / Cramer-Rao sigma")
    print(f"{'':14s} {'RMS':>6s} {'median |e|':>12s} {'RMS e':>10s}")
    for name, unit in zip(NUMBERS, ("px", "px", "mm", "deg"), strict=True):
        ratios, errors = (np.array([getattr(row, kind)[name] for row in clean]) for kind in ("by_bound", "errors"))
        if not len(ratios):
            continue
        figures[f"{name} by bound"] = rms = float(np.sqrt((ratios**2).mean()))
        print(f"{name:14s} {rms:6.2f} {np.median(np.abs(errors)):9.3f} {unit:3s}{np.sqrt((errors**2).mean()):9.3f}")
    print(f"\n{'':14s} scenes  pass  poor  fail  refused  off > 2 %  of them passed")
    for adversity in (*ADVERSITIES, "all"):
        own = [row for row in rows if adversity in (row.adversity, "all")]
        if not own:
            continue
        counts = [sum(row.grade == grade for row in own) for grade in ("pass", "poor", "fail", "refused")]
        off = [row for row in own if row.off_percent > 100.0 * OFF]
        wrong = sum(row.grade == "pass" for row in off)
        graded = f"{counts[0]:6d}{counts[1]:6d}{counts[2]:6d}{counts[3]:9d}"
        print(f"{adversity:14s} {len(own):6d}{graded} {len(off):11d}{wrong:16d}")
        figures[f"{adversity} wrongly passed"] = wrong
    good = [row for row in solved if row.off_percent <= 100.0 * OFF]
    held = [row for row in good if row.grade != "pass"]
    shallow = sum(row.shallow_only for row in held)
    figures |= {"good": len(good), "good not passed": len(held), "good not passed for depth alone": shallow}
    figures["good failed"] = sum(row.grade == "fail" for row in good)
    print(f"\nworld within 2 %: {len(good)}; not passed: {len(held)}, {shallow} of them for shallow depth alone; ", end="")
    print(f"failed: {figures['good failed']:.0f}")
    shares = np.array([row.off_percent / row.told_percent for row in solved if np.isfinite(row.told_percent)])
    if len(shares):
        figures["off by told, worst"], figures["off by told, median"] = float(shares.max()), float(np.median(shares))
        print(f"off / told: median {np.median(shares):.2f}, 95th {np.percentile(shares, 95):.2f}, worst {shares.max():.2f}")
    print(f"seconds each: median {np.median([row.seconds for row in solved]):.1f} (other work ran beside)")
    return figures


def main() -> None:
    """Run the scenes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--only", choices=ADVERSITIES)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true", help="a line for each scene")
    given = parser.parse_args()
    rows = []
    for index in range(given.first, given.first + given.n):
        row = row_of(random_scene(index, given.seed, given.only))
        rows.append(row)
        if given.verbose:
            print(f"{index:4d} {row.adversity:13s} {row.grade:7s} off {row.off_percent:6.2f} %", end=" ")
            print(f"told {row.told_percent:6.2f} %", end=" ")
            print(" ".join(f"{value:6.2f}" for value in row.by_bound.values()), row.words[:60], flush=True)
    figures = report(rows)
    if given.json is not None:
        held = {"figures": figures, "rows": [asdict(row) for row in rows]}
        given.json.write_text(json.dumps(held, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
