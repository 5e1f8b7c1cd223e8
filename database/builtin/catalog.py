"""The built-in motions by name, and the clips of the default database: these motions in many styles, by bodies from child to tall
adult."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Final

import numpy as np

from config.errors import DuocapError
from database.builtin.bodies import body
from database.builtin.gait import run_steps, side_steps, turn_in_place, walk_steps, walk_to
from database.builtin.gestures import idle, look_around, lower_arms, reach, squat, sweep_arms, t_pose, wave
from database.builtin.leaps import hop, jump
from database.builtin.plan import MotionPlan, MovementStyle, style_from
from database.builtin.render import render
from database.builtin.strikes import bat, cut, guard, into_stance, kick, let_go, out_of_stance, punch, ready, slash
from database.clips import Clip
from database.geometry.skeleton import Skeleton

ROUNDS: Final = 2
# Uniform ranges of the styles in the default database.
STYLES: Final = {
    **{"speed": (0.8, 1.25), "amplitude": (0.75, 1.2), "bounce": (0.6, 1.5), "arm_swing": (0.5, 1.4)},
    **{"width": (0.85, 1.25), "lean_rad": (-0.03, 0.08), "noise": (0.7, 1.6), "turn_rad": (-0.04, 0.04)},
}


def _boxing(*kinds: str) -> Callable[[MotionPlan], None]:
    """Return a motion: into the stance, some punches, out again."""

    def perform(plan: MotionPlan) -> None:
        into_stance(plan)
        for kind in kinds:
            punch(plan, kind)
            guard(plan, 0.45)
        out_of_stance(plan)

    return perform


def _arms_down(plan: MotionPlan) -> None:
    t_pose(plan, 2.0)
    lower_arms(plan)
    idle(plan, 1.0)


def _swing(plan: MotionPlan) -> None:
    ready(plan)
    cut(plan)
    bat(plan)
    let_go(plan)


def _kicks(plan: MotionPlan) -> None:
    kick(plan, "right")
    kick(plan, "left", height=0.4, ahead=0.72)


def _reaches(plan: MotionPlan) -> None:
    for side, up, across in (("right", 1.0, 0.0), ("left", 0.0, 0.5), ("right", -1.0, 0.3)):
        reach(plan, side, up, across)


def _turns(plan: MotionPlan) -> None:
    turn_in_place(plan, 1.6)
    turn_in_place(plan, -2.4)


def _side_steps(plan: MotionPlan) -> None:
    side_steps(plan, 3, left=True)
    side_steps(plan, 3, left=False)


MOTIONS: Final[dict[str, Callable[[MotionPlan], None]]] = {
    "tpose": lambda plan: t_pose(plan, 4.0),
    "arms_down": _arms_down,
    "idle": lambda plan: idle(plan, 6.0),
    "walk": lambda plan: walk_steps(plan, 10, 1.25),
    "walk_slow": lambda plan: walk_steps(plan, 7, 0.75),
    "walk_fast": lambda plan: walk_steps(plan, 12, 1.8),
    "walk_left": lambda plan: walk_steps(plan, 12, 1.1, 0.3),
    "walk_right": lambda plan: walk_steps(plan, 12, 1.1, -0.3),
    "turn": _turns,
    "run": lambda plan: run_steps(plan, 12, 2.8),
    "run_in_place": lambda plan: run_steps(plan, 12, 0.0),
    "side_steps": _side_steps,
    "jump": lambda plan: jump(plan, 0.3),
    "jump_forward": lambda plan: jump(plan, 0.22, 0.7),
    "hop": lambda plan: hop(plan, 4, 0.15),
    "jab": _boxing("jab", "jab"),
    "cross": _boxing("cross", "cross"),
    "hook": _boxing("hook", "hook"),
    "uppercut": _boxing("uppercut", "uppercut"),
    "punches": _boxing("jab", "cross", "hook", "uppercut", "jab", "cross"),
    "swing": _swing,
    "slash": lambda plan: slash(plan),
    "kick": _kicks,
    "wave": lambda plan: wave(plan),
    "squat": lambda plan: squat(plan),
    "reach": _reaches,
    "look_around": look_around,
    "sweep_arms": sweep_arms,
}


def _wander(plan: MotionPlan) -> None:
    """Walk through random waypoints in tight turns, as on a small stage."""
    waypoints = [tuple(plan.rng.uniform(-0.9, 0.9, 2)) for _ in range(6)]
    walk_to(plan, [(float(x), float(z)) for x, z in waypoints], float(plan.rng.uniform(0.8, 1.2)))


def _cuts(plan: MotionPlan) -> None:
    ready(plan)
    cut(plan, 0.15)
    cut(plan, 0.45)
    let_go(plan)


def _from_t_pose(plan: MotionPlan) -> None:
    t_pose(plan, 1.0)
    lower_arms(plan, float(plan.rng.uniform(0.7, 2.0)))
    idle(plan, 1.0)
    t_pose(plan, 0.5)
    lower_arms(plan)


# Further motions of the default database: the other side of some, and paths.
DATABASE_MOTIONS: Final[dict[str, Callable[[MotionPlan], None]]] = {
    "from_tpose": _from_t_pose,
    "wander": _wander,
    "wander_more": _wander,
    "cuts": _cuts,
    "curve_left": lambda plan: walk_steps(plan, 8, 0.9, 0.5),
    "curve_right": lambda plan: walk_steps(plan, 8, 0.9, -0.5),
    "about": lambda plan: turn_in_place(plan, float(plan.rng.choice((-1.0, 1.0)) * plan.rng.uniform(2.0, 3.1))),
    "jog": lambda plan: run_steps(plan, 9, 1.6, float(plan.rng.uniform(-0.25, 0.25))),
    "jump_turning": lambda plan: jump(plan, 0.25, 0.2, float(plan.rng.uniform(-0.9, 0.9))),
    "leap": lambda plan: jump(plan, 0.18),
    "hop_right": lambda plan: hop(plan, 4, float(plan.rng.uniform(0.0, 0.25)), "right"),
    "hop_left": lambda plan: hop(plan, 4, 0.0, "left"),
    "wave_left": lambda plan: wave(plan, "left", 3),
    "slash_left": lambda plan: slash(plan, "left"),
    "kick_low": lambda plan: kick(plan, "left", 0.3, 0.6),
}


def builtin_clip(name: str, skeleton: Skeleton | None = None, fps: float = 60.0, seed: int = 0, **parameters: float) -> Clip:
    """Return one built-in motion, some seconds long, from the origin facing +Z.

    skeleton: of the performer, default an adult of 1.75 m; parameters: fields of `MovementStyle` (speed, amplitude, ...).
    Equal arguments give equal clips. Raises DuocapError: no such motion or parameter, a value out of range.
    """
    if name not in MOTIONS:
        raise DuocapError(f"there is no built-in motion {name!r}; choose one of: {', '.join(MOTIONS)}")
    if not 1.0 <= fps <= 1000.0:
        raise DuocapError(f"a built-in motion at {fps:g} frames a second was asked for; give 1 to 1000")
    plan = MotionPlan(body() if skeleton is None else skeleton, style_from(parameters), seed)
    MOTIONS[name](plan)
    return render(plan, name, fps)


def database_bodies() -> tuple[Skeleton, ...]:
    """Return the bodies of the default database."""
    return (
        body(1.76),
        body(1.63, leg_ratio=0.99, shoulder_ratio=0.94, hip_ratio=1.06),
        body(1.90, leg_ratio=1.03, arm_ratio=1.03),
        body(1.52, leg_ratio=0.97, arm_ratio=0.98, hip_ratio=1.08),
        body(1.32, leg_ratio=0.96, arm_ratio=0.97, shoulder_ratio=0.97),
        body(1.82, leg_ratio=0.98, arm_ratio=1.0, shoulder_ratio=1.1),
        body(1.12, leg_ratio=0.93, arm_ratio=0.95, shoulder_ratio=1.0),
    )


def database_style(rng: np.random.Generator) -> MovementStyle:
    """Return a random style."""
    drawn = {name: float(rng.uniform(*STYLES[name])) for name in (field.name for field in fields(MovementStyle))}
    return MovementStyle(**drawn)


def database_clips(fps: float = 60.0) -> Iterator[Clip]:
    """Return the clips of the default database: about 31 thousand poses at 60 frames a second, always the same."""
    bodies = database_bodies()
    motions = {**MOTIONS, **DATABASE_MOTIONS}
    for round_ in range(ROUNDS):
        for index, (name, perform) in enumerate(motions.items()):
            seed = 1000 * (round_ + 1) + index
            plan = MotionPlan(bodies[(index + 3 * round_) % len(bodies)], database_style(np.random.default_rng(seed)), seed)
            perform(plan)
            yield render(plan, f"{name}_{round_ + 1}", fps)
