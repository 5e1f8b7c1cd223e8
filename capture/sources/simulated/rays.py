"""Rays against round cones: what hides a marker, and what a pixel sees of the body.

A round cone is the convex hull of two spheres (a, r_a) and (b, r_b). A line meets a convex body in one interval, whose ends lie
on a sphere or on the cone between the two circles of tangency; every other root lies inside the body. So the interval is the hull
of all valid roots, without a case for each kind of surface.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.jit import kernel

Floats32 = NDArray[np.float32]

# A marker that a bent joint presses this far into the body is still visible: skin gives way.
SKIN_M = 0.04
FAR = 1e30


class Cones(NamedTuple):
    """Round cones: ends a and b, (C, 3) each [m], and radii at both ends, (C, 2) [m]."""

    a: Floats
    b: Floats
    radii: Floats

    def selected(self, mask: NDArray[np.bool_]) -> "Cones":
        """Return the marked cones."""
        return Cones(self.a[mask], self.b[mask], self.radii[mask])


def _sample_disc() -> Floats:
    """Return 19 points for equal shares of the unit disc, whose mean is its centre, (19, 2)."""
    rings = [(1, 0.0), (6, math.sqrt(0.5 * (1 / 19 + 7 / 19))), (12, math.sqrt(0.5 * (7 / 19 + 1.0)))]
    points = [(r * math.cos(2 * math.pi * k / n), r * math.sin(2 * math.pi * k / n)) for n, r in rings for k in range(n)]
    return np.array(points)


SAMPLES = _sample_disc()
SAMPLES.setflags(write=False)


@kernel
def intersect_cone(a: Floats, b: Floats, r_a: float, r_b: float, o: Floats, d: Floats) -> tuple[float, float]:
    """Return the interval of t in which o + t d is inside the round cone; first > second on a miss."""
    bx, by, bz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    ax, ay, az = o[0] - a[0], o[1] - a[1], o[2] - a[2]
    first, second = FAR, -FAR
    dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    ad = ax * d[0] + ay * d[1] + az * d[2]
    aa = ax * ax + ay * ay + az * az
    # The cone: (l2 - k^2) |x|^2 - (ba.x)^2 + 2 k r_a (ba.x) - l2 r_a^2 = 0 with k = r_a - r_b, x = o + t d - a.
    k = r_a - r_b
    l2 = bx * bx + by * by + bz * bz
    c2 = l2 - k * k
    if c2 > 1e-12:
        bd = bx * d[0] + by * d[1] + bz * d[2]
        ba = bx * ax + by * ay + bz * az
        k2 = c2 * dd - bd * bd
        k1 = c2 * ad - ba * bd + k * r_a * bd
        k0 = c2 * aa - ba * ba + 2.0 * k * r_a * ba - l2 * r_a * r_a
        h = k1 * k1 - k0 * k2
        if h < 0.0:
            return first, second  # both spheres are inside the infinite cone, which the line misses
        if abs(k2) > 1e-15:
            s = math.sqrt(h)
            for sign in (-1.0, 1.0):
                t = (-k1 + sign * s) / k2
                y = ba + t * bd - k * r_a
                if 0.0 < y < c2:
                    first, second = min(first, t), max(second, t)
    h = ad * ad - dd * (aa - r_a * r_a)
    if h > 0.0:
        s = math.sqrt(h)
        first, second = min(first, (-ad - s) / dd), max(second, (-ad + s) / dd)
    ex, ey, ez = o[0] - b[0], o[1] - b[1], o[2] - b[2]
    ed = ex * d[0] + ey * d[1] + ez * d[2]
    h = ed * ed - dd * (ex * ex + ey * ey + ez * ez - r_b * r_b)
    if h > 0.0:
        s = math.sqrt(h)
        first, second = min(first, (-ed - s) / dd), max(second, (-ed + s) / dd)
    return first, second


@kernel
def _find_nearest_sphere(a: Floats, b: Floats, r_a: float, r_b: float, p: Floats, foot: Floats) -> float:
    """Write the point of the axis whose sphere is nearest to `p`; return its radius."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    length = math.sqrt(ux * ux + uy * uy + uz * uz)
    if length <= abs(r_a - r_b) + 1e-9:
        inner = a if r_a >= r_b else b
        for i in range(3):
            foot[i] = inner[i]
        return max(r_a, r_b)
    ux, uy, uz = ux / length, uy / length, uz / length
    qx, qy, qz = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    x = qx * ux + qy * uy + qz * uz
    radial = math.sqrt(max(qx * qx + qy * qy + qz * qz - x * x, 0.0))
    sine = (r_a - r_b) / length
    f = min(max(x - radial * sine / math.sqrt(1.0 - sine * sine), 0.0), length)
    foot[0], foot[1], foot[2] = a[0] + f * ux, a[1] + f * uy, a[2] + f * uz
    return float(r_a - f * sine)


@kernel
def _write_visibility(center: Floats, markers: Floats, radius: float, cones: Cones, samples: Floats, out: Floats) -> None:
    """Write for every marker the visible share of its disc and the mean visible point, (M, 4)."""
    a, b, radii = cones.a, cones.b, cones.radii
    o, d, side, up = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    hidden = np.zeros(samples.shape[0], np.bool_)
    for m in range(markers.shape[0]):
        for i in range(3):
            d[i] = center[i] - markers[m, i]
        distance = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        for i in range(3):
            d[i] /= distance
        # Two directions across the ray; the smaller component of d keeps the cross product away from zero.
        if abs(d[1]) < 0.9:
            n = math.sqrt(d[0] * d[0] + d[2] * d[2])
            side[0], side[1], side[2] = d[2] / n, 0.0, -d[0] / n
        else:
            n = math.sqrt(d[1] * d[1] + d[2] * d[2])
            side[0], side[1], side[2] = 0.0, d[2] / n, -d[1] / n
        up[0] = d[1] * side[2] - d[2] * side[1]
        up[1] = d[2] * side[0] - d[0] * side[2]
        up[2] = d[0] * side[1] - d[1] * side[0]
        hidden[:] = False
        for c in range(a.shape[0]):
            # A ray against the cone, thicker by the marker's radius, shows whether any of the samples can meet it.
            t0, t1 = intersect_cone(a[c], b[c], radii[c, 0] + radius, radii[c, 1] + radius, markers[m], d)
            if t0 > t1 or t1 <= 0.0 or t0 >= distance:
                continue
            for k in range(samples.shape[0]):
                for i in range(3):
                    o[i] = markers[m, i] + radius * (samples[k, 0] * side[i] + samples[k, 1] * up[i])
                t0, t1 = intersect_cone(a[c], b[c], radii[c, 0], radii[c, 1], o, d)
                hidden[k] |= t0 < t1 and t1 > 0.0 and t0 < distance and (t0 > 0.0 or t1 > SKIN_M)
        seen, u, v = 0, 0.0, 0.0
        for k in range(samples.shape[0]):
            if not hidden[k]:
                seen += 1
                u += radius * samples[k, 0]
                v += radius * samples[k, 1]
        out[m, 0] = seen / samples.shape[0]
        for i in range(3):
            out[m, 1 + i] = markers[m, i] + ((u * side[i] + v * up[i]) / seen if seen > 0 else 0.0)


@kernel
def _write_nearest(cones: Cones, boxes: NDArray[np.int64], rays: Floats32, depth: Floats32, label: Floats32) -> None:
    """Write where each pixel's ray from 0 first enters a round cone, and that cone's number plus one.

    The algebra of `intersect_cone` with o = 0 and d = (x, y, 1); terms of the cone alone are outside of the loop.
    """
    for c in range(cones.a.shape[0]):
        a, b, r_a, r_b = cones.a[c], cones.b[c], cones.radii[c, 0], cones.radii[c, 1]
        a0, a1, a2, b0, b1, b2 = a[0], a[1], a[2], b[0], b[1], b[2]
        u0, u1, u2 = b0 - a0, b1 - a1, b2 - a2
        k = r_a - r_b
        l2 = u0 * u0 + u1 * u1 + u2 * u2
        c2 = l2 - k * k
        aa, bb = a0 * a0 + a1 * a1 + a2 * a2 - r_a * r_a, b0 * b0 + b1 * b1 + b2 * b2 - r_b * r_b
        ua = -(u0 * a0 + u1 * a1 + u2 * a2)
        k0 = c2 * (aa + r_a * r_a) - ua * ua + 2.0 * k * r_a * ua - l2 * r_a * r_a
        m = ua - k * r_a
        has_side = c2 > 1e-12
        for y in range(boxes[c, 2], boxes[c, 3]):
            for x in range(boxes[c, 0], boxes[c, 1]):
                d0, d1 = float(rays[y, x, 0]), float(rays[y, x, 1])
                dd = d0 * d0 + d1 * d1 + 1.0
                ad = a0 * d0 + a1 * d1 + a2
                first = FAR
                if has_side:
                    ud = u0 * d0 + u1 * d1 + u2
                    k2, k1 = c2 * dd - ud * ud, -c2 * ad - m * ud
                    h = k1 * k1 - k0 * k2
                    if h < 0.0:
                        continue
                    if abs(k2) > 1e-15:
                        s = math.sqrt(h)
                        t = (-k1 - s) / k2
                        if 0.0 < m + t * ud < c2:
                            first = t
                        t = (-k1 + s) / k2
                        if 0.0 < m + t * ud < c2 and t < first:
                            first = t
                h = ad * ad - dd * aa
                if h > 0.0:
                    first = min(first, (ad - math.sqrt(h)) / dd)
                bd = b0 * d0 + b1 * d1 + b2
                h = bd * bd - dd * bb
                if h > 0.0:
                    first = min(first, (bd - math.sqrt(h)) / dd)
                if 0.0 < first < FAR and first < depth[y, x]:
                    depth[y, x] = first
                    label[y, x] = c + 1.0


@kernel
def _shade_cones(
    cones: Cones,
    boxes: NDArray[np.int64],
    rays: Floats32,
    light: Floats,
    color: Floats,
    depth: Floats32,
    layer: Floats32,
) -> None:
    """Draw round cones in the camera's frame: write colour times cover and cover to `layer` (h, w, 4); `depth` is scratch.

    rays: (h, w, 2), x/z and y/z of every pixel; boxes: (C, 4), first and last column, first and last row (exclusive).
    """
    a, b, radii = cones.a, cones.b, cones.radii
    p, foot = np.empty(3), np.empty(3)
    _write_nearest(cones, boxes, rays, depth, layer[:, :, 3])
    for y in range(boxes[:, 2].min(), boxes[:, 3].max()):
        for x in range(boxes[:, 0].min(), boxes[:, 1].max()):
            c = int(layer[y, x, 3]) - 1
            if c < 0:
                continue
            t = depth[y, x]
            p[0], p[1], p[2] = rays[y, x, 0] * t, rays[y, x, 1] * t, t
            _find_nearest_sphere(a[c], b[c], radii[c, 0], radii[c, 1], p, foot)
            n0, n1, n2 = p[0] - foot[0], p[1] - foot[1], p[2] - foot[2]
            n = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
            lit = 0.55 + 0.45 * (n0 * light[0] + n1 * light[1] + n2 * light[2]) / n
            for i in range(3):
                layer[y, x, i] = color[c, i] * lit
            layer[y, x, 3] = 1.0


def compute_surface_distance(cones: Cones, point: Floats) -> tuple[float, Floats]:
    """Return the signed distance of a point from the union of round cones and the outward direction there.

    point: (3,) [m]. Returns distance [m], negative inside, of the nearest cone's surface, and a unit vector (3,).
    """
    best, outward, foot = np.inf, np.array([0.0, 0.0, 1.0]), np.empty(3)
    for c in range(len(cones.radii)):
        radius = _find_nearest_sphere(cones.a[c], cones.b[c], cones.radii[c, 0], cones.radii[c, 1], point, foot)
        away = point - foot
        norm = float(np.linalg.norm(away))
        if norm - radius < best:
            best = norm - radius
            outward = away / norm if norm > 1e-9 else outward
    return best, outward


def compute_visibility(center_m: Floats, markers_m: Floats, radius_m: float, cones: Cones) -> tuple[Floats, Floats]:
    """Return the visible share of each marker past the body, (M,) in 0..1, and the mean visible point, (M, 3) [m].

    A marker inside the body by less than `SKIN_M` towards the camera is not hidden by it.

    Args:
        center_m: optical centre, (3,) world.
        markers_m: centres, (M, 3) world.
        radius_m: of the markers.
        cones: of the body.
    """
    out = np.empty((len(markers_m), 4))
    points = np.ascontiguousarray(markers_m, np.float64)
    _write_visibility(np.ascontiguousarray(center_m, np.float64), points, radius_m, cones, SAMPLES, out)
    return out[:, 0].copy(), out[:, 1:].copy()


def draw_body(
    cones: Cones,
    boxes: NDArray[np.int64],
    rays: Floats32,
    light: Floats,
    color: Floats,
    layer: Floats32,
) -> None:
    """Draw round cones given in the camera's frame into a layer of zeros: shaded colour and cover (0 or 1).

    Args:
        cones: in the camera's frame.
        boxes: columns and rows that a cone may touch, (C, 4), exclusive ends.
        rays: x/z and y/z of every pixel, (h, w, 2).
        light: direction towards the light, (3,).
        color: (C, 3).
        layer: (h, w, 4), written.
    """
    depth = np.full(layer.shape[:2], np.float32(FAR))
    _shade_cones(cones, boxes, rays, light, color, depth, layer)
