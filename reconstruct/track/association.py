"""Associations: which point or blob of a moment is which marker, and what each choice costs.

With where every marker is expected, and how surely, a choice has a probability. Costs are -ln of it, over that of a moment in
which nothing is a marker:

    a marker at a point        d^2 / 2 + ln det(2 pi S) / 2 - ln P_D + ln lambda,    S = covariances of marker and point
    a marker that is not seen  -ln (1 - P_D)

with P_D the probability that it is seen and lambda the density of false points. A marker that was not seen in the last moment
will hardly be seen in this one, and the other way round. Points are in space where views agree, else in the image of one view.

Markers are not independent: two of one bone keep their distance, and where the body went farther than was expected, all did. So
the likeliest choices, each marker by itself, are weighed once more by the Gaussian over all markers together, and improved by
exchanges. Any one marker may be astray: it then counts by itself, with little confidence.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from calibration.camera import Camera, Rig
from calibration.epipolar import compute_epipolar_distances
from capture.packets import Blobs, MarkerFrame, Points, Views
from capture.stereo.marker_frames import build_marker_frame
from capture.stereo.matching import list_untaken
from config.arrays import Bools, Floats, Ints, make_read_only
from config.jit import kernel
from config.markers import MarkerSet
from config.settings import LabelSettings
from numerics.assignment import IMPOSSIBLE, find_likeliest_assignments

GATE2 = 36.0  # squared distance in standard deviations beyond which a point is no candidate
ONE_POINT_PX = 8.0  # distance from an epipolar line within which blobs of two views may be images of one point
MIN_DEPTH_M = 0.3
NO_ORDERS: Ints = make_read_only(np.zeros((0, 0), np.int64))
NOTHING_EXCHANGED: Ints = make_read_only(np.zeros(0, np.int64))  # where nobody is followed by landmarks
MORE, MAX_ROUNDS = 4, 6  # choices that are weighed for each that is returned; exchanges in turn


@dataclass(frozen=True, slots=True)
class ExpectedMarkers:
    """Where markers are expected: point_m (M, 3) [m] world, covariance (M, 3, M, 3) [m^2], and the probability to see each, (M,).

    orders: of the markers with those of limbs exchanged that are mistaken for each other, (S, M); seconds: since the moment
    before; share: share of the image points of landmarks that counts.
    """

    point_m: Floats
    covariance: Floats
    seen: Floats
    orders: Ints = field(default_factory=lambda: NO_ORDERS)
    seconds: float = 1.0 / 60.0
    share: float = 1.0

    def only(self, which: Bools) -> "ExpectedMarkers":
        """Return some of the markers, (M,)."""
        if which.all():
            return self
        rows = np.flatnonzero(which)
        number = np.cumsum(which) - 1
        orders = [number[order[rows]] for order in self.orders if which[order[rows]].all() and (order[rows] != rows).any()]
        covariance = np.ascontiguousarray(self.covariance[rows][:, :, rows])
        orders_of = np.array(orders, np.int64).reshape(len(orders), len(rows))
        return replace(self, point_m=self.point_m[rows], covariance=covariance, seen=self.seen[rows], orders=orders_of)

    @property
    def covariance_m2(self) -> Floats:
        """The covariance of every marker by itself, (M, 3, 3) [m^2]."""
        every = np.arange(len(self.point_m))
        return self.covariance[every, :, every]

    @property
    def sigma_m(self) -> Floats:
        """The standard deviation of a coordinate of every marker, (M,) [m]."""
        return np.asarray(np.sqrt(np.trace(self.covariance_m2, axis1=1, axis2=2) / 3.0))


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is labelled: views of one time, of a rig in the world, for the markers of a subject; and the settings of labels."""

    views: Views
    rig: Rig
    markers: MarkerSet
    settings: LabelSettings


@dataclass(frozen=True, slots=True)
class Association:
    """One way to label a moment.

    The cost leaves out the distances of the points from where they were expected; the solved pose decides on those.

    Attributes:
        point: point of every marker, (M,), -1 for none.
        frame: labelled markers.
        cost: cost of the labels alone.
        exchanged: what the landmarks of each view have exchanged, (V,), `config.landmarks.Exchange`; none: (0,).
    """

    point: Ints
    frame: MarkerFrame
    cost: float
    likeliness: float
    exchanged: Ints = field(default_factory=lambda: NOTHING_EXCHANGED)


def associate(sighting: Sighting, points: Points, expected: ExpectedMarkers) -> list[Association]:
    """Return the likeliest ways to label a moment by its points, the best first: at most `beam`, none hopeless beside it."""
    s = sighting.settings
    near = compute_point_costs(points, expected, s)
    found = find_likeliest_assignments(near, -np.log1p(-expected.seen), MORE * s.beam, s.branch)
    if len(found) > 1:
        found = TogetherCost(points, expected, near, s).improve(found, s.beam)
    result = [_build_association(sighting, points, expected, likeliness, choice) for likeliness, choice in found]
    return sorted(result, key=lambda each: each.likeliness)


class TogetherCost:
    """Cost of choices by the Gaussian over all markers together, where it is not clear which point is which marker.

    near: cost of every marker at every point, (M, P). Markers and points that are clearly each other's narrow down the others.
    """

    def __init__(self, points: Points, expected: ExpectedMarkers, near: Floats, s: LabelSettings) -> None:
        missed = -np.log1p(-expected.seen)
        possible = near < missed[:, None] + s.branch
        clear = (
            possible & (possible.sum(axis=1) == 1)[:, None] & (possible.sum(axis=0) == 1) & (near < missed[:, None] - s.branch)
        )
        self._clear = np.where(clear.any(axis=1), clear.argmax(axis=1), -1)
        self._open = np.flatnonzero(self._clear < 0)
        self._orders = [order for order in expected.orders if (self._clear[order != np.arange(len(order))] < 0).all()]
        self._points, self._possible, self._settings = points, possible, s
        self._missed, self._known = missed, math.log(s.false_points_m3) - np.log(expected.seen)
        self._point_m, self._covariance = self._given_clear(expected)
        self._costs: dict[bytes, tuple[float, Ints]] = {}

    def _given_clear(self, expected: ExpectedMarkers) -> tuple[Floats, Floats]:
        """Return where the open markers are expected given the others, (K, 3), and their covariance, (K, 3, K, 3)."""
        known, open_ones, n = np.flatnonzero(self._clear >= 0), self._open, len(self._open)
        own = expected.covariance[open_ones][:, :, open_ones]
        if not len(known) or not n:
            return expected.point_m[open_ones], own
        S = self._with_noise(expected.covariance[known][:, :, known], self._clear[known])
        across = expected.covariance[open_ones][:, :, known].reshape(3 * n, -1)
        gain = np.linalg.solve(S, across.T).T
        apart = (self._points.point_m[self._clear[known]] - expected.point_m[known]).ravel()
        moved = (gain @ apart).reshape(n, 3)
        return expected.point_m[open_ones] + moved, own - (gain @ across.T).reshape(n, 3, n, 3)

    def _with_noise(self, covariance: Floats, chosen: Ints) -> Floats:
        """Return a covariance of markers with that of their points, (3 K, 3 K)."""
        S, every = covariance.copy(), np.arange(len(chosen))
        S[every, :, every] += self._points.covariance_m2[chosen] + self._settings.marker_sigma_m**2 * np.eye(3)
        return S.reshape(3 * len(chosen), -1)

    def improve(self, found: list[tuple[float, Ints]], count: int) -> list[tuple[float, Ints]]:
        """Return the likeliest choices, the first the best, that some, and exchanges from the best, lead to; at most `count`."""
        for _, choice in found:
            self._weigh(choice)
        for _ in range(MAX_ROUNDS):
            best = min(self._costs.values(), key=lambda each: each[0])
            for other in self._exchanged(best[1]):
                self._weigh(other)
            if min(self._costs.values(), key=lambda each: each[0])[0] > best[0] - 1e-9:
                break
        every = sorted(self._costs.values(), key=lambda each: each[0])
        return [each for each in every[:count] if each[0] < every[0][0] + self._settings.branch]

    def _weigh(self, choice: Ints) -> None:
        """Add a choice to those whose cost is known."""
        if (key := choice.tobytes()) not in self._costs:
            self._costs[key] = self._cost(choice[self._open]), choice

    def _cost(self, choice: Ints) -> float:
        """Return the cost of points of the open markers, (K,), of which one may be astray."""
        s, shown = self._settings, np.flatnonzero(choice >= 0)
        cost, n = float(self._missed[self._open][choice < 0].sum()), len(shown)
        if not n:
            return cost
        cost += float(self._known[self._open][shown].sum())
        apart = (self._points.point_m[choice[shown]] - self._point_m[shown]).ravel()
        S = self._with_noise(self._covariance[shown][:, :, shown], choice[shown])
        Q, every = np.linalg.inv(S), np.arange(n)
        pulled = Q @ apart
        cost += 0.5 * float(apart @ pulled) + 0.5 * float(np.linalg.slogdet(2.0 * math.pi * S)[1])
        own, pull, alone = np.asarray(Q).reshape(n, 3, n, 3)[every, :, every], pulled.reshape(n, 3), apart.reshape(n, 3)
        # What is saved where a marker is left out of the Gaussian, and what it costs by itself.
        saved = _compute_half_squares(own, pull) - 0.5 * np.linalg.slogdet(own / (2.0 * math.pi))[1]
        wide = self._covariance[shown, :, shown] + s.stray_m**2 * np.eye(3)
        stray = _compute_half_squares(wide, alone) + 0.5 * np.linalg.slogdet(2.0 * math.pi * wide)[1] - math.log(s.stray)
        return cost + min(float((stray - saved).min()), 0.0)

    def _exchanged(self, choice: Ints) -> list[Ints]:
        """Return a choice with points of limbs or of two markers exchanged, one given to another marker, or one taken away."""
        owner = np.full(self._possible.shape[1], -1)
        owner[choice[choice >= 0]] = np.flatnonzero(choice >= 0)
        found = [choice[order] for order in self._orders]
        for m in self._open:
            for p in [*np.flatnonzero(self._possible[m]), -1]:
                if choice[m] == p:
                    continue
                other = choice.copy()
                other[m] = p
                if p >= 0 and owner[p] >= 0:
                    back = choice[m]
                    other[owner[p]] = back if back >= 0 and self._possible[owner[p], back] else -1
                found.append(other)
        return found


def _compute_half_squares(S: Floats, apart: Floats) -> Floats:
    """Return a' S^-1 a / 2 of vectors (M, 3) and matrices (M, 3, 3), (M,)."""
    return np.asarray(0.5 * np.einsum("mi,mi->m", apart, np.linalg.solve(S, apart[:, :, None])[:, :, 0]))


def _build_association(
    sighting: Sighting, points: Points, expected: ExpectedMarkers, likeliness: float, choice: Ints
) -> Association:
    """Return the association with some points, and with the likeliest blobs of single views for the markers without one."""
    frame, more = build_marker_frame(sighting.views, points, choice), 0.0
    open_markers = np.flatnonzero(choice < 0)
    if len(open_markers):
        unused = list_untaken(len(points.point_m), choice[choice >= 0])
        loose = (row[row >= 0] for row in points.blob[:, unused])
        free = [np.concatenate(parts) for parts in zip(points.single, loose, strict=True)]
        if any(len(each) for each in free):
            blob, more = _label_singles(sighting, free, open_markers, expected)
            for point in points.blob[:, unused].T:  # what two views say of one marker is not a point that is no marker
                blob[:, ((blob == point[:, None]) & (point >= 0)[:, None]).sum(axis=0) > 1] = -1
            frame = _add_blobs(frame, sighting.views, open_markers, blob)
    return Association(choice, frame, compute_label_cost(frame, expected, sighting.settings), likeliness + more)


def compute_label_cost(frame: MarkerFrame, expected: ExpectedMarkers, s: LabelSettings) -> float:
    """Return the cost of a frame's labels without the distances: markers seen and not, and points that are false."""
    shown = frame.shown
    cost = -float(np.log(expected.seen[shown]).sum() + np.log1p(-expected.seen[~shown]).sum())
    if frame.any_valid:
        noise = frame.covariance_m2[frame.valid] + s.marker_sigma_m**2 * np.eye(3)
        cost += 0.5 * float(np.linalg.slogdet(2.0 * math.pi * noise)[1].sum())
        cost += math.log(s.false_points_m3) * int(np.count_nonzero(frame.valid))
    single = frame.seen & ~frame.valid
    if single.any():
        cost += float(np.log(2.0 * math.pi * frame.sigma_px[single] ** 2 * s.false_blobs_px2).sum())
    return cost


def compute_point_costs(points: Points, expected: ExpectedMarkers, s: LabelSettings) -> Floats:
    """Return the cost of every marker at every point, (M, P), IMPOSSIBLE beyond the gate."""
    n = len(expected.point_m)
    cost = np.full((n, len(points.point_m)), IMPOSSIBLE)
    if cost.size:
        known = math.log(s.false_points_m3) - np.log(expected.seen)
        S, stray = expected.covariance_m2 + s.marker_sigma_m**2 * np.eye(3), np.full_like(cost, IMPOSSIBLE)
        at_m, own = make_read_only(points.point_m), make_read_only(points.covariance_m2)
        _compute_gated_costs(at_m, own, expected.point_m, S, known, cost)
        _compute_gated_costs(at_m, own, expected.point_m, S + s.stray_m**2 * np.eye(3), known - math.log(s.stray), stray)
        np.minimum(cost, stray, out=cost)
    return cost


@kernel
def _compute_gated_costs(
    point_m: Floats, covariance_m2: Floats, marker_m: Floats, S: Floats, known: Floats, cost: Floats
) -> None:
    """Write d' C^-1 d / 2 + ln det(2 pi C) / 2 + known of every marker at every point within the gate, C = S + covariance."""
    for m in range(marker_m.shape[0]):
        for p in range(point_m.shape[0]):
            C, D = covariance_m2[p], S[m]
            a = C[0, 0] + D[0, 0]
            k10, k20 = (C[1, 0] + D[1, 0]) / a, (C[2, 0] + D[2, 0]) / a
            b = C[1, 1] + D[1, 1] - k10 * k10 * a
            k21 = (C[2, 1] + D[2, 1] - k20 * k10 * a) / b
            c = C[2, 2] + D[2, 2] - k20 * k20 * a - k21 * k21 * b
            z0 = point_m[p, 0] - marker_m[m, 0]
            z1 = point_m[p, 1] - marker_m[m, 1] - k10 * z0
            z2 = point_m[p, 2] - marker_m[m, 2] - k20 * z0 - k21 * z1
            d2 = z0 * z0 / a + z1 * z1 / b + z2 * z2 / c
            if d2 < GATE2:
                cost[m, p] = 0.5 * (d2 + math.log(8.0 * math.pi**3 * a * b * c)) + known[m]


def _label_singles(sighting: Sighting, free: list[Ints], open_markers: Ints, expected: ExpectedMarkers) -> tuple[Ints, float]:
    """Return the likeliest of the free blobs of each view for some markers, (V, K), -1 for none, and by how much less they cost.

    Each view is labelled by itself. Where the blobs of a marker in two views are no images of one point, the likelier one stays.

    Args:
        sighting: what is seen.
        free: blobs of each view that are of no point.
        open_markers: those to be labelled, (K,).
        expected: markers as they are expected.
    """
    views, rig, s = sighting.views, sighting.rig, sighting.settings
    blob, saved = np.full((len(free), len(open_markers)), -1), np.zeros((len(free), len(open_markers)))
    missed = -np.log1p(-expected.seen[open_markers])
    for c, each in enumerate(free):
        if len(each):
            cost = _compute_blob_costs(views[c], rig.cameras[c], each, open_markers, expected, s)
            column = find_likeliest_assignments(cost, missed, 1, s.branch)[0][1]
            has = np.flatnonzero(column >= 0)
            blob[c, has], saved[c, has] = each[column[has]], (cost - missed[:, None])[has, column[has]]
    for a, b in combinations(range(len(free)), 2):
        for m in np.flatnonzero((blob[a] >= 0) & (blob[b] >= 0)):
            a_px, b_px = views[a].points_px[blob[a, m], None], views[b].points_px[blob[b, m], None]
            if compute_epipolar_distances((rig.cameras[a], rig.cameras[b]), a_px, b_px)[0, 0] > ONE_POINT_PX:
                worse = a if saved[a, m] > saved[b, m] else b
                blob[worse, m], saved[worse, m] = -1, 0.0
    return blob, float(saved.sum())


def _compute_blob_costs(
    blobs: Blobs, camera: Camera, free: Ints, markers: Ints, expected: ExpectedMarkers, s: LabelSettings
) -> Floats:
    """Return the cost of some markers, (K,), at some blobs of a view, (F,): (K, F), IMPOSSIBLE beyond the gate."""
    at_m = expected.point_m[markers]
    predicted, J = camera.project(at_m), compute_image_derivatives(camera, at_m)
    apart, sigma_px = predicted[:, None] - blobs.points_px[free], blobs.sigma_px[free]
    known = (math.log(s.false_blobs_px2) - np.log(expected.seen[markers]))[:, None]
    costs = list[Floats]()
    for wider_m, cost in ((0.0, 0.0), (s.stray_m, -math.log(s.stray))):
        world = expected.covariance_m2[markers] + (s.marker_sigma_m**2 + wider_m**2) * np.eye(3)
        costs.append(_compute_image_costs(J @ world @ np.swapaxes(J, 1, 2), apart, sigma_px) + known + cost)
    return np.minimum(costs[0], costs[1])


def _compute_image_costs(S: Floats, apart: Floats, sigma_px: Floats) -> Floats:
    """Return d' C^-1 d / 2 + ln det(2 pi C) / 2 within the gate, IMPOSSIBLE beyond, (K, F), C = S + sigma^2.

    Args:
        S: covariances of images, (K, 2, 2) [px^2].
        apart: (K, F, 2) [px].
        sigma_px: of the blobs, (F,).
    """
    C = S[:, None] + (sigma_px**2)[None, :, None, None] * np.eye(2)
    det = C[..., 0, 0] * C[..., 1, 1] - C[..., 0, 1] ** 2
    x, y = apart[..., 0], apart[..., 1]
    d2 = (C[..., 1, 1] * x * x - 2.0 * C[..., 0, 1] * x * y + C[..., 0, 0] * y * y) / det
    return np.where(d2 < GATE2, 0.5 * d2 + np.log(2.0 * math.pi * np.sqrt(det)), IMPOSSIBLE)


def compute_image_derivatives(camera: Camera, point_m: Floats) -> Floats:
    """Return the derivatives of image points by points in the world, (K, 2, 3) [px/m], but for what the lens bends."""
    at = camera.to_camera(point_m)
    depth = np.maximum(at[:, 2], MIN_DEPTH_M)
    along = camera.rotation[2] * (at[:, :2] / depth[:, None])[:, :, None]
    return np.asarray(camera.focal_px * (camera.rotation[:2] - along) / depth[:, None, None])


def _add_blobs(frame: MarkerFrame, views: Views, markers: Ints, blob: Ints) -> MarkerFrame:
    """Return a frame in which some markers, (K,), have blobs of single views, (V, K), -1 for none."""
    seen, image_px, sigma_px = frame.seen.copy(), frame.image_px.copy(), frame.sigma_px.copy()
    for c, each in enumerate(views.blobs):
        if each is None:
            continue
        has = np.flatnonzero(blob[c] >= 0)
        seen[c, markers[has]] = True
        image_px[c, markers[has]], sigma_px[c, markers[has]] = each.points_px[blob[c, has]], each.sigma_px[blob[c, has]]
    return replace(frame, seen=seen, image_px=image_px, sigma_px=sigma_px)
