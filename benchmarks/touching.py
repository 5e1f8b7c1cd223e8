"""Markers that touch for a while: how often both are found and where, and how often one is taken for two.

    python -m benchmarks.touching [--scenes 40]

Drawn scenes at 30 Hz with 10 lone markers; in each two more pass through one another's picture (crossing), one of two vanishes
behind the other and comes back elsewhere (hidden), or a lone one is streaked by its motion beside a place where another has just
been lost (streaked). Counted are frames in which the pictures touch: both found, error of the centres, and one taken for two.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.centroid import errors
from benchmarks.centroid_scene import BLUR_PX, SIZE, _add_disc, blurred
from capture.detector import Detector
from capture.packets import Blobs, Frame
from config.settings import DetectorSettings

Floats = NDArray[np.float64]
FRAMES, LEAD = 36, 12
NOISE, LEVEL, BLACK = 2.0, 190.0, 6.0
NEAR_PX = 2.0  # a centre farther off is not found


def drawn(random: np.random.Generator, paths: list[Floats], radii: Floats) -> NDArray[np.uint8]:
    """Draw markers, each at several places of its way through the exposure, (S, 2)."""
    cover = np.zeros((SIZE[1], SIZE[0]))
    for path, radius in zip(paths, radii, strict=True):
        one = np.zeros_like(cover)
        for place in path:
            _add_disc(one, place, radius)
        cover = 1.0 - (1.0 - cover) * (1.0 - one / len(path))
    image = BLACK + (LEVEL - BLACK) * blurred(cover, BLUR_PX)[..., None] * np.ones(3)
    return np.clip(np.round(image + random.normal(0.0, NOISE, image.shape)), 0, 255).astype(np.uint8)


def rest() -> list[Floats]:
    """Give ten markers that stay where they are, away from the middle."""
    return [np.array([[x, y]]) for y in (25.0, 215.0) for x in (40.3, 100.1, 160.7, 220.4, 280.9)]


def crossing(random: np.random.Generator) -> Iterator[tuple[list[Floats], Floats, Floats, float]]:
    """Two markers pass by each other, at times overlapping; yield paths, radii, true centres of the two, distance / radii."""
    radii = random.uniform(2.5, 5.0, 2)
    angle, heading = random.uniform(0.0, 2.0 * np.pi, 2)
    speed = random.uniform(0.8, 2.0)
    miss = random.uniform(0.45, 1.1) * radii.sum()
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    drift = random.uniform(0.0, 3.0) * np.array([np.cos(heading), np.sin(heading)])
    for k in range(FRAMES):
        middle = np.array([160.0, 120.0]) + (k - FRAMES / 2) * drift
        half = 0.5 * (along * speed * (k - FRAMES / 2) * 1.2 + across * miss)
        pair = np.stack([middle + half, middle - half])
        yield [place[None] for place in pair], radii, pair, float(np.linalg.norm(2.0 * half) / radii.sum())


def hidden(random: np.random.Generator) -> Iterator[tuple[list[Floats], Floats, Floats, float]]:
    """One marker comes near another and vanishes there; only the other is left."""
    radii = random.uniform(2.5, 5.0, 2)
    angle = random.uniform(0.0, 2.0 * np.pi)
    along = np.array([np.cos(angle), np.sin(angle)])
    for k in range(FRAMES):
        fixed = np.array([160.0, 120.0])
        gap = radii.sum() * 1.25 + 2.0 * max(LEAD - k, 0)
        pair = np.stack([fixed, fixed + gap * along])
        gone = k > LEAD
        yield [pair[:1]] if gone else [p[None] for p in pair], radii, pair[:1] if gone else pair, 1.0 if gone else 9.0


def streaked(random: np.random.Generator) -> Iterator[tuple[list[Floats], Floats, Floats, float]]:
    """A fast marker passes one that vanishes as it arrives, streaked to twice its length."""
    radii = random.uniform(2.5, 4.5, 2)
    angle = random.uniform(0.0, 2.0 * np.pi)
    along = np.array([np.cos(angle), np.sin(angle)])
    step = random.uniform(4.0, 8.0)
    for k in range(FRAMES):
        place = np.array([160.0, 120.0]) + (k - LEAD) * step * along
        path = place + np.linspace(-0.5, 0.5, 9)[:, None] * step * 0.8 * along
        if np.abs(place - (160.0, 120.0)).max() > 75.0:
            continue
        gone = k >= LEAD - 1
        other = np.array([160.0, 120.0])
        paths = [path] if gone else [path, other[None]]
        yield paths, radii, place[None] if gone else np.stack([place, other]), 1.0 if LEAD - 1 <= k < LEAD + 6 else 9.0


def judged(kind: object, scenes: int, split: bool) -> str:
    """Give what came out of many scenes of one kind, in words."""
    frames, all_found, extra, off, normal = 0, 0, 0, [], []
    for seed in range(scenes):
        random = np.random.default_rng(seed)
        detector = Detector(DetectorSettings(mode="dark"))
        if not split:
            detector._touching.step = lambda image, markers, *rest: markers  # type: ignore[method-assign]
        others = rest()
        for k, (paths, radii, truth, apart) in enumerate(kind(random)):  # type: ignore[operator]
            image = drawn(random, others + paths, np.concatenate([np.full(len(others), 3.5), radii[: len(paths)]]))
            blobs: Blobs = detector.step(Frame(0, k, k * 33_333_333, image))
            if apart > 1.25:
                continue
            near = np.abs(blobs.points_px - (160.0, 120.0)).max(axis=1) < 80.0
            found, which = errors(blobs.points_px[near], truth)
            good = np.linalg.norm(found, axis=1) < NEAR_PX
            frames += 1
            all_found += good.sum() == len(truth)
            extra += near.sum() > len(truth)
            if len(truth) == 2 and good.sum() == 2:
                off.append(found)
                normal.append(found / blobs.sigma_px[near][which, None])
    text = f"{frames} frames, all found {100 * all_found / frames:5.1f} %, too many {100 * extra / frames:4.1f} %"
    if off:
        every = np.concatenate(off)
        text += f", error {np.sqrt(np.mean(every**2)):.2f} px RMS, median {np.median(np.linalg.norm(every, axis=1)):.2f}"
        text += f", error/sigma {np.sqrt(np.mean(np.concatenate(normal) ** 2)):.2f}"
    return text


def main() -> None:
    """Print what comes of each kind of scene without and with the tracks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=40)
    arguments = parser.parse_args()
    for kind in (crossing, hidden, streaked):
        for split in (False, True):
            print(f"{kind.__name__:10s}{'with' if split else 'without'} tracks: {judged(kind, arguments.scenes, split)}")


if __name__ == "__main__":
    main()
