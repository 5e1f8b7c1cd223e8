"""Built-in motions move as a body can: feet planted, joints bent the right way, nothing jumps."""

import numpy as np
import pytest

from config.arrays import Bools, Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.builtin import build_person_skeleton, make_builtin_clip, make_database_clips
from database.builtin.catalog import MOTIONS, make_database_bodies
from database.builtin.plan import SIDES, MotionPlan, MovementStyle
from database.builtin.render import compute_foot_path, render_plan
from database.clips import Clip
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, rotvec_from_matrix
from database.geometry.skeleton import Skeleton

ADULT, SMALL = build_person_skeleton(), build_person_skeleton(1.15, leg_ratio=0.93)
FASTEST_DEG_S = 1500.0


def positions(clip: Clip) -> Floats:
    """Return joint positions, (N, J, 3) [m]."""
    return compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]


def slips_m(clip: Clip, side: str, planted: Bools) -> float:
    """Return how far the ball of a foot moves over the ground at most while it is planted."""
    path = positions(clip)[:, JOINT_INDEX[f"{side}Toes"]]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], planted.astype(int), [0]])))
    stances = [path[start:stop] for start, stop in zip(edges[::2], edges[1::2], strict=True)]
    return max(float(np.linalg.norm(stance - stance[0], axis=-1).max()) for stance in stances)


def assert_sound(clip: Clip, fastest_deg_s: float = FASTEST_DEG_S, lowest_m: float = -0.01) -> None:
    """Check that nothing is below the floor and no joint faster than a joint can be."""
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
    ends = p + np.einsum("njab,jb->nja", G, clip.skeleton.tails_m)
    assert min(p[..., 1].min(), ends[..., 1].min()) > lowest_m, clip.name
    local = local_from_charted(clip.rotvec)
    rates = np.degrees(compute_geodesic_rad(local[:-1], local[1:])).max(axis=0) * clip.fps
    assert rates.max() < fastest_deg_s, f"{clip.name}: {JOINTS[int(rates.argmax())]}"


@pytest.mark.parametrize("name", MOTIONS)
def test_a_motion_is_one_a_body_can_make(name: str) -> None:
    # Every second motion by a child.
    clip = make_builtin_clip(name, SMALL if list(MOTIONS).index(name) % 2 else None, seed=4)
    assert np.isfinite(clip.rotvec).all() and np.isfinite(clip.root_m).all() and 1.0 < clip.seconds < 15.0
    assert_sound(clip)
    bend = rotvec_from_matrix(local_from_charted(clip.rotvec))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        knee, elbow = bend[:, JOINT_INDEX[f"{side}LowerLeg"]], bend[:, JOINT_INDEX[f"{side}LowerArm"]]
        assert knee[:, 0].min() > 0.0 and knee[:, 0].max() < np.radians(150)
        assert -sign * elbow[:, 1].min() >= 0.0 and np.abs(elbow).max() < np.radians(155)
        assert np.abs(knee[:, 1:]).max() < 1e-9 and np.abs(elbow[:, ::2]).max() < 1e-9  # hinges


@pytest.mark.parametrize(
    "name", ["walk", "walk_fast", "walk_left", "turn", "side_steps", "jump_forward", "punches", "run", "swing"]
)
def test_planted_feet_stay_where_they_are(name: str) -> None:
    plan = MotionPlan(SMALL if len(name) % 2 else ADULT, MovementStyle(), 2)
    MOTIONS[name](plan)
    clip = render_plan(plan, name, 60.0)
    t = np.arange(clip.n_frames) / clip.fps
    # While the toes are up the foot rolls over its heel; from then on its ball is fixed.
    flat = {side: compute_foot_path(plan, side, t).planted & (plan.feet[side].pitch.sample(t) >= 0.0) for side in SIDES}
    assert sum(int(flags.sum()) for flags in flat.values()) > 0.5 * clip.n_frames
    assert max(slips_m(clip, side, flat[side]) for side in SIDES) < 0.005


def test_the_walk_goes_ahead_at_its_speed_and_swings_opposite_arms() -> None:
    clip = make_builtin_clip("walk", seed=1, noise=0.0)
    assert (clip.root_m[270, 2] - clip.root_m[150, 2]) / 2.0 == pytest.approx(1.25, abs=0.1)
    assert abs(clip.root_m[-1, 0]) < 0.05 and 0.02 < np.ptp(clip.root_m[150:270, 1]) < 0.08
    p = positions(clip)[150:270, :, 2]
    feet, hands, hips = (p[:, JOINT_INDEX[f"left{j}"]] - p[:, JOINT_INDEX[f"right{j}"]] for j in ("Foot", "Hand", "UpperLeg"))
    assert np.corrcoef(feet, hands)[0, 1] < -0.9 and np.corrcoef(feet, hips)[0, 1] > 0.9
    for joint, parent in enumerate(PARENTS[1:], start=1):
        length = np.linalg.norm(positions(clip)[:, joint] - positions(clip)[:, parent], axis=-1)
        assert length == pytest.approx(np.full(clip.n_frames, np.linalg.norm(clip.skeleton.offsets_m[joint])), abs=1e-9)


def test_curves_go_to_their_side_and_turns_stay_on_the_spot() -> None:
    assert make_builtin_clip("walk_left").root_m[200, 0] > 0.2 and make_builtin_clip("walk_right").root_m[200, 0] < -0.2
    turn = make_builtin_clip("turn", seed=3)
    assert np.abs(turn.root_m[:, ::2]).max() < 0.25
    facing = compute_forward_kinematics(turn.skeleton, turn.rotvec, turn.root_m)[0][-1, 0, :, 2]
    assert np.arctan2(facing[0], facing[2]) == pytest.approx(1.6 - 2.4, abs=0.15)


def test_a_jump_flies_as_high_as_asked_under_gravity() -> None:
    clip = make_builtin_clip("jump", fps=240.0, noise=0.0)
    y, toes = clip.root_m[:, 1], positions(clip)[:, [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]], 1].min(axis=1)
    air = np.flatnonzero(toes > 0.1)
    assert 0.15 < len(air) / clip.fps < 0.6
    assert np.diff(y[air[0] + 10 : air[-1] - 10], 2).mean() * clip.fps**2 == pytest.approx(-9.81, abs=0.5)
    assert y.max() - y[0] > 0.3  # 0.3 m of flight from the stretched feet


def test_punches_reach_out_at_shoulder_height_and_a_swing_has_both_hands_on_one_handle() -> None:
    for kind, hand in (("jab", "leftHand"), ("cross", "rightHand")):
        p = positions(make_builtin_clip(kind, seed=1))
        wrist = p[:, JOINT_INDEX[hand]] - p[:, 0]
        far = int(wrist[:, 2].argmax())
        assert wrist[far, 2] > 0.55 and abs(wrist[far, 0]) < 0.25
        assert p[far, JOINT_INDEX[hand], 1] == pytest.approx(p[far, JOINT_INDEX["leftUpperArm"], 1], abs=0.2)
    p = positions(make_builtin_clip("swing", seed=1))[90:270]
    apart = np.linalg.norm(p[:, JOINT_INDEX["leftHand"]] - p[:, JOINT_INDEX["rightHand"]], axis=-1)
    assert apart.max() < 0.2 and apart.min() > 0.03


def test_the_t_pose_is_the_rest_pose_but_for_a_natural_sway() -> None:
    local = local_from_charted(make_builtin_clip("tpose", noise=0.0).rotvec)
    away = np.degrees(np.linalg.norm(rotvec_from_matrix(local), axis=-1)).max(axis=0)
    legs = [JOINT_INDEX[side + part] for side in SIDES for part in ("UpperLeg", "LowerLeg", "Foot")]
    assert away[[joint for joint in range(N_JOINTS) if joint not in legs]].max() < 2.0
    assert away[legs].max() < 13.0  # knees not locked, toes a little out
    swaying = make_builtin_clip("tpose", noise=1.0)
    assert np.degrees(compute_geodesic_rad(local_from_charted(swaying.rotvec), local)).max() < 15.0


def test_seed_rate_and_style_do_what_they_should_and_nothing_else() -> None:
    first, again, other = make_builtin_clip("walk", seed=5), make_builtin_clip("walk", seed=5), make_builtin_clip("walk", seed=6)
    assert np.array_equal(first.rotvec, again.rotvec) and np.array_equal(first.root_m, again.root_m)
    n = min(first.n_frames, other.n_frames)
    assert np.abs(first.rotvec[:n] - other.rotvec[:n]).max() > 0.02
    slow, fast = make_builtin_clip("squat", fps=30.0), make_builtin_clip("squat", fps=120.0)
    assert slow.seconds == pytest.approx(fast.seconds, abs=0.05)
    n = min(slow.n_frames, len(fast.rotvec[::4]))
    assert np.abs(slow.root_m[:n] - fast.root_m[::4][:n]).max() < 0.02
    assert (
        make_builtin_clip("walk", noise=0.0, speed=1.4).root_m[200, 2]
        > 1.15 * make_builtin_clip("walk", noise=0.0).root_m[200, 2]
    )
    assert make_builtin_clip("walk", turn_rad=0.3).root_m[250, 0] > 0.3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "moonwalk"}, "no built-in motion 'moonwalk'; choose one of: tpose.*walk"),
        ({"name": "walk", "pace": 2.0}, "no parameter 'pace'; known: speed"),
        ({"name": "walk", "speed": 9.0}, "speed = 9 is out of range; give 0.4 to 2"),
        ({"name": "walk", "fps": 0.0}, "at 0 frames a second"),
    ],
)
def test_what_cannot_be_performed_is_said_in_one_line(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(DuocapError, match=words) as caught:
        make_builtin_clip(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_any_skeleton_can_perform() -> None:
    offsets, tails = (np.array(array) for array in (build_person_skeleton(1.8).offsets_m, build_person_skeleton(1.8).tails_m))
    for side, sign in (("left", 1.0), ("right", -1.0)):  # legs that spread and lean, as captured ones do
        offsets[JOINT_INDEX[f"{side}LowerLeg"]] += (0.05 * sign, 0.0, 0.02)
        offsets[JOINT_INDEX[f"{side}Foot"]] += (0.03 * sign, 0.0, -0.03)
    assert_sound(make_builtin_clip("walk", Skeleton("spread", offsets, tails)), lowest_m=-0.015)


@pytest.mark.slow
def test_the_whole_database_is_sound() -> None:
    clips = list(make_database_clips())
    assert len({clip.name for clip in clips}) == len(clips)
    assert 15_000 <= sum(clip.n_frames for clip in clips) <= 45_000
    assert len({clip.skeleton.name for clip in clips}) == len(make_database_bodies())
    for clip in clips:
        assert_sound(clip, 1.1 * FASTEST_DEG_S)
