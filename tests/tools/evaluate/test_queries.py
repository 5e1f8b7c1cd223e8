"""Queries: the markers of known poses, and the variants of them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from config.errors import DatabaseError
from config.markers import read_marker_set
from database.geometry.kinematics import compute_forward_kinematics
from tools.evaluate.queries import N_HIDDEN, NOISE_M, SIX, MotionQuery, apply_variant, true_subject


def test_a_query_has_the_markers_of_its_poses(query: MotionQuery) -> None:
    G, p = compute_forward_kinematics(query.subject.skeleton, query.rotvec[7], query.root_m[7])
    k = query.subject.markers.names.index("left_foot")
    joint = int(query.subject.joint[k])
    frame = query.frame(7)
    assert_allclose(frame.point_m[k], p[joint] + G[joint] @ query.subject.offset_m[k], atol=1e-12)
    assert frame.valid.all() and frame.t_capture_ns == round(7e9 / 60)


def test_variants(query: MotionQuery) -> None:
    noise = apply_variant(query, "noise", 2).marker_m - query.marker_m
    assert abs(noise.std() / NOISE_M - 1.0) < 0.05 and abs(noise.mean()) < NOISE_M / 10
    hidden = ~apply_variant(query, "missing", 2).visible
    assert not hidden[0].any() and (hidden[1:].sum(axis=1) == N_HIDDEN).all()
    six = apply_variant(query, "six", 2)
    assert [name for name, shown in zip(query.subject.markers.names, six.visible[3], strict=True) if shown] == list(SIX)
    assert (six.frame(3).point_m[~six.visible[3]] == 0.0).all()
    assert apply_variant(query, "exact", 2) is query
    with pytest.raises(DatabaseError, match="take exact, noise"):
        apply_variant(query, "fog", 2)


def test_variants_are_the_same_for_a_seed_and_differ_between_seeds_and_clips(query: MotionQuery) -> None:
    first = apply_variant(query, "noise", 5).marker_m
    assert np.array_equal(first, apply_variant(query, "noise", 5).marker_m)
    assert not np.array_equal(first, apply_variant(query, "noise", 6).marker_m)
    assert not np.array_equal(first, apply_variant(replace(query, stem="other"), "noise", 5).marker_m)


def test_six_markers_need_their_names(query: MotionQuery) -> None:
    worn = read_marker_set("dark_room")
    subject = true_subject("a", query.subject.skeleton, worn)
    with pytest.raises(DatabaseError, match="left_hand"):
        apply_variant(replace(query, subject=subject), "six", 1)
