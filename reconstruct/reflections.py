"""Bright spots that are no markers, told by the labels: they stand still in an image and have none while the body is tracked.

A marker that stands still has its label and is never taken for one. A spot near which a marker is expected is left in, so that
one that comes to stand where a reflection is keeps its label while the other camera agrees: a reflection alone might hold it.
All is a pure function of the pairs and labels in their order.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from calibration.camera import Camera, Rig
from capture.labels import Expected
from capture.packets import Blobs, Bools, Floats, MarkerFrame, PairedBlobs
from config.jit import kernel

STAY_PX = 1.5  # a spot this near to where it was has stayed
LEARN_S = 0.5  # for so long in sight without a label, and it is a reflection; longer than labels need to be doubted
FORGET_S, FORGET_KNOWN_S = 1.0, 10.0  # how long one may not be seen, and a known one: reflections flicker
UNTRACKED_S = 2.0  # so long after the last pose nothing is left out: what is known may be the body itself
LEAST_SHARE = 0.7  # of the markers must have labels: otherwise those left over may be theirs
NEAR_SIGMAS, NEAR_PX = 1.0, 3.0  # of where a marker is expected, within which a spot may be it
MOST_S = 0.1  # that counts from one pair to the next
SETTLE = 0.05  # share of the way a place follows its spot, so that noise averages out
MAX_SPOTS = 64
X, Y, HELD, SEEN = range(4)  # columns of a table of spots: place [px], how long without a label [s], when seen last [s]


@dataclass
class Reflections:
    """What stands still in each camera's image without a label."""

    _spots: list[Floats] = field(default_factory=lambda: [np.zeros((MAX_SPOTS, 4)), np.zeros((MAX_SPOTS, 4))])
    _n: list[int] = field(default_factory=lambda: [0, 0])
    _last_s: float = -np.inf
    _tracked_s: float = -np.inf

    def forget(self) -> None:
        """Start anew."""
        self._n = [0, 0]
        self._last_s = self._tracked_s = -np.inf

    def places_px(self, camera: int) -> Floats:
        """Where reflections are known in one camera's image, (R, 2)."""
        spots = self._spots[camera][: self._n[camera]]
        return spots[spots[:, HELD] >= LEARN_S, :HELD]

    def without(self, pair: PairedBlobs, rig: Rig, expected: Expected | None) -> PairedBlobs:
        """Give the pair without the blobs that are reflections; the same pair where there are none."""
        if 1e-9 * pair.t_capture_ns - self._tracked_s > UNTRACKED_S:
            return pair
        left, right = (self._cleaned(blobs, c, rig.cameras[c], expected) for c, blobs in enumerate((pair.left, pair.right)))
        return pair if left is pair.left and right is pair.right else PairedBlobs(left, right, pair.apart_ns)

    def agreed(self, frame: MarkerFrame) -> MarkerFrame:
        """Give a frame without labels that reflections may hold: where one is known, and the other camera sees no marker."""
        held = np.array([standing(px, self._spots[c], self._n[c]) for c, px in enumerate(frame.image_px)]) & frame.seen
        wrong = held & np.where(frame.valid, held.all(axis=0), True)
        if not wrong.any():
            return frame
        seen = frame.seen & ~wrong
        valid = frame.valid & seen.all(axis=0)
        return replace(
            frame,
            valid=valid,
            point_m=np.where(valid[:, None], frame.point_m, 0.0),
            covariance_m2=np.where(valid[:, None, None], frame.covariance_m2, 0.0),
            seen=seen,
            image_px=np.where(seen[..., None], frame.image_px, 0.0),
            sigma_px=np.where(seen, frame.sigma_px, 0.0),
            epipolar_px=np.where(valid, frame.epipolar_px, 0.0),
        )

    def learn(self, pair: PairedBlobs, frame: MarkerFrame, tracked: bool) -> None:
        """Note what stands without a label in a pair of which nothing was left out. tracked: the labels gave a pose."""
        t_s = 1e-9 * pair.t_capture_ns
        tracked = tracked and bool(frame.seen.any(axis=0).mean() >= LEAST_SHARE)
        step_s = min(max(t_s - self._last_s, 0.0), MOST_S) if tracked else 0.0
        self._last_s = t_s
        if tracked:
            self._tracked_s = t_s
        elif t_s - self._tracked_s > UNTRACKED_S:
            self._n = [0, 0]
        for c, blobs in enumerate((pair.left, pair.right)):
            named_px = frame.image_px[c][frame.seen[c]]
            self._n[c] = note(blobs.points_px, named_px, self._spots[c], self._n[c], t_s, step_s)

    def _cleaned(self, blobs: Blobs, index: int, camera: Camera, expected: Expected | None) -> Blobs:
        """Give one camera's blobs without its reflections."""
        n = self._n[index]
        out = standing(blobs.points_px, self._spots[index], n)
        if not out.any():
            return blobs
        if expected is not None:
            depth_m = np.maximum(camera.to_camera(expected.point_m)[:, 2], 0.3)
            keep_near(out, blobs.points_px, camera.project(expected.point_m), camera.focal_px * expected.sigma_m / depth_m)
        return _kept(blobs, ~out) if out.any() else blobs


def _kept(blobs: Blobs, keep: Bools) -> Blobs:
    """Give some of the blobs."""
    parts = (blobs.points_px[keep], blobs.area_px[keep], blobs.color_rgb[keep], blobs.sigma_px[keep])
    return Blobs(blobs.camera, blobs.index, blobs.t_capture_ns, *parts, blobs.light)


@kernel
def _nearest(x: float, y: float, spots: Floats, n: int) -> int:
    """Give the nearest of n spots within STAY_PX, -1 for none."""
    best, found = STAY_PX * STAY_PX, -1
    for k in range(n):
        apart = (spots[k, X] - x) ** 2 + (spots[k, Y] - y) ** 2
        if apart <= best:
            best, found = apart, k
    return found


@kernel
def standing(points_px: Floats, spots: Floats, n: int) -> Bools:
    """Tell which points (N, 2) are where a reflection is known, among n spots of a table (S, 4), (N,)."""
    out = np.zeros(len(points_px), np.bool_)
    for i in range(len(points_px)):
        k = _nearest(points_px[i, 0], points_px[i, 1], spots, n)
        out[i] = k >= 0 and spots[k, HELD] >= LEARN_S
    return out


@kernel
def keep_near(out: Bools, points_px: Floats, expected_px: Floats, sigma_px: Floats) -> None:
    """Take back, in place, what is out (N,) of points (N, 2) near where a marker is expected, (M, 2), by its sigma, (M,) [px]."""
    for i in range(len(out)):
        for m in range(len(expected_px)):
            if out[i]:
                apart2 = (points_px[i, 0] - expected_px[m, 0]) ** 2 + (points_px[i, 1] - expected_px[m, 1]) ** 2
                out[i] = not apart2 < max(NEAR_PX, NEAR_SIGMAS * sigma_px[m]) ** 2  # NaN: behind the camera


@kernel
def note(points_px: Floats, named_px: Floats, spots: Floats, n: int, t_s: float, step_s: float) -> int:
    """Note points (N, 2), some of which have a label, (L, 2), in a table of n spots (S, 4); gives how many there are then.

    t_s: now; step_s: since the last time, 0 where labels say nothing.
    """
    for i in range(len(points_px)):
        x, y = points_px[i, 0], points_px[i, 1]
        named = False
        for m in range(len(named_px)):
            named = named or (named_px[m, 0] == x and named_px[m, 1] == y)
        k = _nearest(x, y, spots, n)
        if k >= 0:
            spots[k, X] += SETTLE * (x - spots[k, X])
            spots[k, Y] += SETTLE * (y - spots[k, Y])
            spots[k, SEEN] = t_s
            if not named:
                spots[k, HELD] += step_s
            elif spots[k, HELD] < LEARN_S:
                spots[k, HELD] = 0.0
        elif not named and n < len(spots):
            spots[n, X], spots[n, Y], spots[n, HELD], spots[n, SEEN] = x, y, 0.0, t_s
            n += 1
    left = 0
    for k in range(n):
        if t_s - spots[k, SEEN] <= (FORGET_KNOWN_S if spots[k, HELD] >= LEARN_S else FORGET_S):
            spots[left] = spots[k]
            left += 1
    return left
