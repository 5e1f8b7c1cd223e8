"""What the default database holds: the built-in motions in many styles by bodies from child to tall adult."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Final

import numpy as np

from database.builtin.bodies import body
from database.builtin.catalog import MOTIONS
from database.builtin.gait import run_steps, turn_in_place, walk_steps, walk_to
from database.builtin.gestures import idle, lower_arms, t_pose, wave
from database.builtin.leaps import hop, jump
from database.builtin.render import render
from database.builtin.score import Score, Style
from database.builtin.strikes import cut, kick, let_go, ready, slash
from database.clips import Clip
from database.skeleton import Skeleton

ROUNDS: Final = 2
# Uniform ranges the database's performers are drawn from.
STYLES: Final = {
    **{"speed": (0.8, 1.25), "amplitude": (0.75, 1.2), "bounce": (0.6, 1.5), "arm_swing": (0.5, 1.4)},
    **{"width": (0.85, 1.25), "lean_rad": (-0.03, 0.08), "noise": (0.7, 1.6), "turn_rad": (-0.04, 0.04)},
}


def database_bodies() -> tuple[Skeleton, ...]:
    """Build the bodies of the default database."""
    return (
        body(1.76),
        body(1.63, leg_ratio=0.99, shoulder_ratio=0.94, hip_ratio=1.06),
        body(1.90, leg_ratio=1.03, arm_ratio=1.03),
        body(1.52, leg_ratio=0.97, arm_ratio=0.98, hip_ratio=1.08),
        body(1.32, leg_ratio=0.96, arm_ratio=0.97, shoulder_ratio=0.97),
        body(1.82, leg_ratio=0.98, arm_ratio=1.0, shoulder_ratio=1.1),
        body(1.12, leg_ratio=0.93, arm_ratio=0.95, shoulder_ratio=1.0),
    )


def _wander(score: Score) -> None:
    """Walk through places drawn at random, closely and in tight turns as a small stage asks for."""
    places = [tuple(score.rng.uniform(-0.9, 0.9, 2)) for _ in range(6)]
    walk_to(score, [(float(x), float(z)) for x, z in places], float(score.rng.uniform(0.8, 1.2)))


def _cuts(score: Score) -> None:
    ready(score)
    cut(score, 0.15)
    cut(score, 0.45)
    let_go(score)


def _from_t_pose(score: Score) -> None:
    t_pose(score, 1.0)
    lower_arms(score, float(score.rng.uniform(0.7, 2.0)))
    idle(score, 1.0)
    t_pose(score, 0.5)
    lower_arms(score)


# Beside the motions by name: what those do on one side only, and paths.
MORE: Final[dict[str, Callable[[Score], None]]] = {
    "from_tpose": _from_t_pose,
    "wander": _wander,
    "wander_more": _wander,
    "cuts": _cuts,
    "curve_left": lambda score: walk_steps(score, 8, 0.9, 0.5),
    "curve_right": lambda score: walk_steps(score, 8, 0.9, -0.5),
    "about": lambda score: turn_in_place(score, float(score.rng.choice((-1.0, 1.0)) * score.rng.uniform(2.0, 3.1))),
    "jog": lambda score: run_steps(score, 9, 1.6, float(score.rng.uniform(-0.25, 0.25))),
    "jump_turning": lambda score: jump(score, 0.25, 0.2, float(score.rng.uniform(-0.9, 0.9))),
    "leap": lambda score: jump(score, 0.18),
    "hop_right": lambda score: hop(score, 4, float(score.rng.uniform(0.0, 0.25)), "right"),
    "hop_left": lambda score: hop(score, 4, 0.0, "left"),
    "wave_left": lambda score: wave(score, "left", 3),
    "slash_left": lambda score: slash(score, "left"),
    "kick_low": lambda score: kick(score, "left", 0.3, 0.6),
}


def database_style(rng: np.random.Generator) -> Style:
    """Draw one performer's style."""
    drawn = {name: float(rng.uniform(*STYLES[name])) for name in (field.name for field in fields(Style))}
    return Style(**drawn)


def database_clips(fps: float = 60.0) -> Iterator[Clip]:
    """Perform the default database: about 31 thousand poses at 60 frames a second, always the same ones."""
    bodies = database_bodies()
    motions = {**MOTIONS, **MORE}
    for round_ in range(ROUNDS):
        for index, (name, perform) in enumerate(motions.items()):
            seed = 1000 * (round_ + 1) + index
            score = Score(bodies[(index + 3 * round_) % len(bodies)], database_style(np.random.default_rng(seed)), seed)
            perform(score)
            yield render(score, f"{name}_{round_ + 1}", fps)
