"""Does the rig still fit while a run goes on? A camera that was bumped shows in all markers' distances from epipolar lines.

No labels are needed: every blob of the left view votes, with every blob of the right one, for the distance at which it would be
from its epipolar line. Wrong partners spread over the image; right ones agree. They agree on 0 while the rig fits, on another
distance when a camera has moved, and on none when it was turned. Only markers that move slowly across the epipolar lines vote,
so that a small time skew does not count; nor do swapped labels. A large one, not found yet, shifts all markers of a body that
rises one way and those of one that sinks the other way: a move is believed only if it shows while the body rests, or both ways.
Offsets of half minutes are compared too: a camera that sags does so too slowly for the eye.
"""

from collections import deque

import numpy as np

from calibration.camera import Rig
from calibration.epipolar import essential_matrix, fundamental_matrix
from capture.check import SwappedCamerasError, check_rig_fits
from capture.packets import Blobs, Floats, PairedBlobs
from capture.rig_drift import Drift
from capture.rig_votes import EDGES_PX, N_BINS, Agreement, Segment, agreement, empty_segment, slow
from config.errors import CalibrationError

SAMPLE_NS = 50_000_000
SEGMENT_NS = 1_000_000_000  # votes are counted over so long, and the counts of three such segments are judged
SEGMENTS = 3
MIN_BLOBS, MIN_VOTERS, MIN_PAIRS = 4, 2, 12
USUAL_NS = 100_000_000  # between two pairs, to tell how fast markers are
MOVED_PX = 2.5
SHOWN_PX = 1.8  # so far it shows while the body rests; less may be a time offset of 0.2 s
SHARE_MORE = 0.25  # of the markers: so many more must agree on the other distance than on the one at the start
LEAST_SHARE = 0.35  # fewer that agree on anything: the rig does not fit at all
CHECK_PAIRS, CHECK_RESTING = 40, 12
REST_PX_S = 8.0  # across the epipolar line, of the body as a whole
BODY_NS = 100_000_000  # over which its speed is averaged
CLASS_PAIRS, CLASS_SEGMENTS = 6, 12  # pairs that tell of rising, resting or sinking, and the seconds they may be gathered from


class RigWatch:
    """Watches pairs of a run; pure, time comes from the pairs. `news` gives words for the user, once for each change."""

    def __init__(self, rig: Rig) -> None:
        self._rig, self._essential = rig, essential_matrix(rig)
        F = fundamental_matrix(rig)
        middles = [np.array([0.5 * camera.size[0], 0.5 * camera.size[1], 1.0]) for camera in rig.cameras]
        lines = (F.T @ middles[1], F @ middles[0])
        self._across = tuple(line[:2] / np.hypot(line[0], line[1]) for line in lines)
        self._segment = empty_segment()
        self._segments: deque[Segment] = deque(maxlen=CLASS_SEGMENTS)
        self._body_px_s = 0.0
        self._drift = Drift()
        self._due_ns, self._segment_ns = 0, 0
        self._start: Agreement | None = None
        self._sample: list[PairedBlobs] = []
        self._before: PairedBlobs | None = None
        self._checked = self._doubted = False
        self._n_resting = 0
        self._moved = False
        self._news: list[str] = []
        self.now: Agreement | None = None

    def add(self, pair: PairedBlobs) -> None:
        """Take a pair; most are passed over."""
        t_ns, before, self._before = pair.t_capture_ns, self._before, pair
        if before is None or not 0 < t_ns - before.t_capture_ns < USUAL_NS:
            return
        self._follow(before.right, pair.right)
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
        way = 1 + int(np.sign(self._body_px_s)) * (abs(self._body_px_s) > REST_PX_S)
        self._segment.votes[way] += np.histogram(distances, EDGES_PX)[0]
        self._segment.n[way] += min(distances.shape)
        self._segment.n_pairs[way] += 1
        if not 0 <= t_ns - self._segment_ns < SEGMENT_NS:
            self._segment_ns = t_ns
            self._segments.append(self._segment)
            self._segment = empty_segment()
            self._judge(t_ns)

    def _follow(self, before: Blobs, now: Blobs) -> None:
        """Average how fast the body moves across the epipolar lines, as the right camera sees it."""
        gone_ns = now.t_capture_ns - before.t_capture_ns
        if not len(before) or not len(now) or gone_ns <= 0:
            return
        moved_px = now.points_px[:, None] - before.points_px[None]
        rows, nearest = np.arange(len(now)), np.hypot(moved_px[..., 0], moved_px[..., 1]).argmin(axis=1)
        speed_px_s = float(np.median(moved_px[rows, nearest] @ self._across[1])) / (gone_ns * 1e-9)
        self._body_px_s += min(gone_ns / BODY_NS, 1.0) * (speed_px_s - self._body_px_s)

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
        left, right = self._rig.left.rays(left_px), self._rig.right.rays(right_px)
        lines = left @ self._essential.T
        lengths = np.hypot(lines[:, 0], lines[:, 1])
        side = np.where(np.abs(lines[:, 1]) >= np.abs(lines[:, 0]), np.sign(lines[:, 1]), np.sign(lines[:, 0]))
        focal_px = float(self._rig.right.matrix[0, 0])
        return np.asarray(focal_px * (lines @ right.T) * (side / np.maximum(lengths, 1e-12))[:, None])

    def _judge(self, t_ns: int) -> None:
        """Look at the last seconds, and say when what they agree on has changed."""
        last = list(self._segments)[-SEGMENTS:]
        if sum(segment.n_pairs.sum() for segment in last) < MIN_PAIRS:
            return
        votes = np.sum([segment.votes.sum(axis=0) for segment in last], axis=0)
        self.now = now = agreement(votes, int(sum(segment.n.sum() for segment in last)), self._start)
        if self._start is None:
            if not self._unhurried():
                return
            self._start = self._way(1) or now
        start = self._start
        away_px = abs(now.offset_px - start.offset_px)
        moved = away_px > MOVED_PX and now.share > now.at_start + SHARE_MORE
        lost = now.share < LEAST_SHARE and start.share > LEAST_SHARE + 0.2
        if not self._moved and now.share > start.share - 0.2 and self._unhurried():
            self._news += self._drift.add(t_ns, now.offset_px)
        if (moved or lost) and not self._moved and self._believable(start, now, moved):
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

    def _believable(self, start: Agreement, now: Agreement, moved: bool) -> bool:
        """Tell whether a move shows whichever way the body goes; one that shows one way only is a time offset not found yet."""
        ways = [self._way(way) for way in range(3)]
        resting = ways[1]
        if not moved:
            return resting is not None and resting.share < LEAST_SHARE
        shown = [
            way is not None and (way.offset_px - start.offset_px) * np.sign(now.offset_px - start.offset_px) > SHOWN_PX
            for way in ways
        ]
        return (shown[1] or resting is None) and (resting is not None or (shown[0] and shown[2]))

    def _unhurried(self) -> bool:
        """Tell whether the last seconds speak of a body at rest, or of one that went both ways alike."""
        counts = np.sum([segment.n_pairs for segment in list(self._segments)[-SEGMENTS:]], axis=0)
        return bool(abs(counts[2] - counts[0]) <= 0.5 * counts.sum())

    def _way(self, way: int) -> Agreement | None:
        """Give what the newest pairs of a body that sinks (0), rests (1) or rises (2) agree on; None while they are too few."""
        votes, n, n_pairs = np.zeros(N_BINS), 0, 0
        for segment in reversed(self._segments):
            votes, n, n_pairs = votes + segment.votes[way], n + int(segment.n[way]), n_pairs + int(segment.n_pairs[way])
            if n_pairs >= CLASS_PAIRS:
                return agreement(votes, n, self._start)
        return None

    def _check(self, pair: PairedBlobs) -> None:
        """Collect the first pairs, then tell whether the rig is that of these cameras, the right way round."""
        resting = abs(self._body_px_s) <= REST_PX_S
        if resting or not self._doubted:
            self._sample.append(pair)
            self._n_resting += resting
        if len(self._sample) < (CHECK_RESTING if self._doubted else CHECK_PAIRS):
            return
        sample, self._sample = self._sample, []
        try:
            check_rig_fits(self._rig, [camera.size for camera in self._rig.cameras], sample)
            self._checked = True
        except CalibrationError as error:
            # A time offset that is not found yet looks like it, unless the body is at rest; exchanged cameras do in any case.
            self._checked = self._doubted or isinstance(error, SwappedCamerasError) or self._n_resting > 0.7 * len(sample)
            self._doubted = True
            if self._checked:
                words = str(error).replace("these recordings", "these cameras").replace("two recordings", "two cameras")
                self._news.append(words)
