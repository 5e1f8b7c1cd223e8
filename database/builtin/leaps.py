"""Motions with flights: jumps on both feet, hops on one."""

import numpy as np

from database.builtin.gait import add_rest, bring_feet_together, find_other_side
from database.builtin.plan import GRAVITY, SIDES, MotionPlan


def add_jump(plan: MotionPlan, height_m: float = 0.28, ahead_m: float = 0.0, turn_rad: float = 0.0) -> None:
    """Crouch, swing the arms, leap, land on the toes and bend the knees.

    Args:
        plan: the plan, to which it is added.
        height_m: of the leap.
        ahead_m: distance forward.
        turn_rad: turn to the left in the air.
    """
    bring_feet_together(plan)
    height = plan.vary(height_m) * plan.size
    speed = float(np.sqrt(2.0 * GRAVITY * height))
    crouch_s, push_s, flight_s = plan.seconds(0.5), plan.seconds(0.26), 2.0 * speed / GRAVITY
    _add_windup(plan, crouch_s, push_s, ahead_m)
    start = plan.time
    off, landed = start + crouch_s + push_s, start + crouch_s + push_s + flight_s
    deep, toes = 0.2 * plan.size * plan.style.bounce + 0.05 * plan.size, 0.038 * plan.size
    plan.pose2d[2] += turn_rad
    plan.pose2d[:] = plan.offset_pose(plan.pose2d, 0.0, ahead_m * plan.size * plan.style.amplitude)
    for side in SIDES:
        target = plan.footprint(side, plan.pose2d, width=1.1)
        plan.step(side, target, off, flight_s, 0.07 * plan.size, push_rad=0.8, strike_rad=-0.6)
        plan.fly(side, off, flight_s)
    plan.hops.append(
        [
            (start, 0.0, 0.0, 0.0),
            (start + crouch_s, -deep, 0.0, 4.0),
            (off, toes, speed, -GRAVITY),
            (landed, toes, -speed, -GRAVITY),
            (landed + 0.24, -0.8 * deep, 0.0, 5.0),
            (landed + 0.85, 0.0, 0.0, 0.0),
        ]
    )
    plan.wait(crouch_s + push_s + flight_s)
    _add_landing(plan)


def _add_windup(plan: MotionPlan, crouch_s: float, push_s: float, ahead_m: float) -> None:
    """Lean and move the arms back in the crouch, throw them up in the push."""
    lean = 0.45 + 0.2 * min(ahead_m, 1.0)
    plan.move(crouch_s, spine_pitch=lean, pelvis_pitch=0.35, ahead=-0.02, gait=0.0)
    plan.arm("both", 0.9 * crouch_s, flex=plan.vary(-0.9), abduct=0.3, elbow=0.3)
    plan.move(push_s, crouch_s, spine_pitch=0.05, pelvis_pitch=0.05, ahead=0.02 + 0.06 * ahead_m)
    plan.arm("both", push_s + 0.1, 0.9 * crouch_s, flex=plan.vary(2.1), abduct=0.35, elbow=0.5)


def _add_landing(plan: MotionPlan) -> None:
    """Absorb a landing and come back to a stand."""
    plan.move(0.28, spine_pitch=0.4, pelvis_pitch=0.3, ahead=-0.02)
    plan.arm("both", 0.4, flex=0.6, abduct=0.4, elbow=0.7)
    plan.wait(0.32)
    add_rest(plan, 0.6)
    bring_feet_together(plan)
    plan.wait(0.4)


def add_hops(plan: MotionPlan, n_hops: int = 4, ahead_m: float = 0.0, side: str = "left") -> None:
    """Hop on one leg, the other held up behind.

    Args:
        plan: the plan, to which it is added.
        n_hops: how often.
        ahead_m: distance forward of each.
        side: `left` or `right`.
    """
    free = find_other_side(side)
    bring_feet_together(plan)
    plan.move(0.5, drop=0.06, spine_pitch=0.12, pelvis_pitch=0.08, gait=0.0)
    plan.arm("both", 0.5, abduct=plan.vary(0.55), elbow=plan.vary(1.0), flex=0.25)
    raised = plan.time
    lifted = plan.vary(0.24) * plan.size
    behind = plan.offset_pose(plan.feet[free].pose2d, 0.0, -0.22 * plan.size)
    plan.move_foot(free, raised, 0.45, behind, lifted, 0.9)
    plan.wait(0.75)
    for _ in range(n_hops):
        _add_hop(plan, side, ahead_m * plan.size * plan.style.amplitude)
    down = plan.footprint(free, plan.pose2d)
    plan.move_foot(free, plan.time, 0.5, down, 0.0, 0.0)
    plan.feet[free].swings.append((raised, plan.time + 0.5))
    plan.wait(0.45)
    add_rest(plan, 0.5)
    plan.wait(0.5)


def _add_hop(plan: MotionPlan, side: str, ahead_m: float) -> None:
    """Sink, fly and land once on the foot of `side`; the other leg and the arms follow."""
    free, height = find_other_side(side), plan.vary(0.07) * plan.size
    speed = float(np.sqrt(2.0 * GRAVITY * height))
    sink_s, flight_s, start = plan.seconds(0.3), 2.0 * speed / GRAVITY, plan.time
    off, toes, deep = start + sink_s, 0.03 * plan.size, 0.05 * plan.size * plan.style.bounce
    plan.pose2d[:] = plan.offset_pose(plan.pose2d, 0.0, ahead_m)
    plan.step(side, plan.footprint(side, plan.pose2d, width=0.8), off, flight_s, 0.02, push_rad=0.5, strike_rad=-0.2)
    plan.fly(side, off, flight_s)
    plan.fly(free, off, flight_s)
    plan.move_foot(free, off - 0.1, flight_s + 0.2, plan.offset_pose(plan.footprint(free, plan.pose2d), 0.0, -0.22 * plan.size))
    plan.hops.append(
        [(start, 0.0, 0.0, 0.0), (start + 0.6 * sink_s, -deep, 0.0, 6.0), (off, toes, speed, -GRAVITY)]
        + [(off + flight_s, toes, -speed, -GRAVITY), (off + flight_s + 0.25, 0.0, 0.0, 0.0)]
    )
    plan.add_bump(f"{free}.flex", sink_s + flight_s, plan.vary(0.3))
    plan.add_bump(f"{side}.abduct", sink_s + flight_s, plan.vary(0.25))
    plan.wait(sink_s + flight_s + 0.26)
