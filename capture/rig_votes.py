"""Votes of markers for the distance at which they are from their epipolar lines, and what most of them agree on."""

from dataclasses import dataclass

import numpy as np

from capture.packets import Blobs, Floats

BIN_PX = 0.5
NEAR_PX = 1.5  # votes this near to each other agree
SLOW_PX_S, STILL_PX = 60.0, 0.8  # across the epipolar line: a marker that moves no faster, and as far as noise may take one
FAST_PX_S = 900.0  # along it: the nearest blob within so far is the same marker
REACH_PX = 40.0
N_BINS = 2 * round(REACH_PX / BIN_PX)
EDGES_PX = np.linspace(-REACH_PX, REACH_PX, N_BINS + 1)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the votes of some seconds say. n: markers; offset_px: the distance most agree on, signed; share: of them that do.

    epipolar_px: median distance of those that agree; at_start: share that agrees on the distance at the start of the run.
    """

    n: int
    offset_px: float
    share: float
    epipolar_px: float
    at_start: float


@dataclass(frozen=True, slots=True)
class Segment:
    """Votes of a second, by how the body moved: sinking, at rest, rising (3, bins); of how many markers and pairs, (3,) each."""

    votes: Floats
    n: Floats
    n_pairs: Floats


def empty_segment() -> Segment:
    """Give a segment without votes."""
    return Segment(np.zeros((3, N_BINS)), np.zeros(3), np.zeros(3))


def agreement(votes: Floats, n: int, start: Agreement | None) -> Agreement:
    """Find the distance on which most votes agree, (bins,) for n markers; wrong partners are counted out by the usual level.

    start: what was agreed on at the start of the run, None at the start itself.
    """
    width = round(2 * NEAR_PX / BIN_PX)
    windows = np.convolve(votes, np.ones(width), "valid")
    level = float(np.median(windows))
    centers = EDGES_PX[: len(windows)] + 0.5 * width * BIN_PX
    # Markers that agree on both equally are taken to agree on the smaller distance.
    best = int(np.argmax(windows - 1e-6 * n * np.abs(centers)))
    near = votes[best : best + width]
    middles = EDGES_PX[best : best + width] + 0.5 * BIN_PX
    offset_px = float((near * middles).sum() / max(near.sum(), 1.0))
    spread = np.abs(middles - offset_px)
    order = np.argsort(spread)
    half = int(np.searchsorted(np.cumsum(near[order]), 0.5 * near.sum()))
    at = int(np.argmin(np.abs(centers - (0.0 if start is None else start.offset_px))))
    shares = np.clip((windows[[best, at]] - level) / max(n, 1), 0.0, 1.0)
    return Agreement(n, offset_px, float(shares[0]), float(spread[order][min(half, width - 1)]), float(shares[1]))


def slow(before: Blobs, now: Blobs, across: Floats) -> Floats:
    """Give the blobs of a view that have hardly moved in direction `across` since the one before, (N, 2) raw pixels."""
    if not len(before) or not len(now):
        return np.zeros((0, 2))
    gone_s = abs(now.t_capture_ns - before.t_capture_ns) * 1e-9
    moved_px = now.points_px[:, None] - before.points_px[None]
    distances_px = np.hypot(moved_px[..., 0], moved_px[..., 1])
    nearest = distances_px.argmin(axis=1)
    rows = np.arange(len(now))
    sideways_px = np.abs(moved_px[rows, nearest] @ across)
    still = (distances_px[rows, nearest] < STILL_PX + FAST_PX_S * gone_s) & (sideways_px < STILL_PX + SLOW_PX_S * gone_s)
    return np.ascontiguousarray(now.points_px[still])
