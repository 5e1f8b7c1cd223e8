"""Force fields: derivatives of states, learning, the file."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from database.builtin.catalog import make_builtin_clip
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics
from reconstruct.models.physics.field.field import ForceField, fit_subspace
from reconstruct.models.physics.field.file import read_field, write_field
from reconstruct.models.physics.field.mixture import compute_log_terms, fit_mixture
from reconstruct.models.physics.field.prepare import prepare_field_motion
from reconstruct.models.physics.field.state import N_STATE, compute_state_derivatives, compute_states, compute_units
from reconstruct.models.physics.field.train import (
    FPS,
    FieldMotion,
    FieldOptions,
    ForceFieldError,
    compute_state_and_force,
    train_field,
)

OPTIONS = FieldOptions(inducing=120, learning=400, steps=30)


@pytest.fixture(scope="module")
def walk() -> FieldMotion:
    return prepare_field_motion(make_builtin_clip("walk"), 70.0)


@pytest.fixture(scope="module")
def field(walk: FieldMotion) -> ForceField:
    return train_field("walk", [walk], OPTIONS)


def test_derivatives_of_states_are_those_of_central_differences(walk):
    body = build_body(walk.skeleton, 70.0)
    dynamics, units = Dynamics(body), compute_units(body)
    q, v = walk.q[40:42], dynamics.motion(walk.q, 1 / FPS).v[40:42]
    by = compute_state_derivatives(q, units)
    rows = np.broadcast_to(np.eye(N_STATE), (2, N_STATE, N_STATE))
    by_q, by_v = by.by_q(rows), by.by_v(rows)
    for k in range(N_TANGENT):
        step = np.broadcast_to(1e-6 * np.eye(N_TANGENT)[k], (2, N_TANGENT))
        ahead, behind = (compute_states(dynamics.integrate(q, sign * step), v, 0.02, units) for sign in (1.0, -1.0))
        np.testing.assert_allclose(by_q[:, :, k], (ahead - behind) / 2e-6, atol=1e-7)
        ahead, behind = (compute_states(q, v + sign * step, 0.02, units) for sign in (1.0, -1.0))
        np.testing.assert_allclose(by_v[:, :, k], (ahead - behind) / 2e-6, atol=1e-7)


def test_states_and_forces_do_not_know_place_and_heading(walk):
    body = build_body(walk.skeleton, 70.0)
    q = walk.q.copy()
    half = np.array([0.0, np.sin(0.6), 0.0, np.cos(0.6)])  # a turn about Y, quaternion xyzw
    x, y, z, w = q[:, 3:7].T
    q[:, 3:7] = np.stack(
        [half[3] * x + half[1] * z, half[3] * y + half[1] * w, half[3] * z - half[1] * x, half[3] * w - half[1] * y], axis=1
    )
    c, s = np.cos(1.2), np.sin(1.2)
    q[:, [0, 2]] = np.stack([c * q[:, 0] + s * q[:, 2] + 3.0, -s * q[:, 0] + c * q[:, 2] - 2.0], axis=1)
    for turned, straight in zip(compute_state_and_force(body, q, FPS), compute_state_and_force(body, walk.q, FPS), strict=True):
        np.testing.assert_allclose(turned, straight, atol=1e-7)


def test_subspaces_keep_their_share_of_the_energy(field, walk):
    s, u = compute_state_and_force(build_body(walk.skeleton, 70.0), walk.q, FPS)
    for rows, subspace in ((s, field.state), (u, field.force)):
        kept = 1.0 - subspace.outside(rows).var(axis=0).sum() / rows.var(axis=0).sum()
        fewer = fit_subspace(rows, 0.95).basis[:, :-1]
        assert kept >= 0.95 and ((rows - rows.mean(axis=0)) @ fewer).var(axis=0).sum() < 0.95 * rows.var(axis=0).sum()
        np.testing.assert_allclose(subspace.points(subspace.coordinates(rows)), rows - subspace.outside(rows), atol=1e-9)


def test_a_field_predicts_the_forces_it_was_learned_of(field, walk):
    s, u = compute_state_and_force(build_body(walk.skeleton, 70.0), walk.q, FPS)
    z, got = field.force.coordinates(u), field.predicted(s)
    assert ((z - got.mean) ** 2).mean() < 0.2 * z.var()
    chi2 = ((z - got.mean) ** 2 / (field.process.variance * got.share[:, None])).mean()
    assert 0.2 < chi2 < 2.0


def test_learning_is_deterministic_and_the_file_keeps_it(field, walk, tmp_path: Path):
    file, again = tmp_path / "walk.forces", tmp_path / "again.forces"
    write_field(file, field)
    write_field(again, train_field("walk", [walk], OPTIONS))
    assert file.read_bytes() == again.read_bytes()
    s, _ = compute_state_and_force(build_body(walk.skeleton, 70.0), walk.q, FPS)
    np.testing.assert_array_equal(read_field(file).predicted(s).mean, field.predicted(s).mean)
    damaged = bytearray(file.read_bytes())
    damaged[5000] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(ForceFieldError, match="damaged"):
        read_field(file)


def test_a_motion_of_three_frames_is_refused(walk):
    few = FieldMotion("few", walk.skeleton, 70.0, walk.q[:3], walk.parts[:3], walk.level_m)
    with pytest.raises(ForceFieldError, match="few: 3 frames"):
        train_field("few", [few], OPTIONS)


def test_mixtures_find_the_groups_of_points():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(300, 2)) * (0.5, 1.0), rng.normal(size=(100, 2)) + (8.0, 0.0)])
    mixture = fit_mixture(X, 2)
    order = np.argsort(mixture.mean[:, 0])
    np.testing.assert_allclose(mixture.weight[order], (0.75, 0.25), atol=0.01)
    np.testing.assert_allclose(mixture.mean[order], [[0.0, 0.0], [8.0, 0.0]], atol=0.3)
    at = np.array([[0.2, -0.4]])
    density = 0.75 / (2 * np.pi * 0.5) * np.exp(-0.5 * (0.4**2 + 0.4**2))
    np.testing.assert_allclose(np.exp(compute_log_terms(mixture, at)).sum(), density, rtol=0.2)
