"""The demo's performance: where it is, how it goes on, and that the database does not hold its performer."""

from dataclasses import fields

import numpy as np
import pytest

from config.errors import DuocapError
from config.joints import JOINT_INDEX
from database.builtin import make_demo_performance
from database.builtin.catalog import STYLES, draw_database_style, make_database_bodies
from database.builtin.performance import PERFORMER_STYLE, T_POSE_S, make_performer
from database.builtin.plan import MovementStyle
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import compute_geodesic_rad


def test_the_demo_starts_in_a_t_pose_and_stays_in_sight() -> None:
    clip = make_demo_performance()
    assert 35.0 < clip.seconds < 55.0
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    still = p[: int(T_POSE_S * clip.fps) - 1]
    assert (still[:, JOINT_INDEX["leftHand"], 0] - still[:, JOINT_INDEX["rightHand"], 0]).min() > 1.3
    assert np.abs(clip.root_m[:, ::2]).max() < 1.5
    assert p[..., 1].min() > -0.01
    local = local_from_charted(clip.rotvec)
    assert compute_geodesic_rad(local[:-1], local[1:]).max() * clip.fps < np.radians(1500.0)


def test_a_longer_demo_goes_on_as_the_shorter_one_began() -> None:
    short, long = make_demo_performance(20.0), make_demo_performance(20.0, 60.0)
    assert long.seconds == 60.0
    n = short.n_frames - 40
    assert np.abs(short.rotvec[:n] - long.rotvec[:n]).max() < 1e-6
    assert np.abs(long.root_m[:, ::2]).max() < 1.5
    assert make_demo_performance(30.0, 2.0).n_frames == 60
    with pytest.raises(DuocapError, match="up to 7200 s"):
        make_demo_performance(seconds=-1.0)


def test_the_database_does_not_hold_the_demo_s_performer() -> None:
    lengths = np.linalg.norm(make_performer().offsets_m, axis=-1)
    for skeleton in make_database_bodies():
        other = np.linalg.norm(skeleton.offsets_m, axis=-1)
        used = lengths > 1e-6
        assert np.abs(other[used] / lengths[used] - 1.0).max() > 0.02
    rng = np.random.default_rng(0)
    for style in (draw_database_style(rng) for _ in range(50)):
        assert any(getattr(style, field.name) != getattr(PERFORMER_STYLE, field.name) for field in fields(MovementStyle))
    assert set(STYLES) == {field.name for field in fields(MovementStyle)}
