"""Estimates of the tracker's parameters give back what made up data was made with."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reconstruct.innovations import (
    AGES,
    Innovations,
    collect_innovations,
    compute_log_density,
    compute_mean_likelihood,
    compute_sigma_likelihood,
    compute_stray_likelihood,
    count_transitions,
    find_likeliest_factor,
    find_likeliest_stray,
    resample_estimate,
    sum_by_age,
)
from benchmarks.reconstruct.parameters import FACTORS, ParameterEstimate, compute_share, estimate_counted, format_settings_file
from benchmarks.reconstruct.parameters import LabelCounts as SeenRecording
from config.loading import load_settings
from config.settings import LabelSettings, Settings
from database.builtin import build_person_skeleton
from database.clips import slice_clip
from reconstruct.search.index import load_search_index
from tests.support.people import table_of, walk
from tools.evaluate.missing.masks import at_random
from tools.evaluate.missing.measure import clip_query
from tools.evaluate.missing.methods import MethodInput
from tools.evaluate.protocol import ProtocolClip
from tools.evaluate.queries import apply_variant

STAYS, AGAIN = 0.97, 0.2


def test_the_probabilities_to_be_seen_come_back_from_a_mask() -> None:
    rng = np.random.default_rng(2)
    seen = np.ones((4000, 9), bool)
    for n in range(1, len(seen)):
        seen[n] = rng.random(9) < np.where(seen[n - 1], STAYS, AGAIN)
    clips = np.array([count_transitions(part) for part in np.array_split(seen, 10)])
    for k, true in enumerate((STAYS, AGAIN)):
        estimate, low, high = resample_estimate(partial(compute_share, clips[:, k]), len(clips))
        assert low < true < high and high - low < 0.03 and low < estimate < high


def drawn(count: int, sigma_m: float, seed: int) -> Innovations:
    """Return innovations with correlated covariances that fit, markers seen and about 30 frames ahead."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, 3, 3))
    S = sigma_m**2 * (A @ A.transpose(0, 2, 1) + 0.1 * np.eye(3))
    apart = np.einsum("kij,kj->ki", np.linalg.cholesky(S), rng.normal(size=(count, 3)))
    age = np.where(np.arange(count) % 2 == 0, 1, 30)
    return Innovations(age, age == 1, apart, S)


def test_the_likelihood_of_a_noise_is_greatest_near_the_true_one() -> None:
    found, s = drawn(3000, 0.05, 5), LabelSettings(marker_sigma_m=0.0, stray=1e-6)
    for true in (0.8, 1.0, 1.5):
        likelihood = []
        for factor in FACTORS:
            wrong = replace(found, covariance_m2=found.covariance_m2 * (factor / true) ** 2)
            likelihood.append(compute_mean_likelihood(np.array([sum_by_age(wrong, s)])))
        assert find_likeliest_factor(FACTORS, np.array(likelihood)) == pytest.approx(true, rel=0.12)


def test_a_density_is_that_of_a_gaussian_with_a_wide_one() -> None:
    one = Innovations(np.array([1]), np.array([True]), np.array([[0.03, 0.0, 0.0]]), np.diag([4e-4, 1e-4, 1e-4])[None])
    s = LabelSettings(marker_sigma_m=0.01, stray=0.1, stray_m=0.2)
    near, wide = np.array([5e-4, 2e-4, 2e-4]), np.array([5e-4, 2e-4, 2e-4]) + 0.04
    density = [np.exp(-0.5 * 9e-4 / v[0]) / np.sqrt((2 * np.pi) ** 3 * v.prod()) for v in (near, wide)]
    assert compute_log_density(one, s)[0] == pytest.approx(np.log(0.9 * density[0] + 0.1 * density[1]))


def test_stray_markers_come_back() -> None:
    found, rng = drawn(3000, 0.02, 6), np.random.default_rng(7)
    astray = rng.random(3000) < 0.1
    moved = found.apart_m + astray[:, None] * rng.normal(0.0, 0.3, (3000, 3))
    share, distance_m = find_likeliest_stray(compute_stray_likelihood(replace(found, apart_m=moved), 0.0))
    assert share == pytest.approx(0.1, rel=0.2) and distance_m == pytest.approx(0.3, rel=0.15)


def test_hidden_markers_of_a_walk_are_expected_less_surely() -> None:
    """Ages count frames since a marker was seen; the longer ago, the wider the covariance, and the truth lies within it."""
    skeleton = build_person_skeleton(1.74)
    clip = slice_clip(walk(skeleton), 0, 80)
    query = apply_variant(clip_query(clip, ProtocolClip("walk", "walking"), "boxing", 0.0), "noise", 1)
    visible = at_random(len(query), 9, 4, 30, np.random.default_rng(1))
    index = load_search_index(query.subject, table_of([walk(skeleton, 3)]))
    found = collect_innovations(MethodInput(replace(query, visible=visible), index, Settings(), None))
    assert len(found.age) == 9 * (len(query) - 1) and len(found.at_return.age) == int((visible[1:] & ~visible[:-1]).sum())
    now, soon, later, never = found.of_ages
    assert now.seen.all() and soon.seen.mean() < 0.1 and not len(never.age) and len(AGES) == 4  # at the end all are seen
    sigma_m = [float(np.sqrt(np.trace(part.covariance_m2, axis1=1, axis2=2) / 3.0).mean()) for part in (now, soon, later)]
    assert sigma_m[0] < sigma_m[1] < sigma_m[2]
    assert np.linalg.norm(now.apart_m, axis=1).mean() < 0.03
    squares = np.einsum("ki,kij,kj->k", found.apart_m, np.linalg.inv(found.covariance_m2 + 0.01**2 * np.eye(3)), found.apart_m)
    assert (squares < 16.3).mean() > 0.95  # 0.999 of a perfect one


def test_counts_of_recordings_become_parameters() -> None:
    """Sigmas leave out what the points are uncertain; that of the solver is not moved by a few that are far."""
    rng, S = np.random.default_rng(8), np.diag([0.02, 0.006, 0.006]) ** 2
    apart = rng.normal(0.0, 1.0, (4000, 3)) * np.sqrt(S.diagonal() + 0.008**2)
    apart[:40, 1] = 0.3
    transitions = np.array([[9700.0, 10000.0], [20.0, 400.0]])
    likelihood = compute_sigma_likelihood(apart, np.tile(S, (4000, 1, 1)))
    one = SeenRecording(transitions, np.array([6.0, 3000.0]), np.array([3.0, 1e8]), likelihood)
    still = replace(one, likelihood=compute_sigma_likelihood(np.zeros((1000, 3)), np.tile(1e-8 * np.eye(3), (1000, 1, 1))))
    found = {each.name: each.estimate for each in estimate_counted([still], [one], Settings())}
    assert found["label.stays_seen"] == pytest.approx(0.97, rel=0.001)
    assert found["label.seen_again"] == pytest.approx(0.05, rel=0.1)
    assert found["label.false_points_m3"] == pytest.approx(2e-3, rel=0.05)
    assert found["label.false_blobs_px2"] == pytest.approx(3e-8, rel=0.1)
    assert found["solve.marker_sigma_m"] == pytest.approx(0.008, rel=0.1) and found["label.marker_sigma_m"] > 0.01


def test_estimates_are_written_as_settings_with_their_units(tmp_path: Path) -> None:
    file = tmp_path / "estimated.toml"
    values = [
        ParameterEstimate("label.false_blobs_px2", 2e-7, 1.23456e-8, 1e-8, 2e-8),
        ParameterEstimate("solve.bend_noise", 16.0, 11.0, 8.0, 20.0),
    ]
    file.write_text(format_settings_file(values), "utf-8")
    assert "1/px^2, 95 % 1e-08 to 2e-08, default 2e-07" in file.read_text("utf-8")
    read = load_settings(file)
    assert read.label.false_blobs_px2 == 1.235e-8 and read.solve.bend_noise == 11.0
    assert read.label.stays_seen == Settings().label.stays_seen
