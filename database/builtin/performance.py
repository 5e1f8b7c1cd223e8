"""The performance of the demo: about 45 seconds of everything, by a person the database does not know."""

from typing import Final

import numpy as np

from config.errors import DuocapError
from database.builtin.bodies import body
from database.builtin.gait import run_steps, turn_in_place, walk_to, wrapped
from database.builtin.gestures import idle, lower_arms, t_pose, wave
from database.builtin.leaps import hop, jump
from database.builtin.render import render
from database.builtin.score import Score, Style
from database.builtin.strikes import cut, guard, into_stance, let_go, out_of_stance, punch, ready
from database.clips import Clip
from database.skeleton import Skeleton

PERFORMER_SEED: Final = 90210
PERFORMER_STYLE: Final = Style(speed=1.06, amplitude=0.93, bounce=1.12, arm_swing=0.88, width=1.07, lean_rad=0.025, noise=1.15)
T_POSE_S: Final = 3.0


def performer() -> Skeleton:
    """Build the demo's performer; no body of the database has these proportions."""
    return body(1.715, leg_ratio=1.017, arm_ratio=0.968, shoulder_ratio=1.063, hip_ratio=1.041, name="performer")


def demo_performance(fps: float = 60.0, seconds: float | None = None) -> Clip:
    """Perform the demo: T-pose, then rounds of walking, leaps, punches, cuts and gestures within 3 x 3 m of the origin.

    seconds: how long, default the T-pose and one round (about 45 s); longer ones go round again, never quite the same.
    Raises DuocapError: a rate or a length that makes no clip.
    """
    if not 1.0 <= fps <= 1000.0 or (seconds is not None and not 0.0 < seconds <= 7200.0):
        raise DuocapError(f"a demo of {seconds} s at {fps:g} frames a second was asked for; give up to 7200 s at 1 to 1000")
    score = Score(performer(), PERFORMER_STYLE, PERFORMER_SEED)
    t_pose(score, T_POSE_S)
    lower_arms(score)
    while True:
        _round(score)
        if seconds is None or score.time >= seconds:
            return render(score, "demo", fps, seconds)


def _round(score: Score) -> None:
    """Go once through the programme, ending where it began."""
    idle(score, 1.0)
    walk_to(score, [(0.6, 0.7), (-0.6, 0.6), (-0.1, -0.45)], 1.2)
    _face(score, 0.0)
    jump(score, 0.24)
    into_stance(score)
    for kind in ("jab", "cross", "jab", "hook", "uppercut"):
        punch(score, kind)
    guard(score, 0.45)
    out_of_stance(score)
    ready(score)
    cut(score, 0.22)
    let_go(score)
    hop(score, 2, side="left")
    run_steps(score, 5, 0.0)
    wave(score, "right", 3)
    if np.hypot(*score.place[:2]) > 0.6:
        walk_to(score, [(0.0, 0.0)], 1.0)
    _face(score, 0.0)
    idle(score, 1.0)


def _face(score: Score, heading_rad: float) -> None:
    """Turn on the spot to a heading; a small difference is left."""
    away = wrapped(heading_rad - float(score.place[2]))
    if abs(away) > 0.25:
        turn_in_place(score, away)
