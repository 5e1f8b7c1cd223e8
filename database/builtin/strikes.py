"""Fighting motions: punches from a boxing stance, cuts and swings with both hands or one, kicks."""

from typing import NamedTuple

import numpy as np

from database.builtin.gait import add_rest, add_stand_at, bring_feet_together
from database.builtin.plan import HANGING, SIDES, MotionPlan

GUARD = {"flex": 0.92, "abduct": 0.0, "twist": -0.5, "elbow": 2.2, "protract": 0.1, "pronate": 0.3, "wrist": 0.0}
STANCE = {
    "pelvis_yaw": -0.35,
    "spine_yaw": -0.2,
    "head_yaw": 0.0,
    "spine_pitch": 0.16,
    "head_pitch": 0.05,
    "drop": 0.05,
    "gait": 0.0,
}


def enter_stance(plan: MotionPlan) -> None:
    """Step into a boxing stance, left foot ahead, and put up the guard."""
    left = plan.footprint("left", plan.pose2d, width=1.1, ahead_m=0.24 * plan.size)
    right = plan.footprint("right", plan.pose2d, width=1.4, ahead_m=-0.2 * plan.size)
    right[2] -= 0.55
    plan.move(0.8, **STANCE)
    plan.arm("both", 0.7, **GUARD)
    add_stand_at(plan, {"left": left, "right": right}, 0.42)
    plan.wait(0.25)


def leave_stance(plan: MotionPlan) -> None:
    """Drop the guard and step back to a stand."""
    add_rest(plan, 0.7)
    bring_feet_together(plan, 0.45)
    plan.wait(0.4)


def add_guard(plan: MotionPlan, seconds: float) -> None:
    """Bounce in the guard."""
    beats = max(1, round(seconds / 0.45))
    for _ in range(beats):
        plan.add_bump("drop", 0.45, 0.03 * plan.style.bounce)
        plan.add_bump("aside", 0.45, 0.015 * float(plan.rng.standard_normal()))
        plan.add_bump("left.flex", 0.4, 0.08 * float(plan.rng.standard_normal()))
        plan.add_bump("right.flex", 0.4, 0.08 * float(plan.rng.standard_normal()))
        plan.wait(0.45)


class Punch(NamedTuple):
    """A punch at full reach.

    Attributes:
        side: side of the arm.
        arm: channels of the arm.
        yaw_rad, spine_rad: rotation of the pelvis and of the spine.
        pitch_rad: forward lean.
        drop: how far the hips sink.
        seconds: time from the guard to full reach.
    """

    side: str
    arm: dict[str, float]
    yaw_rad: float
    spine_rad: float
    pitch_rad: float
    drop: float
    seconds: float


def _make_arm_channels(flex: float, abduct: float, twist: float, elbow: float, protract: float) -> dict[str, float]:
    """Return channels of an arm."""
    return {"flex": flex, "abduct": abduct, "twist": twist, "elbow": elbow, "protract": protract}


PUNCHES = {
    "jab": Punch("left", _make_arm_channels(1.4, 0.62, -0.6, 0.12, 0.35), -0.4, -0.25, 0.18, 0.05, 0.22),
    "cross": Punch("right", _make_arm_channels(1.45, 0.5, -0.6, 0.12, 0.4), 0.25, 0.4, 0.2, 0.06, 0.23),
    "hook": Punch("left", _make_arm_channels(0.85, 1.15, -0.6, 1.5, 0.2), -0.75, -0.5, 0.18, 0.06, 0.26),
    "uppercut": Punch("right", _make_arm_channels(0.95, 0.3, -0.2, 1.75, 0.3), 0.3, 0.35, 0.05, 0.02, 0.26),
}


def add_punch(plan: MotionPlan, kind: str) -> None:
    """Throw one of `PUNCHES` from the guard."""
    side, arm, yaw, spine, pitch, drop, seconds = PUNCHES[kind]
    if kind in ("hook", "uppercut"):
        _load_punch(plan, kind, side)
    out = plan.seconds(seconds)
    plan.arm(side, out, **{key: value if key == "elbow" else plan.vary(value, 0.04) for key, value in arm.items()})
    plan.move(1.05 * out, pelvis_yaw=plan.vary(yaw), spine_yaw=plan.vary(spine), spine_pitch=pitch, drop=drop, head_yaw=0.0)
    if side == "right":
        plan.move_foot("right", plan.time, out, pitch_rad=0.5)
    plan.wait(out + 0.03)
    back = plan.seconds(0.3)
    plan.arm(side, back, **GUARD)
    plan.move(back, **STANCE)
    plan.move_foot("right", plan.time, back, pitch_rad=0.0)
    plan.wait(back * float(plan.rng.uniform(0.7, 1.1)))


def _load_punch(plan: MotionPlan, kind: str, side: str) -> None:
    """Move back before a hook, down before an uppercut."""
    seconds = plan.seconds(0.2)
    if kind == "hook":
        plan.move(seconds, pelvis_yaw=0.05, spine_yaw=0.15)
        plan.arm(side, seconds, flex=0.3, abduct=0.7, twist=-0.3, elbow=1.6)
    else:
        plan.move(seconds, drop=0.12, spine_pitch=0.25, spine_yaw=-0.35)
        plan.arm(side, seconds, flex=0.05, abduct=0.25, twist=0.0, elbow=1.7)
    plan.wait(0.9 * seconds)


def move_to_grip(plan: MotionPlan, seconds: float, x: float, y: float, z: float, delay: float = 0.0) -> None:
    """Move both hands to one handle.

    Args:
        plan: the plan, to which it is added.
        seconds: duration.
        x, y, z: to the performer's left, above the shoulders, ahead [m, of a 1.75 m body].
        delay: by which it begins later [s].
    """
    apart = 0.045
    plan.arm("left", seconds, delay, reach=1.0, x=x + apart, y=y - apart, z=z - 0.5 * apart, pronate=0.2, wrist=0.1)
    plan.arm("right", seconds, delay, reach=1.0, x=-x + apart, y=y + apart, z=z + 0.5 * apart, pronate=0.2, wrist=0.1)


def take_handle(plan: MotionPlan) -> None:
    """Take a handle in both hands, right foot a little ahead."""
    right = plan.footprint("right", plan.pose2d, width=1.0, ahead_m=0.16 * plan.size)
    left = plan.footprint("left", plan.pose2d, width=1.0, ahead_m=-0.14 * plan.size)
    plan.move(0.6, drop=0.03, spine_pitch=0.06, gait=0.0)
    move_to_grip(plan, 0.7, 0.0, -0.32, 0.36)
    add_stand_at(plan, {"right": right, "left": left}, 0.4)
    plan.wait(0.2)


def add_cut(plan: MotionPlan, advance_m: float = 0.3) -> None:
    """Raise the handle overhead and cut straight down with a step ahead, as in kendo."""
    raise_s, down_s = plan.seconds(0.5), plan.seconds(0.24)
    move_to_grip(plan, raise_s, 0.0, plan.vary(0.3), 0.22)
    plan.move(raise_s, spine_pitch=-0.08, head_pitch=0.0)
    plan.wait(raise_s + 0.08)
    plan.pose2d[:] = plan.offset_pose(plan.pose2d, 0.0, advance_m * plan.size)
    move_to_grip(plan, down_s, 0.0, -0.12, 0.5)
    move_to_grip(plan, 0.18, 0.0, -0.24, 0.46, down_s)
    plan.move(1.3 * down_s, spine_pitch=0.2, drop=0.06)
    right = plan.footprint("right", plan.pose2d, width=1.0, ahead_m=0.2 * plan.size)
    plan.step("right", right, plan.time - 0.05, 0.3, 0.06 * plan.size, push_rad=0.2)
    plan.wait(0.25)
    plan.step(
        "left", plan.footprint("left", plan.pose2d, ahead_m=-0.12 * plan.size), plan.time, 0.28, 0.03 * plan.size, push_rad=0.5
    )
    plan.wait(0.4)
    plan.move(0.4, spine_pitch=0.06, drop=0.03)
    move_to_grip(plan, 0.4, 0.0, -0.32, 0.36)
    plan.wait(0.4)


def add_bat_swing(plan: MotionPlan) -> None:
    """Swing a handle from the right shoulder to the left, as with a bat."""
    load_s, swing_s, end_s = plan.seconds(0.6), plan.seconds(0.3), plan.seconds(0.25)
    plan.move(load_s, pelvis_yaw=-0.35, spine_yaw=-0.6, spine_pitch=0.15, head_yaw=0.3, aside=-0.05, drop=0.06)
    move_to_grip(plan, load_s, -0.2, -0.05, 0.24)
    plan.wait(load_s + 0.1)
    plan.move(swing_s, pelvis_yaw=0.45, aside=0.04)
    plan.move(swing_s, 0.05, spine_yaw=0.5, head_yaw=-0.2)
    move_to_grip(plan, 0.55 * swing_s, -0.02, -0.26, 0.47, 0.05)
    move_to_grip(plan, 0.75 * swing_s + end_s, 0.2, -0.02, 0.3, 0.05 + 0.35 * swing_s)
    plan.move_foot("right", plan.time, swing_s, pitch_rad=0.6)
    plan.wait(swing_s + end_s + 0.25)
    plan.move_foot("right", plan.time, 0.4, pitch_rad=0.0)
    plan.move(0.5, pelvis_yaw=0.0, spine_yaw=0.0, head_yaw=0.0, spine_pitch=0.06, aside=0.0, drop=0.03)
    move_to_grip(plan, 0.5, 0.0, -0.32, 0.36)
    plan.wait(0.5)


def add_slash(plan: MotionPlan, side: str = "right") -> None:
    """Swing one arm from high outside to low across, as with a sword or a racket."""
    load_s, swing_s, sign = plan.seconds(0.45), plan.seconds(0.28), 1.0 if side == "left" else -1.0
    plan.move(load_s, spine_yaw=0.45 * sign, pelvis_yaw=0.2 * sign, head_yaw=-0.3 * sign)
    plan.arm(side, load_s, flex=0.7, abduct=plan.vary(1.7), twist=0.9, elbow=1.6)
    plan.wait(load_s + 0.05)
    plan.move(swing_s, spine_yaw=-0.5 * sign, pelvis_yaw=-0.2 * sign, head_yaw=0.1 * sign, spine_pitch=0.18)
    plan.arm(side, 0.6 * swing_s, flex=1.3, abduct=0.5, twist=0.0, elbow=0.3)
    plan.arm(side, 0.8 * swing_s, 0.35 * swing_s, flex=0.75, abduct=-0.35, twist=-0.5, elbow=0.5)
    plan.wait(swing_s + 0.3)
    add_rest(plan, 0.6)
    plan.wait(0.55)


def release_handle(plan: MotionPlan) -> None:
    """Take the hands apart and step back to a stand."""
    plan.arm("both", 0.6, **HANGING)
    plan.move(0.6, spine_pitch=0.0, drop=0.004)
    bring_feet_together(plan, 0.45)
    plan.wait(0.4)


def add_kick(plan: MotionPlan, side: str = "right", height: float = 0.6, ahead: float = 0.84) -> None:
    """Kick forward: lift the knee, stretch the leg, draw it back, put it down.

    Args:
        plan: the plan, to which it is added.
        side: `left` or `right`.
        height, ahead: of the foot, in leg lengths.
    """
    leg, start = plan.leg_m, plan.time
    home = plan.feet[side].pose2d.copy()
    lift_s, out_s, back_s, down_s = (plan.seconds(seconds) for seconds in (0.38, 0.2, 0.24, 0.4))
    plan.move(lift_s, drop=0.02, pelvis_pitch=-0.08, spine_pitch=0.1, gait=0.0)
    for name in SIDES:
        plan.arm(name, lift_s, flex=0.5, abduct=0.35, elbow=1.3)
    plan.move_foot(side, start, lift_s, plan.offset_pose(home, 0.0, 0.08 * leg), 0.36 * leg, 0.5)
    plan.move_foot(
        side, start + 0.92 * lift_s, out_s, plan.offset_pose(home, 0.0, plan.vary(ahead) * leg), plan.vary(height) * leg, -0.5
    )
    plan.move(out_s, lift_s, pelvis_pitch=-0.22, spine_pitch=0.12, ahead=-0.03)
    kicked = start + lift_s + out_s + 0.05
    plan.move_foot(side, kicked, back_s, plan.offset_pose(home, 0.0, 0.1 * leg), 0.3 * leg, 0.4)
    plan.move_foot(side, kicked + 0.9 * back_s, down_s, home, 0.0, 0.0)
    plan.feet[side].swings.append((start, kicked + 0.9 * back_s + down_s))
    plan.wait(kicked + 0.6 * back_s - plan.time)
    add_rest(plan, 0.5)
    plan.wait(kicked + 0.9 * back_s + down_s - plan.time + float(np.abs(plan.rng.normal(0.1, 0.05))))
