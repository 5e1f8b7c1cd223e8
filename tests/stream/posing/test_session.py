"""A posing session without its page: drags, holds, undo, mirror, keys; bad input."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.joints import JOINT_INDEX, JOINTS, mirror_joint_name
from database.builtin.bodies import build_person_skeleton
from database.builtin.catalog import make_builtin_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints
from reconstruct.models.style.features import RATE_HZ
from reconstruct.models.style.synthesis.curves import KeyedCurve
from reconstruct.models.style.synthesis.synthesizer import Synthesis
from reconstruct.posing.protocol import FoundPose
from stream.posing.camera import fit_cameras_to_poses, guess_cameras, solve_picture_camera
from stream.posing.document import (
    Document,
    PictureView,
    PosingError,
    StoredPose,
    compute_joint_positions_m,
    create_document,
    set_key,
)
from stream.posing.latent import build_pose_map, draw_pose_map, predict_start_pose
from stream.posing.model import PosingModel
from stream.posing.motion import solve_keyframe_motion
from stream.posing.near import collect_known_poses, compute_standing_joints_m, find_near_poses
from stream.posing.page.picture import IN_TURN
from stream.posing.picture import decode_picture, project_to_picture
from stream.posing.session import PosingSession

HAND = JOINT_INDEX["leftHand"]


def test_a_drag_is_followed_and_is_one_step_that_can_be_undone(session: PosingSession, saved: list[Document]) -> None:
    first, start = session.document, session.joints_m()[HAND]
    for share in (0.3, 0.6, 1.0):
        session.drag("leftHand", start + share * np.array([0.1, 0.3, 0.2]))
    assert not saved and session.dragged == "leftHand"
    session.release()
    assert saved == [session.document] and "leftHand" in session.document.pins and not session.unmet()
    np.testing.assert_allclose(session.joints_m()[HAND], start + [0.1, 0.3, 0.2], atol=0.02)
    np.testing.assert_allclose(session.joints_m()[JOINT_INDEX["leftFoot"]], first.pins["leftFoot"], atol=0.02)
    dragged = session.document
    assert session.undo() and session.document == first and not session.undo()
    assert session.redo() and session.document is dragged and not session.redo()


@pytest.mark.parametrize("joint", ["leftHand", "rightLowerLeg", "head", "hips", "chest"])
def test_what_is_not_dragged_stays(session: PosingSession, joint: str) -> None:
    before_m, row = session.joints_m(), JOINT_INDEX[joint]
    for share in (0.25, 0.5, 0.75, 1.0):
        session.drag(joint, before_m[row] + share * np.array([0.02, -0.03, 0.02]))
    session.release()
    moved_m = np.linalg.norm(session.joints_m() - before_m, axis=1)
    assert 0.03 < moved_m[row] < 0.05
    knees = [JOINT_INDEX[f"{side}LowerLeg"] for side in ("left", "right")]  # straight legs bend far for little
    free = np.setdiff1d(np.arange(len(moved_m)), knees)
    assert moved_m[free].max() < 1.5 * moved_m[row] and moved_m[knees].max() < 0.15


def test_a_turned_joint_takes_what_lies_beyond_it_along_and_leaves_the_rest(session: PosingSession) -> None:
    before_m, row = session.joints_m(), JOINT_INDEX["leftUpperArm"]
    rotation = compute_forward_kinematics(session.skeleton, session.document.pose.rotvec, session.document.pose.root_m)[0][row]
    turn = matrix_from_rotvec(np.array([0.5, 0.0, 0.0]))
    session.turn("leftUpperArm", rotvec_from_matrix(turn @ rotation))
    session.release()
    after_m = session.joints_m()
    moved_m = np.linalg.norm(after_m - before_m, axis=1)
    np.testing.assert_allclose(after_m[HAND] - after_m[row], turn @ (before_m[HAND] - before_m[row]), atol=0.03)
    assert moved_m[JOINT_INDEX["rightHand"]] < 0.02 and moved_m[JOINT_INDEX["head"]] < 0.02
    assert "leftUpperArm" in session.document.turns and session.undo() and not session.document.turns


@dataclass(frozen=True)
class Shifted:
    """A pose of a model that knows one pose only, and moves it to its handles."""

    rotvec: np.ndarray
    root_m: np.ndarray
    error_m: np.ndarray
    error_px: np.ndarray
    variance: float = 0.5
    reached: bool = True
    converged: bool = True


class ShiftingPoser:
    """Another model, without styles and with poses of its own kind."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton, self.starts = skeleton, list[FoundPose | None]()

    def pose(self, constraints: Constraints, start: FoundPose | None = None) -> Shifted:
        self.starts.append(start)
        pose, joint = create_document(self.skeleton).pose, constraints.handles.joint
        shift = (constraints.observations.point_m - compute_joint_positions_m(self.skeleton, pose)[joint]).mean(axis=0)
        none = np.zeros(len(joint))
        return Shifted(pose.rotvec, pose.root_m + shift, none, np.zeros((2, len(joint))))


class StuckPoser(ShiftingPoser):
    """A model that stays at the pose it goes on from, and else moves the hand to where it is asked."""

    def pose(self, constraints: Constraints, start: FoundPose | None = None) -> Shifted:
        anew = super().pose(constraints, start)
        if start is not None:
            return replace(anew, rotvec=start.rotvec, root_m=start.root_m)
        asked = constraints.handles.joint == HAND
        hand_m = compute_joint_positions_m(self.skeleton, StoredPose(anew.rotvec, anew.root_m))[HAND]
        return replace(anew, root_m=anew.root_m + (constraints.observations.point_m[asked] - hand_m).sum(axis=0))


def test_a_drag_that_got_stuck_is_posed_anew_when_it_is_released(session: PosingSession) -> None:
    session.set_model(PosingModel("stuck", StuckPoser(session.skeleton)))
    session.free_all()
    for up_m in (0.01, 0.05, 0.3):
        session.drag("leftHand", session.joints_m()[HAND] + [0.0, up_m, 0.0])
    aim_m = session.document.pins["leftHand"]
    assert np.linalg.norm(session.joints_m()[HAND] - aim_m) > 0.1
    session.release()
    np.testing.assert_allclose(session.joints_m()[HAND], aim_m, atol=1e-9)


def test_another_model_answers_without_the_start_of_the_first(session: PosingSession, model: PosingModel) -> None:
    poser = ShiftingPoser(session.skeleton)
    session.drag("leftHand", session.joints_m()[HAND] + 0.1)
    session.set_model(PosingModel("shift", poser))
    assert poser.starts == [None] and session.document.model == "shift" and session.document.shares == ()
    session.drag("leftHand", session.joints_m()[HAND] + 0.1)
    assert isinstance(poser.starts[1], Shifted) and build_pose_map(poser) is None
    session.release()
    session.set_key(0.0)
    session.drag("leftHand", session.joints_m()[HAND] + 0.2)
    session.release()
    session.set_key(1.0)
    n_asked = len(poser.starts)
    motion = solve_keyframe_motion(session.document, session.poser)
    assert len(motion.take) == 61 and len(poser.starts) - n_asked == RATE_HZ + 1
    session.set_model(model)
    session.drag("leftHand", session.joints_m()[HAND] + 0.1)
    with pytest.raises(PosingError, match="another body"):
        session.set_model(PosingModel("child", ShiftingPoser(build_person_skeleton(1.2))))


def test_what_cannot_be_reached_is_the_best_pose_and_said(session: PosingSession) -> None:
    session.drag("leftHand", (0.0, 9.0, 0.0))  # the feet stay on the floor
    session.release()
    assert session.unmet()["leftHand"].error_m > 1.0 and np.isfinite(session.joints_m()).all()


def test_handles_that_contradict_each_other_share_the_miss(session: PosingSession) -> None:
    session.pin("head")
    neck_m = session.joints_m()[JOINT_INDEX["neck"]]
    session.drag("neck", neck_m + [0.5, 0.0, 0.0])
    session.release()
    missed = session.unmet()
    assert {"head", "neck"} <= set(missed) and missed["head"].error_m + missed["neck"].error_m > 0.3


@pytest.mark.parametrize("target", [(np.nan, 0.0, 0.0), (0.0, np.inf, 0.0), (1e9, 0.0, 0.0), (1.0, 2.0), "here"])
def test_no_place_changes_nothing(session: PosingSession, target: object) -> None:
    before = session.document
    with pytest.raises(PosingError, match="a place"):
        session.drag("leftHand", target)  # type: ignore[arg-type]
    session.release()
    assert session.document is before and not session.can_undo
    with pytest.raises(PosingError, match="is no joint"):
        session.pin("tail")


def test_a_fault_of_saving_is_kept_and_stops_nothing(model: PosingModel) -> None:
    def full(document: Document) -> None:
        raise OSError("no space left")

    session = PosingSession(model, save=full)
    session.pin("head")
    assert "head" in session.document.pins and "no space left" in session.save_fault


def test_a_mirrored_pose_has_its_joints_on_the_other_side(session: PosingSession) -> None:
    session.drag("leftHand", session.joints_m()[HAND] + [0.2, 0.5, 0.1])
    session.release()
    before, pins = session.joints_m(), session.document.pins
    session.mirror()
    x = session.document.pose.root_m[0]
    expected = before[[JOINT_INDEX[mirror_joint_name(name)] for name in JOINTS]] * [-1.0, 1.0, 1.0] + [2.0 * x, 0.0, 0.0]
    np.testing.assert_allclose(session.joints_m(), expected, atol=1e-6)
    assert session.document.pins["rightHand"][1] == pins["leftHand"][1]
    session.mirror()
    np.testing.assert_allclose(session.joints_m(), before, atol=1e-9)


def test_keys_are_set_moved_and_deleted_in_the_order_of_time(session: PosingSession) -> None:
    for time_s in (1.0, 0.0, 2.0, 1.0):
        session.set_key(time_s)
    session.move_keys((1.0, 1.5, 2.0))
    assert [key.time_s for key in session.document.keys] == [1.0, 1.5, 2.0]
    with pytest.raises(PosingError, match="have to rise"):
        session.move_keys((1.0, 1.0, 2.0))
    with pytest.raises(PosingError, match="times of 3 keys"):
        session.move_keys((1.0, 2.0))
    session.delete_key(1.5)
    with pytest.raises(PosingError, match=r"no key at 1.50 s; keys are at: 1.00, 2.00"):
        session.delete_key(1.5)
    with pytest.raises(PosingError, match="expected a time"):
        session.set_key(float("nan"))


def test_a_motion_has_the_poses_of_its_keys(session: PosingSession) -> None:
    document = set_key(session.document, 0.0)
    for time_s, name in ((0.4, "rightHand"), (1.0, "leftHand")):
        session.drag(name, session.joints_m()[JOINT_INDEX[name]] + (0.1, 0.3, 0.15))
        session.release()
        document = set_key(replace(session.document, keys=document.keys), time_s)
    motion = solve_keyframe_motion(document, session.poser)
    for key in document.keys:
        pose = motion.pose_at(key.time_s)
        np.testing.assert_allclose(
            compute_joint_positions_m(session.skeleton, pose), compute_joint_positions_m(session.skeleton, key.pose), atol=1e-6
        )
    shown_m, times_s = motion.take.positions_m(), np.array([key.time_s for key in document.keys])
    assert np.linalg.norm(np.diff(shown_m, axis=0), axis=2).max() < 0.06  # no leap to a key
    at_keys_m = shown_m[[motion.find_frame(time_s) for time_s in times_s]]
    for row in (JOINT_INDEX[name] for name in motion.held):
        way_m = KeyedCurve(times_s, at_keys_m[:, row]).at(motion.take.seconds)
        np.testing.assert_allclose(shown_m[:, row], way_m, atol=0.01)


def test_a_joint_follows_its_point_in_the_picture(session: PosingSession) -> None:
    with pytest.raises(PosingError, match="no picture"):
        session.drag_in_picture("leftHand", (10.0, 10.0))
    picture = PictureView((640, 480))
    truth = compute_joint_positions_m(session.skeleton, create_document(session.skeleton).pose)
    session.set_picture(picture)
    for name in ("leftHand", "rightHand", "leftFoot", "rightFoot", "head"):
        at = project_to_picture(picture, truth[JOINT_INDEX[name]])
        assert at is not None
        session.drag_in_picture(name, at + [7.0, -3.0])
        session.release()
    assert len(session.document.image_points) == 5 and not session.unmet()


def test_clicks_leave_the_pose_while_the_camera_is_solved(session: PosingSession) -> None:
    true = make_camera_looking_at("true", (640, 480), intrinsics_from_fov((640, 480), 60.0), (1.5, 1.6, 2.5), (0.0, 0.9, 0.0))
    session.set_picture(PictureView((640, 480), 60.0))
    pose, joint_m = session.document.pose, session.joints_m()
    for name in IN_TURN:
        session.click(name, true.project(joint_m)[JOINT_INDEX[name]])
    assert session.document.pose is pose and len(session.unmet()) > 10
    solved = solve_picture_camera(session.document.picture, session.document.image_points, joint_m, known_lens=True)
    session.set_camera(solved.camera, posed=False)
    assert session.document.pose is pose and not session.unmet()
    session.mirror()
    assert not session.document.image_points and session.undo() and len(session.unmet()) == 0
    session.set_fov(50.0)
    assert session.document.picture.camera is None and not np.allclose(session.document.pose.rotvec, pose.rotvec)
    session.set_picture(None)
    with pytest.raises(PosingError, match="no picture that a camera is for"):
        session.set_camera(solved.camera, posed=True)


def test_camera_and_pose_are_found_together_from_known_poses(session: PosingSession) -> None:
    clip, size = make_builtin_clip("wave", fps=30.0), (1280, 960)
    true_m = compute_joint_positions_m(clip.skeleton, StoredPose(clip.rotvec[40].astype(float), clip.root_m[40].astype(float)))
    true = make_camera_looking_at("true", size, intrinsics_from_fov(size, 68.0), (1.0, 2.4, 2.2), (0.0, 0.9, 0.0))
    seen_px = true.project(true_m) + np.random.default_rng(3).normal(0.0, 3.0, (len(true_m), 2))
    session.set_picture(PictureView(size))
    for name in IN_TURN:
        session.drag_in_picture(name, seen_px[JOINT_INDEX[name]])
        session.release()
    by_hand_m = off_m(session.joints_m(), true_m)
    picture, points = session.document.picture, session.document.image_points
    poses_m = compute_standing_joints_m(collect_known_poses([make_builtin_clip("squat", fps=10.0), clip]), session.skeleton, 60)
    assert poses_m.shape[0] <= 60 and np.allclose(poses_m[..., 1].min(axis=1), 0.05)
    assert picture is not None
    session.set_best_camera([*fit_cameras_to_poses(picture, points, poses_m), *guess_cameras(picture, points)])
    assert off_m(session.joints_m(), true_m) < 0.05 < by_hand_m and not session.unmet()
    with pytest.raises(PosingError, match="7 joints are clicked in the picture; a camera needs 8 or more"):
        fit_cameras_to_poses(picture, dict(list(points.items())[:7]), poses_m)


def off_m(joint_m: np.ndarray, true_m: np.ndarray) -> float:
    """Return the mean distance of joints whose hips and headings are aligned."""
    a, b = joint_m - joint_m[0], true_m - true_m[0]
    turn = np.arctan2((b[:, 0] * a[:, 2] - b[:, 2] * a[:, 0]).sum(), (b[:, 0] * a[:, 0] + b[:, 2] * a[:, 2]).sum())
    return float(np.linalg.norm(a @ Rotation.from_rotvec((0.0, turn, 0.0)).as_matrix().T - b, axis=1).mean())


def test_a_known_pose_is_found_from_any_side_and_taken(session: PosingSession) -> None:
    clip = make_builtin_clip("wave", fps=30.0)
    known = collect_known_poses([make_builtin_clip("squat", fps=30.0), clip])
    row, turn = 40, Rotation.from_rotvec((0.0, 2.0, 0.0)).as_matrix()
    rotvec = clip.rotvec[row].astype(float)
    rotvec[0] = Rotation.from_matrix(turn @ Rotation.from_rotvec(rotvec[0]).as_matrix()).as_rotvec()
    there = StoredPose(rotvec, np.array([0.7, clip.root_m[row, 1], -0.4]))
    free = replace(session.document, pose=there, pins={})
    held = {
        name: tuple(compute_joint_positions_m(session.skeleton, there)[JOINT_INDEX[name]])
        for name in (*JOINTS[3:9:3], *JOINTS[-5:])
    }
    for document in (free, replace(session.document, pins=held)):
        found = find_near_poses(known, session.skeleton, document, 6)
        assert len(found) == 6 and found[0].name == clip.name and found[0].distance_m < 0.02 < found[-1].distance_m
        assert abs(found[0].time_s - row / 30.0) < 0.15
        places = [compute_joint_positions_m(session.skeleton, each.pose) for each in found]
        np.testing.assert_allclose(places[0], compute_joint_positions_m(session.skeleton, there), atol=0.05)
        assert min(np.linalg.norm(a - b, axis=1).mean() for n, a in enumerate(places) for b in places[:n]) > 0.05
    before = session.document
    session.take(found[0].pose)
    assert session.document.pose is found[0].pose and session.document.pins.keys() == before.pins.keys() and not session.unmet()
    assert session.undo() and session.document is before


def test_no_picture_is_said() -> None:
    for content in (b"", b"no picture", b"\x89PNG\r\n\x1a\n cut off"):
        with pytest.raises(PosingError, match=r"x.png: not a picture"):
            decode_picture(content, "x.png")


def test_the_latent_plane_poses_as_its_style_does_and_is_one_step(session: PosingSession, model: PosingModel) -> None:
    plane = build_pose_map(model.poser)
    assert plane is not None
    style, row = plane.style, 30
    at = plane.at(style.latent[row])
    off_plane = style.latent[row] - plane.centre
    np.testing.assert_allclose(plane.latent(at), plane.centre + plane.axes.T @ (plane.axes @ off_plane), atol=1e-12)
    assert max(np.abs(plane.at(latent)).max() for latent in style.latent) < 1.0
    first = session.document
    for share in (0.5, 1.0):
        session.drag_start(predict_start_pose(plane, share * at, model.poser, session.document, session.found))
    session.release()
    assert not session.unmet() and not np.allclose(session.document.pose.rotvec, first.pose.rotvec, atol=0.05)
    found = session.found
    assert isinstance(found, Synthesis)  # its latent point is held, although the feet are
    np.testing.assert_array_equal(found.latent[plane.row], plane.latent(at))
    assert session.undo() and session.document is first and not session.can_undo
    session.free_all()
    start = predict_start_pose(plane, at, model.poser, session.document, None)
    session.drag_start(start)
    session.release()
    np.testing.assert_allclose(session.document.pose.rotvec, start.rotvec)  # nothing is held: the pose itself
    assert session.joints_m()[:, 1].min() == pytest.approx(
        compute_joint_positions_m(session.skeleton, first.pose)[:, 1].min(), abs=1e-6
    )
    assert draw_pose_map(plane).std() > 5.0
