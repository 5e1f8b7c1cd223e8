"""The equations of motion: derivatives, differences, and another library's opinion."""

import numpy as np
import pytest

from config.arrays import Floats
from config.joints import JOINTS, N_JOINTS, PARENTS
from database.builtin.catalog import make_builtin_clip
from reconstruct.models.physics.body import build_body

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

from reconstruct.models.physics.dynamics import (
    N_TANGENT,
    Dynamics,
    MotionRates,
    configurations_from_poses,
    find_joint_rows,
    poses_from_configurations,
)

CLIP = make_builtin_clip("walk")


def dynamics() -> Dynamics:
    """Return the equations of motion of an asymmetric body."""
    return Dynamics(build_body(CLIP.skeleton, 70.0).with_load("leftFoot", 2.5, (0.0, -0.05, 0.05)).with_mass("rightHand", 1.0))


def some_state(seed: int = 0) -> tuple[Floats, Floats, Floats, Floats]:
    """Return a configuration, a velocity, an acceleration and contact forces, none of them symmetric."""
    rng = np.random.default_rng(seed)
    q = configurations_from_poses(CLIP.rotvec[50:51] + 0.3 * rng.normal(size=(1, N_JOINTS, 3)), CLIP.root_m[50:51] + 0.5)[0]
    return q, rng.normal(size=N_TANGENT), 5.0 * rng.normal(size=N_TANGENT), 80.0 * rng.normal(size=(12, 3))


def test_poses_become_configurations_and_back() -> None:
    rotvec, root_m = poses_from_configurations(configurations_from_poses(CLIP.rotvec, CLIP.root_m))
    np.testing.assert_allclose(rotvec, CLIP.rotvec, atol=1e-12)
    np.testing.assert_allclose(root_m, CLIP.root_m, atol=1e-12)
    q, v, _, _ = some_state()
    further = dynamics().integrate(q[None], 0.3 * v[None])
    np.testing.assert_allclose(dynamics().difference(q[None], further)[0], 0.3 * v, atol=1e-12)


def test_contact_points_are_those_of_the_products_own_kinematics() -> None:
    from database.geometry.kinematics import compute_forward_kinematics

    body = build_body(CLIP.skeleton)
    G, p = compute_forward_kinematics(CLIP.skeleton, CLIP.rotvec[:40:8], CLIP.root_m[:40:8])
    joint = body.contacts.joint
    expected = p[:, joint] + np.einsum("npij,pj->npi", G[:, joint], body.contacts.offset_m)
    found = Dynamics(body).contact_positions(configurations_from_poses(CLIP.rotvec[:40:8], CLIP.root_m[:40:8]))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_derivatives_are_those_of_central_differences() -> None:
    d = dynamics()
    q, v, a, f = some_state()
    exact = d.force_derivatives(q, v, a, f)
    step = 1e-6

    def forces(q: Floats, v: Floats, a: Floats) -> Floats:
        return d.generalized_forces(MotionRates(q[None], v[None], a[None]), f[None])[0]

    def moved(k: int, sign: float) -> Floats:
        return np.asarray(sign * step * np.eye(N_TANGENT)[k])

    by_q, by_v, by_a = (np.empty((N_TANGENT, N_TANGENT)) for _ in range(3))
    J = np.empty((12, 3, N_TANGENT))
    for k in range(N_TANGENT):
        ends = [d.integrate(q[None], moved(k, s)[None])[0] for s in (1.0, -1.0)]
        by_q[:, k] = (forces(ends[0], v, a) - forces(ends[1], v, a)) / (2 * step)
        by_v[:, k] = (forces(q, v + moved(k, 1), a) - forces(q, v + moved(k, -1), a)) / (2 * step)
        by_a[:, k] = (forces(q, v, a + moved(k, 1)) - forces(q, v, a + moved(k, -1))) / (2 * step)
        J[:, :, k] = np.subtract(*(d.contact_positions(end[None])[0] for end in ends)) / (2 * step)
    for found, numeric in ((exact.by_q, by_q), (exact.by_v, by_v), (exact.by_a, by_a), (d.contact_jacobian(q), J)):
        np.testing.assert_allclose(found, numeric, atol=1e-6 * np.abs(numeric).max())
    np.testing.assert_allclose(exact.by_a, d.mass_matrix(q), atol=1e-9)
    free = d.generalized_forces(MotionRates(q[None], v[None], a[None]))[0]
    np.testing.assert_allclose(exact.u, free - np.einsum("pij,pi->j", J, f), atol=1e-4)
    np.testing.assert_allclose(d.accelerations(q, v, free), a, atol=1e-7)


def test_central_differences_are_of_second_order() -> None:
    """A body that turns evenly about two axes: halving the step quarters the error."""
    d = dynamics()
    q, v, a, _ = some_state()
    joint = find_joint_rows(5)
    v[:], a[:] = 0.0, 0.0
    v[joint], a[joint] = (0.7, -1.1, 0.4), (2.0, 1.0, -3.0)
    errors = []
    for dt in (0.02, 0.01):
        t = dt * np.arange(-1, 2)[:, None]
        path = d.integrate(np.repeat(q[None], 3, axis=0), t * v + 0.5 * t**2 * a)
        found = d.motion(path, dt)
        errors.append(np.abs(found.a[1] - a).max() + np.abs(found.v[1] - v).max())
    assert errors[1] < 0.27 * errors[0] or errors[1] < 1e-9


@pytest.mark.judge
def test_mujoco_finds_the_same_forces() -> None:
    mujoco = pytest.importorskip("mujoco")
    d = dynamics()
    model = mujoco.MjModel.from_xml_string(_mjcf(d))
    data = mujoco.MjData(model)
    assert model.body_subtreemass[0] == pytest.approx(d.body.total_kg)
    for seed in range(5):
        q, v, a, _ = some_state(seed)
        found = d.generalized_forces(MotionRates(q[None], v[None], a[None]))[0]
        R = d.placements(q)[0][0]
        data.qpos[:3] = q[:3]
        data.qpos[3:] = q[3:].reshape(-1, 4)[:, [3, 0, 1, 2]].ravel()
        data.qvel[:], data.qacc[:] = v, a
        data.qvel[:3] = R @ v[:3]
        data.qacc[:3] = R @ (a[:3] + np.cross(v[3:6], v[:3]))  # its root moves in the world's axes
        mujoco.mj_inverse(model, data)
        theirs = data.qfrc_inverse.copy()
        theirs[:3] = R.T @ theirs[:3]
        np.testing.assert_allclose(found, theirs, atol=1e-8 * np.abs(theirs).max())


def _mjcf(d: Dynamics) -> str:
    """Return the body as mujoco reads it."""
    body = d.body

    def text(values: Floats) -> str:
        return " ".join(repr(float(x)) for x in values)

    def element(joint: int) -> str:
        full = body.inertia_kg_m2[joint][[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        inner = "".join(element(child) for child in range(N_JOINTS) if PARENTS[child] == joint)
        kind = "<freejoint/>" if joint == 0 else '<joint type="ball"/>'
        at = text(body.skeleton.offsets_m[joint])
        return (
            f'<body name="{JOINTS[joint]}" pos="{at}">{kind}<inertial pos="{text(body.center_m[joint])}" '
            f'mass="{float(body.mass_kg[joint])!r}" fullinertia="{text(full)}"/>{inner}</body>'
        )

    return (
        f'<mujoco><compiler boundinertia="0" balanceinertia="false"/><option gravity="{text(d.gravity_m_s2)}"/>'
        f"<worldbody>{element(0)}</worldbody></mujoco>"
    )
