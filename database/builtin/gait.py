"""Motions made of steps: walking, running, turning in place, side steps, and steps into another stance."""

import numpy as np

from config.arrays import Floats
from database.builtin.plan import GRAVITY, HANGING, UPRIGHT, MotionPlan

RATIO = 0.39  # step length over step rate of an adult's walk, [m s] (Sekiya & Nagasaki 1998: 0.0063 m per step/min)


def find_other_side(side: str) -> str:
    """Return "left" for "right", and the reverse."""
    return "right" if side == "left" else "left"


def wrap_angle(angle_rad: float) -> float:
    """Return the same angle in -pi .. pi."""
    return float((angle_rad + np.pi) % (2.0 * np.pi) - np.pi)


def add_walk_steps(plan: MotionPlan, n_steps: int, speed_m_s: float = 1.25, turn_rad: float = 0.0) -> None:
    """Walk some steps, then bring the feet together.

    Args:
        plan: the plan, to which it is added.
        n_steps: number of steps.
        speed_m_s: speed.
        turn_rad: turn to the left at each.
    """
    _begin_walk(plan, speed_m_s)
    for k in range(n_steps):
        _add_walk_step(plan, speed_m_s * (0.75 if k == 0 else 0.55 if k == n_steps - 1 else 1.0), turn_rad + plan.style.turn_rad)
    _end_walk(plan)


def add_walk_to(plan: MotionPlan, waypoints: list[tuple[float, float]], speed_m_s: float) -> None:
    """Walk through waypoints, then bring the feet together.

    Args:
        plan: the plan, to which it is added.
        waypoints: x, z of each [m].
        speed_m_s: speed.
    """
    _begin_walk(plan, speed_m_s)
    for index, (x, z) in enumerate(waypoints, start=1):
        for _ in range(40):
            away = np.array((x, z)) - plan.pose2d[:2]
            distance = float(np.hypot(*away))
            # The final steps go on from the last waypoint by most of a step.
            if distance < (0.3 * plan.size if index < len(waypoints) else _compute_step_size(plan, speed_m_s)[0]):
                break
            bearing = wrap_angle(float(np.arctan2(away[0], away[1])) - plan.pose2d[2])
            turn = float(np.clip(bearing, -0.7, 0.7))
            # Far off the bearing, shorter steps keep the curve tight enough not to circle round the waypoint.
            _add_walk_step(plan, speed_m_s * (1.0 - 0.6 * min(abs(bearing) / 1.2, 1.0)) ** 2, turn)
    _add_walk_step(plan, 0.5 * speed_m_s, 0.0)
    _end_walk(plan)


def _compute_step_size(plan: MotionPlan, speed_m_s: float) -> tuple[float, float]:
    """Return step length [m] and duration [s] at a speed, the legs scaled as pendulums."""
    speed = speed_m_s * plan.style.speed
    rate = np.sqrt(speed / (RATIO * plan.size**1.5)) / plan.style.amplitude**0.5
    return float(speed / rate), float(1.0 / rate)


def _begin_walk(plan: MotionPlan, speed_m_s: float) -> None:
    """Lower the arms and begin to swing them."""
    style = plan.style
    plan.move(0.6, gait=1.0, elbow_swing=0.7, drop=0.012 * style.bounce + 0.008 * speed_m_s, ahead=0.01)
    plan.move(0.6, spine_pitch=0.03 + style.lean_rad, pelvis_pitch=0.03)
    plan.arm("both", 0.6, flex=0.0, abduct=0.13, elbow=0.28 + 0.1 * (speed_m_s - 1.0), twist=-0.1)
    plan.wait(0.35)


def _add_walk_step(plan: MotionPlan, speed_m_s: float, turn_rad: float) -> None:
    """Make one step ahead with the next foot."""
    side, noise = plan.next_side, plan.style.noise
    length, period = _compute_step_size(plan, speed_m_s * (1.0 + 0.03 * noise * float(plan.rng.standard_normal())))
    plan.pose2d[2] += turn_rad
    plan.pose2d[:] = plan.offset_pose(plan.pose2d, 0.0, length)
    target = plan.footprint(side, plan.pose2d, width=0.65)
    target += np.array((0.006, 0.01, 0.02)) * noise * plan.rng.standard_normal(3)
    pace = length / (0.75 * plan.size)
    lift = (0.035 + 0.035 * pace) * plan.size * (0.5 + 0.5 * plan.style.bounce)
    plan.step(
        side, target, plan.time, 0.78 * period, lift, push_rad=_compute_heel_lift(plan, side, target, 1.5), strike_rad=0.28 * pace
    )
    plan.next_side = find_other_side(side)
    plan.wait(period)


def _compute_heel_lift(plan: MotionPlan, side: str, target: Floats, stride_m: float) -> float:
    """Return how far the heel comes up before a foot leaves for `target`, more the farther it was left behind [rad]."""
    behind = float(np.hypot(*(target - plan.feet[side].pose2d)[:2])) / plan.size
    return 0.25 + 0.55 * min(behind / stride_m, 1.3)


def _end_walk(plan: MotionPlan) -> None:
    """Bring the trailing foot next to the other and rest."""
    side = plan.next_side
    seconds = plan.seconds(0.55)
    target = plan.footprint(side, plan.pose2d, width=0.9)
    plan.step(side, target, plan.time, 0.85 * seconds, 0.045 * plan.size, push_rad=_compute_heel_lift(plan, side, target, 0.75))
    plan.next_side = find_other_side(side)
    plan.wait(0.7 * seconds)
    add_rest(plan, 0.5)
    plan.wait(0.45)


def add_rest(plan: MotionPlan, seconds: float) -> None:
    """Move trunk and arms back to a relaxed stand."""
    plan.move(seconds, **{**UPRIGHT, "drop": 0.004 * plan.style.bounce, "spine_pitch": 0.5 * plan.style.lean_rad})
    plan.arm("both", seconds, **HANGING)


def add_stand_at(plan: MotionPlan, feet: dict[str, Floats], seconds: float) -> None:
    """Step with one foot after the other to given places; one that is there already stays.

    Args:
        plan: the plan, to which it is added.
        feet: pose2d of each, by side.
        seconds: duration of a step.
    """
    for side, target in feet.items():
        away = target - plan.feet[side].pose2d
        if np.hypot(away[0], away[1]) > 0.02 or abs(away[2]) > 0.05:
            duration = plan.seconds(seconds)
            plan.step(side, target, plan.time, 0.8 * duration, 0.05 * plan.size)
            plan.next_side = find_other_side(side)
            plan.wait(duration)


def bring_feet_together(plan: MotionPlan, seconds: float = 0.5) -> None:
    """Step back to a stand of usual width."""
    add_stand_at(plan, {side: plan.footprint(side, plan.pose2d) for side in ("left", "right")}, seconds)


def turn_in_place(plan: MotionPlan, angle_rad: float) -> None:
    """Turn on the spot by `angle_rad` to the left, in steps of about 45 degrees."""
    n_steps = max(2, int(np.ceil(abs(angle_rad) / 0.8)))
    side = "left" if angle_rad > 0 else "right"
    plan.move(0.4, gait=0.6, drop=0.012)
    plan.move(0.5, spine_yaw=0.25 * np.sign(angle_rad), head_yaw=0.2 * np.sign(angle_rad))
    for k in range(n_steps):
        # The inner foot steps first, the outer one follows.
        plan.pose2d[2] += angle_rad / n_steps if k % 2 == 0 else 0.0
        duration = plan.seconds(0.52)
        plan.step(side, plan.footprint(side, plan.pose2d), plan.time, 0.8 * duration, 0.055 * plan.size, push_rad=0.35)
        side = find_other_side(side)
        plan.wait(duration)
        plan.pose2d[2] += angle_rad / n_steps if k % 2 == 1 else 0.0
    plan.move(0.5, spine_yaw=0.0, head_yaw=0.0, gait=0.0)
    bring_feet_together(plan)
    add_rest(plan, 0.5)
    plan.wait(0.4)


def add_side_steps(plan: MotionPlan, n_steps: int, left: bool = True, length_m: float = 0.36) -> None:
    """Step to the side, closing the feet after each step.

    Args:
        plan: the plan, to which it is added.
        n_steps: number of steps.
        left: to the left, else to the right.
        length_m: of a step.
    """
    lead = "left" if left else "right"
    plan.move(0.4, drop=0.03 * plan.style.bounce, gait=0.5)
    plan.arm("both", 0.4, abduct=0.3, elbow=0.7)
    for _ in range(n_steps):
        reach = plan.vary(length_m) * plan.size
        plan.pose2d[:] = plan.offset_pose(plan.pose2d, reach if left else -reach, 0.0)
        for side in (lead, find_other_side(lead)):
            duration = plan.seconds(0.42)
            target = plan.footprint(side, plan.pose2d, width=1.25 if side == lead else 1.0)
            plan.step(side, target, plan.time, 0.8 * duration, 0.05 * plan.size)
            plan.wait(duration)
    bring_feet_together(plan)
    add_rest(plan, 0.5)
    plan.wait(0.4)


def add_run_steps(plan: MotionPlan, n_steps: int, speed_m_s: float = 2.6, turn_rad: float = 0.0) -> None:
    """Run with flights between the steps, and end standing.

    Args:
        plan: the plan, to which it is added.
        n_steps: number of steps.
        speed_m_s: speed, 0 on the spot.
        turn_rad: turn to the left at each.
    """
    style = plan.style
    plan.move(
        0.5,
        gait=0.6,
        elbow_swing=0.35,
        drop=0.045 + 0.006 * speed_m_s,
        spine_pitch=0.10 + style.lean_rad,
        pelvis_pitch=0.06,
        ahead=0.02,
    )
    plan.arm("both", 0.5, flex=-0.15, abduct=0.2, elbow=1.55, twist=-0.35)
    plan.wait(0.35)
    period = plan.seconds(0.36) * plan.size**0.5
    for k in range(n_steps):
        ramp = min(1.0, 0.4 + 0.3 * k, 0.3 + 0.2 * (n_steps - 1 - k))
        _add_run_step(
            plan, period, ramp * speed_m_s * style.speed * style.amplitude * period, turn_rad + style.turn_rad, speed_m_s > 0.3
        )
    _end_walk(plan)


def _add_run_step(plan: MotionPlan, period: float, length_m: float, turn_rad: float, ahead: bool) -> None:
    """Make one running step: swings last 1.3 periods, so the body flies before each landing."""
    side, flight = plan.next_side, (0.36 if ahead else 0.24) * period
    plan.pose2d[2] += turn_rad
    plan.pose2d[:] = plan.offset_pose(plan.pose2d, 0.0, length_m)
    target = plan.footprint(side, plan.pose2d, width=0.5 if ahead else 0.9)
    lift = (0.16 + 0.05 * min(length_m, 1.0)) * plan.size * (0.5 + 0.5 * plan.style.bounce)
    push = 0.9 if ahead else 0.6
    start = plan.time - flight
    plan.step(side, target, start, period + flight, lift, push_rad=push, strike_rad=0.1 if ahead else -0.15)
    velocity, sink = GRAVITY * flight / 2.0, 0.03 * plan.size * plan.style.bounce
    landing = start + period + flight
    # One cycle of the pelvis: fly (starting before this foot lands), land, sink, rise.
    plan.hops.append(
        [
            (landing - flight, 0.0, velocity, -GRAVITY),
            (landing, 0.0, -velocity, -GRAVITY),
            (landing + 0.5 * (period - flight), -sink, 0.0, 12.0),
            (landing + period - flight, 0.0, velocity, -GRAVITY),
        ]
    )
    plan.next_side = find_other_side(side)
    plan.wait(period)
