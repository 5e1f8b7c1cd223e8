"""Cameras in the scene: frustums agree with the projection, pictures come over a real socket and carry what was found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import viser

from capture.packets import Blobs, Frame, Landmarks
from capture.process.preview import PreviewPublisher
from capture.process.preview_image import make_preview
from config.landmarks import LANDMARK_INDEX, LANDMARKS
from config.settings import CAMERA_NAMES
from database.geometry.rotations import matrix_from_quaternion
from reconstruct.pose import TrackingState
from stream.protocol.messages import MarkerReading, StatusMessage
from stream.viewer.scene.cameras import Cameras, draw_overlay, frustum_from_camera
from stream.viewer.scene.colors import DARK, EXCHANGED, MEASURED
from stream.viewer.scene.framing import camera_from_reading
from stream.viewer.scene.picture_plane import compute_picture_plane, compute_undistortion
from stream.viewer.videos import SeenPicture
from tests.support.viewer.stage_motion import as_state, performer, poses_of, skeleton_and_rig
from tests.support.waiting import wait_until

PERSON = performer()
SKELETON, RIG = skeleton_and_rig(PERSON)
POSE = poses_of(PERSON, 6.0, 0.1)[0]
SIZE = RIG.cameras[0].size


def status(addresses: tuple[object, ...]) -> StatusMessage:
    cameras = {name: {"preview": address} for name, address in zip(CAMERA_NAMES, addresses, strict=False)}
    return StatusMessage("s", 0, "tracking", {}, {}, {}, {}, cameras)


def picture(camera: int, index: int, grey: int = 90) -> Frame:
    return Frame(camera, index, index * 1_000_000_000, np.full((SIZE[1], SIZE[0], 3), grey, np.uint8))


def no_blobs(points_px: np.ndarray) -> Blobs:
    none = np.zeros(len(points_px))
    return Blobs(0, 0, 0, points_px, none.copy(), np.zeros((len(none), 3)), none.copy())


@pytest.mark.parametrize("n", [0, 1])
def test_the_corners_of_a_frustum_are_those_of_the_picture(n: int) -> None:
    truth = PERSON.rig.cameras[n]
    frustum = frustum_from_camera(camera_from_reading(RIG.cameras[n]))
    R = matrix_from_quaternion(np.roll(frustum.wxyz, -1))
    half = np.tan(frustum.fov_rad / 2.0)
    for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        corner_m = frustum.position_m + R @ (2.5 * np.array([x * half * frustum.aspect, y * half, 1.0]))
        ideal = truth.matrix @ truth.to_camera(corner_m)
        offset = truth.matrix[:2, 2] - 0.5 * np.array(truth.size)  # viser's frustums have their axis in the middle
        expected = 0.5 * np.array(truth.size) * (1 + np.array([x, y]))
        np.testing.assert_allclose(ideal[:2] / ideal[2] - offset, expected, atol=1e-6)


def test_landmarks_of_a_recorded_picture_are_drawn_as_the_pose_believes_them(server: viser.ViserServer) -> None:
    cameras = Cameras(server.scene, "/world/cameras", RIG)
    angle = 2.0 * np.pi / 33.0 * (10 * np.arange(33) % 33)  # on a circle, so that no line passes through another's end
    px = np.round(np.column_stack([320.0 + 200.0 * np.cos(angle), 240.0 + 200.0 * np.sin(angle)]))
    markers = tuple(MarkerReading(f"landmark_{name}", (0.0, 0.0, -9.0), None, (0, 1)) for name in LANDMARKS)
    lost = replace(POSE, state=TrackingState.LOST, markers=markers, landmarks=("nothing", "legs"))  # no body is drawn
    picture = SeenPicture(np.full((SIZE[1], SIZE[0], 3), 90, np.uint8), landmarks=Landmarks(px, np.ones(33), 1.0))
    x, y = px[LANDMARK_INDEX["left_knee"]].astype(int)
    assert [tuple(cameras.draw_on(picture, n, SKELETON, lost)[y, x].tolist()) for n in (0, 1)] == [DARK.left, EXCHANGED]


CORNERS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.7, 0.3))


@pytest.mark.parametrize("n_cameras", [1, 4])
def test_pictures_come_from_all_cameras_while_wanted(server: viser.ViserServer, n_cameras: int) -> None:
    publishers = [PreviewPublisher() for _ in range(n_cameras)]
    cameras = Cameras(server.scene, "/world/cameras", replace(RIG, cameras=(RIG.cameras * 2)[:n_cameras]))
    cameras.update_status(status(tuple(publisher.address for publisher in publishers)))
    assert not publishers[0].wanted and cameras.picture(0) is None
    cameras.want_pictures(True)
    index = itertools.count(1)

    def shown() -> bool:
        k = next(index)
        for n, publisher in enumerate(publishers):
            publisher.offer(picture(n, k, 60 + 40 * n), no_blobs(np.zeros((0, 2))))
        cameras.update()
        return all(cameras.picture(n) is not None for n in range(n_cameras))

    wait_until(shown, pause_s=0.02)
    pictures = [cameras.picture(n) for n in range(n_cameras)]
    assert all(shown is not None and shown.shape == (360, 480, 3) for shown in pictures)
    names = CAMERA_NAMES[:n_cameras]
    nodes = [server.scene.get_handle_by_name(f"/world/cameras/{name}") for name in names]
    assert all(isinstance(node, viser.CameraFrustumHandle) and node.image is None for node in nodes), (
        "nothing stands before the body"
    )
    assert all(plain is not None for plain in map(cameras.plain_picture, range(n_cameras)))
    assert len({node.color for node in nodes}) == n_cameras
    labels = [server.scene.get_handle_by_name(f"/world/cameras/{name}_name") for name in names]
    assert [label.text for label in labels] == list(names)
    cameras.want_pictures(False)
    assert cameras.picture(0) is None
    wait_until(lambda: not publishers[0].wanted)
    cameras.remove()
    for publisher in publishers:
        publisher.close()


def test_nonsense_and_addresses_of_other_machines_are_not_looked_at(server: viser.ViserServer) -> None:
    cameras = Cameras(server.scene, "/world/cameras", RIG)
    cameras.want_pictures(True)
    foreign = ("tcp://10.0.0.1:5000", "tcp://127.0.0.1.evil.example:5000")  # of other machines
    for address in ("nonsense", 7, None, {"a": 1}, "file:///etc/passwd", "tcp://", *foreign):
        cameras.update_status(status((address,)))
        assert not cameras.update() and cameras.picture(0) is None
    assert cameras.n_malformed == 5
    cameras.remove()


def test_what_was_found_is_drawn_where_it_is() -> None:
    camera = camera_from_reading(RIG.cameras[0])
    blob_px = np.array([[100.0, 400.0], [5000.0, 1e9], [-3.0, 2.0]])
    none = np.zeros(3)
    preview = make_preview(picture(0, 1), Blobs(0, 1, 0, blob_px, none, np.zeros((3, 3)), none.copy()))
    scale = 480 / SIZE[0]
    plain = draw_overlay(preview.image(), preview.points_px * scale, camera)
    found = draw_overlay(preview.image(), preview.points_px * scale, camera, SKELETON, POSE)
    for image in (plain, found):
        assert image[round(400 * scale), round(100 * scale) + 6].min() > 200
    measured = next(marker for marker in POSE.markers if marker.measured)
    x, y = np.round(camera.project(np.array([measured.xyz]))[0] * scale).astype(int)
    patch = found[y - 3 : y + 4, x - 3 : x + 4].reshape(-1, 3).astype(int)
    assert np.abs(patch - MEASURED).sum(axis=1).min() < 60
    assert (plain != found).any()
    lost = draw_overlay(preview.image(), preview.points_px * scale, camera, SKELETON, as_state(POSE, TrackingState.LOST))
    other = draw_overlay(preview.image(), preview.points_px * scale, camera, SKELETON, replace(POSE, hash="another"))
    assert (lost == plain).all() and (other == plain).all()


def test_a_picture_behind_the_body_lies_where_the_camera_sees_it() -> None:
    camera = replace(camera_from_reading(RIG.cameras[0]), distortions=np.array([-0.2, 0.05, 0.001, -0.002, 0.0]))
    plane = compute_picture_plane(camera, 5.0)
    width, height = camera.size
    across, down, _ = camera.rotation
    ideal = np.array([(x - 0.5) * plane.width_m * across + (y - 0.5) * plane.height_m * down for x, y in CORNERS])
    seen = camera.to_camera(plane.position_m + ideal) @ camera.matrix.T
    np.testing.assert_allclose(seen[:, :2] / seen[:, 2:], np.array(CORNERS) * (width, height), atol=1e-6)
    map_px = compute_undistortion(camera, (width // 4, height // 4))
    point_m = camera.center_m + 3.0 * camera.rotation[2] + 0.4 * across
    ray = camera.to_camera(point_m) @ camera.matrix.T
    x, y = np.round((ray[:2] / ray[2] + 0.5) / 4.0 - 0.5).astype(int)
    distorted = (camera.project(point_m[None])[0] + 0.5) / 4.0 - 0.5
    assert np.abs(map_px[y, x] - distorted).max() < 1.0
