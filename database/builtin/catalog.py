"""The built-in motions by name, and the clips of the default database: these motions in many styles, by bodies from child to tall
adult."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Final

import numpy as np

from config.errors import DuocapError
from database.builtin.bodies import build_person_skeleton
from database.builtin.gait import add_run_steps, add_side_steps, add_walk_steps, add_walk_to, turn_in_place
from database.builtin.gestures import add_idle, add_reach, add_squat, add_t_pose, add_wave, look_around, lower_arms, sweep_arms
from database.builtin.leaps import add_hops, add_jump
from database.builtin.plan import MotionPlan, MovementStyle, style_from_parameters
from database.builtin.render import render_plan
from database.builtin.strikes import (
    add_bat_swing,
    add_cut,
    add_guard,
    add_kick,
    add_punch,
    add_slash,
    enter_stance,
    leave_stance,
    release_handle,
    take_handle,
)
from database.clips import Clip
from database.geometry.skeleton import Skeleton

ROUNDS: Final = 2
# Uniform ranges of the styles in the default database.
STYLES: Final = {
    **{"speed": (0.8, 1.25), "amplitude": (0.75, 1.2), "bounce": (0.6, 1.5), "arm_swing": (0.5, 1.4)},
    **{"width": (0.85, 1.25), "lean_rad": (-0.03, 0.08), "noise": (0.7, 1.6), "turn_rad": (-0.04, 0.04)},
}


def _make_boxing(*kinds: str) -> Callable[[MotionPlan], None]:
    """Return a motion: into the stance, some punches, out again."""

    def perform(plan: MotionPlan) -> None:
        enter_stance(plan)
        for kind in kinds:
            add_punch(plan, kind)
            add_guard(plan, 0.45)
        leave_stance(plan)

    return perform


def _plan_arms_down(plan: MotionPlan) -> None:
    add_t_pose(plan, 2.0)
    lower_arms(plan)
    add_idle(plan, 1.0)


def _plan_swing(plan: MotionPlan) -> None:
    take_handle(plan)
    add_cut(plan)
    add_bat_swing(plan)
    release_handle(plan)


def _plan_kicks(plan: MotionPlan) -> None:
    add_kick(plan, "right")
    add_kick(plan, "left", height=0.4, ahead=0.72)


def _plan_reaches(plan: MotionPlan) -> None:
    for side, up, across in (("right", 1.0, 0.0), ("left", 0.0, 0.5), ("right", -1.0, 0.3)):
        add_reach(plan, side, up, across)


def _plan_turns(plan: MotionPlan) -> None:
    turn_in_place(plan, 1.6)
    turn_in_place(plan, -2.4)


def _plan_side_steps(plan: MotionPlan) -> None:
    add_side_steps(plan, 3, left=True)
    add_side_steps(plan, 3, left=False)


MOTIONS: Final[dict[str, Callable[[MotionPlan], None]]] = {
    "tpose": lambda plan: add_t_pose(plan, 4.0),
    "arms_down": _plan_arms_down,
    "idle": lambda plan: add_idle(plan, 6.0),
    "walk": lambda plan: add_walk_steps(plan, 10, 1.25),
    "walk_slow": lambda plan: add_walk_steps(plan, 7, 0.75),
    "walk_fast": lambda plan: add_walk_steps(plan, 12, 1.8),
    "walk_left": lambda plan: add_walk_steps(plan, 12, 1.1, 0.3),
    "walk_right": lambda plan: add_walk_steps(plan, 12, 1.1, -0.3),
    "turn": _plan_turns,
    "run": lambda plan: add_run_steps(plan, 12, 2.8),
    "run_in_place": lambda plan: add_run_steps(plan, 12, 0.0),
    "side_steps": _plan_side_steps,
    "jump": lambda plan: add_jump(plan, 0.3),
    "jump_forward": lambda plan: add_jump(plan, 0.22, 0.7),
    "hop": lambda plan: add_hops(plan, 4, 0.15),
    "jab": _make_boxing("jab", "jab"),
    "cross": _make_boxing("cross", "cross"),
    "hook": _make_boxing("hook", "hook"),
    "uppercut": _make_boxing("uppercut", "uppercut"),
    "punches": _make_boxing("jab", "cross", "hook", "uppercut", "jab", "cross"),
    "swing": _plan_swing,
    "slash": lambda plan: add_slash(plan),
    "kick": _plan_kicks,
    "wave": lambda plan: add_wave(plan),
    "squat": lambda plan: add_squat(plan),
    "reach": _plan_reaches,
    "look_around": look_around,
    "sweep_arms": sweep_arms,
}


def _plan_wander(plan: MotionPlan) -> None:
    """Walk through random waypoints in tight turns, as on a small stage."""
    waypoints = [tuple(plan.rng.uniform(-0.9, 0.9, 2)) for _ in range(6)]
    add_walk_to(plan, [(float(x), float(z)) for x, z in waypoints], float(plan.rng.uniform(0.8, 1.2)))


def _plan_cuts(plan: MotionPlan) -> None:
    take_handle(plan)
    add_cut(plan, 0.15)
    add_cut(plan, 0.45)
    release_handle(plan)


def _plan_from_t_pose(plan: MotionPlan) -> None:
    add_t_pose(plan, 1.0)
    lower_arms(plan, float(plan.rng.uniform(0.7, 2.0)))
    add_idle(plan, 1.0)
    add_t_pose(plan, 0.5)
    lower_arms(plan)


# Further motions of the default database: the other side of some, and paths.
DATABASE_MOTIONS: Final[dict[str, Callable[[MotionPlan], None]]] = {
    "from_tpose": _plan_from_t_pose,
    "wander": _plan_wander,
    "wander_more": _plan_wander,
    "cuts": _plan_cuts,
    "curve_left": lambda plan: add_walk_steps(plan, 8, 0.9, 0.5),
    "curve_right": lambda plan: add_walk_steps(plan, 8, 0.9, -0.5),
    "about": lambda plan: turn_in_place(plan, float(plan.rng.choice((-1.0, 1.0)) * plan.rng.uniform(2.0, 3.1))),
    "jog": lambda plan: add_run_steps(plan, 9, 1.6, float(plan.rng.uniform(-0.25, 0.25))),
    "jump_turning": lambda plan: add_jump(plan, 0.25, 0.2, float(plan.rng.uniform(-0.9, 0.9))),
    "leap": lambda plan: add_jump(plan, 0.18),
    "hop_right": lambda plan: add_hops(plan, 4, float(plan.rng.uniform(0.0, 0.25)), "right"),
    "hop_left": lambda plan: add_hops(plan, 4, 0.0, "left"),
    "wave_left": lambda plan: add_wave(plan, "left", 3),
    "slash_left": lambda plan: add_slash(plan, "left"),
    "kick_low": lambda plan: add_kick(plan, "left", 0.3, 0.6),
}


def make_builtin_clip(name: str, skeleton: Skeleton | None = None, fps: float = 60.0, seed: int = 0, **parameters: float) -> Clip:
    """Return one built-in motion, some seconds long, from the origin facing +Z.

    Equal arguments give equal clips. Further arguments are fields of `MovementStyle` (speed, amplitude, ...).

    Args:
        name: of the motion.
        skeleton: of the performer; None: an adult of 1.75 m.
        fps: frames a second.
        seed: of the variations.
    Raises: DuocapError: no such motion or parameter, a value out of range.
    """
    if name not in MOTIONS:
        raise DuocapError(f"there is no built-in motion {name!r}; choose one of: {', '.join(MOTIONS)}")
    if not 1.0 <= fps <= 1000.0:
        raise DuocapError(f"a built-in motion at {fps:g} frames a second was asked for; give 1 to 1000")
    plan = MotionPlan(build_person_skeleton() if skeleton is None else skeleton, style_from_parameters(parameters), seed)
    MOTIONS[name](plan)
    return render_plan(plan, name, fps)


def make_database_bodies() -> tuple[Skeleton, ...]:
    """Return the bodies of the default database."""
    return (
        build_person_skeleton(1.76),
        build_person_skeleton(1.63, leg_ratio=0.99, shoulder_ratio=0.94, hip_ratio=1.06),
        build_person_skeleton(1.90, leg_ratio=1.03, arm_ratio=1.03),
        build_person_skeleton(1.52, leg_ratio=0.97, arm_ratio=0.98, hip_ratio=1.08),
        build_person_skeleton(1.32, leg_ratio=0.96, arm_ratio=0.97, shoulder_ratio=0.97),
        build_person_skeleton(1.82, leg_ratio=0.98, arm_ratio=1.0, shoulder_ratio=1.1),
        build_person_skeleton(1.12, leg_ratio=0.93, arm_ratio=0.95, shoulder_ratio=1.0),
    )


def draw_database_style(rng: np.random.Generator) -> MovementStyle:
    """Return a random style."""
    drawn = {name: float(rng.uniform(*STYLES[name])) for name in (field.name for field in fields(MovementStyle))}
    return MovementStyle(**drawn)


def make_database_clips(fps: float = 60.0) -> Iterator[Clip]:
    """Return the clips of the default database: about 31 thousand poses at 60 frames a second, always the same."""
    bodies = make_database_bodies()
    motions = {**MOTIONS, **DATABASE_MOTIONS}
    for round_ in range(ROUNDS):
        for index, (name, perform) in enumerate(motions.items()):
            seed = 1000 * (round_ + 1) + index
            plan = MotionPlan(bodies[(index + 3 * round_) % len(bodies)], draw_database_style(np.random.default_rng(seed)), seed)
            perform(plan)
            yield render_plan(plan, f"{name}_{round_ + 1}", fps)
