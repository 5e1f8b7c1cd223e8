"""Motions on the spot: T-pose, lowering the arms, idling, waving, squatting, reaching."""

import numpy as np

from database.builtin.gait import add_rest, bring_feet_together
from database.builtin.plan import HANGING, LEVEL, UPRIGHT, MotionPlan


def add_t_pose(plan: MotionPlan, seconds: float) -> None:
    """Raise the arms level to the sides and keep them there; at the start of a plan, begin with them there.

    Args:
        plan: the plan, to which it is added.
        seconds: how long they are kept there.
    """
    if plan.time == 0.0:
        for side in ("left", "right"):
            for channel, value in LEVEL.items():
                plan.tracks[f"{side}.{channel}"].start = value
    else:
        bring_feet_together(plan)
        plan.move(1.2, **UPRIGHT)
        plan.arm("both", 1.2, **LEVEL)
        plan.wait(1.2)
    plan.wait(seconds)


def lower_arms(plan: MotionPlan, seconds: float = 1.2) -> None:
    """Lower the arms to the sides, one a little after the other."""
    late = 0.08 * plan.style.noise * abs(float(plan.rng.standard_normal()))
    first = "left" if plan.rng.random() < 0.5 else "right"
    for side in ("left", "right"):
        plan.arm(side, plan.seconds(seconds), 0.0 if side == first else late, **HANGING)
    plan.add_bump("left.flex", seconds, plan.vary(0.15, 0.5))
    plan.add_bump("right.flex", seconds, plan.vary(0.15, 0.5))
    plan.wait(1.15 * seconds)


def add_idle(plan: MotionPlan, seconds: float = 4.0) -> None:
    """Stand relaxed, shifting weight from leg to leg and looking around."""
    end = plan.time + seconds
    add_rest(plan, 0.5)
    sign = 1.0 if plan.rng.random() < 0.5 else -1.0
    while plan.time < end - 0.8:
        pause = float(plan.rng.uniform(1.2, 2.2))
        shift = sign * plan.vary(0.045, 0.2)
        plan.move(0.9, aside=shift, pelvis_roll=1.2 * shift, spine_roll=-1.4 * shift, pelvis_yaw=0.8 * shift)
        plan.move(0.6, 0.2, head_yaw=float(plan.rng.uniform(-0.5, 0.5)), head_pitch=float(plan.rng.uniform(-0.1, 0.15)))
        sign = -sign
        plan.wait(pause)
    plan.move(0.7, **{**UPRIGHT, "drop": 0.004})
    plan.wait(max(end - plan.time, 0.7))


def add_wave(plan: MotionPlan, side: str = "right", n_waves: int = 4) -> None:
    """Raise a hand and wave it.

    Args:
        plan: the plan, to which it is added.
        side: `left` or `right`.
        n_waves: how often it waves.
    """
    plan.move(0.6, head_yaw=0.1 if side == "left" else -0.1, aside=0.02 if side == "left" else -0.02)
    plan.arm(side, 0.7, flex=0.35, abduct=plan.vary(1.35), twist=1.35, elbow=1.7, pronate=0.4)
    plan.wait(0.65)
    for _ in range(n_waves):
        beat = plan.seconds(0.25)
        plan.arm(side, beat, elbow=1.7 - plan.vary(0.45), twist=1.15, wrist=-0.15)
        plan.arm(side, beat, beat, elbow=1.7 + plan.vary(0.25), twist=1.45, wrist=0.15)
        plan.wait(2.0 * beat)
    add_rest(plan, 0.8)
    plan.wait(0.8)


def add_squat(plan: MotionPlan, n_squats: int = 2, depth: float = 0.34) -> None:
    """Bend the knees, arms held forward, and come up again.

    Args:
        plan: the plan, to which it is added.
        n_squats: how often.
        depth: by how much the hips go down, in leg lengths.
    """
    for _ in range(n_squats):
        down, up = plan.seconds(0.9), plan.seconds(0.8)
        plan.move(down, drop=plan.vary(depth), spine_pitch=0.35, pelvis_pitch=0.45, ahead=-0.06)
        plan.arm("both", down, flex=plan.vary(1.35), elbow=0.15, abduct=0.1)
        plan.move(up, down + 0.25, **{**UPRIGHT, "drop": 0.004})
        plan.arm("both", up, down + 0.25, **HANGING)
        plan.wait(down + up + 0.5)


def add_reach(plan: MotionPlan, side: str = "right", up: float = 1.0, across: float = 0.0) -> None:
    """Reach out with one hand.

    Args:
        plan: the plan, to which it is added.
        side: `left` or `right`.
        up: 1 overhead, 0 forward at shoulder height, -1 to the floor.
        across: to the other side.
    """
    seconds, sign = plan.seconds(0.9), 1.0 if side == "left" else -1.0
    low = max(-up, 0.0)
    bend = {
        "spine_pitch": 0.12 + 0.55 * low,
        "pelvis_pitch": 0.05 + 0.55 * low,
        "drop": 0.01 + 0.24 * low,
        "ahead": 0.01 - 0.05 * low,
    }
    twist = {"spine_yaw": -sign * (0.2 + 0.5 * across), "pelvis_yaw": -sign * 0.15, "spine_roll": -sign * 0.12 * max(up, 0.0)}
    plan.move(seconds, **bend, **twist, head_pitch=-0.3 * up)
    flex = plan.vary(1.45 + 1.1 * max(up, 0.0) - 0.35 * low, 0.04)
    plan.arm(side, seconds, flex=flex, abduct=0.25 - 0.4 * across, elbow=0.25, protract=0.25)
    if low > 0.0:  # the other hand rests towards the knee
        plan.arm("right" if side == "left" else "left", seconds, flex=0.9 * low, elbow=0.5)
    plan.wait(seconds + 0.3)
    add_rest(plan, 0.8)
    plan.wait(0.9)


def look_around(plan: MotionPlan) -> None:
    """Turn head and trunk to one side, then to the other."""
    for sign in (1.0, -1.0):
        seconds = plan.seconds(0.8)
        turn = sign * plan.vary(0.8, 0.15)
        plan.move(
            seconds, head_yaw=turn, spine_yaw=0.6 * turn, pelvis_yaw=0.2 * turn, head_pitch=float(plan.rng.uniform(-0.2, 0.3))
        )
        plan.wait(seconds + 0.3)
    add_rest(plan, 0.7)
    plan.wait(0.7)


def sweep_arms(plan: MotionPlan) -> None:
    """Move the arms slowly through different poses: forward, up, to the sides, folded."""
    for _ in range(4):
        seconds = plan.seconds(0.9)
        for side in ("left", "right"):
            elevation, azimuth = plan.rng.uniform(0.3, 2.3), plan.rng.uniform(-0.3, 1.5)
            target = {"flex": elevation * np.sin(azimuth), "abduct": elevation * np.cos(azimuth)}
            plan.arm(side, seconds, **target, elbow=plan.rng.uniform(0.1, 1.7), twist=plan.rng.uniform(-0.6, 0.8))
        plan.move(seconds, spine_yaw=float(plan.rng.uniform(-0.3, 0.3)), spine_roll=float(plan.rng.uniform(-0.12, 0.12)))
        plan.wait(seconds + 0.1)
    add_rest(plan, 0.9)
    plan.wait(0.9)
