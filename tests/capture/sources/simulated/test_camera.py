"""Simulated cameras: what is drawn against where it should be, clocks, faults, and the stage."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgpack
import numpy as np
import pytest

from calibration.camera import Camera, Rig
from calibration.formats.rig_toml import write_rig_toml
from calibration.placement import is_all_in_view
from capture.sources.simulated import image
from capture.sources.simulated.camera import SimulatedCamera, choose_marker_colors, draw_shutter_times
from capture.sources.simulated.performer import make_scene_performer, sample_extent
from capture.sources.simulated.scene import SimulatedScene
from capture.sources.source import Source
from config.arrays import Bytes, Floats
from config.errors import CalibrationError, FileFormatError, SettingsError
from config.joints import JOINT_INDEX
from config.markers import read_marker_set
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec

CLEAN = SimulatedScene(
    motion="walk",
    seconds=2.0,
    tpose_s=0.5,
    width_px=320,
    height_px=240,
    noise=0.0,
    shot=0.0,
    exposure_ms=0.0,
    marker_mm=30.0,
    seed=4,
)


@pytest.fixture(scope="module", autouse=True)
def rooms() -> Iterator[None]:
    """Draw the room of each place and seed once: that is most of a camera's preparation."""
    drawn: dict[bytes, Bytes] = {}
    draw = image.render_room

    def room(camera: Camera, seed: int) -> Bytes:
        key = pickle.dumps((camera, seed))
        if key not in drawn:
            drawn[key] = draw(camera, seed)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image, "render_room", room)
        yield


def centroid(picture: Floats, background: Floats, place: Floats, reach: int = 6) -> Floats:
    """Return the centroid of what is brighter than the background around a place, (2,) [px]."""
    x0, y0 = (int(v) - reach for v in place)
    window = np.s_[y0 : y0 + 2 * reach + 1, x0 : x0 + 2 * reach + 1]
    weight = (picture[window].astype(float) - background[window]).sum(axis=2)
    y, x = np.mgrid[window]
    return np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum()


def test_rendered_centroids_are_the_projected_centres_of_the_markers() -> None:
    scene = replace(CLEAN, width_px=640, height_px=480, gain=0.3)
    performer = make_scene_performer(scene)
    errors = []
    for side in (0, 1):
        camera = SimulatedCamera(scene, side, performer)
        for index in (40, 90, 140):
            frame, image_px, shown = camera.frame_with_truth(index)
            marker_m = performer.markers_of(*performer.joints_at(camera.times_s[index : index + 1]))[0]
            assert image_px == pytest.approx(performer.rig.cameras[side].project(marker_m), abs=1e-9)
            for m in np.flatnonzero(shown == 1.0):
                apart = np.linalg.norm(np.delete(image_px, m, axis=0) - image_px[m], axis=1)
                if apart.min() > 16.0:
                    errors.append(centroid(frame.image, camera._renderer.background, image_px[m]) - image_px[m])
    assert len(errors) > 20
    assert np.abs(errors).max() < 0.02


def test_motion_blur_is_centred_on_the_stamp() -> None:
    scene = replace(CLEAN, width_px=640, height_px=480, gain=0.3, exposure_ms=12.0)
    camera = SimulatedCamera(scene, 0)
    frame, image_px, shown = camera.frame_with_truth(100)
    for m in np.flatnonzero(shown == 1.0):
        apart = np.linalg.norm(np.delete(image_px, m, axis=0) - image_px[m], axis=1)
        if apart.min() > 20.0:
            error = centroid(frame.image, camera._renderer.background, image_px[m], 9) - image_px[m]
            assert np.abs(error).max() < 0.06


def test_same_scene_gives_the_same_images_in_another_process() -> None:
    scene = replace(CLEAN, noise=2.0, shot=0.05, pixel_noise_px=0.3, exposure_ms=6.0)
    rebuilt = SimulatedScene(**msgpack.unpackb(msgpack.packb(scene.to_plain())))
    assert rebuilt == scene
    first, second = SimulatedCamera(scene, 1), SimulatedCamera(rebuilt, 1)
    first.read()
    for _ in range(2):
        second.read()
    first.read()
    a, b = first.read(), second.read()
    assert a is not None
    assert b is not None
    assert a.index == 2
    assert a.t_capture_ns == b.t_capture_ns
    assert np.array_equal(a.image, b.image)
    other = SimulatedCamera(replace(scene, seed=5), 1).frame_at(2)
    assert not np.array_equal(a.image, other.image)


def test_it_is_a_source() -> None:
    scene = replace(CLEAN, seconds=0.1, tpose_s=0.0)
    camera = SimulatedCamera(scene, 0)
    assert isinstance(camera, Source)
    assert camera.size == (320, 240)
    frames = []
    while (frame := camera.read()) is not None:
        frames.append(frame)
    assert len(frames) == camera.n_frames == 7
    assert frames[3].t_capture_ns == 50_000_000
    assert frames[3].image.shape == (240, 320, 3)
    assert frames[3].image.flags.c_contiguous
    camera.close()
    assert camera.read() is None


def test_shutters_of_synchronous_cameras_open_together() -> None:
    assert draw_shutter_times(CLEAN, 0, 1.0) == pytest.approx(np.arange(61) / 60.0, abs=1e-12)
    assert np.array_equal(draw_shutter_times(CLEAN, 0, 1.0), draw_shutter_times(CLEAN, 1, 1.0))


def test_skew_drift_jitter_and_drops() -> None:
    skewed = replace(CLEAN, skew_ms=7.0, drift_ppm=500.0)
    left, right = (draw_shutter_times(skewed, camera, 10.0) for camera in (0, 1))
    assert right[0] - left[0] == pytest.approx(0.007)
    assert right[600] - left[600] == pytest.approx(0.007 + 10.0 * 500e-6)
    early = replace(CLEAN, skew_ms=-7.0)
    assert draw_shutter_times(early, 1, 1.0)[3] - draw_shutter_times(early, 0, 1.0)[3] == pytest.approx(-0.007)
    shaky = draw_shutter_times(replace(CLEAN, jitter_ms=2.0), 0, 30.0)
    assert np.all(np.diff(shaky) > 0.0)
    assert np.std(shaky - np.arange(len(shaky)) / 60.0) == pytest.approx(0.002, rel=0.1)
    lossy = draw_shutter_times(replace(CLEAN, drop=0.1), 0, 60.0)
    assert 1.0 - len(lossy) / 3601 == pytest.approx(0.1, abs=0.02)
    assert lossy[0] == 0.0
    assert not np.array_equal(lossy, draw_shutter_times(replace(CLEAN, drop=0.1), 1, 60.0))


def test_a_skewed_camera_sees_the_performer_later() -> None:
    skewed = replace(CLEAN, skew_ms=25.0)
    performer = make_scene_performer(CLEAN)
    plain, late = SimulatedCamera(CLEAN, 1, performer), SimulatedCamera(skewed, 1, make_scene_performer(skewed))
    index = 200
    _, p = performer.joints_at(np.array([index / 60.0 + 0.025]))
    G, _ = performer.joints_at(np.array([index / 60.0 + 0.025]))
    expected = performer.rig.cameras[1].project(performer.markers_of(G, p)[0])
    assert late.frame_with_truth(index)[1] == pytest.approx(expected, abs=1e-9)
    moved = np.linalg.norm(late.frame_with_truth(index)[1] - plain.frame_with_truth(index)[1], axis=1)
    assert moved.max() > 1.0


def test_between_two_poses_the_body_turns_evenly() -> None:
    performer = make_scene_performer(CLEAN)
    t = np.array([1.9, 1.9 + 0.25 / 60, 1.9 + 1 / 60])
    rotvec, root = performer.poses_at(t)
    R = local_from_charted(rotvec)
    whole, part = compute_geodesic_rad(R[0], R[2]), compute_geodesic_rad(R[0], R[1])
    moving = whole > 1e-3
    assert moving.sum() > 8
    assert part[moving] == pytest.approx(0.25 * whole[moving], rel=1e-3)
    assert root[1] - root[0] == pytest.approx(0.25 * (root[2] - root[0]), abs=1e-12)


def test_centre_noise_has_the_size_that_was_asked_for() -> None:
    camera = SimulatedCamera(replace(CLEAN, pixel_noise_px=0.3, seconds=1.0), 0)
    shifts = np.array([camera.view_at(index)[0].shift_px for index in range(60)])
    assert shifts.std() == pytest.approx(0.3, rel=0.1)
    assert abs(shifts.mean()) < 0.05


def test_one_marker_in_five_is_hidden_from_both_cameras_in_turns() -> None:
    scene = replace(CLEAN, occlude=0.2, tpose_s=1.0, seconds=3.0)
    performer = make_scene_performer(scene)
    assert not performer.hidden_at(0.9).any()
    turns = [performer.hidden_at(1.05 + 0.5 * k) for k in range(6)]
    assert all(hidden.sum() == 2 for hidden in turns)  # 8 markers
    assert len({tuple(hidden) for hidden in turns}) > 3
    assert np.array_equal(performer.hidden_at(1.05), performer.hidden_at(1.45))
    for side in (0, 1):
        camera = SimulatedCamera(scene, side, performer)
        _, _, shown = camera.frame_with_truth(75)
        assert np.all(shown[performer.hidden_at(float(camera.times_s[75]))] == 0.0)


def test_a_partly_hidden_marker_is_smaller() -> None:
    scene = replace(CLEAN, look="dark", gain=0.3, blur_px=0.0)
    camera = SimulatedCamera(scene, 0)
    view, _ = camera.view_at(60)
    m = int(np.argmax(view.shown))

    def area(share: float) -> float:
        part = replace(view, shown=np.where(np.arange(len(view.shown)) == m, share, 0.0))
        drawn = camera._renderer.image(part, camera.performer.radius_m, 0)
        return float((drawn.astype(float) - camera._renderer.background).sum())

    assert area(0.5) / area(1.0) == pytest.approx(0.5, abs=0.08)


def test_the_room_is_empty_first() -> None:
    scene = replace(CLEAN, look="lit", empty_s=0.5, seconds=0.5)
    camera = SimulatedCamera(scene, 0)
    assert np.array_equal(camera.frame_at(29).image, camera._renderer.background)
    assert (camera.frame_at(31).image != camera._renderer.background).any(axis=2).sum() > 500
    assert camera.performer.tpose_s == (0.5, 1.0)
    _, _, shown = camera.frame_with_truth(10)
    assert not shown.any()


def test_coloured_markers_have_their_own_colours_in_a_lit_room() -> None:
    scene = replace(CLEAN, look="lit", width_px=640, height_px=480, marker_mm=40.0, blur_px=0.0)
    camera = SimulatedCamera(scene, 0)
    frame, image_px, shown = camera.frame_with_truth(60)
    colors = choose_marker_colors(camera.performer.markers)
    for m in np.flatnonzero(shown == 1.0):
        x, y = np.rint(image_px[m]).astype(int)
        assert np.abs(frame.image[y, x, ::-1].astype(float) - colors[m]).max() < 3.0
    spread = np.linalg.norm(colors[:, None] - colors[None], axis=2) + 1e3 * np.eye(len(colors))
    assert spread.min() > 55.0


def test_sensor_noise_has_the_size_that_was_asked_for() -> None:
    scene = replace(CLEAN, look="lit", empty_s=1.0)
    quiet = SimulatedCamera(scene, 0).frame_at(5).image.astype(float)
    noisy = SimulatedCamera(replace(scene, noise=2.0, shot=0.05), 0).frame_at(5).image.astype(float)
    expected = np.sqrt(2.0**2 + 0.05 * quiet.mean() + 1.0 / 12.0)
    assert (noisy - quiet).std() == pytest.approx(expected, rel=0.05)
    assert abs((noisy - quiet).mean()) < 0.1


def test_reflections_are_at_places_of_each_cameras_own() -> None:
    dark = replace(CLEAN, empty_s=1.0)
    spots = [SimulatedCamera(replace(dark, reflections=3), side).frame_at(0).image.max(axis=2) > 100 for side in (0, 1)]
    assert not (SimulatedCamera(dark, 0).frame_at(0).image > 100).any()
    assert spots[0].sum() > 5
    assert spots[1].sum() > 5
    assert not np.array_equal(spots[0], spots[1])


def test_the_performer_begins_in_the_t_pose_on_the_floor_and_faces_the_cameras() -> None:
    performer = make_scene_performer(replace(CLEAN, tpose_s=2.0))
    rotvec, root = performer.poses_at(np.array([0.0, 1.9]))
    R = local_from_charted(rotvec)
    assert R[0, 1:] == pytest.approx(np.broadcast_to(np.eye(3), (len(R[0]) - 1, 3, 3)), abs=1e-9)
    assert R[0, 0] == pytest.approx(np.eye(3), abs=1e-9)
    assert rotvec[1] == pytest.approx(rotvec[0], abs=1e-9)
    assert root[1] == pytest.approx(root[0], abs=1e-9)
    _, p = performer.joints_at(np.linspace(0.0, performer.duration_s, 200))
    feet = p[:, [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]], 1].min(axis=1)
    assert feet.min() > 0.0
    assert feet.max() < 0.1
    assert is_all_in_view(performer.rig, sample_extent(performer.clip), 10.0)
    # Nothing jumps on the way from the T-pose into the motion.
    _, begin = performer.joints_at(np.arange(1.9, 3.2, 0.01))
    assert np.linalg.norm(np.diff(begin, axis=0), axis=2).max() < 0.025  # 2.5 m/s: the hands come down


def test_turning_the_performer_turns_the_motion() -> None:
    ahead = []
    for turn in (0.0, 90.0):
        performer = make_scene_performer(replace(CLEAN, turn_deg=turn))
        walking = performer.clip.rotvec[-round(1.5 * performer.clip.fps) :]
        ahead.append(local_from_charted(walking)[:, 0, :, 2].mean(axis=0))
    assert ahead[0][2] > 0.9
    assert ahead[1][0] > 0.9  # to the performer's left, +X


def tilted_rig() -> Rig:
    """Return a rig whose world is its left camera, which is tilted; the floor is not known."""
    K = np.array([[420.0, 0.0, 159.5], [0.0, 420.0, 119.5], [0.0, 0.0, 1.0]])
    left = Camera("left", (320, 240), K, np.array([-0.05, 0.02, 0.0, 0.0]), np.eye(3), np.zeros(3))
    R = matrix_from_rotvec([0.02, 0.07, -0.01])
    right = Camera("right", (320, 240), K.copy(), np.array([-0.04, 0.01, 0.0, 0.0]), R, np.array([-0.4, 0.005, 0.01]))
    return Rig((left, right))


def test_a_given_rig_keeps_its_world_and_sees_everything_upright(tmp_path: Path) -> None:
    write_rig_toml(tmp_path / "rig.toml", tilted_rig())
    performer = make_scene_performer(replace(CLEAN, rig=str(tmp_path / "rig.toml")))
    assert performer.rig.cameras[0].translation == pytest.approx(np.zeros(3))
    assert is_all_in_view(performer.rig, sample_extent(performer.clip), 3.0)
    _, p = performer.joints_at(np.array([0.2]))
    for camera in performer.rig.cameras:
        px = camera.project(p[0])
        assert px[JOINT_INDEX["head"], 1] < px[JOINT_INDEX["hips"], 1] < px[JOINT_INDEX["leftFoot"], 1]
        assert px[JOINT_INDEX["leftHand"], 0] > px[JOINT_INDEX["rightHand"], 0]  # faces the cameras
    camera = SimulatedCamera(performer.scene, 1, performer)
    _, image_px, shown = camera.frame_with_truth(20)
    assert shown.max() == 1.0
    assert np.all((image_px > 0) & (image_px < (320, 240)))


def test_faults_of_the_user_are_named() -> None:
    with pytest.raises(SettingsError, match="look"):
        replace(CLEAN, look="dim")
    with pytest.raises(SettingsError, match="drop"):
        replace(CLEAN, drop=1.5)
    with pytest.raises(FileFormatError, match="too short"):
        make_scene_performer(replace(CLEAN, start_s=500.0))
    with pytest.raises(CalibrationError, match="fit"):
        make_scene_performer(replace(CLEAN, fov_deg=10.0, width_px=4000, height_px=40))


def test_palette_gives_way_to_the_colours_of_the_set() -> None:
    markers = read_marker_set("locomotion")
    has = np.arange(len(markers)) == 2
    colored = replace(markers, color_rgb=np.where(has[:, None], [12.0, 200.0, 30.0], 0.0), has_color=has)
    assert choose_marker_colors(colored)[2] == pytest.approx([12.0, 200.0, 30.0])
    assert np.array_equal(choose_marker_colors(colored)[3], choose_marker_colors(markers)[3])
