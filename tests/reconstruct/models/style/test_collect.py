"""Training poses of a session: features at a fixed rate, and a bounded store of distinct poses."""

from dataclasses import replace

import numpy as np
import pytest

from reconstruct.models.style.collect import (
    FIRST_RADIUS_RAD,
    DistinctPoses,
    FeatureSample,
    RecentPoses,
    compute_distances,
    compute_keys,
)
from reconstruct.models.style.features import N_FEATURES, N_STATIC, STEP_S, compute_static_features
from reconstruct.pose import TrackingState
from tests.reconstruct.style_poses import N_MARKERS, pose, swung, walking

S = 1_000_000_000


@pytest.mark.parametrize("fps", [25.0, 30.0, 60.0, 100.0])
def test_features_are_of_steps_of_a_thirtieth_whatever_the_rate(fps: float) -> None:
    recent, rate = RecentPoses(), np.zeros((23, 3))
    rate[3, 1] = 0.6
    samples = [recent.add(pose(rate * n / fps, round(n * 1e9 / fps))) for n in range(round(2 * fps))]
    given = [(n / fps, sample) for n, sample in enumerate(samples) if sample is not None]
    assert 0.9 * min(fps, 30) * 1.9 <= len(given) <= 68
    for t_s, sample in given:
        static = compute_static_features(rate * t_s)
        np.testing.assert_allclose(sample.features[:N_STATIC], static, atol=1e-12)
        np.testing.assert_allclose(
            sample.features[N_STATIC : 2 * N_STATIC], compute_static_features(rate * STEP_S) - [*[0] * 67, 1, 0], atol=1e-9
        )
        np.testing.assert_allclose(sample.features[2 * N_STATIC :], 0.0, atol=1e-9)


def test_no_features_go_across_a_gap_a_jump_or_a_pose_that_was_badly_seen() -> None:
    good = list(walking(1.0))
    bad = {
        "lost": replace(good[30], state=TrackingState.COASTING),
        "hidden": pose(good[30].rotvec, good[30].t_capture_ns, n_seen=N_MARKERS // 2),
        "nan": replace(good[30], rotvec=np.full((23, 3), np.nan)),
    }
    for name, one in bad.items():
        recent = RecentPoses()
        given = [recent.add(p) for p in [*good[:30], one, *good[31:]]]
        assert any(given[:30]) and given[30:35] == [None] * 5 and any(given[35:]), name
        stretches = {sample.stretch for sample in given if sample is not None}
        assert stretches == {1, 2}
    recent = RecentPoses()
    for p in good[:30]:
        recent.add(p)
    assert not any(recent.add(p) for p in good[36:40])  # six frames are missing
    recent = RecentPoses()
    for p in good[:30]:
        recent.add(p)
    jumped = [replace(p, rotvec=p.rotvec + 1.3) for p in good[30:34]]
    assert not any(recent.add(p) for p in jumped)
    set_back = [replace(p, t_capture_ns=p.t_capture_ns - 30 * S) for p in good]
    given = [recent.add(p) for p in set_back]
    assert given[:4] == [None] * 4 and any(given)  # a clock that was set back begins a new stretch


def test_the_store_is_bounded_keeps_old_kinds_and_nothing_twice() -> None:
    store, random = DistinctPoses(60), np.random.default_rng(3)

    def sample(centre: float) -> FeatureSample:
        features = np.zeros(N_FEATURES)
        features[:10] = centre + random.normal(0.0, 0.3, 10)
        return FeatureSample(features, np.zeros((23, 3)), 1, 0.0)

    rare = [sample(-9.0) for _ in range(3)]
    for one in rare:
        assert store.add(one) and not store.add(one)
    for _ in range(2000):
        store.add(sample(random.choice([0.0, 4.0])))
        assert len(store) <= 60
    keys = compute_keys(store.poses().features)
    assert len(store) > 30 and store.radius_rad > FIRST_RADIUS_RAD
    for n, key in enumerate(keys):
        assert compute_distances(key, np.delete(keys, n, 0)).min() >= store.radius_rad * (1 - 1e-9)
    nearest = [compute_distances(compute_keys(one.features), keys).min() for one in rare]
    assert max(nearest) < 2 * store.radius_rad and store.poses().features[:, 0].min() < -8.0


def test_poses_without_markers_or_joints_are_no_matter() -> None:
    recent = RecentPoses()
    no_markers = replace(pose(swung(0, 0, 0), 0), seen=np.zeros((2, 0), bool))
    no_joints = replace(pose(swung(0, 0, 0), 0), rotvec=np.zeros((0, 3)))
    assert recent.add(no_markers) is None and recent.add(no_joints) is None
