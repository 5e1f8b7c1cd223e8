"""False detections such as reflections: blobs that stand still in an image without a label while the body is tracked.

A marker that stands still has its label and is not taken for one. A blob near which a marker is expected is kept, so that a
marker that comes to stand at a reflection keeps its label as long as the other camera agrees. The result is a function of the
pairs and labels in their order.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from calibration.camera import Camera, Rig
from capture.packets import Blobs, MarkerFrame, Points, Views
from config.arrays import Bools, Floats, make_read_only
from config.jit import kernel
from reconstruct.track.association import ExpectedMarkers

STAY_PX = 1.5  # a blob this near to its last position has stayed
LEARN_S = 0.5  # this long without a label makes a false detection; longer than labels need to be doubted
FORGET_S, FORGET_KNOWN_S = 1.0, 10.0  # how long a spot, and a known false detection, may not be seen: reflections flicker
UNTRACKED_S = 2.0  # this long after the last pose nothing is removed: what is known may be the body itself
MIN_LABELLED = 0.7  # share of the markers: with fewer, blobs left over may be theirs
NEAR_SIGMAS, NEAR_PX = 1.0, 3.0  # distance from an expected marker within which a blob may be it
MAX_STEP_S = 0.1  # that counts from one pair to the next
FOLLOW = 0.05  # share of the way that a spot follows its blob, so that noise averages out
MAX_SPOTS = 64
X, Y, UNLABELLED, SEEN = range(4)  # columns of a table of spots: position [px], time without a label [s], when last seen [s]


@dataclass
class FalseDetections:
    """Remembers blobs that stand still in each camera's image without a label, in a table of spots each."""

    n_cameras: int
    _spots: Floats = field(init=False)
    _n: list[int] = field(init=False)
    _last_s: float = -np.inf
    _tracked_s: float = -np.inf

    def __post_init__(self) -> None:
        self._spots, self._n = np.zeros((self.n_cameras, MAX_SPOTS, 4)), [0] * self.n_cameras

    def forget(self) -> None:
        """Forget all spots."""
        self._n = [0] * self.n_cameras
        self._last_s = self._tracked_s = -np.inf

    def without(self, views: Views, rig: Rig, expected: ExpectedMarkers | None) -> Views:
        """Return the views without false detections."""
        if 1e-9 * views.t_capture_ns - self._tracked_s > UNTRACKED_S:
            return views
        return views.changed(lambda c, blobs: self._without(blobs, c, rig.cameras[c], expected))

    def without_lone(self, views: Views, points: Points) -> Points:
        """Return the points without blobs of single views that are known false detections: a marker would be in two views."""
        single = []
        for c, (blobs, lone) in enumerate(zip(views.blobs, points.single, strict=True)):
            if blobs is not None and len(lone):
                lone = lone[~find_standing_points(blobs.points_px[lone], self._spots[c], self._n[c])]
            single.append(lone)
        return replace(points, single=tuple(single))

    def learn(self, views: Views, frame: MarkerFrame, tracked: bool) -> None:
        """Update the spots from views of which nothing was removed. tracked: the labels gave a pose."""
        t_s = 1e-9 * views.t_capture_ns
        tracked = tracked and bool(np.count_nonzero(frame.shown) >= MIN_LABELLED * len(frame.shown))
        step_s = min(max(t_s - self._last_s, 0.0), MAX_STEP_S) if tracked else 0.0
        self._last_s = t_s
        if tracked:
            self._tracked_s = t_s
        elif t_s - self._tracked_s > UNTRACKED_S:
            self._n = [0] * self.n_cameras
        for c, blobs in enumerate(views.blobs):
            if blobs is None:
                continue
            labelled_px = frame.image_px[c][frame.seen[c]]
            self._n[c] = update_spots(make_read_only(blobs.points_px), labelled_px, self._spots[c], self._n[c], t_s, step_s)

    def _without(self, blobs: Blobs, index: int, camera: Camera, expected: ExpectedMarkers | None) -> Blobs:
        """Return one camera's blobs without its false detections."""
        out = find_standing_points(blobs.points_px, self._spots[index], self._n[index])
        if not np.count_nonzero(out):
            return blobs
        if expected is not None:
            depth_m = np.maximum(camera.to_camera(expected.point_m)[:, 2], 0.3)
            sigma_px = camera.focal_px * expected.sigma_m / depth_m
            clear_near_expected(out, make_read_only(blobs.points_px), camera.project(expected.point_m), sigma_px)
        if not out.any():
            return blobs
        kept = {name: getattr(blobs, name)[~out] for name in ("points_px", "area_px", "color_rgb", "sigma_px")}
        return replace(blobs, **kept)


@kernel
def _find_nearest_spot(x: float, y: float, spots: Floats, n: int) -> int:
    """Return the nearest of n spots within STAY_PX, -1 for none."""
    best, found = STAY_PX * STAY_PX, -1
    for k in range(n):
        apart = (spots[k, X] - x) ** 2 + (spots[k, Y] - y) ** 2
        if apart <= best:
            best, found = apart, k
    return found


@kernel
def find_standing_points(points_px: Floats, spots: Floats, n: int) -> Bools:
    """Return which points are at a known false detection, (N,) bool.

    Args:
        points_px: points of one image, (N, 2) [px].
        spots: table of spots, (S, 4).
        n: number of rows of the table that are in use.
    """
    out = np.zeros(len(points_px), np.bool_)
    for i in range(len(points_px)):
        k = _find_nearest_spot(points_px[i, 0], points_px[i, 1], spots, n)
        out[i] = k >= 0 and spots[k, UNLABELLED] >= LEARN_S
    return out


@kernel
def clear_near_expected(out: Bools, points_px: Floats, expected_px: Floats, sigma_px: Floats) -> None:
    """Clear `out` (N,), in place, for points (N, 2) near an expected marker, (M, 2), by its standard deviation, (M,) [px]."""
    for i in range(len(out)):
        for m in range(len(expected_px)):
            if out[i]:
                apart2 = (points_px[i, 0] - expected_px[m, 0]) ** 2 + (points_px[i, 1] - expected_px[m, 1]) ** 2
                out[i] = not apart2 < max(NEAR_PX, NEAR_SIGMAS * sigma_px[m]) ** 2  # NaN: behind the camera


@kernel
def update_spots(points_px: Floats, labelled_px: Floats, spots: Floats, n: int, t_s: float, step_s: float) -> int:
    """Update a table of n spots (S, 4) from points (N, 2), some of which have a label, (L, 2); return the new number of spots.

    t_s: time of the pair; step_s: time since the last pair, 0 where the labels are not to be relied on.
    """
    for i in range(len(points_px)):
        x, y = points_px[i, 0], points_px[i, 1]
        labelled = False
        for m in range(len(labelled_px)):
            labelled = labelled or (labelled_px[m, 0] == x and labelled_px[m, 1] == y)
        k = _find_nearest_spot(x, y, spots, n)
        if k >= 0:
            spots[k, X] += FOLLOW * (x - spots[k, X])
            spots[k, Y] += FOLLOW * (y - spots[k, Y])
            spots[k, SEEN] = t_s
            if not labelled:
                spots[k, UNLABELLED] += step_s
            elif spots[k, UNLABELLED] < LEARN_S:
                spots[k, UNLABELLED] = 0.0
        elif not labelled and n < len(spots):
            spots[n, X], spots[n, Y], spots[n, UNLABELLED], spots[n, SEEN] = x, y, 0.0, t_s
            n += 1
    left = 0
    for k in range(n):
        if t_s - spots[k, SEEN] <= (FORGET_KNOWN_S if spots[k, UNLABELLED] >= LEARN_S else FORGET_S):
            spots[left] = spots[k]
            left += 1
    return left
