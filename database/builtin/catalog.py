"""The built-in motions by name, and the clips of the default database: these motions in many styles, by bodies from child to tall
adult."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Final

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


Motion = Callable[[MotionPlan], None]  # appends to a plan


def _perform(*parts: tuple[Any, ...]) -> Motion:
    """Return a motion of parts, one after the other: each a function that takes the plan, and its further arguments."""

    def perform(plan: MotionPlan) -> None:
        for add, *arguments in parts:
            add(plan, *arguments)

    return perform


def _box(*kinds: str) -> Motion:
    """Return a motion: into the stance, some punches, out again."""
    punches = [part for kind in kinds for part in ((add_punch, kind), (add_guard, 0.45))]
    return _perform((enter_stance,), *punches, (leave_stance,))


def _plan_wander(plan: MotionPlan) -> None:
    """Walk through random waypoints in tight turns, as on a small stage."""
    waypoints = [tuple(plan.rng.uniform(-0.9, 0.9, 2)) for _ in range(6)]
    add_walk_to(plan, [(float(x), float(z)) for x, z in waypoints], float(plan.rng.uniform(0.8, 1.2)))


def _plan_from_t_pose(plan: MotionPlan) -> None:
    """Lower the arms from a T-pose, slowly or fast, and do so again."""
    add_t_pose(plan, 1.0)
    lower_arms(plan, float(plan.rng.uniform(0.7, 2.0)))
    add_idle(plan, 1.0)
    add_t_pose(plan, 0.5)
    lower_arms(plan)


MOTIONS: Final[dict[str, Motion]] = {
    "tpose": _perform((add_t_pose, 4.0)),
    "arms_down": _perform((add_t_pose, 2.0), (lower_arms,), (add_idle, 1.0)),
    "idle": _perform((add_idle, 6.0)),
    "walk": _perform((add_walk_steps, 10, 1.25)),
    "walk_slow": _perform((add_walk_steps, 7, 0.75)),
    "walk_fast": _perform((add_walk_steps, 12, 1.8)),
    "walk_left": _perform((add_walk_steps, 12, 1.1, 0.3)),
    "walk_right": _perform((add_walk_steps, 12, 1.1, -0.3)),
    "turn": _perform((turn_in_place, 1.6), (turn_in_place, -2.4)),
    "run": _perform((add_run_steps, 12, 2.8)),
    "run_in_place": _perform((add_run_steps, 12, 0.0)),
    "side_steps": _perform((add_side_steps, 3, True), (add_side_steps, 3, False)),
    "jump": _perform((add_jump, 0.3)),
    "jump_forward": _perform((add_jump, 0.22, 0.7)),
    "hop": _perform((add_hops, 4, 0.15)),
    "jab": _box("jab", "jab"),
    "cross": _box("cross", "cross"),
    "hook": _box("hook", "hook"),
    "uppercut": _box("uppercut", "uppercut"),
    "punches": _box("jab", "cross", "hook", "uppercut", "jab", "cross"),
    "swing": _perform((take_handle,), (add_cut,), (add_bat_swing,), (release_handle,)),
    "slash": add_slash,
    "kick": _perform((add_kick, "right"), (add_kick, "left", 0.4, 0.72)),
    "wave": add_wave,
    "squat": add_squat,
    "reach": _perform((add_reach, "right", 1.0, 0.0), (add_reach, "left", 0.0, 0.5), (add_reach, "right", -1.0, 0.3)),
    "look_around": look_around,
    "sweep_arms": sweep_arms,
}
# Further motions of the default database: the other side of some, and paths.
DATABASE_MOTIONS: Final[dict[str, Motion]] = {
    "from_tpose": _plan_from_t_pose,
    "wander": _plan_wander,
    "wander_more": _plan_wander,
    "cuts": _perform((take_handle,), (add_cut, 0.15), (add_cut, 0.45), (release_handle,)),
    "curve_left": _perform((add_walk_steps, 8, 0.9, 0.5)),
    "curve_right": _perform((add_walk_steps, 8, 0.9, -0.5)),
    "about": lambda plan: turn_in_place(plan, float(plan.rng.choice((-1.0, 1.0)) * plan.rng.uniform(2.0, 3.1))),
    "jog": lambda plan: add_run_steps(plan, 9, 1.6, float(plan.rng.uniform(-0.25, 0.25))),
    "jump_turning": lambda plan: add_jump(plan, 0.25, 0.2, float(plan.rng.uniform(-0.9, 0.9))),
    "leap": _perform((add_jump, 0.18)),
    "hop_right": lambda plan: add_hops(plan, 4, float(plan.rng.uniform(0.0, 0.25)), "right"),
    "hop_left": _perform((add_hops, 4, 0.0, "left")),
    "wave_left": _perform((add_wave, "left", 3)),
    "slash_left": _perform((add_slash, "left")),
    "kick_low": _perform((add_kick, "left", 0.3, 0.6)),
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
