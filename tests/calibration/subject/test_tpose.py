"""Labelling a T-pose from nothing and averaging it over time, in any world frame; why none was found."""

import numpy as np
import pytest

from calibration.subject.tpose import (
    POSTURES,
    StartPose,
    average_tpose,
    build_tpose_model,
    explain_missing_tpose,
    find_worn_markers,
    label_tpose,
    select_marker_subset,
)
from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINTS
from config.markers import MarkerSet, read_marker_set
from database.builtin import build_person_skeleton, make_builtin_clip
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from tests.support.people import person, random_rotation, t_pose, worn_markers

BODIES = [
    build_person_skeleton(1.55),
    build_person_skeleton(1.7),
    build_person_skeleton(1.85, arm_ratio=1.05),
    build_person_skeleton(1.75, leg_ratio=1.05),
]
DARK, AROUND = read_marker_set("dark_room"), read_marker_set("all_around")
ARM_PARTS = ("UpperArm", "LowerArm", "Hand")


def standing(skeleton: Skeleton, seed: int, markers: str = "dark_room", droop_rad: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return the markers of a T-pose in a random frame, (M, 3), and that frame's R and t."""
    rng = np.random.default_rng(seed)
    R, t = random_rotation(rng), rng.uniform(-3.0, 3.0, 3)
    pose = t_pose()
    pose[0] = 0.0
    if droop_rad:
        pose[[16, 20]] += [[0.0, 0.0, -droop_rad], [0.0, 0.0, droop_rad]]
    placed, _ = worn_markers(person(markers, seed, skeleton), pose[None], np.zeros((1, 3)))
    return placed[0] @ R.T + t, R, t


def frames_of(
    markers: Floats, n: int, seed: int, noise_m: float = 0.003, clutter: int = 0
) -> tuple[list[tuple[Floats, Floats]], list[np.ndarray]]:
    """Return shuffled noisy points of n frames, and where each marker is in them."""
    rng = np.random.default_rng(seed)
    frames, truth = [], []
    for _ in range(n):
        far = markers.mean(axis=0) + rng.choice([-1, 1], (clutter, 3)) * rng.uniform(0.8, 2.0, (clutter, 3))
        points = np.concatenate([markers + rng.normal(0.0, noise_m, markers.shape), far])
        order = rng.permutation(len(points))
        frames.append((np.ascontiguousarray(points[order]), np.tile(noise_m**2 * np.eye(3), (len(points), 1, 1))))
        truth.append(np.argsort(order)[: len(markers)])
    return frames, truth


@pytest.mark.parametrize("seed", range(10))
def test_labels_are_right_in_any_frame_for_any_body(seed: int) -> None:
    """Bodies the database does not hold, from 1.5 to 1.95 m, arms up to 14 degrees off level, 3 mm noise."""
    rng = np.random.default_rng(100 + seed)
    skeleton = build_person_skeleton(rng.uniform(1.5, 1.95), leg_ratio=rng.uniform(0.95, 1.06), arm_ratio=rng.uniform(0.93, 1.07))
    markers, _, _ = standing(skeleton, seed, droop_rad=rng.uniform(-0.25, 0.25))
    frames, truth = frames_of(markers, 1, seed)
    placement = label_tpose(frames[0][0], DARK, BODIES)
    assert placement.point_of_marker.tolist() == truth[0].tolist()
    assert placement.cost_m < 0.1


@pytest.mark.parametrize(("pose", "droop_deg"), [("a", 30.0), ("a", 47.0), ("stand", 68.0), ("stand", 80.0)])
@pytest.mark.parametrize("told", [True, False])
def test_arms_that_slope_or_hang_are_a_pose_to_begin_with(pose: StartPose, droop_deg: float, told: bool) -> None:
    """Which it is, the markers tell; the labels are right, elbows bent by a few degrees."""
    markers, _, _ = standing(
        build_person_skeleton(1.71, arm_ratio=1.04), 4, droop_rad=np.radians(droop_deg), markers="all_around"
    )
    tpose = average_tpose(frames_of(markers, 20, 4)[0], AROUND, BODIES, pose=pose if told else None)
    assert tpose.slope_deg == POSTURES[pose].slope_deg and tpose.valid.all()
    assert np.linalg.norm(tpose.point_m - markers, axis=1).max() < 0.004


def test_a_level_pose_stays_one_and_a_set_without_arms_needs_none() -> None:
    markers, _, _ = standing(build_person_skeleton(1.71), 4)
    assert average_tpose(frames_of(markers, 20, 4)[0], DARK, BODIES, pose=None).slope_deg == 0.0
    legs = select_marker_subset(AROUND, np.flatnonzero([not any(p in JOINTS[j] for p in ARM_PARTS) for j in AROUND.joint]))
    hanging, _, _ = standing(build_person_skeleton(1.71), 4, droop_rad=np.radians(78.0), markers="all_around")
    kept = [AROUND.names.index(name) for name in legs.names]
    assert average_tpose(frames_of(hanging[kept], 20, 4)[0], legs, BODIES, pose=None).valid.all()
    with pytest.raises(CalibrationError, match=r"^no standing performer found: 6 points .* stands still, every marker") as caught:
        average_tpose(frames_of(hanging[kept][:6] * [1.0, 3.0, 1.0], 20, 4)[0], legs, BODIES, pose=None)
    assert "arm" not in str(caught.value) and "T-pose" not in str(caught.value)


@pytest.mark.parametrize("seed", range(3))
def test_average_over_frames(seed: int) -> None:
    """The median of 40 frames of 3 mm noise lies within 3 mm of the truth: its sigma is 1.25 * 3 / sqrt(40) = 0.6 mm."""
    markers, _, _ = standing(build_person_skeleton(1.68), seed)
    tpose = average_tpose(frames_of(markers, 40, seed, clutter=2)[0], DARK, BODIES)
    assert tpose.valid.all() and tpose.n_frames == 40
    assert np.linalg.norm(tpose.point_m - markers, axis=1).max() < 0.003
    # The median length of a 3D Gaussian error is 1.54 sigma; laying frames on each other takes a little away.
    assert np.abs(tpose.scatter_m / (1.54 * 0.003) - 1.0).max() < 0.45


def test_sway_of_the_whole_body_does_not_blur_the_shape() -> None:
    markers, _, _ = standing(build_person_skeleton(1.68), 5)
    rng = np.random.default_rng(5)
    frames = []
    for k in range(30):
        turn, shift = matrix_from_rotvec(0.03 * np.sin(0.4 * k) * np.array([1.0, 0.2, -0.5])), 0.02 * np.sin(0.3 * k)
        swayed = (markers - markers.mean(axis=0)) @ turn.T + markers.mean(axis=0) + shift
        frames += frames_of(swayed + rng.normal(0.0, 0.0005, markers.shape), 1, k, 0.001)[0]
    tpose = average_tpose(frames, DARK, BODIES)
    assert tpose.valid.all()

    def distances(p: Floats) -> Floats:
        return np.linalg.norm(p[:, None] - p[None], axis=2)

    assert np.abs(distances(tpose.point_m) - distances(markers)).max() < 0.003
    assert tpose.scatter_m.max() < 0.004


def test_a_marker_seen_in_few_frames_is_not_valid() -> None:
    markers, _, _ = standing(build_person_skeleton(1.68), 6)
    frames, truth = frames_of(markers, 30, 6)
    thinned = []
    for k, ((points, covariance), places) in enumerate(zip(frames, truth, strict=True)):
        kept = np.ones(len(points), bool)
        kept[places[3]] = k < 4  # below the fifth of the frames that is needed
        kept[places[9]] = k % 2 == 0
        thinned.append((points[kept], covariance[kept]))
    tpose = average_tpose(thinned, DARK, BODIES)
    assert np.flatnonzero(~tpose.valid).tolist() == [3]
    assert np.linalg.norm(tpose.point_m - markers, axis=1)[tpose.valid].max() < 0.004


@pytest.mark.parametrize(
    "motion", ["walk", "idle", pytest.param("run", marks=pytest.mark.slow), pytest.param("squat", marks=pytest.mark.slow)]
)
def test_other_motions_are_no_t_pose(motion: str) -> None:
    """Standing with the arms down fits but for the arms: their markers have points left, none of them near."""
    subject = person("dark_room", 0, build_person_skeleton(1.7))
    clip = make_builtin_clip(motion, subject.skeleton, 60.0, 0)
    markers, _ = worn_markers(subject, clip.rotvec, clip.root_m)
    for first in range(0, min(len(markers), 150), 30):
        frames = [frames_of(m, 1, k)[0][0] for k, m in enumerate(markers[first : first + 40])]
        with pytest.raises(CalibrationError, match="no T-pose found"):
            average_tpose(frames, DARK, BODIES)


def test_markers_that_do_not_hold_still() -> None:
    markers, _, _ = standing(build_person_skeleton(1.68), 9)
    drifting = [frames_of(markers + [0.05 * k, 0.0, 0.0], 1, k)[0][0] for k in range(30)]
    with pytest.raises(CalibrationError, match="0 of 14 markers hold still"):
        average_tpose(drifting, DARK, BODIES)


def test_too_few_frames_or_points() -> None:
    markers, _, _ = standing(build_person_skeleton(1.68), 2)
    frames, _ = frames_of(markers, 4, 2)
    with pytest.raises(CalibrationError, match=r"only 4 frames .* at least 5"):
        average_tpose(frames, DARK, BODIES)
    few = [(points[:6], covariance[:6]) for points, covariance in frames_of(markers, 20, 2)[0]]
    with pytest.raises(CalibrationError, match="6 points seen for 14 markers"):
        average_tpose(few, DARK, BODIES)
    with pytest.raises(CalibrationError, match="only 0 frames"):
        average_tpose([], DARK, BODIES)


def refusal(points: np.ndarray, markers: MarkerSet = DARK) -> str:
    """Return the words with which points are refused, in one line."""
    with pytest.raises(CalibrationError) as caught:
        label_tpose(points, markers, BODIES)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_model_lifts_and_lowers_each_arm() -> None:
    level, sloped = build_tpose_model(AROUND, BODIES), build_tpose_model(AROUND, BODIES, (30.0, -50.0))
    place = {name: sloped[m] - level[m] for m, name in enumerate(AROUND.names)}
    assert place["left_hand"][1] > 0.2 and place["right_hand"][1] < -0.3
    assert place["left_hand"][0] < 0 < place["right_hand"][0]
    np.testing.assert_allclose(place["left_knee"], 0.0, atol=1e-12)


def test_arms_that_hang_are_told() -> None:
    markers, _, _ = standing(build_person_skeleton(1.7), 3, "all_around", droop_rad=1.3)
    words = refusal(markers, AROUND)
    assert "the arms point 75 degrees below level: hold both arms level" in words and words.endswith("or say --pose stand")


@pytest.mark.parametrize("factor", [0.04, 0.45, 2.2, 1000.0])
def test_a_world_of_the_wrong_size_is_told(factor: float) -> None:
    """Such as millimetres taken for metres, or a square's side in the wrong unit."""
    markers, _, _ = standing(build_person_skeleton(1.7), 3)
    words = refusal(markers * factor)
    assert "times the size of a person" in words and "square's side" in words
    said = float(words.split("a T-pose ")[1].split(" times")[0])
    assert said == pytest.approx(factor, rel=0.1)


def test_nothing_known_is_nothing_said() -> None:
    strangers = np.random.default_rng(0).uniform(-0.7, 0.7, (14, 3))
    assert explain_missing_tpose(strangers, DARK, BODIES, 0.28) == ""
    assert explain_missing_tpose(strangers[:5], DARK, BODIES, 0.28) == ""
    assert "choose seconds" in refusal(strangers)


@pytest.mark.parametrize("worn", ["left", "right"])
def test_one_side_of_the_limbs_is_found_out(worn: str) -> None:
    markers, _, _ = standing(build_person_skeleton(1.68), 11)
    chosen = find_worn_markers(DARK, worn)  # type: ignore[arg-type]
    assert len(chosen) == 10
    frames = frames_of(markers[chosen], 20, 11)[0]
    found, told = (average_tpose(frames, DARK, BODIES, worn=w) for w in (None, worn))  # type: ignore[arg-type]
    for tpose in (found, told):
        assert np.flatnonzero(tpose.valid).tolist() == chosen.tolist()
        assert np.linalg.norm(tpose.point_m - markers, axis=1)[chosen].max() < 0.004
    with pytest.raises(CalibrationError, match="no T-pose found"):
        average_tpose(frames, DARK, BODIES)


def test_all_are_worn_where_all_are_seen() -> None:
    markers, _, _ = standing(build_person_skeleton(1.68), 12)
    assert average_tpose(frames_of(markers, 20, 12)[0], DARK, BODIES, worn=None).valid.all()
