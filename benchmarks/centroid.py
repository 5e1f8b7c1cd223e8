"""How well centres of markers are known: error on drawn markers by size, noise, saturation and compression, and against sigma.

    python -m benchmarks.centroid [--pictures 12] [--json F]

Markers of 3 to 15 px at random sub-pixel places, from dim to far beyond white (their middle clipped, a halo around them), at
a noise of 0 to 4 grey levels, raw and as JPEG (which halves the colours' resolution). Errors are RMS along one axis in pixels;
beside the detector the centre of the same pixels unweighted, and findContours + moments. error/sigma is the RMS of the error over
what the detector says of it: honest is 1.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks.centroid_scene import Shot, picture
from capture.detector import Detector
from capture.packets import Blobs, Frame
from config.settings import DetectorSettings

Floats = NDArray[np.float64]
DIAMETERS_PX = (3.0, 4.0, 6.0, 8.0, 11.0, 15.0)
NOISES = (0.0, 1.0, 2.0, 4.0)
LEVELS = (60.0, 120.0, 200.0, 300.0, 600.0, 1500.0)
QUALITIES = (None, 95, 80)
METHODS = ("ours", "unweighted", "contours")
REACH_PX = 3.0
GREEN = (0.2, 0.9, 0.25)


def peers(image: NDArray[np.uint8], threshold: float) -> dict[str, Floats]:
    """Give centres by the other methods, on the pixels brighter than the same threshold."""
    mask = (image.max(axis=2) > threshold).astype(np.uint8)
    centers = cv2.connectedComponentsWithStats(mask, connectivity=8)[3][1:]
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    moments = [m for m in map(cv2.moments, contours) if m["m00"] > 0.0]
    found = np.array([[m["m10"] / m["m00"], m["m01"] / m["m00"]] for m in moments]).reshape(-1, 2)
    return {"unweighted": np.asarray(centers, float), "contours": found}


def errors(found: Floats, centers: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Give the error vectors of what was found of the true centres, and which found ones these are."""
    if not len(found):
        return np.zeros((0, 2)), np.zeros(0, np.int64)
    distance = np.linalg.norm(centers[:, None] - found[None], axis=2)
    rows, columns = linear_sum_assignment(np.minimum(distance, REACH_PX))
    near = distance[rows, columns] < REACH_PX
    return found[columns[near]] - centers[rows[near]], columns[near]


def judged(shot: Shot, pictures: int, seed: int) -> dict[str, float]:
    """Give RMS error by method, the detector's bias, share found, and RMS of error over sigma."""
    random = np.random.default_rng(seed)
    colored = len(set(shot.color_bgr)) > 1
    colors = [[255 * c for c in shot.color_bgr[::-1]]] if colored else None
    detector = Detector(DetectorSettings(mode="background" if colored else "dark"), None, colors)
    off: dict[str, list[Floats]] = {name: [] for name in METHODS}
    normal: list[Floats] = []
    total = 0
    for index in range(pictures):
        image, centers = picture(shot, random)
        blobs: Blobs = detector.step(Frame(0, index, index * 33_333_333, image))
        total += len(centers)
        mine, which = errors(blobs.points_px, centers)
        off["ours"].append(mine)
        normal.append(mine / blobs.sigma_px[which, None])
        threshold = (
            (shot.background + 0.5 * (min(shot.level, 255.0) - shot.background))
            if detector.threshold is None
            else detector.threshold.pixel
        )
        for name, found in peers(image, threshold).items():
            off[name].append(errors(found, centers)[0])
    every = {name: np.concatenate(values) for name, values in off.items()}
    figures = {name: float(np.sqrt(np.mean(values**2))) if len(values) else float("nan") for name, values in every.items()}
    figures["found"] = len(every["ours"]) / total
    figures["sigma"] = float(np.sqrt(np.mean(np.concatenate(normal) ** 2))) if figures["found"] else float("nan")
    return figures


def table(title: str, shots: dict[str, list[Shot]], pictures: int, results: dict[str, object]) -> None:
    """Print a table: a line for each name, a column for each diameter."""
    print(f"\n{title}")
    print(f"{'':26s}" + "".join(f"{d:9g} px" for d in DIAMETERS_PX))
    for name, line in shots.items():
        figures = [judged(shot, pictures, 17 * k) for k, shot in enumerate(line)]
        for key in (*METHODS, "sigma"):
            label = f"{name}, {key}" if key != "sigma" else f"{name}, error/sigma"
            cells = "".join(
                f"{f[key]:9.3f}{'  ' if f['found'] > 0.99 else ' *'} " if key == "ours" else f"{f[key]:9.3f}   " for f in figures
            )
            print(f"{label:26s}{cells}")
        results[f"{title}: {name}"] = figures


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, object] = {}
    print("RMS error along one axis [px] by diameter; *: not all markers found")
    base = Shot(6.0, 200.0, 2.0)

    def sized(shot: Shot) -> list[Shot]:
        return [replace(shot, diameter_px=d) for d in DIAMETERS_PX]

    n = arguments.pictures
    table("noise, level 200, raw", {f"{x:g} levels": sized(replace(base, noise=x)) for x in NOISES}, n, results)
    table("brightness, noise 2, raw", {f"level {x:g}": sized(replace(base, level=x)) for x in LEVELS}, n, results)
    for quality in QUALITIES[1:]:
        shots = {f"level {x:g}": sized(replace(base, level=x, jpeg=quality)) for x in LEVELS}
        table(f"brightness, noise 2, JPEG {quality}", shots, n, results)
    lit = replace(base, color_bgr=GREEN, background=110.0)
    shots = {("raw" if q is None else f"JPEG {q}"): sized(replace(lit, jpeg=q)) for q in QUALITIES}
    table("green markers on grey in the light, noise 2", shots, n, results)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
