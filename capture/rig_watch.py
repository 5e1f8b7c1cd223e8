"""Does the rig still fit while a run goes on? A camera that was bumped shows in all markers' distances from epipolar lines.

No labels are needed: every blob of the left view votes, with every blob of the right one, for the distance at which it would be
from its epipolar line. Wrong partners spread over the image; right ones agree. They agree on 0 while the rig fits, on another
distance when a camera has moved, and on none when it was turned. Only markers that hardly move across the epipolar lines vote,
so that time skew does not count; nor do swapped labels.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from calibration.epipolar import essential_matrix, fundamental_matrix
from capture.check import check_rig_fits
from capture.packets import Blobs, Floats, PairedBlobs
from config.errors import CalibrationError

SAMPLE_NS = 50_000_000
SEGMENT_NS = 1_000_000_000  # votes are counted over so long, and the counts of three such segments are judged
SEGMENTS = 3
REACH_PX = 40.0
BIN_PX = 0.5
NEAR_PX = 1.5  # votes this near to each other agree
MIN_BLOBS, MIN_VOTERS, MIN_PAIRS = 4, 2, 12
SLOW_PX_S, STILL_PX = 60.0, 0.8  # across the epipolar line: a marker that moves no faster, and as far as noise may take one
FAST_PX_S = 900.0  # along it: the nearest blob within so far is the same marker
USUAL_NS = 100_000_000  # between two pairs, to tell how fast markers are
MOVED_PX = 2.5
SHARE_MORE = 0.25  # of the markers: so many more must agree on the other distance than on the one at the start
LEAST_SHARE = 0.35  # fewer that agree on anything: the rig does not fit at all
CHECK_PAIRS = 40


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


class RigWatch:
    """Watches pairs of a run; pure, time comes from the pairs. `news` gives words for the user, once for each change."""

    def __init__(self, rig: Rig) -> None:
        self._rig, self._essential = rig, essential_matrix(rig)
        F = fundamental_matrix(rig)
        middles = [np.array([0.5 * camera.size[0], 0.5 * camera.size[1], 1.0]) for camera in rig.cameras]
        lines = (F.T @ middles[1], F @ middles[0])
        self._across = tuple(line[:2] / np.hypot(line[0], line[1]) for line in lines)
        n_bins = 2 * round(REACH_PX / BIN_PX)
        self._edges = np.linspace(-REACH_PX, REACH_PX, n_bins + 1)
        self._votes = np.zeros(n_bins)
        self._n = self._n_pairs = 0
        self._segments: deque[tuple[Floats, int, int]] = deque(maxlen=SEGMENTS)
        self._due_ns, self._segment_ns = 0, 0
        self._start: Agreement | None = None
        self._sample: list[PairedBlobs] = []
        self._before: PairedBlobs | None = None
        self._checked = False
        self._moved = False
        self._news: list[str] = []
        self.now: Agreement | None = None

    def add(self, pair: PairedBlobs) -> None:
        """Take a pair; most are passed over."""
        t_ns, before, self._before = pair.t_capture_ns, self._before, pair
        if before is None or not 0 < t_ns - before.t_capture_ns < USUAL_NS:
            return
        if 0 <= self._due_ns - t_ns <= SAMPLE_NS or min(len(pair.left), len(pair.right)) < MIN_BLOBS:
            return
        self._due_ns = t_ns + SAMPLE_NS
        if not self._checked:
            self._check(pair)
        distances = self._distances_px(
            slow(before.left, pair.left, self._across[0]), slow(before.right, pair.right, self._across[1])
        )
        if min(distances.shape) < MIN_VOTERS:
            return
        self._votes += np.histogram(distances, self._edges)[0]
        self._n += min(distances.shape)
        self._n_pairs += 1
        if not 0 <= t_ns - self._segment_ns < SEGMENT_NS:
            self._segment_ns = t_ns
            self._segments.append((self._votes, self._n, self._n_pairs))
            self._votes, self._n, self._n_pairs = np.zeros_like(self._votes), 0, 0
            self._judge()

    def news(self) -> list[str]:
        """Give what is to be told since the last time."""
        told, self._news = self._news, []
        return told

    @property
    def figures(self) -> dict[str, float]:
        """Give figures for the status: distance from the epipolar lines [px], and share of markers that agree on one."""
        if self.now is None:
            return {}
        return {"epipolar_px": abs(self.now.offset_px) + self.now.epipolar_px, "rig_share": self.now.share}

    @property
    def moved(self) -> bool:
        """Whether a camera seems to have moved since the calibration."""
        return self._moved

    def _distances_px(self, left_px: Floats, right_px: Floats) -> Floats:
        """Give the signed distance of each right blob from the epipolar line of each left one: (N, 2), (M, 2) -> (N, M) [px].

        The line is l = E x in the right camera's ideal coordinates; its direction is made to point to one side for all.
        """
        left = _normalised(self._rig, 0, left_px)
        right = _normalised(self._rig, 1, right_px)
        lines = left @ self._essential.T
        lengths = np.hypot(lines[:, 0], lines[:, 1])
        side = np.where(np.abs(lines[:, 1]) >= np.abs(lines[:, 0]), np.sign(lines[:, 1]), np.sign(lines[:, 0]))
        focal_px = float(self._rig.right.matrix[0, 0])
        return np.asarray(focal_px * (lines @ right.T) * (side / np.maximum(lengths, 1e-12))[:, None])

    def _judge(self) -> None:
        """Look at the last seconds, and say when what they agree on has changed."""
        votes = np.sum([segment[0] for segment in self._segments], axis=0)
        n, n_pairs = sum(segment[1] for segment in self._segments), sum(segment[2] for segment in self._segments)
        if n_pairs < MIN_PAIRS:
            return
        self.now = now = self._agreement(votes, n)
        if self._start is None:
            self._start = now
        start = self._start
        away_px = abs(now.offset_px - start.offset_px)
        moved = away_px > MOVED_PX and now.share > now.at_start + SHARE_MORE
        lost = now.share < LEAST_SHARE and start.share > LEAST_SHARE + 0.2
        if (moved or lost) and not self._moved:
            self._moved = True
            far_px = abs(now.offset_px) + now.epipolar_px
            before_px = abs(start.offset_px) + start.epipolar_px
            words = f"markers are {far_px:.1f} px from their epipolar lines, {before_px:.1f} at the start"
            words = (
                words if moved else f"only {now.share:.0%} of the markers are near their epipolar lines, {start.share:.0%} before"
            )
            self._news.append(f"a camera seems to have moved: {words}; calibrate again")
        elif self._moved and away_px < 0.5 * MOVED_PX and now.share > start.share - 0.15:
            self._moved = False
            self._news.append("the cameras are where they were at the start again")

    def _agreement(self, votes: Floats, n: int) -> Agreement:
        """Find the distance on which most votes agree; wrong partners are counted out by the usual level."""
        width = round(2 * NEAR_PX / BIN_PX)
        windows = np.convolve(votes, np.ones(width), "valid")
        level = float(np.median(windows))
        centers = self._edges[: len(windows)] + 0.5 * width * BIN_PX
        # Markers that agree on both equally are taken to agree on the smaller distance.
        best = int(np.argmax(windows - 1e-6 * n * np.abs(centers)))
        near = votes[best : best + width]
        middles = self._edges[best : best + width] + 0.5 * BIN_PX
        offset_px = float((near * middles).sum() / max(near.sum(), 1.0))
        spread = np.abs(middles - offset_px)
        order = np.argsort(spread)
        half = int(np.searchsorted(np.cumsum(near[order]), 0.5 * near.sum()))
        at = int(np.argmin(np.abs(centers - (0.0 if self._start is None else self._start.offset_px))))
        shares = np.clip((windows[[best, at]] - level) / max(n, 1), 0.0, 1.0)
        return Agreement(n, offset_px, float(shares[0]), float(spread[order][min(half, width - 1)]), float(shares[1]))

    def _check(self, pair: PairedBlobs) -> None:
        """Collect the first pairs, then tell whether the rig is that of these cameras, the right way round."""
        self._sample.append(pair)
        if len(self._sample) < CHECK_PAIRS:
            return
        self._checked = True
        try:
            check_rig_fits(self._rig, [camera.size for camera in self._rig.cameras], self._sample)
        except CalibrationError as error:
            self._news.append(str(error).replace("these recordings", "these cameras").replace("two recordings", "two cameras"))
        self._sample = []


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


def _normalised(rig: Rig, camera: int, points_px: Floats) -> Floats:
    """Give directions of raw pixels in a camera's own frame, at depth 1, (N, 3)."""
    rays = np.asarray(rig.cameras[camera].undistort(points_px), float)
    return np.asarray(np.column_stack([rays, np.ones(len(rays))]))
