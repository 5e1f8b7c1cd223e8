"""Watch whether two cameras are still where they were: one that moved shows in all markers' distances from epipolar lines.

No labels are needed: every blob of the left view votes, with every blob of the right one, for its distance from the epipolar
line. Wrong partners spread over the image; right ones agree on one distance: 0 while the rig fits, another when a camera has
moved; when it was rotated they agree on none. Only markers that move slowly across the epipolar lines vote, so that a small time
skew does not matter. A large, still unknown one shifts all markers of a body that rises one way and those of one that sinks the
other way: a move is reported only if it shows while the body rests, or both ways. Offsets of half minutes are compared too, for a
camera that sags slowly. Landmarks of the body are watched alike, in pictures so much smaller as they are less exact.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from calibration.camera import Rig
from calibration.epipolar import compute_essential_matrix, compute_fundamental_matrix
from capture.packets import Blobs, Views
from config.arrays import Floats

BIN_PX = 0.5
NEAR_PX = 1.5  # votes this close agree
SLOW_PX_S, STILL_PX = 60.0, 0.8  # largest speed of a slow marker across the epipolar line, and noise
FAST_PX_S = 900.0  # largest speed of the same marker along it
REACH_PX = 40.0
N_BINS = 2 * round(REACH_PX / BIN_PX)
EDGES_PX = np.linspace(-REACH_PX, REACH_PX, N_BINS + 1)


@dataclass(frozen=True, slots=True)
class VoteResult:
    """Result of the votes of some seconds. n: markers; offset_px: signed distance most agree on; share: of them that agree.

    epipolar_px: median distance of those that agree; at_start: share that agrees on the distance at the start of the run.
    """

    n: int
    offset_px: float
    share: float
    epipolar_px: float
    at_start: float


@dataclass(frozen=True, slots=True)
class VoteSegment:
    """Votes of a second while the body sank, rested or rose, (3, bins), and their numbers of markers and pairs, (3,) each."""

    votes: Floats = field(default_factory=lambda: np.zeros((3, N_BINS)))
    n: Floats = field(default_factory=lambda: np.zeros(3))
    n_pairs: Floats = field(default_factory=lambda: np.zeros(3))


def find_agreed_distance(votes: Floats, n: int, start: VoteResult | None) -> VoteResult:
    """Return the distance with most votes above the level of wrong matches.

    Args:
        votes: by distance, (bins,).
        n: number of markers that voted.
        start: the result at the start of the run, None at the start itself.
    """
    width = round(2 * NEAR_PX / BIN_PX)
    windows = np.convolve(votes, np.ones(width), "valid")
    level = float(np.median(windows))
    centers = EDGES_PX[: len(windows)] + 0.5 * width * BIN_PX
    # Of two distances with equal votes the smaller one is taken.
    best = int(np.argmax(windows - 1e-6 * n * np.abs(centers)))
    near = votes[best : best + width]
    middles = EDGES_PX[best : best + width] + 0.5 * BIN_PX
    offset_px = float((near * middles).sum() / max(near.sum(), 1.0))
    spread = np.abs(middles - offset_px)
    order = np.argsort(spread)
    half = int(np.searchsorted(np.cumsum(near[order]), 0.5 * near.sum()))
    at = int(np.argmin(np.abs(centers - (0.0 if start is None else start.offset_px))))
    shares = np.clip((windows[[best, at]] - level) / max(n, 1), 0.0, 1.0)
    return VoteResult(n, offset_px, float(shares[0]), float(spread[order][min(half, width - 1)]), float(shares[1]))


def select_slow_blobs(before: Blobs, now: Blobs, across: Floats) -> Floats:
    """Return the blobs of a view that have hardly moved in one direction since the last one, (N, 2) raw [px].

    Args:
        before, now: the blobs of the last view and of this one.
        across: the direction, (2,), a unit vector.
    """
    if not len(before) or not len(now):
        return np.zeros((0, 2))
    elapsed_s = abs(now.t_capture_ns - before.t_capture_ns) * 1e-9
    moved_px = now.points_px[:, None] - before.points_px[None]
    distances_px = np.hypot(moved_px[..., 0], moved_px[..., 1])
    nearest = distances_px.argmin(axis=1)
    rows = np.arange(len(now))
    sideways_px = np.abs(moved_px[rows, nearest] @ across)
    still = (distances_px[rows, nearest] < STILL_PX + FAST_PX_S * elapsed_s) & (sideways_px < STILL_PX + SLOW_PX_S * elapsed_s)
    return np.ascontiguousarray(now.points_px[still])


BLOCK_NS = 30_000_000_000
DRIFT_PX = 1.3  # between the first half minute and two later ones in a row


class DriftDetector:
    """Compares the medians of half minutes, and reports a drift once; time is passed in. who: slips, in words."""

    def __init__(self, who: str = "a camera") -> None:
        self._who = who
        self._offsets_px: list[float] = []
        self._start_ns = 0
        self._first_px: float | None = None
        self._last_px: float | None = None
        self._reported = False

    def add(self, t_ns: int, offset_px: float) -> list[str]:
        """Add an offset; return the notices."""
        if not self._offsets_px:
            self._start_ns = t_ns
        self._offsets_px.append(offset_px)
        if t_ns - self._start_ns < BLOCK_NS:
            return []
        block_px, self._offsets_px = float(np.median(self._offsets_px)), []
        if self._first_px is None:
            self._first_px = block_px
            return []
        last_px, self._last_px = self._last_px, block_px
        gone = [block_px - self._first_px, (last_px if last_px is not None else self._first_px) - self._first_px]
        if self._reported or not (min(gone) > DRIFT_PX or max(gone) < -DRIFT_PX):
            return []
        self._reported = True
        return [
            f"{self._who} seems to be slipping slowly: markers have drifted {abs(gone[0]):.1f} px from their epipolar lines "
            "since the start; fasten it, and calibrate again"
        ]


SMALLER = 4.0  # times less exact than markers are landmarks, 5 px instead of 1: a camera must have turned by a degree


def shrink_rig(rig: Rig) -> Rig:
    """Return the rig of the pictures in which landmarks are watched."""
    scale = np.array([[1.0 / SMALLER], [1.0 / SMALLER], [1.0]])
    return replace(rig, cameras=tuple(replace(camera, matrix=camera.matrix * scale) for camera in rig.cameras))


def take_landmarks_as_blobs(blobs: Blobs, min_score: float) -> Blobs | None:
    """Return the landmarks of a view as blobs of the smaller picture, None where it has none."""
    if blobs.landmarks is None:
        return None
    points = blobs.landmarks.image_px[blobs.landmarks.score >= min_score] / SMALLER
    n = len(points)
    return Blobs(blobs.camera, blobs.index, blobs.t_capture_ns, points, np.ones(n), np.zeros((n, 3)), np.ones(n))


SAMPLE_NS = 50_000_000
SEGMENT_NS = 1_000_000_000  # votes are counted over so long, and judged over three such segments
SEGMENTS = 3
MIN_BLOBS, MIN_VOTERS, MIN_PAIRS = 4, 2, 12
USUAL_NS = 100_000_000  # between two pairs, for the speed of markers to be known
MOVED_PX = 2.5
SHOWN_PX = 1.8  # least offset while the body rests; less may be a time offset of 0.2 s
SHARE_MORE = 0.25  # of the markers: so many more must agree on the new distance than on that at the start
MIN_SHARE = 0.35  # that agrees on one distance: with less the rig does not fit at all
REST_PX_S = 8.0  # across the epipolar line, of the body as a whole
BODY_NS = 100_000_000  # time constant of its speed
CLASS_PAIRS, CLASS_SEGMENTS = 6, 12  # pairs of a rising, resting or sinking body, and the seconds they may come from


class PairWatch:
    """Watches the views of two cameras during a run; time comes from the views.

    rig: of the two; who: slips or has moved, in words; of_body: what is seen are landmarks in pictures made smaller. moved:
    whether one seems to have moved since the calibration; words: how that shows; now: the result of the last seconds or None.
    """

    def __init__(self, rig: Rig, who: str = "a camera", of_body: bool = False) -> None:
        self._of_body = of_body
        self._rig, self._essential = rig, compute_essential_matrix(rig.cameras[0], rig.cameras[1])
        F = compute_fundamental_matrix(rig.cameras[0], rig.cameras[1])
        middles = [np.array([0.5 * camera.size[0], 0.5 * camera.size[1], 1.0]) for camera in rig.cameras]
        lines = (F.T @ middles[1], F @ middles[0])
        self._across = tuple(line[:2] / np.hypot(line[0], line[1]) for line in lines)
        self._segment = VoteSegment()
        self._segments: deque[VoteSegment] = deque(maxlen=CLASS_SEGMENTS)
        self._body_px_s = 0.0
        self._drift = DriftDetector(who)
        self._due_ns, self._segment_ns = 0, 0
        self._start: VoteResult | None = None
        self._before: Views | None = None
        self.moved, self.words = False, ""
        self._notices: list[str] = []
        self.now: VoteResult | None = None

    def add(self, pair: Views) -> None:
        """Add a pair; most are skipped."""
        t_ns, before, self._before = pair.t_capture_ns, self._before, pair
        if before is None or not 0 < t_ns - before.t_capture_ns < USUAL_NS:
            return
        self._update_speed(before[1], pair[1])
        if 0 <= self._due_ns - t_ns <= SAMPLE_NS or min(len(pair[0]), len(pair[1])) < MIN_BLOBS:
            return
        self._due_ns = t_ns + SAMPLE_NS
        distances = self._distances_px(
            select_slow_blobs(before[0], pair[0], self._across[0]), select_slow_blobs(before[1], pair[1], self._across[1])
        )
        if min(distances.shape) < MIN_VOTERS:
            return
        way = 1 + int(np.sign(self._body_px_s)) * (not self.is_resting)
        self._segment.votes[way] += np.histogram(distances, EDGES_PX)[0]
        self._segment.n[way] += min(distances.shape)
        self._segment.n_pairs[way] += 1
        if not 0 <= t_ns - self._segment_ns < SEGMENT_NS:
            self._segment_ns = t_ns
            self._segments.append(self._segment)
            self._segment = VoteSegment()
            self._judge(t_ns)

    def _update_speed(self, before: Blobs, now: Blobs) -> None:
        """Update the mean speed of the body across the epipolar lines, in the right view."""
        elapsed_ns = now.t_capture_ns - before.t_capture_ns
        if not len(before) or not len(now) or elapsed_ns <= 0:
            return
        moved_px = now.points_px[:, None] - before.points_px[None]
        rows, nearest = np.arange(len(now)), np.hypot(moved_px[..., 0], moved_px[..., 1]).argmin(axis=1)
        speed_px_s = median((moved_px[rows, nearest] @ self._across[1]).tolist()) / (elapsed_ns * 1e-9)
        self._body_px_s += min(elapsed_ns / BODY_NS, 1.0) * (speed_px_s - self._body_px_s)

    def notices(self) -> list[str]:
        """Return what is to be told of a slow drift since the last call."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def is_resting(self) -> bool:
        """Whether the body as a whole does not move across the epipolar lines."""
        return abs(self._body_px_s) <= REST_PX_S

    def _distances_px(self, left_px: Floats, right_px: Floats) -> Floats:
        """Return the signed distance of each right blob from the epipolar line of each left one: (N, 2), (M, 2) -> (N, M) [px].

        The line is l = E x in the right camera's ideal coordinates; all lines are given the same orientation.
        """
        left, right = self._rig.cameras[0].rays(left_px), self._rig.cameras[1].rays(right_px)
        lines = left @ self._essential.T
        lengths = np.hypot(lines[:, 0], lines[:, 1])
        side = np.where(np.abs(lines[:, 1]) >= np.abs(lines[:, 0]), np.sign(lines[:, 1]), np.sign(lines[:, 0]))
        focal_px = float(self._rig.cameras[1].matrix[0, 0])
        return np.asarray(focal_px * (lines @ right.T) * (side / np.maximum(lengths, 1e-12))[:, None])

    def _judge(self, t_ns: int) -> None:
        """Judge the last seconds."""
        last = list(self._segments)[-SEGMENTS:]
        if sum(segment.n_pairs.sum() for segment in last) < MIN_PAIRS:
            return
        votes = np.sum([segment.votes.sum(axis=0) for segment in last], axis=0)
        self.now = now = find_agreed_distance(votes, int(sum(segment.n.sum() for segment in last)), self._start)
        if self._start is None:
            if not self._is_balanced():
                return
            self._start = self._agreement(1) or now
        start = self._start
        away_px = abs(now.offset_px - start.offset_px)
        moved = away_px > MOVED_PX and now.share > now.at_start + SHARE_MORE
        lost = now.share < MIN_SHARE and start.share > MIN_SHARE + 0.2
        if not self._of_body and not self.moved and now.share > start.share - 0.2 and self._is_balanced():
            self._notices += self._drift.add(t_ns, now.offset_px)
        if (moved or lost) and not self.moved and self._is_confirmed(start, now, moved):
            self.moved, self.words = True, _describe_move(start, now, moved, self._of_body)
        elif self.moved and away_px < 0.5 * MOVED_PX and now.share > start.share - 0.15:
            self.moved = False

    def _is_confirmed(self, start: VoteResult, now: VoteResult, moved: bool) -> bool:
        """Return whether a move shows whichever way the body moves; else it is a time offset that is not known yet."""
        ways = [self._agreement(way) for way in range(3)]
        resting = ways[1]
        if not moved:
            return resting is not None and resting.share < MIN_SHARE
        shown = [
            way is not None and (way.offset_px - start.offset_px) * np.sign(now.offset_px - start.offset_px) > SHOWN_PX
            for way in ways
        ]
        return (shown[1] or resting is None) and (resting is not None or (shown[0] and shown[2]))

    def _is_balanced(self) -> bool:
        """Return whether the body rested in the last seconds, or moved both ways equally."""
        counts = np.sum([segment.n_pairs for segment in list(self._segments)[-SEGMENTS:]], axis=0)
        return bool(abs(counts[2] - counts[0]) <= 0.5 * counts.sum())

    def _agreement(self, way: int) -> VoteResult | None:
        """Return the result of the newest pairs of a body that sinks (0), rests (1) or rises (2); None while they are too few."""
        votes, n, n_pairs = np.zeros(N_BINS), 0, 0
        for segment in reversed(self._segments):
            votes, n, n_pairs = votes + segment.votes[way], n + int(segment.n[way]), n_pairs + int(segment.n_pairs[way])
            if n_pairs >= CLASS_PAIRS:
                return find_agreed_distance(votes, n, self._start)
        return None


def _describe_move(start: VoteResult, now: VoteResult, moved: bool, of_body: bool) -> str:
    """Return how it shows that a camera has moved.

    Args:
        start, now: results.
        moved: most markers agree on another distance, else on none.
        of_body: they are landmarks.
    """
    what, scale = ("landmarks of the body", SMALLER) if of_body else ("markers", 1.0)
    if moved:
        far_px, before_px = (scale * (abs(result.offset_px) + result.epipolar_px) for result in (now, start))
        return f"{what} are {far_px:.1f} px from their epipolar lines, {before_px:.1f} at the start"
    return f"only {now.share:.0%} of the {what} are near their epipolar lines, {start.share:.0%} before"
