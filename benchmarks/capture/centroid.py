"""Accuracy of marker centres: errors on drawn markers by size, noise, saturation and compression, and over the stated sigma.

    python -m benchmarks.capture.centroid [--pictures 12] [--json F]

Markers of 3 to 15 px at random sub-pixel positions, from dim to far beyond white (the middle clipped, with a halo), at a noise
of 0 to 4 grey levels, raw and as JPEG (which halves the resolution of colours). They are drawn without capture's own renderer:
coverage by 16 x 16 points for each pixel, blur by the Fourier transform of a Gaussian. Errors are RMS along one axis in pixels,
against those of the unweighted centre of the same pixels and of findContours + moments. error/sigma: RMS of the error over the
stated sigma, ideally 1.
"""

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from benchmarks.report import parser_of, write_json
from capture.detection.detector import Detector
from capture.packets import Blobs, Frame
from config.arrays import Floats
from config.settings import DetectorSettings

DIAMETERS_PX = (3.0, 4.0, 6.0, 8.0, 11.0, 15.0)
NOISES = (0.0, 1.0, 2.0, 4.0)
LEVELS = (60.0, 120.0, 200.0, 300.0, 600.0, 1500.0)
QUALITIES = (None, 95, 80)
METHODS = ("ours", "unweighted", "contours")
REACH_PX = 3.0
GREEN = (0.2, 0.9, 0.25)
SIZE, PITCH, FINE = (320, 240), 40, 16
BLACK = 6.0  # grey level of the dark
BLUR_PX = 0.6  # standard deviation of the lens blur
HALO_SHARE, HALO_PX = 0.03, 4.0  # of the light is spread wide: what grows around a saturated marker


@dataclass(frozen=True, slots=True)
class Shot:
    """How an image is drawn.

    diameter_px: of the markers; level: grey level of their middle, above 255 saturates; noise: grey levels; jpeg: quality, None:
    raw; color_bgr: of the markers, 1 is white; background: grey level around them.
    """

    diameter_px: float
    level: float
    noise: float
    jpeg: int | None = None
    color_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    background: float = BLACK


def picture(shot: Shot, random: np.random.Generator) -> tuple[NDArray[np.uint8], Floats]:
    """Draw markers at random sub-pixel positions about a grid. Return the image and the true centres, (M, 2)."""
    xs, ys = np.meshgrid(np.arange(PITCH, SIZE[0], PITCH), np.arange(PITCH, SIZE[1], PITCH))
    centers = np.stack([xs.ravel(), ys.ravel()], axis=1) + random.uniform(-4.0, 4.0, (xs.size, 2))
    cover = np.zeros((SIZE[1], SIZE[0]))
    for center in centers:
        _add_disc(cover, center, shot.diameter_px / 2.0)
    light = (1.0 - HALO_SHARE) * blurred(cover, BLUR_PX) + HALO_SHARE * blurred(cover, HALO_PX)
    color = shot.level * np.asarray(shot.color_bgr)
    image = shot.background + light[..., None] * (color - shot.background)
    image += random.normal(0.0, shot.noise, image.shape) if shot.noise else 0.0
    sensed = np.clip(np.round(image), 0, 255).astype(np.uint8)
    if shot.jpeg is not None:
        _, data = cv2.imencode(".jpg", sensed, [cv2.IMWRITE_JPEG_QUALITY, shot.jpeg])
        sensed = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return sensed, centers


def _add_disc(cover: Floats, center: Floats, radius: float) -> None:
    """Add the share of each pixel that a disc covers; pixel centres at whole numbers."""
    x0, y0 = (int(v - radius - 1.0) for v in center)
    n = int(2.0 * radius) + 4
    offsets = (np.arange(FINE) + 0.5) / FINE - 0.5
    xs = (np.arange(x0, x0 + n)[:, None] + offsets).ravel() - center[0]
    ys = (np.arange(y0, y0 + n)[:, None] + offsets).ravel() - center[1]
    inside = xs[None, :] ** 2 + ys[:, None] ** 2 <= radius**2
    cover[y0 : y0 + n, x0 : x0 + n] += inside.reshape(n, FINE, n, FINE).mean(axis=(1, 3))


def blurred(image: Floats, sigma_px: float) -> Floats:
    """Return a Gaussian blur, the image taken as periodic."""
    fy, fx = np.fft.fftfreq(image.shape[0])[:, None], np.fft.rfftfreq(image.shape[1])[None, :]
    factor = np.exp(-2.0 * (np.pi * sigma_px) ** 2 * (fx**2 + fy**2))
    return np.asarray(np.fft.irfft2(np.fft.rfft2(image) * factor, s=image.shape))


def peers(image: NDArray[np.uint8], threshold: float) -> dict[str, Floats]:
    """Return centres by the other methods from the pixels above the same threshold."""
    mask = (image.max(axis=2) > threshold).astype(np.uint8)
    centers = cv2.connectedComponentsWithStats(mask, connectivity=8)[3][1:]
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    moments = [m for m in map(cv2.moments, contours) if m["m00"] > 0.0]
    found = np.array([[m["m10"] / m["m00"], m["m01"] / m["m00"]] for m in moments]).reshape(-1, 2)
    return {"unweighted": np.asarray(centers, float), "contours": found}


def errors(found: Floats, centers: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the errors of the true centres that were found, (K, 2), and which of those found they are, (K,)."""
    if not len(found):
        return np.zeros((0, 2)), np.zeros(0, np.int64)
    distance = np.linalg.norm(centers[:, None] - found[None], axis=2)
    rows, columns = linear_sum_assignment(np.minimum(distance, REACH_PX))
    near = distance[rows, columns] < REACH_PX
    return found[columns[near]] - centers[rows[near]], columns[near]


def measure(shot: Shot, pictures: int, seed: int) -> dict[str, float]:
    """Return RMS error by method, the detector's bias, share found, and RMS of error over sigma."""
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
    """Print a table: lines for each name, a column for each diameter."""
    print(f"\n{title}")
    print(f"{'':26s}" + "".join(f"{d:9g} px" for d in DIAMETERS_PX))
    for name, line in shots.items():
        figures = [measure(shot, pictures, 17 * k) for k, shot in enumerate(line)]
        for key in (*METHODS, "sigma"):
            label = f"{name}, {key}" if key != "sigma" else f"{name}, error/sigma"
            cells = "".join(
                f"{f[key]:9.3f}{'  ' if f['found'] > 0.99 else ' *'} " if key == "ours" else f"{f[key]:9.3f}   " for f in figures
            )
            print(f"{label:26s}{cells}")
        results[f"{title}: {name}"] = figures


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--pictures", type=int, default=12)
    given = parser.parse_args()
    results: dict[str, object] = {}
    print("RMS error along one axis [px] by diameter; *: not all markers found")
    base = Shot(6.0, 200.0, 2.0)
    lit = replace(base, color_bgr=GREEN, background=110.0)
    tables = {"noise, level 200, raw": {f"{x:g} levels": replace(base, noise=x) for x in NOISES}}
    for quality in QUALITIES:
        kind = "raw" if quality is None else f"JPEG {quality}"
        tables[f"brightness, noise 2, {kind}"] = {f"level {x:g}": replace(base, level=x, jpeg=quality) for x in LEVELS}
    tables["green markers on grey in the light, noise 2"] = {
        "raw" if quality is None else f"JPEG {quality}": replace(lit, jpeg=quality) for quality in QUALITIES
    }
    for title, shots in tables.items():
        sized = {name: [replace(shot, diameter_px=d) for d in DIAMETERS_PX] for name, shot in shots.items()}
        table(title, sized, given.pictures, results)
    write_json(given.json, results)


if __name__ == "__main__":
    main()
