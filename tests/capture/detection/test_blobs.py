"""Blobs against a flood fill, and their centres against where discs were painted."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.ndimage import generate_binary_structure, label
from scipy.sparse.csgraph import connected_components

from capture.detection.blobs import (
    AREA,
    KIND,
    BlobMaker,
    RawBlobs,
    W,
    X,
    Y,
    split_brighter_runs,
    split_colored_runs,
)
from capture.detection.foreground import GAP_PX, ForegroundRuns
from tests.capture.scenes import paint_disc, shot


def bright(image: NDArray[np.uint8], threshold: int, gap: int = 0) -> RawBlobs:
    size = (image.shape[1], image.shape[0])
    runs = ForegroundRuns(size).brighter(image, threshold, gap_px=gap)
    return BlobMaker().bright_blobs(image, runs, threshold, gap)


@given(st.integers(1, 24), st.integers(1, 16), st.floats(0.05, 0.7), st.integers(0, 2**32 - 1))
def test_against_a_flood_fill(width: int, height: int, share: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    image = np.where(random.random((height, width, 1)) < share, random.integers(101, 256, (height, width, 3)), 20).astype(
        np.uint8
    )
    blobs = bright(image, 100)
    labels, n = label(image.max(axis=2) > 100, generate_binary_structure(2, 2))
    assert len(blobs) == n
    weight = np.maximum(image.max(axis=2).astype(float) - 100.0, 0.0)
    expected = []
    for k in range(1, n + 1):
        y, x = np.nonzero(labels == k)
        w = weight[y, x]
        colors = (w[:, None] * image[y, x]).sum(axis=0)
        expected.append([w.sum(), w @ x, w @ y, *colors, len(x), w.max(), x.min(), x.max(), y.min(), y.max(), 0.0])
    rows = np.array(expected).reshape(-1, 13)
    order, other = np.lexsort(blobs.sums.T), np.lexsort(rows.T)
    np.testing.assert_allclose(blobs.sums[order], rows[other], rtol=1e-12)


def test_centres_of_discs() -> None:
    """The aim is 0.06 px RMS at a webcam's noise."""
    random = np.random.default_rng(11)
    errors = []
    for _ in range(60):
        image = np.full((20, 20, 3), 6.0)
        center = random.uniform(8.0, 11.0, 2)
        paint_disc(image, center, random.uniform(2.5, 4.5), (190.0, 200.0, 210.0))
        s = bright(shot(image, 2.0, random), 60).sums[0]
        errors.append(s[X : Y + 1] / s[W] - center)
    rms = np.sqrt(np.mean(np.square(errors)))
    assert rms < 0.06
    assert np.abs(np.mean(errors, axis=0)).max() < 0.03, "no bias of half a pixel"


def test_runs_brighter_than_another_threshold() -> None:
    image = np.zeros((2, 8, 3), np.uint8)
    image[0, :, 1] = [60, 90, 60, 95, 95, 60, 60, 99]
    image[1, 3, 2] = 70
    runs = np.array([[0, 0, 7], [1, 3, 3]], np.int32)
    out = np.empty((9, 3), np.int32)
    assert split_brighter_runs(image, runs, 80, out) == 3
    assert out[:3].tolist() == [[0, 1, 1], [0, 3, 4], [0, 7, 7]]
    assert split_brighter_runs(image, runs, 80, out[:2]) == 2, "what does not fit is left out"


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 2), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_joining_against_all_pairs(width: int, height: int, gap: int, n_kinds: int, seed: int) -> None:
    """Runs of several kinds, side by side, are one blob where a chain of pixels of their kind links them, gaps allowed."""
    random = np.random.default_rng(seed)
    of_pixel = random.integers(0, n_kinds + 1, (height, width)) * (random.random((height, width)) < 0.7)
    table = np.zeros((32, 32, 32), np.uint8)
    table[0, 0] = np.arange(32)
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 2] = 8 * of_pixel
    whole = np.array([[y, 0, width - 1] for y in range(height)], np.int32)
    runs, kinds = np.empty((width * height, 3), np.int32), np.empty(width * height, np.uint8)
    n = split_colored_runs(image, whole, table, runs, kinds)
    blobs = BlobMaker().colored_blobs(image, runs[:n], kinds[:n], np.ones((32, 32, 32), np.uint8))
    areas = []
    for kind in range(1, n_kinds + 1):
        # Within reach is what a square of that many pixels around either touches.
        places = np.argwhere(of_pixel == kind)
        near = np.abs(places[:, None] - places[None]).max(axis=2) <= 1 + GAP_PX
        count, label_of = connected_components(near)
        areas += [(kind, int(size)) for size in np.bincount(label_of, minlength=count)] if len(places) else []
    assert sorted((int(s[KIND]), int(s[AREA])) for s in blobs.sums) == sorted(areas)


def test_flood_of_runs_costs_what_its_contacts_cost() -> None:
    """A chessboard of 307,200 pixels: as many runs as fit, in one blob; quadratic work would take minutes."""
    image = np.zeros((240, 480, 3), np.uint8)
    image[::2, ::2] = image[1::2, 1::2] = 90
    blobs = bright(image, 50)
    assert blobs.sums[:, AREA].tolist() == [240 * 240]
