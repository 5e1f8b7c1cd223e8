"""The built-in motions by name."""

from collections.abc import Callable
from typing import Final

from config.errors import DuocapError
from database.builtin.bodies import body
from database.builtin.gait import run_steps, side_steps, turn_in_place, walk_steps
from database.builtin.gestures import idle, look_around, lower_arms, reach, squat, sweep_arms, t_pose, wave
from database.builtin.leaps import hop, jump
from database.builtin.render import render
from database.builtin.score import Score, style_from
from database.builtin.strikes import bat, cut, guard, into_stance, kick, let_go, out_of_stance, punch, ready, slash
from database.clips import Clip
from database.skeleton import Skeleton


def _boxing(*kinds: str) -> Callable[[Score], None]:
    """Make a motion: into the stance, some punches, out again."""

    def perform(score: Score) -> None:
        into_stance(score)
        for kind in kinds:
            punch(score, kind)
            guard(score, 0.45)
        out_of_stance(score)

    return perform


def _arms_down(score: Score) -> None:
    t_pose(score, 2.0)
    lower_arms(score)
    idle(score, 1.0)


def _swing(score: Score) -> None:
    ready(score)
    cut(score)
    bat(score)
    let_go(score)


def _kicks(score: Score) -> None:
    kick(score, "right")
    kick(score, "left", height=0.4, ahead=0.72)


def _reaches(score: Score) -> None:
    for side, up, across in (("right", 1.0, 0.0), ("left", 0.0, 0.5), ("right", -1.0, 0.3)):
        reach(score, side, up, across)


def _turns(score: Score) -> None:
    turn_in_place(score, 1.6)
    turn_in_place(score, -2.4)


def _side_steps(score: Score) -> None:
    side_steps(score, 3, left=True)
    side_steps(score, 3, left=False)


MOTIONS: Final[dict[str, Callable[[Score], None]]] = {
    "tpose": lambda score: t_pose(score, 4.0),
    "arms_down": _arms_down,
    "idle": lambda score: idle(score, 6.0),
    "walk": lambda score: walk_steps(score, 10, 1.25),
    "walk_slow": lambda score: walk_steps(score, 7, 0.75),
    "walk_fast": lambda score: walk_steps(score, 12, 1.8),
    "walk_left": lambda score: walk_steps(score, 12, 1.1, 0.3),
    "walk_right": lambda score: walk_steps(score, 12, 1.1, -0.3),
    "turn": _turns,
    "run": lambda score: run_steps(score, 12, 2.8),
    "run_in_place": lambda score: run_steps(score, 12, 0.0),
    "side_steps": _side_steps,
    "jump": lambda score: jump(score, 0.3),
    "jump_forward": lambda score: jump(score, 0.22, 0.7),
    "hop": lambda score: hop(score, 4, 0.15),
    "jab": _boxing("jab", "jab"),
    "cross": _boxing("cross", "cross"),
    "hook": _boxing("hook", "hook"),
    "uppercut": _boxing("uppercut", "uppercut"),
    "punches": _boxing("jab", "cross", "hook", "uppercut", "jab", "cross"),
    "swing": _swing,
    "slash": lambda score: slash(score),
    "kick": _kicks,
    "wave": lambda score: wave(score),
    "squat": lambda score: squat(score),
    "reach": _reaches,
    "look_around": look_around,
    "sweep_arms": sweep_arms,
}


def builtin_names() -> tuple[str, ...]:
    """List the built-in motions."""
    return tuple(MOTIONS)


def builtin_clip(name: str, skeleton: Skeleton | None = None, fps: float = 60.0, seed: int = 0, **parameters: float) -> Clip:
    """Perform one built-in motion, some seconds long, from the origin facing +Z.

    skeleton: the performer, default an adult of 1.75 m; parameters: fields of `score.Style` (speed, amplitude, ...).
    The same arguments give the same clip. Raises DuocapError: no such motion or parameter, a value out of range.
    """
    if name not in MOTIONS:
        raise DuocapError(f"there is no built-in motion {name!r}; choose one of: {', '.join(MOTIONS)}")
    if not 1.0 <= fps <= 1000.0:
        raise DuocapError(f"a built-in motion at {fps:g} frames a second was asked for; give 1 to 1000")
    score = Score(body() if skeleton is None else skeleton, style_from(parameters), seed)
    MOTIONS[name](score)
    return render(score, name, fps)
