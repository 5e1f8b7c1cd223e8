"""Thinning: no two kept poses nearer than the distance, none left out without a kept one that near, by all pairs."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from database.clips import Clip
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from database.thinning import Thinner
from tests.database.motions import smooth_clip
from tests.support.compiled import limit_examples

ROUNDING_RAD = 2e-5  # of single precision

pytestmark = pytest.mark.kernels


def distances_rad(clip: Clip) -> Floats:
    """Return the largest angle of any joint but the root, or of the tilt, between all poses of a clip, (N, N)."""
    local, up = local_from_charted(clip.rotvec)[:, 1:], matrix_from_rotvec(clip.rotvec[:, 0])[:, 1]
    joints = compute_geodesic_rad(local[:, None], local[None]).max(axis=2)
    return np.maximum(joints, 2.0 * np.arcsin(np.linalg.norm(up[:, None] - up[None], axis=2).clip(0.0, 2.0) / 2.0))


@limit_examples(25)
@given(st.integers(0, 999), st.floats(0.5, 30.0), st.sampled_from([10.0, 60.0, 240.0]), st.integers(1, 3))
def test_kept_poses_are_apart_and_those_left_out_are_near_one(seed: int, degrees: float, fps: float, n_clips: int) -> None:
    whole = smooth_clip(60, fps, seed)
    thinner, cuts = Thinner(math.radians(degrees)), np.linspace(0, 60, n_clips + 1).astype(int)
    parts = [Clip("c", whole.skeleton, fps, whole.rotvec[a:b].copy(), whole.root_m[a:b].copy()) for a, b in pairwise(cuts)]
    keep = np.concatenate([thinner.keep(part) for part in parts])
    apart, d = distances_rad(whole), math.radians(degrees)
    kept = apart[np.ix_(keep, keep)] + np.where(np.eye(keep.sum(), dtype=bool), 9.0, 0.0)
    assert kept.min() >= d - ROUNDING_RAD
    assert not (~keep).any() or (apart[np.ix_(~keep, keep)].min(axis=1) < d + ROUNDING_RAD).all()
    assert (thinner.n_seen, thinner.n_kept) == (60, keep.sum()) and keep[0]


def test_pieces_hold_successive_poses_under_their_own_names() -> None:
    clip = smooth_clip(40, 60.0, 3)
    still = np.concatenate([clip.rotvec[:10], np.repeat(clip.rotvec[10:11], 5, axis=0), clip.rotvec[11:]])
    paused = Clip("14_02+9", clip.skeleton, 60.0, still, np.zeros((44, 3)))
    thinner = Thinner(math.radians(0.1))
    pieces = list(thinner.pieces([paused, paused]))
    assert [piece.name for piece in pieces] == ["14_02+9~0", "14_02+9~15"]  # of the second, nothing
    np.testing.assert_array_equal(pieces[1].rotvec, paused.rotvec[15:])
    assert "0.1 degrees" in thinner.line() and "40 of 88 poses kept, 45.5 %" in thinner.line()
    assert [piece.name for piece in Thinner(math.radians(0.1)).pieces([clip])] == ["walk"]
