"""Rays against round cones: hand values, and oracles that sample the cone as many spheres."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.sources.simulated.rays import (
    SKIN_M,
    Cones,
    compute_surface_distance,
    compute_visibility,
    draw_body,
    intersect_cone,
)
from config.arrays import Floats
from tests.support.compiled import limit_examples


def chords(cones: Cones, origin: Floats, direction: Floats) -> Floats:
    """Return where a ray is inside each cone, (C, 2); first > second where it misses."""
    return np.array([intersect_cone(a, b, *r, origin, direction) for a, b, r in zip(*cones, strict=True)])


def sampled_distance(a: Floats, b: Floats, radii: Floats, points: Floats, n: int = 800) -> Floats:
    """Return the signed distance from the union of n spheres between the two ends, (P,)."""
    s = np.linspace(0.0, 1.0, n)
    centers = a + s[:, None] * (b - a)
    r = radii[0] + s * (radii[1] - radii[0])
    return np.asarray((np.linalg.norm(points[:, None] - centers, axis=2) - r).min(axis=1))


def test_ray_through_a_sphere_worked_out_by_hand() -> None:
    # A sphere of radius 2 about (10, 0, 0): from the origin along x it is entered at 8 and left at 12.
    cones = Cones(np.array([[10.0, 0.0, 0.0]]), np.array([[10.0, 0.0, 0.0]]), np.array([[2.0, 2.0]]))
    assert chords(cones, np.zeros(3), np.array([1.0, 0.0, 0.0]))[0] == pytest.approx([8.0, 12.0])
    assert chords(cones, np.zeros(3), np.array([2.0, 0.0, 0.0]))[0] == pytest.approx([4.0, 6.0])
    first, last = chords(cones, np.zeros(3), np.array([1.0, 0.5, 0.0]))[0]
    assert first > last


def test_ray_across_a_cylinder_and_along_it() -> None:
    cones = Cones(np.array([[0.0, -3.0, 5.0]]), np.array([[0.0, 4.0, 5.0]]), np.array([[1.0, 1.0]]))
    assert chords(cones, np.zeros(3), np.array([0.0, 0.0, 1.0]))[0] == pytest.approx([4.0, 6.0])
    along = chords(cones, np.array([0.0, -10.0, 5.0]), np.array([0.0, 1.0, 0.0]))[0]
    assert along == pytest.approx([6.0, 15.0])


@given(st.integers(0, 10_000))
def test_ends_of_a_chord_lie_on_the_surface_and_nothing_inside_is_missed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.0, 0.3, 3), rng.normal(0.0, 0.3, 3)
    radii = rng.uniform(0.05, 0.3, 2)
    o = rng.normal(size=3)
    o *= 2.0 / np.linalg.norm(o)
    d = 0.5 * (a + b) + rng.normal(0.0, 0.25, 3) - o
    first, last = chords(Cones(a[None], b[None], radii[None]), o, d)[0]
    t = np.linspace(0.0, 2.5, 60)
    inside = t[sampled_distance(a, b, radii, o + t[:, None] * d, 300) < -1e-3]
    if first < last:
        on_surface = sampled_distance(a, b, radii, o + np.array([[first], [last]]) * d)
        assert np.abs(on_surface).max() < 1e-3
        assert len(inside) == 0 or (first <= inside[0] and inside[-1] <= last)
    else:
        assert len(inside) == 0


@limit_examples(30)
@given(st.integers(0, 10_000))
def test_surface_distance_is_that_of_the_nearest_sphere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.0, 0.3, (2, 3)), rng.normal(0.0, 0.3, (2, 3))
    radii = rng.uniform(0.05, 0.3, (2, 2))
    point = rng.normal(0.0, 0.8, 3)
    distance, outward = compute_surface_distance(Cones(a, b, radii), point)
    expected = min(float(sampled_distance(a[c], b[c], radii[c], point[None])[0]) for c in range(2))
    assert distance == pytest.approx(expected, abs=1e-3)
    assert np.linalg.norm(outward) == pytest.approx(1.0)
    # Between two cones the nearest may change on the way, so the direction is tried on one alone.
    distance, outward = compute_surface_distance(Cones(a[:1], b[:1], radii[:1]), point)
    moved, _ = compute_surface_distance(Cones(a[:1], b[:1], radii[:1]), point + 0.05 * outward)
    assert moved == pytest.approx(distance + 0.05, abs=1e-6)


def test_a_wall_that_covers_the_left_half_leaves_the_right_half() -> None:
    # Camera at +z, marker at the origin, a huge ball whose right edge stands exactly before the marker's middle.
    radius = 50.0
    cones = Cones(np.array([[-radius, 0.0, 1.0]]), np.array([[-radius, 0.0, 1.0]]), np.array([[radius, radius]]))
    shown, seen = compute_visibility(np.array([0.0, 0.0, 4.0]), np.zeros((1, 3)), 0.02, cones)
    assert 0.35 < shown[0] < 0.65
    # The middle of a half disc is 4 r / (3 pi) from its straight side.
    assert seen[0] == pytest.approx([4.0 * 0.02 / (3.0 * np.pi), 0.0, 0.0], abs=2e-3)


def test_flesh_gives_way_to_a_marker_but_a_limb_does_not() -> None:
    center, marker = np.array([0.0, 0.0, 3.0]), np.zeros((1, 3))

    def shown(z: float, radius: float) -> float:
        cones = Cones(np.array([[0.0, 0.0, z]]), np.array([[0.1, 0.0, z]]), np.array([[radius, radius]]))
        return float(compute_visibility(center, marker, 0.01, cones)[0][0])

    assert shown(-0.08, 0.08 + 0.5 * SKIN_M) == 1.0  # half a skin deep
    assert shown(0.0, 0.08) == 0.0  # in the middle of the limb
    assert shown(0.5, 0.03) == 0.0  # a thin limb in front
    assert shown(-0.2, 0.08) == 1.0  # a limb behind
    assert shown(3.5, 0.08) == 1.0  # a limb behind the camera


@limit_examples(30)
@given(st.integers(0, 10_000))
def test_visibility_agrees_with_walking_along_every_ray(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.0, 0.5, (3, 3)), rng.normal(0.0, 0.5, (3, 3))
    radii = rng.uniform(0.03, 0.2, (3, 2))
    center, marker = np.array([0.3, 0.4, 4.0]), rng.normal(0.0, 0.5, 3)
    if min(sampled_distance(a[c], b[c], radii[c], marker[None], 200)[0] for c in range(3)) < 0.03:
        return  # a marker in the flesh has rules of its own, tested above
    shown, _ = compute_visibility(center, marker[None], 0.012, Cones(a, b, radii))
    walk = marker + np.linspace(0.0, 1.0, 400)[:, None] * (center - marker)
    nearest = min(sampled_distance(a[c], b[c], radii[c], walk, 200).min() for c in range(3))
    if nearest > 0.013:
        assert shown[0] == 1.0
    elif nearest < -0.013:
        assert shown[0] == 0.0


def test_body_is_drawn_where_rays_meet_it_and_the_nearer_part_wins() -> None:
    cones = Cones(
        np.array([[0.0, -0.3, 3.0], [-0.3, 0.0, 2.0]]),
        np.array([[0.0, 0.3, 3.0], [0.3, 0.0, 2.0]]),
        np.array([[0.1, 0.05], [0.04, 0.08]]),
    )
    x, y = np.meshgrid((np.arange(24) - 11.5) / 40.0, (np.arange(18) - 8.5) / 40.0)
    rays = np.stack([x, y], axis=-1).astype(np.float32)
    layer = np.zeros((18, 24, 4), np.float32)
    boxes = np.array([[0, 24, 0, 18]] * 2)
    color = np.array([[100.0, 0.0, 0.0], [0.0, 100.0, 0.0]])
    draw_body(cones, boxes, rays, np.array([0.0, 0.0, -1.0]), color, layer)
    for row in range(18):
        for column in range(24):
            t = chords(cones, np.zeros(3), np.array([*rays[row, column], 1.0]))
            hit = t[:, 0] < t[:, 1]
            assert layer[row, column, 3] == float(hit.any())
            if hit.any():
                nearer = int(np.argmin(np.where(hit, t[:, 0], np.inf)))
                assert layer[row, column, nearer] > 0.0
                assert layer[row, column, 1 - nearer] == 0.0
    # Facing the light the surface is brightest.
    assert layer[8, 11, 1] > 95.0
