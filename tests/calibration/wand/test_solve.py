"""A rig from a wand's bright spots against the truth: lenses, late stamps, one marker; and what cannot be."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibration.camera import Camera, Rig
from calibration.triangulate import triangulate
from calibration.wand.solve import solve_wand
from calibration.wand.tracks import WandSolution, WandTrack, find_wand_tracks
from config.arrays import Floats
from config.errors import CalibrationError
from database.geometry.rigid import fit_rigid_motion
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from tests.calibration.wand.conftest import SECONDS, Waved
from tests.calibration.wand.scenes import Wave, both_sightings, in_view, sightings, wand_rig


def with_focal(camera: Camera, factor: float) -> Camera:
    matrix = camera.matrix.copy()
    matrix[0, 0] *= factor
    matrix[1, 1] *= factor
    return replace(camera, matrix=matrix)


@dataclass(frozen=True)
class Stills(Wave):
    """A wand that is held somewhere else in each picture; moments_s: where on its way."""

    moments_s: tuple[float, ...] = ()

    def at(self, t_s: Floats) -> Floats:
        return super().at(np.array(self.moments_s)[np.round(30.0 * t_s).astype(int)])


def stills(path: Wave, moments_s: Floats) -> Stills:
    """Return a wave as stills at moments."""
    return Stills(path.length_m, path.n_markers, path.half_m, path.middle_m, path.pace, path.seed, tuple(moments_s.tolist()))


def rolled(camera: Camera, angle_rad: float) -> Camera:
    R = matrix_from_rotvec([0.0, 0.0, angle_rad]) @ camera.rotation
    return replace(camera, rotation=R, translation=-R @ camera.center_m)


def world_error(solution: WandSolution, truth: Rig, points_m: Floats) -> float:
    """Return the typical error of places that both cameras see, as shares of their distance, moving and turning all left out."""
    seen = in_view(truth.cameras[0], points_m) & in_view(truth.cameras[1], points_m)
    at = points_m[seen]
    found, _ = triangulate(solution.rig, truth.cameras[0].project(at), truth.cameras[1].project(at))
    expected = truth.cameras[0].to_camera(at)
    R, t = fit_rigid_motion(found, expected)
    found = found @ R.T + t
    return float(np.sqrt(np.mean(((found - expected) ** 2).sum(axis=1) / (expected**2).sum(axis=1))))


def check(solution: WandSolution, truth: Rig, path: Wave, most: float) -> None:
    """The world is right to `most` of the distance, and as right as the solution thinks it is."""
    error = world_error(solution, truth, path.at(np.linspace(0.0, SECONDS, 80)).reshape(-1, 3))
    assert error < most and error < 4.0 * solution.world_sigma + 1e-4
    turn = truth.cameras[1].rotation @ truth.cameras[0].rotation.T
    assert (
        compute_geodesic_rad(solution.rig.cameras[1].rotation, turn)
        < 5.0 * np.sqrt(np.trace(solution.pose_covariance[:3, :3])) + 1e-5
    )


@pytest.mark.parametrize("late_s", [0.0, -0.047])
def test_two_markers_and_known_lenses(late_s: float, two: Waved) -> None:
    truth, path, solution = two.truth, two.path, two.solution
    if late_s:
        tracks = find_wand_tracks(both_sightings(truth, path, SECONDS, late_s=late_s), 2)
        solution = solve_wand(tracks, truth.cameras, length_m=path.length_m)
    check(solution, truth, path, 0.002)
    assert solution.rig.baseline_m == pytest.approx(truth.baseline_m, rel=0.003)
    assert solution.sigma_px == pytest.approx(0.15, rel=0.15)
    assert solution.offset_s[1] == pytest.approx(late_s, abs=3e-4) and 0.0 < solution.offset_sigma_s[1] < 2e-4
    assert np.median(solution.lengths_m) == pytest.approx(path.length_m, rel=0.002)
    assert solution.used.mean() > 0.95 and solution.points_m.shape == (*solution.used.shape, 3)


def test_focal_lengths_that_were_guessed_are_found() -> None:
    truth, path = wand_rig(), Wave(seed=5)
    guessed = (with_focal(truth.cameras[0], 1.09), with_focal(truth.cameras[1], 0.93))
    tracks = find_wand_tracks(both_sightings(truth, path, SECONDS), 2)
    solution = solve_wand(tracks, guessed, length_m=path.length_m, focal=True, synchronised=True)
    check(solution, truth, path, 0.004)
    for found, true, sigma in zip(solution.rig.cameras, truth.cameras, solution.focal_sigma, strict=True):
        assert found.focal_px == pytest.approx(true.focal_px, rel=4.0 * sigma) and sigma < 0.004


def test_focal_lengths_that_nothing_tells_are_held_and_it_says_so() -> None:
    truth, path = wand_rig(), Wave(n_markers=1, half_m=(0.5, 0.5, 0.15), seed=5)
    tracks = find_wand_tracks(both_sightings(truth, path, SECONDS), 1)
    solution = solve_wand(tracks, truth.cameras, distance_m=truth.baseline_m, focal=True, synchronised=True)
    assert not solution.focal_sigma.any() and solution.rig.cameras[0].focal_px == truth.cameras[0].focal_px
    assert any("held as given" in note for note in solution.notes)


@pytest.mark.parametrize("late_s", [0.0, pytest.param(0.008, marks=pytest.mark.slow)])
def test_one_marker_and_the_cameras_distance(late_s: float, one: Waved) -> None:
    truth, path, solution = one.truth, one.path, one.solution
    if late_s:
        tracks = find_wand_tracks(both_sightings(truth, path, SECONDS, late_s=late_s), 1)
        solution = solve_wand(tracks, truth.cameras, distance_m=truth.baseline_m)
    check(solution, truth, path, 0.01)
    assert solution.rig.baseline_m == pytest.approx(truth.baseline_m) and not len(solution.lengths_m)
    assert solution.offset_s[1] == pytest.approx(late_s, abs=5e-4)


@pytest.mark.parametrize("n_pairs", [25, 40])
def test_pictures_taken_one_by_one(n_pairs: int) -> None:
    """Of a wand that was somewhere else each time; both markers alike, so that they change columns from picture to picture."""
    truth, path = wand_rig(), Wave(seed=3)
    moments_s = np.random.default_rng(4).uniform(0.0, 400.0, 400)
    both = [np.all(in_view(camera, path.at(moments_s)), axis=1) for camera in truth.cameras]
    shown = stills(path, moments_s[both[0] & both[1]][:n_pairs])
    pictures = tuple(sightings(camera, shown, np.arange(n_pairs) / 30.0, still=0, lost=0.0) for camera in truth.cameras)
    tracks = find_wand_tracks((pictures[0], pictures[1]), 2)
    assert all(track.of_stills and len(track.t_s) == n_pairs for track in tracks)
    solution = solve_wand(tracks, truth.cameras, length_m=path.length_m)
    check(solution, truth, path, 0.006)
    assert solution.rig.baseline_m == pytest.approx(truth.baseline_m, rel=0.006)


def test_a_camera_on_its_side() -> None:
    """Which marker is which must not rest on the upper one being the upper one in both pictures."""
    truth, path = wand_rig(), Wave(seed=6, half_m=(0.6, 0.6, 0.8))
    truth = Rig((truth.cameras[0], rolled(truth.cameras[1], -1.57)))
    tracks = find_wand_tracks(both_sightings(truth, path, SECONDS), 2)
    check(solve_wand(tracks, truth.cameras, length_m=path.length_m, synchronised=True), truth, path, 0.002)


def test_fisheyes() -> None:
    """Of 110 degrees across."""
    truth, path = wand_rig(), Wave(seed=7)
    lens = np.array([-0.02, 0.006, -0.003, 0.0005])
    matrix = np.array([[333.0, 0.0, 318.0], [0.0, 331.0, 242.0], [0.0, 0.0, 1.0]])
    truth = Rig(tuple(replace(camera, matrix=matrix, distortions=lens, fisheye=True) for camera in truth.cameras))
    tracks = find_wand_tracks(both_sightings(truth, path, SECONDS), 2)
    check(solve_wand(tracks, truth.cameras, length_m=path.length_m, synchronised=True), truth, path, 0.004)


@pytest.mark.slow
def test_cameras_across_from_each_other() -> None:
    truth, path = wand_rig(), Wave(seed=6)
    R = matrix_from_rotvec([0.0, np.radians(125.0), 0.0])
    turned = truth.cameras[1].rotation @ R
    truth = Rig((truth.cameras[0], replace(truth.cameras[1], rotation=turned, translation=np.array([0.1, 0.95, 3.1]))))
    tracks = find_wand_tracks(both_sightings(truth, path, SECONDS), 2)
    check(solve_wand(tracks, truth.cameras, length_m=path.length_m), truth, path, 0.002)


def failing(tracks: tuple[WandTrack, WandTrack], cameras: tuple[Camera, Camera], **known: float) -> str:
    with pytest.raises(CalibrationError) as failure:
        solve_wand(tracks, cameras, **known, synchronised=True)  # type: ignore[arg-type]
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_left_and_right_swapped(two: Waved) -> None:
    left, right = two.tracks
    swapped = failing((right, left), (two.truth.cameras[1], two.truth.cameras[0]), length_m=two.path.length_m)
    assert "left and right are swapped" in swapped


@pytest.mark.parametrize(("half_m", "words"), [((0.8, 0.7, 0.0), "in one plane"), ((0.9, 0.0, 0.0), "one line")])
def test_a_wand_that_stays_in_a_plane_or_on_a_line(half_m: tuple[float, float, float], words: str) -> None:
    truth = wand_rig()
    tracks = find_wand_tracks(both_sightings(truth, Wave(n_markers=1, half_m=half_m, seed=3), SECONDS), 1)
    assert words in failing(tracks, truth.cameras, distance_m=1.1)


def test_too_few_moments(one: Waved) -> None:
    few = [WandTrack(t.t_s[:36], t.points_px[:36], t.run[:36]) for t in one.tracks]
    assert "at the same moment" in failing((few[0], few[1]), one.truth.cameras, distance_m=1.1)


def test_a_wand_never_in_both_views() -> None:
    truth = wand_rig()
    t_s = np.arange(600) / 30.0
    left, right = both_sightings(truth, Wave(n_markers=1, seed=3), 20.0)
    none = np.zeros((0, 2))
    left = replace(left, points_px=tuple(p if t < 10.0 else none for t, p in zip(t_s, left.points_px, strict=True)))
    right = replace(right, points_px=tuple(none if t < 10.0 else p for t, p in zip(t_s, right.points_px, strict=True)))
    with pytest.raises(CalibrationError, match="both cameras see the wand at the same moment 0 times"):
        solve_wand(find_wand_tracks((left, right), 1), truth.cameras, distance_m=1.1)


@pytest.mark.slow
def test_videos_begun_by_hand() -> None:
    truth, path = wand_rig(), Wave(seed=3)
    tracks = find_wand_tracks(both_sightings(truth, path, 12.0, late_s=-1.2345), 2)
    solution = solve_wand(tracks, truth.cameras, length_m=path.length_m)
    assert solution.offset_s[1] == pytest.approx(-1.2345, abs=3e-4)
    check(solution, truth, path, 0.002)


@pytest.mark.slow
def test_videos_of_different_moments_fit_nothing() -> None:
    truth = wand_rig()
    left, _ = both_sightings(truth, Wave(seed=3), 12.0)
    _, right = both_sightings(truth, Wave(seed=8), 12.0)
    with pytest.raises(CalibrationError, match="same moments"):
        solve_wand(find_wand_tracks((left, right), 2), truth.cameras, length_m=0.5)
