"""Motions on the spot: T-pose and the way out of it, idling, waving, squatting, reaching."""

import numpy as np

from database.builtin.gait import feet_together, rest
from database.builtin.score import HANGING, LEVEL, UPRIGHT, Score


def t_pose(score: Score, seconds: float = 3.0, raise_s: float = 1.2) -> None:
    """Raise the arms level to the sides and hold them there; at the very start of a score, begin there."""
    if score.time == 0.0:
        for side in ("left", "right"):
            for channel, value in LEVEL.items():
                score.tracks[f"{side}.{channel}"].start = value
    else:
        feet_together(score)
        score.move(raise_s, **UPRIGHT)
        score.arm("both", raise_s, **LEVEL)
        score.wait(raise_s)
    score.wait(seconds)


def lower_arms(score: Score, seconds: float = 1.2) -> None:
    """Let the arms sink to the sides, one a little after the other."""
    late = 0.08 * score.style.noise * abs(float(score.rng.standard_normal()))
    first = "left" if score.rng.random() < 0.5 else "right"
    for side in ("left", "right"):
        score.arm(side, score.seconds(seconds), 0.0 if side == first else late, **HANGING)
    score.nod("left.flex", seconds, score.vary(0.15, 0.5))
    score.nod("right.flex", seconds, score.vary(0.15, 0.5))
    score.wait(1.15 * seconds)


def idle(score: Score, seconds: float = 4.0) -> None:
    """Stand easily, shifting weight from leg to leg and looking about."""
    end = score.time + seconds
    rest(score, 0.5)
    sign = 1.0 if score.rng.random() < 0.5 else -1.0
    while score.time < end - 0.8:
        pause = float(score.rng.uniform(1.2, 2.2))
        shift = sign * score.vary(0.045, 0.2)
        score.move(0.9, aside=shift, pelvis_roll=1.2 * shift, spine_roll=-1.4 * shift, pelvis_yaw=0.8 * shift)
        score.move(0.6, 0.2, head_yaw=float(score.rng.uniform(-0.5, 0.5)), head_pitch=float(score.rng.uniform(-0.1, 0.15)))
        sign = -sign
        score.wait(pause)
    score.move(0.7, **{**UPRIGHT, "drop": 0.004})
    score.wait(max(end - score.time, 0.7))


def wave(score: Score, side: str = "right", n_waves: int = 4) -> None:
    """Raise a hand and wave it."""
    score.move(0.6, head_yaw=0.1 if side == "left" else -0.1, aside=0.02 if side == "left" else -0.02)
    score.arm(side, 0.7, flex=0.35, abduct=score.vary(1.35), twist=1.35, elbow=1.7, pronate=0.4)
    score.wait(0.65)
    for _ in range(n_waves):
        beat = score.seconds(0.25)
        score.arm(side, beat, elbow=1.7 - score.vary(0.45), twist=1.15, wrist=-0.15)
        score.arm(side, beat, beat, elbow=1.7 + score.vary(0.25), twist=1.45, wrist=0.15)
        score.wait(2.0 * beat)
    rest(score, 0.8)
    score.wait(0.8)


def squat(score: Score, n_squats: int = 2, depth: float = 0.34) -> None:
    """Bend the knees, arms held forward, and come up again."""
    for _ in range(n_squats):
        down, up = score.seconds(0.9), score.seconds(0.8)
        score.move(down, drop=score.vary(depth), spine_pitch=0.35, pelvis_pitch=0.45, ahead=-0.06)
        score.arm("both", down, flex=score.vary(1.35), elbow=0.15, abduct=0.1)
        score.move(up, down + 0.25, **{**UPRIGHT, "drop": 0.004})
        score.arm("both", up, down + 0.25, **HANGING)
        score.wait(down + up + 0.5)


def reach(score: Score, side: str = "right", up: float = 1.0, across: float = 0.0) -> None:
    """Reach out with one hand: `up` 1 overhead, 0 forward at shoulder height, -1 to the floor; `across` to the other side."""
    seconds, sign = score.seconds(0.9), 1.0 if side == "left" else -1.0
    low = max(-up, 0.0)
    bend = {
        "spine_pitch": 0.12 + 0.55 * low,
        "pelvis_pitch": 0.05 + 0.55 * low,
        "drop": 0.01 + 0.24 * low,
        "ahead": 0.01 - 0.05 * low,
    }
    twist = {"spine_yaw": -sign * (0.2 + 0.5 * across), "pelvis_yaw": -sign * 0.15, "spine_roll": -sign * 0.12 * max(up, 0.0)}
    score.move(seconds, **bend, **twist, head_pitch=-0.3 * up)
    flex = score.vary(1.45 + 1.1 * max(up, 0.0) - 0.35 * low, 0.04)
    score.arm(side, seconds, flex=flex, abduct=0.25 - 0.4 * across, elbow=0.25, protract=0.25)
    if low > 0.0:  # the other hand rests towards the knee
        score.arm("right" if side == "left" else "left", seconds, flex=0.9 * low, elbow=0.5)
    score.wait(seconds + 0.3)
    rest(score, 0.8)
    score.wait(0.9)


def look_around(score: Score) -> None:
    """Turn head and trunk to one side, then to the other."""
    for sign in (1.0, -1.0):
        seconds = score.seconds(0.8)
        turn = sign * score.vary(0.8, 0.15)
        score.move(
            seconds, head_yaw=turn, spine_yaw=0.6 * turn, pelvis_yaw=0.2 * turn, head_pitch=float(score.rng.uniform(-0.2, 0.3))
        )
        score.wait(seconds + 0.3)
    rest(score, 0.7)
    score.wait(0.7)


def sweep_arms(score: Score) -> None:
    """Carry the arms through slow, unlike poses: forward, up, to the sides, folded."""
    for _ in range(4):
        seconds = score.seconds(0.9)
        for side in ("left", "right"):
            elevation, azimuth = score.rng.uniform(0.3, 2.3), score.rng.uniform(-0.3, 1.5)
            target = {"flex": elevation * np.sin(azimuth), "abduct": elevation * np.cos(azimuth)}
            score.arm(side, seconds, **target, elbow=score.rng.uniform(0.1, 1.7), twist=score.rng.uniform(-0.6, 0.8))
        score.move(seconds, spine_yaw=float(score.rng.uniform(-0.3, 0.3)), spine_roll=float(score.rng.uniform(-0.12, 0.12)))
        score.wait(seconds + 0.1)
    rest(score, 0.9)
    score.wait(0.9)
