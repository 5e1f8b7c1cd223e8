"""What is seen of a wand of one or two markers that is waved through the volume, and what came out of it.

From the bright spots of cameras to the wand in any two of them at the same moments.

What stays in one place is a reflection. What moves is the wand; its markers are followed from frame to frame by where they were
going. One camera's track is read at another one's moments by cubic interpolation, so cameras need not be synchronised. In
pictures taken one by one it cannot be followed: those of equal stamps are taken as of one moment.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from calibration.camera import Rig
from config.arrays import Bools, Floats
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES


@dataclass(frozen=True, slots=True)
class Sightings:
    """All bright spots of one camera.

    t_s: stamp of every frame, (F,) [s]; points_px: raw image points by frame, (N_f, 2) each; size: of the images [px].
    """

    t_s: Floats
    points_px: tuple[Floats, ...]
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class WandTrack:
    """The K markers of a wand in one camera, of the frames that show all of them.

    t_s: stamps, (F,) [s]; points_px: raw image points, (F, K, 2), one marker in one column through a run only; run: number of
    the uninterrupted stretch, (F,).
    """

    t_s: Floats
    points_px: Floats
    run: NDArray[np.int64]

    @property
    def n_markers(self) -> int:
        """Count the markers."""
        return int(self.points_px.shape[1])

    @property
    def of_stills(self) -> bool:
        """Whether the frames are single pictures, between which nobody knows how the wand moved."""
        return len(np.unique(self.run)) == len(self.run)


@dataclass(frozen=True, slots=True)
class WandViews:
    """The wand in two cameras or more at the same moments.

    t_s: on the first camera's clock, (F,) [s]; points_px: raw, (C, F, K, 2), marker k of one camera is marker k of the others;
    velocity_px_s: of the points by their camera's own clock, (C, F, K, 2), 0 of the reference; seen: by which camera, (C, F);
    reference: the camera at whose moments the others were read, (F,).
    """

    t_s: Floats
    points_px: Floats
    velocity_px_s: Floats
    seen: Bools
    reference: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.t_s)

    @property
    def n_cameras(self) -> int:
        """Count the cameras."""
        return len(self.points_px)

    @property
    def n_shared(self) -> int:
        """Count the observations of markers that two cameras share."""
        return int(self.points_px.shape[1] * self.points_px.shape[2])

    @property
    def first_pair(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first two cameras that see each moment, (F,) each."""
        order = np.argsort(~self.seen, axis=0, kind="stable")
        return order[0], order[1]

    def select_moments(self, which: NDArray[np.bool_] | NDArray[np.int64], n_cameras: int | None = None) -> "WandViews":
        """Return some of the moments, as the first cameras see them, by default all."""
        some = slice(n_cameras)
        return WandViews(
            self.t_s[which],
            self.points_px[some, which],
            self.velocity_px_s[some, which],
            self.seen[some, which],
            self.reference[which],
        )


@dataclass(frozen=True, slots=True)
class WandSolution:
    """A rig that was fitted to a wand.

    rig: world = first camera; points_m: the markers' places, (F, K, 3) [m]; residual_px: measured less predicted,
    (C, F, K, 2); used: observations that took part, (F, K); seen: by which cameras, (C, F); sigma_px: noise of a coordinate;
    lengths_m: distance of the two markers as triangulated frame by frame, without knowing that the wand is rigid, (F,), empty for
    one marker; length_m: of the wand, as given or found, NaN for one marker; scale: what the scale rests on, in words;
    pose_covariance: of turn and shift of all cameras but the first, in its frame, (6 C - 6, 6 C - 6) [rad, m]; focal_sigma:
    relative, of the focal lengths, (C,), 0 where held; offset_s: by which each camera's stamps are late and offset_sigma_s its
    sigma, (C,), 0 where held; world_sigma: typical error of a place as a share of its distance, by what rig and lenses are
    uncertain by, the world's own place and turn left out; notes: in words, what is worth telling.
    """

    rig: Rig
    t_s: Floats
    points_m: Floats
    residual_px: Floats
    used: Bools
    seen: Bools
    sigma_px: float
    lengths_m: Floats
    length_m: float
    scale: str
    pose_covariance: Floats
    focal_sigma: Floats
    offset_s: Floats
    offset_sigma_s: Floats
    world_sigma: float
    notes: tuple[str, ...] = field(default=())

    @property
    def n_shared(self) -> int:
        """Count the observations in use, each seen by two cameras at least."""
        return int(self.used.sum())

    @property
    def rms_px(self) -> float:
        """Root mean square of the distances between measured and predicted points, all cameras [px]."""
        n = int((self.seen[:, :, None] & self.used).sum())
        return float(np.sqrt((self.residual_px[:, self.used] ** 2).sum() / max(n, 1)))


CELL_PX = 2.0  # of the grid on which still spots are counted; a spot fills three by three cells at most
STILL_SHARE = 0.08  # of all frames in one place
STILL_BINS, TIME_BINS = 6, 20  # in so many of twenty parts of the recording
GAP = 1.6  # frame times, beyond which a run ends
JUMP_PX, JUMP_SHARE = 25.0, 0.6  # how far from where it was going a marker may turn up: in pixels, and as a share of its step
MOST_SPOTS = 8  # a frame with more than that moving is not looked at
CROWDED = 0.5  # share of the frames that show more than the wand, beyond which somebody wears markers
SHORT = 4  # frames of the usual run, below which pictures were taken one by one
SAME_S = 5e-5  # stamps this near are of one moment


def select_moving_points(sightings: Sightings) -> tuple[Floats, ...]:
    """Return the spots of every frame that do not stay in one place all along, (N_f, 2) [px] each."""
    counts = [len(points) for points in sightings.points_px]
    if not sum(counts):
        return sightings.points_px
    points = np.concatenate(sightings.points_px)
    cells = np.maximum(np.round(points / CELL_PX).astype(np.int64), 0) + 1
    shape = (int(cells[:, 0].max()) + 2, int(cells[:, 1].max()) + 2)
    part = np.minimum(np.arange(len(counts)) * TIME_BINS // max(len(counts), 1), TIME_BINS - 1).repeat(counts)
    still = _mark_still_cells(cells, part, shape, STILL_SHARE * len(counts))
    kept = ~still[cells[:, 0], cells[:, 1]]
    ends = np.cumsum(counts)
    return tuple(points[end - n : end][kept[end - n : end]] for n, end in zip(counts, ends, strict=True))


def _mark_still_cells(
    cells: NDArray[np.int64], part: NDArray[np.int64], shape: tuple[int, int], least: float
) -> NDArray[np.bool_]:
    """Mark cells about which something is seen in at least so many frames and parts of the recording: cells (P, 2), part (P,)."""
    count = np.zeros(shape)
    np.add.at(count, (cells[:, 0], cells[:, 1]), 1.0)
    seen = np.zeros((TIME_BINS, *shape), bool)
    seen[part, cells[:, 0], cells[:, 1]] = True
    near = ndimage.uniform_filter(count, 3, mode="constant") * 9.0
    parts = ndimage.maximum_filter(seen.view(np.uint8), (1, 3, 3), mode="constant").sum(axis=0)
    return np.asarray((near >= max(least, 3.0)) & (parts >= STILL_BINS))


def count_usual_spots(points: tuple[Floats, ...]) -> int:
    """Return how many spots frames with any usually show: the most frequent number, 0 where hardly any frame shows one."""
    counts = np.array([len(p) for p in points])
    some = counts[counts > 0]
    return int(np.bincount(some).argmax()) if len(some) >= max(3, 0.02 * len(counts)) else 0


def follow_markers(sightings: Sightings, points: tuple[Floats, ...], n_markers: int) -> WandTrack:
    """Return the tracks of a wand's markers: a run begins with a frame that shows just them.

    Args:
        sightings: of one camera.
        points: the spots that move, by frame, (N_f, 2) [px] each.
        n_markers: of the wand.
    """
    usual_s = float(np.median(np.diff(sightings.t_s))) if len(sightings.t_s) > 1 else 1.0 / 30.0
    rows: list[_TrackRow] = []
    run = 0
    for t_s, spots in zip(sightings.t_s, points, strict=True):
        found = None
        if rows and t_s - rows[-1].t_s <= GAP * usual_s:
            found = _continue_rows(rows, float(t_s), spots, n_markers)
        if found is None and len(spots) == n_markers:
            run, found = run + 1, spots
        if found is not None:
            rows.append(_TrackRow(float(t_s), found, run))
    t = np.array([row.t_s for row in rows])
    px = np.array([row.points_px for row in rows]).reshape(len(rows), n_markers, 2)
    return WandTrack(t, px, np.array([row.run for row in rows], np.int64))


class _TrackRow(NamedTuple):
    """The markers of a wand in one frame: its stamp, their places (K, 2) [px], and the number of the run."""

    t_s: float
    points_px: Floats
    run: int


def _continue_rows(rows: list[_TrackRow], t_s: float, spots: Floats, n_markers: int) -> Floats | None:
    """Return the spots that go on from the last rows, in their order, (K, 2); None where any is missing."""
    if not n_markers <= len(spots) <= MOST_SPOTS:
        return None
    last = rows[-1]
    expected, reach = last.points_px, np.full(n_markers, 2.0 * JUMP_PX)
    if len(rows) > 1 and rows[-2].run == last.run:
        before = rows[-2]
        step = (last.points_px - before.points_px) * (t_s - last.t_s) / max(last.t_s - before.t_s, 1e-6)
        expected, reach = last.points_px + step, JUMP_PX + JUMP_SHARE * np.linalg.norm(step, axis=1)
    far = np.linalg.norm(spots[:, None] - expected[None], axis=2)
    orders = list(itertools.permutations(range(len(spots)), n_markers))
    costs = [sum(far[i, k] ** 2 for k, i in enumerate(order)) for order in orders]
    best = orders[int(np.argmin(costs))]
    if any(far[i, k] > reach[k] for k, i in enumerate(best)):
        return None
    return np.asarray(spots[list(best)])


def interpolate_views(left: WandTrack, right: WandTrack, offset_s: float) -> WandViews:
    """Return the wand at the left camera's moments; markers in order as tracked.

    Args:
        left, right: the wand in each camera.
        offset_s: by which the right camera's timestamps are late.
    """
    return collect_shared_views((left, right), (left, right), np.array([0.0, offset_s]))


def collect_shared_views(moments: Sequence[WandTrack], tracks: Sequence[WandTrack], offset_s: Floats) -> WandViews:
    """Return the wand at moments that two cameras share, read from the others' tracks; markers in order as tracked.

    Args:
        moments: of each camera, taken where no camera before it sees the wand.
        tracks: of each camera, all of it.
        offset_s: by which each camera's timestamps are late, (C,).
    """
    found = [_collect_camera_views(c, moments[c], tracks, offset_s) for c in range(len(tracks) - 1)]
    return WandViews(
        np.concatenate([views.t_s for views in found]),
        np.concatenate([views.points_px for views in found], axis=1),
        np.concatenate([views.velocity_px_s for views in found], axis=1),
        np.concatenate([views.seen for views in found], axis=1),
        np.concatenate([views.reference for views in found]),
    )


def _collect_camera_views(camera: int, moments: WandTrack, tracks: Sequence[WandTrack], offset_s: Floats) -> WandViews:
    """Return what the cameras see at the moments of one of them that none before it sees, but another one does."""
    C, (F, K, _) = len(tracks), moments.points_px.shape
    px, velocity, seen = np.zeros((C, F, K, 2)), np.zeros((C, F, K, 2)), np.zeros((C, F), bool)
    px[camera], seen[camera] = moments.points_px, True
    for c, track in enumerate(tracks):
        if c == camera:
            continue
        late_s = offset_s[c] - offset_s[camera]
        if moments.of_stills:
            at = np.clip(np.searchsorted(track.t_s, moments.t_s + late_s - SAME_S), 0, max(len(track.t_s) - 1, 0))
            none = np.zeros(0, np.int64)
            found = np.flatnonzero(np.abs(track.t_s[at] - moments.t_s - late_s) < SAME_S) if len(track.t_s) else none
            px[c, found] = track.points_px[at[found]]
        else:
            found, px_there, slope = _interpolate_track(track, moments.t_s + late_s)
            px[c, found], velocity[c, found] = px_there, slope
        seen[c, found] = True
    views = WandViews(moments.t_s - offset_s[camera], px, velocity, seen, np.full(F, camera))
    return views.select_moments(~seen[:camera].any(axis=0) & (seen.sum(axis=0) > 1))


def _interpolate_track(track: WandTrack, t_s: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Read a track at other moments: which of them lie within a run, and places (M, K, 2) and velocities (M, K, 2) there.

    The cubic through the two frames before and the two after.
    """
    n = len(track.t_s)
    none = np.zeros((0, track.n_markers, 2))
    if n < 4:
        return np.zeros(0, np.int64), none, none
    usual_s = float(np.median(np.diff(track.t_s)))
    j = np.searchsorted(track.t_s, t_s + SAME_S, side="right") - 1
    # A moment just on the last frame but one of a run has its four frames too, shifted by one.
    first = np.where(_is_gapless(track, j - 1, usual_s), j - 1, np.where(np.abs(t_s - track.t_s[j]) < SAME_S, j - 2, j - 1))
    found = np.flatnonzero(_is_gapless(track, first, usual_s) & (j >= 0) & (t_s >= track.t_s[np.clip(first, 0, n - 1)] - SAME_S))
    index = first[found, None] + np.arange(4)
    value, slope = _compute_lagrange_weights(track.t_s[index] - t_s[found, None])
    places = track.points_px[index]
    return found, np.einsum("mi,mikc->mkc", value, places), np.einsum("mi,mikc->mkc", slope, places)


def _is_gapless(track: WandTrack, first: NDArray[np.int64], usual_s: float) -> NDArray[np.bool_]:
    """Return where the four frames from `first` on are of one run without gaps."""
    n = len(track.t_s)
    inside = (first >= 0) & (first + 3 < n)
    a, b = np.clip(first, 0, n - 1), np.clip(first + 3, 0, n - 1)
    return np.asarray(inside & (track.run[a] == track.run[b]) & (track.t_s[b] - track.t_s[a] <= 3.0 * GAP * usual_s))


def _compute_lagrange_weights(t: Floats) -> tuple[Floats, Floats]:
    """Return the weights of four values at times t (M, 4) for value and slope of their cubic at 0, (M, 4) each."""
    value, slope = np.empty_like(t), np.empty_like(t)
    for i in range(4):
        others = [k for k in range(4) if k != i]
        a, b, c = (t[:, k] for k in others)
        below = (t[:, i] - a) * (t[:, i] - b) * (t[:, i] - c)
        value[:, i] = -a * b * c / below
        slope[:, i] = (a * b + b * c + c * a) / below
    return value, slope


def _collect_stills(sightings: Sightings, points: tuple[Floats, ...], n_markers: int) -> WandTrack:
    """Return the frames that show just the markers, each for itself."""
    chosen = [n for n, spots in enumerate(points) if len(spots) == n_markers]
    px = np.array([points[n] for n in chosen]).reshape(len(chosen), n_markers, 2)
    return WandTrack(sightings.t_s[chosen], px, np.arange(len(chosen)))


def find_wand_tracks(
    sightings: Sequence[Sightings], n_markers: int, names: Sequence[str] = CAMERA_NAMES[:2]
) -> tuple[WandTrack, ...]:
    """Find the wand in all cameras.

    Args:
        sightings: of each camera.
        n_markers: of the wand.
        names: of the cameras.
    Raises: CalibrationError: nothing moves, or another number of markers than the wand has.
    """
    tracks, stills = [], []
    for name, one in zip(names, sightings, strict=True):
        points = select_moving_points(one)
        shown = np.array([len(p) for p in points])
        crowded = (shown > n_markers).sum() > CROWDED * max((shown > 0).sum(), 1)
        track = follow_markers(one, points, n_markers)
        if crowded or len(track.t_s) < max(12, 0.02 * len(one.t_s)):
            raise CalibrationError(_explain_missing_wand(name, one, points, n_markers))
        tracks.append(track)
        stills.append(_collect_stills(one, points, n_markers))
    if all(np.median(np.bincount(track.run)[1:]) < SHORT for track in tracks):
        return tuple(stills)
    return tuple(tracks)


def _explain_missing_wand(name: str, sightings: Sightings, points: tuple[Floats, ...], n_markers: int) -> str:
    """Return in words why no wand was found in a camera."""
    usual, wanted = count_usual_spots(points), f"the wand has {n_markers}"
    shown = sum(len(p) > 0 for p in sightings.points_px)
    if not shown:
        return (
            f"the {name} camera sees no marker in any of {len(points)} frames: light it from beside the lens, or darken the room"
        )
    if usual == 0:
        return f"the {name} camera sees no moving marker, only still spots: wave the wand in view of both cameras"
    if usual > n_markers:
        return (
            f"the {name} camera sees {usual} moving markers in most frames, {wanted}: take markers off whoever waves it, and "
            "keep everybody else out of view"
        )
    if usual < n_markers:
        return f"the {name} camera sees {usual} moving marker in most frames, {wanted}: do both show, from both cameras?"
    return f"the {name} camera sees the wand in too few frames: wave it slowly, in view of both cameras, for a minute"
