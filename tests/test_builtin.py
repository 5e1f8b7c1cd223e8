"""Built-in motions move as a body can: feet planted, joints bent the right way, nothing jumps."""

import time
from dataclasses import fields

import numpy as np
import pytest

from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS, mirrored
from database.builtin import body, builtin_clip, builtin_names, database_clips, demo_performance
from database.builtin.catalog import MOTIONS
from database.builtin.performance import PERFORMER_STYLE, T_POSE_S, performer
from database.builtin.render import foot_path
from database.builtin.repertoire import STYLES, database_bodies, database_style
from database.builtin.score import SIDES, Score, Style
from database.clips import Clip
from database.kinematics import forward, local_rotations
from database.rotations import Floats, geodesic_rad, rotvec_from_matrix
from database.skeleton import Skeleton

SMALL = body(1.15, leg_ratio=0.93)
FASTEST_DEG_S = 1500.0


def slips_m(clip: Clip, planted: dict[str, np.ndarray]) -> float:
    """Give how far the ball of a foot moves over the ground at most while it is planted."""
    ball = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    worst = 0.0
    for side in SIDES:
        path = ball[:, JOINT_INDEX[f"{side}Toes"]]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], planted[side].astype(int), [0]])))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            here = path[start:stop]
            worst = max(worst, float(np.linalg.norm(here - here[0], axis=-1).max()))
    return worst


def lowest_m(clip: Clip) -> float:
    """Give the height of the lowest joint or bone end over the whole clip."""
    G, p = forward(clip.skeleton, clip.rotvec, clip.root_m)
    ends = p + np.einsum("njab,jb->nja", G, clip.skeleton.tails_m)
    return float(min(p[..., 1].min(), ends[..., 1].min()))


def joint_rates_deg_s(clip: Clip) -> Floats:
    """Give the fastest turn of each joint relative to its parent, (J,)."""
    local = local_rotations(clip.rotvec)
    return np.asarray(np.degrees(geodesic_rad(local[:-1], local[1:])).max(axis=0) * clip.fps)


@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.parametrize("skeleton", [None, SMALL], ids=["adult", "child"])
def test_a_motion_is_one_a_body_can_make(name: str, skeleton: Skeleton | None) -> None:
    clip = builtin_clip(name, skeleton, seed=4)
    assert np.isfinite(clip.rotvec).all() and np.isfinite(clip.root_m).all()
    assert 1.0 < clip.seconds < 15.0
    assert lowest_m(clip) > -0.01
    rates = joint_rates_deg_s(clip)
    assert rates.max() < FASTEST_DEG_S, JOINTS[int(rates.argmax())]
    bend = rotvec_from_matrix(local_rotations(clip.rotvec))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        knee, elbow = bend[:, JOINT_INDEX[f"{side}LowerLeg"]], bend[:, JOINT_INDEX[f"{side}LowerArm"]]
        assert knee[:, 0].min() > 0.0 and knee[:, 0].max() < np.radians(150)
        assert -sign * elbow[:, 1].min() >= 0.0 and np.abs(elbow).max() < np.radians(155)
        assert np.abs(knee[:, 1:]).max() < 1e-9 and np.abs(elbow[:, ::2]).max() < 1e-9  # hinges


@pytest.mark.parametrize(
    "name", ["walk", "walk_fast", "walk_left", "turn", "side_steps", "jump_forward", "punches", "run", "swing"]
)
@pytest.mark.parametrize("skeleton", [body(), SMALL], ids=["adult", "child"])
def test_planted_feet_stay_where_they_are(name: str, skeleton: Skeleton) -> None:
    score = Score(skeleton, Style(), 2)
    MOTIONS[name](score)
    clip = builtin_clip(name, skeleton, seed=2)
    t = np.arange(clip.n_frames) / clip.fps
    paths = {side: foot_path(score, side, t) for side in SIDES}
    # While the toes are up the foot rolls over its heel; from then on its ball is fixed.
    flat = {side: paths[side].planted & (foot_pitch(score, side, t) >= 0.0) for side in SIDES}
    assert sum(int(flags.sum()) for flags in flat.values()) > 0.5 * clip.n_frames
    assert slips_m(clip, flat) < 0.005


def foot_pitch(score: Score, side: str, t: Floats) -> Floats:
    """Give the planned pitch of a foot."""
    return score.feet[side].pitch.sample(t)


def test_the_walk_goes_ahead_at_its_speed_and_swings_opposite_arms() -> None:
    clip = builtin_clip("walk", seed=1, noise=0.0)
    middle = slice(150, 270)
    assert (clip.root_m[270, 2] - clip.root_m[150, 2]) / 2.0 == pytest.approx(1.25, abs=0.1)
    assert abs(clip.root_m[-1, 0]) < 0.05
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1][middle, :, 2]
    feet = p[:, JOINT_INDEX["leftFoot"]] - p[:, JOINT_INDEX["rightFoot"]]
    hands = p[:, JOINT_INDEX["leftHand"]] - p[:, JOINT_INDEX["rightHand"]]
    hips = p[:, JOINT_INDEX["leftUpperLeg"]] - p[:, JOINT_INDEX["rightUpperLeg"]]
    assert np.corrcoef(feet, hands)[0, 1] < -0.9
    assert np.corrcoef(feet, hips)[0, 1] > 0.9
    bob = clip.root_m[middle, 1]
    assert 0.02 < bob.max() - bob.min() < 0.08


def test_curves_go_to_their_side_and_turns_stay_on_the_spot() -> None:
    left, right = builtin_clip("walk_left"), builtin_clip("walk_right")
    assert left.root_m[200, 0] > 0.2 and right.root_m[200, 0] < -0.2
    turn = builtin_clip("turn", seed=3)
    assert np.abs(turn.root_m[:, ::2]).max() < 0.25
    facing = forward(turn.skeleton, turn.rotvec, turn.root_m)[0][-1, 0, :, 2]
    assert np.arctan2(facing[0], facing[2]) == pytest.approx(1.6 - 2.4, abs=0.15)


def test_a_jump_flies_as_high_as_told_under_gravity() -> None:
    clip = builtin_clip("jump", fps=240.0, noise=0.0)
    y = clip.root_m[:, 1]
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    toes = p[:, [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]], 1].min(axis=1)
    air = np.flatnonzero(toes > 0.1)
    assert 0.15 < len(air) / clip.fps < 0.6
    apex = slice(air[0] + 10, air[-1] - 10)
    assert np.diff(y[apex], 2).mean() * clip.fps**2 == pytest.approx(-9.81, abs=0.5)
    assert y.max() - y[0] > 0.3  # 0.3 m of flight from the stretched feet


def test_punches_reach_out_before_the_body_at_shoulder_height() -> None:
    for kind, hand in (("jab", "leftHand"), ("cross", "rightHand")):
        clip = builtin_clip(kind, seed=1)
        p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
        wrist = p[:, JOINT_INDEX[hand]] - p[:, 0]
        far = int(wrist[:, 2].argmax())
        assert wrist[far, 2] > 0.55 and abs(wrist[far, 0]) < 0.25
        assert p[far, JOINT_INDEX[hand], 1] == pytest.approx(p[far, JOINT_INDEX["leftUpperArm"], 1], abs=0.2)


def test_hands_hold_one_handle_in_a_swing() -> None:
    clip = builtin_clip("swing", seed=1)
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    apart = np.linalg.norm(p[:, JOINT_INDEX["leftHand"]] - p[:, JOINT_INDEX["rightHand"]], axis=-1)
    held = apart[int(1.5 * clip.fps) : int(4.5 * clip.fps)]
    assert held.max() < 0.2 and held.min() > 0.03


def test_the_t_pose_is_the_rest_pose_but_for_a_natural_sway() -> None:
    clip = builtin_clip("tpose", noise=0.0)
    local = local_rotations(clip.rotvec)
    away = np.degrees(np.linalg.norm(rotvec_from_matrix(local), axis=-1)).max(axis=0)
    legs = [JOINT_INDEX[side + part] for side in SIDES for part in ("UpperLeg", "LowerLeg", "Foot")]
    others = [joint for joint in range(N_JOINTS) if joint not in legs]
    assert away[others].max() < 2.0
    assert away[legs].max() < 13.0  # knees not locked, toes a little out
    swaying = builtin_clip("tpose", noise=1.0)
    assert np.degrees(geodesic_rad(local_rotations(swaying.rotvec), local)).max() < 15.0


def test_the_same_seed_gives_the_same_motion_and_another_does_not() -> None:
    first, again, other = builtin_clip("walk", seed=5), builtin_clip("walk", seed=5), builtin_clip("walk", seed=6)
    assert np.array_equal(first.rotvec, again.rotvec) and np.array_equal(first.root_m, again.root_m)
    n = min(first.n_frames, other.n_frames)
    assert np.abs(first.rotvec[:n] - other.rotvec[:n]).max() > 0.02


def test_the_rate_changes_the_sampling_and_not_the_motion() -> None:
    slow, fast = builtin_clip("squat", fps=30.0), builtin_clip("squat", fps=120.0)
    assert slow.seconds == pytest.approx(fast.seconds, abs=0.05)
    n = min(slow.n_frames, len(fast.rotvec[::4]))
    assert np.abs(slow.root_m[:n] - fast.root_m[::4][:n]).max() < 0.02


def test_parameters_shape_the_motion() -> None:
    usual, fast = builtin_clip("walk", noise=0.0), builtin_clip("walk", noise=0.0, speed=1.4)
    assert fast.root_m[200, 2] > 1.15 * usual.root_m[200, 2]
    assert builtin_clip("walk", turn_rad=0.3).root_m[250, 0] > 0.3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "moonwalk"}, "no built-in motion 'moonwalk'; choose one of: tpose.*walk"),
        ({"name": "walk", "pace": 2.0}, "no parameter 'pace'; known: speed"),
        ({"name": "walk", "speed": 9.0}, "speed = 9 is out of range; give 0.4 to 2"),
        ({"name": "walk", "fps": 0.0}, "at 0 frames a second"),
    ],
)
def test_what_cannot_be_performed_is_told_in_one_line(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(DuocapError, match=words) as caught:
        builtin_clip(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_any_skeleton_can_perform() -> None:
    offsets, tails = (np.array(array) for array in (body(1.8).offsets_m, body(1.8).tails_m))
    for side, sign in (("left", 1.0), ("right", -1.0)):  # legs that spread and lean, as captured ones do
        offsets[JOINT_INDEX[f"{side}LowerLeg"]] += (0.05 * sign, 0.0, 0.02)
        offsets[JOINT_INDEX[f"{side}Foot"]] += (0.03 * sign, 0.0, -0.03)
    clip = builtin_clip("walk", Skeleton("spread", offsets, tails))
    assert lowest_m(clip) > -0.015
    assert joint_rates_deg_s(clip).max() < FASTEST_DEG_S


def test_the_demo_starts_in_a_t_pose_and_stays_in_sight() -> None:
    clip = demo_performance()
    assert 35.0 < clip.seconds < 55.0
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    still = p[: int(T_POSE_S * clip.fps) - 1]
    assert (still[:, JOINT_INDEX["leftHand"], 0] - still[:, JOINT_INDEX["rightHand"], 0]).min() > 1.3
    assert np.abs(clip.root_m[:, ::2]).max() < 1.5
    assert lowest_m(clip) > -0.01
    assert joint_rates_deg_s(clip).max() < FASTEST_DEG_S


def test_a_longer_demo_goes_on_as_the_shorter_one_began() -> None:
    short, long = demo_performance(30.0), demo_performance(30.0, 100.0)
    assert long.seconds == 100.0
    n = short.n_frames - 60
    assert np.abs(short.rotvec[:n] - long.rotvec[:n]).max() < 1e-6
    assert np.abs(long.root_m[:, ::2]).max() < 1.5
    assert demo_performance(30.0, 2.0).n_frames == 60
    with pytest.raises(DuocapError, match="up to 7200 s"):
        demo_performance(seconds=-1.0)


def test_the_database_does_not_hold_the_demo_s_performer() -> None:
    lengths = np.linalg.norm(performer().offsets_m, axis=-1)
    for skeleton in database_bodies():
        other = np.linalg.norm(skeleton.offsets_m, axis=-1)
        used = lengths > 1e-6
        assert np.abs(other[used] / lengths[used] - 1.0).max() > 0.02
    rng = np.random.default_rng(0)
    for style in (database_style(rng) for _ in range(50)):
        assert any(getattr(style, field.name) != getattr(PERFORMER_STYLE, field.name) for field in fields(Style))
    assert set(STYLES) == {field.name for field in fields(Style)}


@pytest.mark.slow
def test_the_whole_database_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    start = time.perf_counter()
    clips = list(database_clips())
    seconds = time.perf_counter() - start
    with capsys.disabled():
        print(f" {len(clips)} clips, {sum(clip.n_frames for clip in clips)} poses in {seconds:.1f} s")
    assert len({clip.name for clip in clips}) == len(clips)
    assert 15_000 <= sum(clip.n_frames for clip in clips) <= 45_000
    assert len({clip.skeleton.name for clip in clips}) == len(database_bodies())
    for clip in clips:
        assert lowest_m(clip) > -0.01, clip.name
        assert joint_rates_deg_s(clip).max() < 1.1 * FASTEST_DEG_S, clip.name


def test_bones_keep_their_lengths_and_names_pair_up() -> None:
    clip = builtin_clip("run", body(1.66, arm_ratio=0.95))
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            length = np.linalg.norm(p[:, joint] - p[:, parent], axis=-1)
            assert length == pytest.approx(np.full(len(p), np.linalg.norm(clip.skeleton.offsets_m[joint])), abs=1e-9)
    assert all(mirrored(mirrored(name)) == name for name in JOINTS)
