"""The performance of the demo: about 45 seconds of all kinds of motion, by a person who is not in the database."""

from typing import Final

import numpy as np

from config.errors import DuocapError
from database.builtin.bodies import build_person_skeleton
from database.builtin.gait import add_run_steps, add_walk_to, turn_in_place, wrap_angle
from database.builtin.gestures import add_idle, add_t_pose, add_wave, lower_arms
from database.builtin.leaps import add_hops, add_jump
from database.builtin.plan import MotionPlan, MovementStyle
from database.builtin.render import render_plan
from database.builtin.strikes import add_cut, add_guard, add_punch, enter_stance, leave_stance, release_handle, take_handle
from database.clips import Clip
from database.geometry.skeleton import Skeleton

PERFORMER_SEED: Final = 90210
PERFORMER_STYLE: Final = MovementStyle(
    speed=1.06, amplitude=0.93, bounce=1.12, arm_swing=0.88, width=1.07, lean_rad=0.025, noise=1.15
)
T_POSE_S: Final = 3.0


def make_performer() -> Skeleton:
    """Return the demo's performer; no body of the database has these proportions."""
    return build_person_skeleton(1.715, leg_ratio=1.017, arm_ratio=0.968, shoulder_ratio=1.063, hip_ratio=1.041, name="performer")


def make_demo_performance(fps: float = 60.0, seconds: float | None = None) -> Clip:
    """Return the demo: T-pose, then rounds of walking, leaps, punches, cuts and gestures within 3 x 3 m of the origin.

    seconds: duration, default the T-pose and one round (about 45 s); longer ones repeat the round with variations.
    Raises DuocapError: a rate or a duration out of range.
    """
    if not 1.0 <= fps <= 1000.0 or (seconds is not None and not 0.0 < seconds <= 7200.0):
        raise DuocapError(f"a demo of {seconds} s at {fps:g} frames a second was asked for; give up to 7200 s at 1 to 1000")
    plan = MotionPlan(make_performer(), PERFORMER_STYLE, PERFORMER_SEED)
    add_t_pose(plan, T_POSE_S)
    lower_arms(plan)
    while True:
        _add_round(plan)
        if seconds is None or plan.time >= seconds:
            return render_plan(plan, "demo", fps, seconds)


def _add_round(plan: MotionPlan) -> None:
    """Add one round of the programme, which ends where it began."""
    add_idle(plan, 1.0)
    add_walk_to(plan, [(0.6, 0.7), (-0.6, 0.6), (-0.1, -0.45)], 1.2)
    _turn_ahead(plan)
    add_jump(plan, 0.24)
    enter_stance(plan)
    for kind in ("jab", "cross", "jab", "hook", "uppercut"):
        add_punch(plan, kind)
    add_guard(plan, 0.45)
    leave_stance(plan)
    take_handle(plan)
    add_cut(plan, 0.22)
    release_handle(plan)
    add_hops(plan, 2, side="left")
    add_run_steps(plan, 5, 0.0)
    add_wave(plan, "right", 3)
    if np.hypot(*plan.pose2d[:2]) > 0.6:
        add_walk_to(plan, [(0.0, 0.0)], 1.0)
    _turn_ahead(plan)
    add_idle(plan, 1.0)


def _turn_ahead(plan: MotionPlan) -> None:
    """Turn on the spot to heading 0, unless the difference is small."""
    away = wrap_angle(-float(plan.pose2d[2]))
    if abs(away) > 0.25:
        turn_in_place(plan, away)
