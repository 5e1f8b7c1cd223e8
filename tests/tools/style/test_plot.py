"""The picture of a style: plane and map against the model itself, figures as long as the body, and files that are pictures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.models.style.features import N_STATIC, PoseTimes, build_training_poses
from reconstruct.models.style.file import write_style
from reconstruct.models.style.model import build_evaluator, compute_latent_energy, predict_features
from tests.support.commands import duocap
from tests.support.style_posers import LEARNED, style_of
from tools.style.plot_figures import choose_view_direction, compute_bone_segments, predict_static_features
from tools.style.plot_map import (
    choose_spread_points,
    compute_likelihood_map,
    find_time_runs,
    fit_latent_plane,
    select_farthest_points,
)


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw fewer points, for speed."""
    monkeypatch.setattr("tools.style.plot_map.RESOLUTION", 40)


@pytest.mark.parametrize("n_latent", [1, 2, 3, 5])
def test_a_map_shows_the_model_at_the_likeliest_depth(n_latent: int) -> None:
    style = style_of("walk", n_latent)
    level, plane = build_evaluator(style, LEARNED), fit_latent_plane(style)
    steps: list[int] = []
    shown = compute_likelihood_map(style, level, plane, step=lambda: steps.append(1))
    assert np.isfinite(shown.value).all() and len(steps) == len(plane.depths)
    random = np.random.default_rng(2)
    for row, column in random.integers(0, shown.value.shape, (20, 2)):
        flat = shown.places()[row, column]
        at = np.array([plane.latent(flat, depth)[:n_latent] for depth in plane.depths])
        values = -compute_latent_energy(level, at)
        assert shown.value[row, column] == pytest.approx(values.max()) and shown.depth[row, column] == values.argmax()
    left, right, bottom, top = shown.extent
    assert (plane.points > [left, bottom]).all() and (plane.points < [right, top]).all()
    assert top - bottom == pytest.approx(right - left)


@pytest.mark.parametrize("n_latent", [2, 3, 4])
def test_points_of_the_plane_are_the_training_poses(n_latent: int) -> None:
    style = style_of("kick", n_latent)
    plane = fit_latent_plane(style)
    deep = (style.latent - plane.middle) @ plane.axes.T
    back = np.array([plane.latent(flat, depth) for flat, depth in zip(plane.points, deep[:, 2:], strict=True)])
    assert np.allclose(back, style.latent)
    assert plane.share == pytest.approx(1.0) if n_latent == 2 else 0.4 < plane.share < 1.0


def test_likely_and_unlikely_places() -> None:
    style = style_of("walk", 2)
    level = build_evaluator(style, LEARNED)
    k = np.exp(-0.5 * ((style.latent[:1] - level.latent) ** 2).sum(axis=1))
    variance = 1.0 + 1.0 / 50.0 - k @ level.inverse @ k
    by_hand = 0.5 * len(level.mean) * np.log(variance) + 0.5 * (style.latent[0] ** 2).sum()
    assert compute_latent_energy(level, style.latent[:1])[0] == pytest.approx(by_hand)
    assert compute_latent_energy(level, style.latent).max() < compute_latent_energy(level, np.array([[30.0, 0.0]]))[0]


def test_new_poses_are_likely_and_away_from_those_drawn() -> None:
    style = style_of("walk", 3)
    level, plane = build_evaluator(style, LEARNED), fit_latent_plane(style)
    shown = compute_likelihood_map(style, level, plane)
    points, x = choose_spread_points(style, level, plane, shown, 3, plane.points[:2])
    assert points.shape == (3, 2) and x.shape == (3, 3)
    assert np.median(compute_latent_energy(level, x)) < np.quantile(compute_latent_energy(level, style.latent), 0.8)
    assert np.isfinite(predict_static_features(style, level, x)).all()


def test_farthest_first_by_hand() -> None:
    line = np.array([[0.0], [1.0], [2.0], [10.0]])
    assert select_farthest_points(line, 3).tolist() == [3, 0, 2]
    assert select_farthest_points(line, 2, np.array([[10.0]])).tolist() == [0, 2]
    assert len(select_farthest_points(np.zeros((5, 2)), 3)) == 1 and len(select_farthest_points(np.zeros((5, 0)), 3)) == 1


def test_poses_are_joined_within_a_stretch_and_over_short_times_only() -> None:
    style = style_of("walk", 2, 7)
    when = PoseTimes(np.array([0, 0, 0, 1, 1, 1, 2]), np.array([0.1, 0.3, 0.2, 0.1, 0.2, 4.0, 0.1]))
    assert [rows.tolist() for rows in find_time_runs(replace(style, times=when))] == [[0, 2, 1], [3, 4]]
    assert find_time_runs(replace(style, times=PoseTimes())) == []


def test_figures_stand_upright_and_have_the_lengths_of_the_body() -> None:
    clip = make_builtin_clip("kick", fps=30.0)
    static = build_training_poses([clip]).features[:, :N_STATIC]
    places = compute_bone_segments(clip.skeleton, static)
    lengths = np.linalg.norm(places[:, :, 1] - places[:, :, 0], axis=-1)
    knee = JOINT_INDEX["leftLowerLeg"]
    assert np.allclose(lengths[:, knee], np.linalg.norm(clip.skeleton.offsets_m[knee]))
    true = compute_forward_kinematics(clip.skeleton, clip.rotvec[2:], np.zeros((len(static), 3)))[1]
    assert np.allclose(places[:, 1:23, 1, 1], true[:, 1:, 1], atol=1e-6)


def test_a_walk_is_seen_from_the_side_and_waving_from_the_front() -> None:
    side = {
        motion: choose_view_direction(compute_bone_segments(s.skeleton, s.features[:, :N_STATIC]))
        for motion in ("walk", "sweep_arms")
        for s in [style_of(motion, 2)]
    }
    assert abs(side["walk"][2]) > 0.95 and side["walk"][2] > 0 and abs(side["sweep_arms"][0]) > 0.9


def test_a_style_without_a_vertical_is_drawn_upright() -> None:
    style = style_of("walk", 2)
    static = np.zeros((1, N_STATIC))
    assert np.isfinite(compute_bone_segments(style.skeleton, static)).all()
    assert np.allclose(
        predict_static_features(style, build_evaluator(style, LEARNED), style.latent)[:, ~style.modelled[:N_STATIC]],
        style.mean[:N_STATIC][~style.modelled[:N_STATIC]],
    )
    assert predict_features(build_evaluator(style, LEARNED), style.latent)[0].shape[1] == style.modelled.sum()


@pytest.mark.parametrize(("words", "size"), [((), (1276, 1089)), (("--levels",), (1452, 649))])
def test_pictures(words: tuple[object, ...], size: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_style(tmp_path / "walk.style", style_of("walk", 2))
    result = duocap(capsys, "style", "plot", tmp_path / "walk.style", *words)
    assert result.status == 0 and "walk.png: walk, 60 poses" in result.out
    with Image.open(tmp_path / "walk.png") as picture:
        assert picture.size == size and len(picture.convert("RGB").getcolors(1 << 24) or ()) > 300


def test_what_cannot_be_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.style").write_text("no style")
    assert "not a style" in duocap(capsys, "style", "plot", tmp_path / "a.style").last
    assert "no such file" in duocap(capsys, "style", "plot", tmp_path / "b.style", "--out", tmp_path / "b.png").last
    assert "cannot be written" in duocap(capsys, "style", "plot", tmp_path / "a.style", "--out", tmp_path / "no" / "b.png").last
    assert duocap(capsys, "style", "plot", tmp_path / "a.style", "--figures", 13).status == 2
    over = duocap(capsys, "style", "plot", tmp_path / "a.style", "--out", tmp_path / "a.style")
    assert "expected a name that ends with .png" in over.last and (tmp_path / "a.style").read_text() == "no style"


def test_a_stray_pose_does_not_make_the_rest_too_small_to_see() -> None:
    style = style_of("walk", 2, 200)
    latent = style.latent.copy()
    latent[7] = [30.0, 0.0]
    stray = replace(style, latent=latent)
    plane = fit_latent_plane(stray)
    shown = compute_likelihood_map(stray, build_evaluator(stray, LEARNED), plane)
    held = shown.holds(plane.points)
    assert not held[7] and held.sum() == 199
    assert shown.extent[1] - shown.extent[0] < 10.0
