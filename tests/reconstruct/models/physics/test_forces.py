"""Forces of motions that are known: standing, flight, and a motion made by forces."""

import numpy as np
import pytest

from config.errors import DuocapError
from database.builtin.catalog import make_builtin_clip
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.friction import build_cone_basis, measure_cone_excess_n

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from reconstruct.models.physics.contacts import compute_part_positions, find_contact_parts, fit_ground
from reconstruct.models.physics.dynamics import N_ROOT, Dynamics, configurations_from_poses
from reconstruct.models.physics.forces import ForceOptions, compute_contact_forces

CLIP = make_builtin_clip("walk")
STANDING = np.repeat(configurations_from_poses(CLIP.rotvec, CLIP.root_m)[:1], 40, axis=0)


def dynamics(mass_kg: float = 70.0) -> Dynamics:
    """Return the equations of motion of the built-in body."""
    return Dynamics(build_body(CLIP.skeleton, mass_kg))


def test_who_stands_still_is_borne_by_the_ground_under_the_centre_of_mass() -> None:
    d = dynamics()
    found = compute_contact_forces(d, STANDING, 60.0)
    feet = found.foot_forces(d.points.foot)
    total = found.force_n[20].sum(axis=0)
    np.testing.assert_allclose(total, (0.0, 70.0 * 9.81, 0.0), atol=0.5)
    assert (feet[:, :, 1] > 100.0).all() and found.parts.all()
    pressure = (found.force_n[20, :, 1:2] * found.point_m[20]).sum(axis=0) / total[1]
    np.testing.assert_allclose(pressure[[0, 2]], d.center_of_mass(STANDING[0])[[0, 2]], atol=2e-3)
    assert np.abs(found.residual[20]).max() < 1.0


def test_who_is_thrown_needs_no_contact_and_no_residual() -> None:
    """A body that falls freely, turning: nothing pushes it, and nothing is left over."""
    d, dt = dynamics(), 1.0 / 120.0
    q, v = STANDING[:1].copy(), np.zeros(72)
    q[0, 1] += 3.0
    v[3:6], path = (0.5, 1.0, -0.4), []
    for _ in range(60):
        path.append(q[0])
        half = v + 0.5 * dt * d.accelerations(q[0], v, np.zeros(72))
        middle = d.integrate(q, 0.5 * dt * v[None])[0]
        v = v + dt * d.accelerations(middle, half, np.zeros(72))
        q = d.integrate(q, dt * half[None])
    found = compute_contact_forces(d, np.array(path), 120.0, ForceOptions(cutoff_hz=np.inf, parts=np.zeros((60, 2, 3), bool)))
    assert not found.force_n.any()
    assert np.abs(found.residual[2:-2, :3]).max() < 0.01 * found.weight_n
    assert np.abs(found.residual[2:-2, 3:]).max() < 2.0


def test_forces_and_torques_add_up_to_eq_1() -> None:
    d = dynamics()
    q = configurations_from_poses(CLIP.rotvec[:150], CLIP.root_m[:150])
    found = compute_contact_forces(d, q, CLIP.fps)
    assert (found.force_n[~found.parts[:, d.points.foot, d.points.part]] == 0.0).all()
    assert measure_cone_excess_n(found.force_n, 0.8).max() < 1e-6 and found.force_n[..., 1].min() >= 0.0
    for n in (30, 75, 120):
        contact = np.einsum("pij,pi->j", d.contact_jacobian(found.motion.q[n]), found.force_n[n])
        np.testing.assert_allclose(found.torque[n] + contact, found.u[n], atol=1e-6)
        R = d.placements(found.motion.q[n])[0][0]
        np.testing.assert_allclose(R @ found.torque[n, :3], found.residual[n, :3], atol=1e-6)
        np.testing.assert_allclose(R @ found.torque[n, 3:N_ROOT], found.residual[n, 3:], atol=1e-6)


def test_mass_scales_forces_and_ice_carries_no_shear() -> None:
    q = configurations_from_poses(CLIP.rotvec[:150], CLIP.root_m[:150])
    light, heavy = (compute_contact_forces(dynamics(mass), q, CLIP.fps) for mass in (50.0, 100.0))
    np.testing.assert_allclose(2.0 * light.force_n, heavy.force_n, atol=1e-3 * heavy.weight_n)
    ice = compute_contact_forces(dynamics(), q, CLIP.fps, ForceOptions(friction=0.0))
    assert np.abs(ice.force_n[..., [0, 2]]).max() < 1e-9 and np.abs(ice.residual[:, 0]).max() > 5.0


def test_long_motions_are_solved_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    q = configurations_from_poses(CLIP.rotvec[:300], CLIP.root_m[:300])
    whole = compute_contact_forces(dynamics(), q, CLIP.fps)
    monkeypatch.setattr("reconstruct.models.physics.forces.CHUNK", 70)
    parts = compute_contact_forces(dynamics(), q, CLIP.fps)
    np.testing.assert_allclose(parts.force_n, whole.force_n, atol=0.003 * whole.weight_n)


def test_contacts_stand_on_a_floor_that_is_not_level() -> None:
    """A capture room calibrated to 2 degrees has the same contacts as a level one."""
    body = build_body(CLIP.skeleton)
    d = Dynamics(body)
    points = d.contact_positions(configurations_from_poses(CLIP.rotvec, CLIP.root_m))
    level = find_contact_parts(body.contacts, points, CLIP.fps)
    tilted = points.copy()
    tilted[..., 1] += 0.035 * points[..., 2] + 0.1
    slope = fit_ground(compute_part_positions(body.contacts, tilted), CLIP.fps).slope
    np.testing.assert_allclose(slope, (0.0, 0.035), atol=0.004)
    assert (find_contact_parts(body.contacts, tilted, CLIP.fps) == level).mean() > 0.99
    walking = level[100:300].any(axis=2)
    assert 0.5 < walking.mean() < 0.75  # a walker's foot is down for 60 % of the time


def test_feet_of_unlike_heights_do_not_tilt_the_floor_of_a_straight_walk() -> None:
    """A left sole 15 mm thicker: half a metre beside the origin, the floor of a 12 degree slope would be 10 cm off."""
    body = build_body(CLIP.skeleton)
    d = Dynamics(body)
    q = configurations_from_poses(CLIP.rotvec, CLIP.root_m)
    middle = compute_part_positions(body.contacts, d.contact_positions(q))
    middle[..., 0] = 0.6 + np.where(np.arange(2)[:, None] == 0, 0.08, -0.08)  # a straight line along Z
    middle[:, 0, :, 1] -= 0.015
    ground = fit_ground(middle, CLIP.fps)
    assert abs(ground.slope[0]) < 0.02
    levelled = d.contact_positions(ground.level_configurations(q))
    assert np.percentile(levelled[..., 1].min(axis=1), 50) == pytest.approx(0.0, abs=0.03)


def test_cones_hold_what_friction_allows() -> None:
    normal = np.array([0.1, 1.0, -0.2]) / np.linalg.norm([0.1, 1.0, -0.2])
    B = build_cone_basis(0.5, normal)
    np.testing.assert_allclose(normal @ B, 1.0)
    np.testing.assert_allclose(measure_cone_excess_n(B.T, 0.5, normal), 0.0, atol=1e-12)
    assert measure_cone_excess_n(B.T, 0.4, normal).min() > 0.09
    for friction in (-0.1, np.nan):
        with pytest.raises(DuocapError, match="expected a coefficient from 0"):
            build_cone_basis(friction)


def test_motions_without_accelerations_are_refused() -> None:
    with pytest.raises(DuocapError, match="no accelerations"):
        compute_contact_forces(dynamics(), STANDING[:2], 60.0)
    gap = STANDING.copy()
    gap[5, 3] = np.nan
    with pytest.raises(DuocapError, match="not finite"):
        compute_contact_forces(dynamics(), gap, 60.0)
    with pytest.raises(DuocapError, match="contacts of 3 frames for a motion of 40"):
        compute_contact_forces(dynamics(), STANDING, 60.0, ForceOptions(parts=np.ones((3, 2, 3), bool)))
