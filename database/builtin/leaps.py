"""Motions with flights: jumps on both feet, hops on one."""

import numpy as np

from database.builtin.gait import feet_together, other, rest
from database.builtin.score import GRAVITY, SIDES, Score


def jump(score: Score, height_m: float = 0.28, ahead_m: float = 0.0, turn_rad: float = 0.0) -> None:
    """Crouch, swing the arms, leap `height_m` up and `ahead_m` forward, land on the toes and give way."""
    feet_together(score)
    height = score.vary(height_m) * score.size
    speed = float(np.sqrt(2.0 * GRAVITY * height))
    crouch_s, push_s, flight_s = score.seconds(0.5), score.seconds(0.26), 2.0 * speed / GRAVITY
    _wind_up(score, crouch_s, push_s, ahead_m)
    start = score.time
    off, landed = start + crouch_s + push_s, start + crouch_s + push_s + flight_s
    deep, toes = 0.2 * score.size * score.style.bounce + 0.05 * score.size, 0.038 * score.size
    score.place[2] += turn_rad
    score.place[:] = score.beside(score.place, 0.0, ahead_m * score.size * score.style.amplitude)
    for side in SIDES:
        target = score.footprint(side, score.place, width=1.1)
        score.step(side, target, off, flight_s, 0.07 * score.size, push_rad=0.8, strike_rad=-0.6)
        score.fly(side, off, flight_s)
    score.hops.append(
        [
            (start, 0.0, 0.0, 0.0),
            (start + crouch_s, -deep, 0.0, 4.0),
            (off, toes, speed, -GRAVITY),
            (landed, toes, -speed, -GRAVITY),
        ]
        + [(landed + 0.24, -0.8 * deep, 0.0, 5.0), (landed + 0.85, 0.0, 0.0, 0.0)]
    )
    score.wait(crouch_s + push_s + flight_s)
    _settle(score)


def _wind_up(score: Score, crouch_s: float, push_s: float, ahead_m: float) -> None:
    """Lean and draw the arms back in the crouch, throw them up in the push."""
    lean = 0.45 + 0.2 * min(ahead_m, 1.0)
    score.move(crouch_s, spine_pitch=lean, pelvis_pitch=0.35, ahead=-0.02, gait=0.0)
    score.arm("both", 0.9 * crouch_s, flex=score.vary(-0.9), abduct=0.3, elbow=0.3)
    score.move(push_s, crouch_s, spine_pitch=0.05, pelvis_pitch=0.05, ahead=0.02 + 0.06 * ahead_m)
    score.arm("both", push_s + 0.1, 0.9 * crouch_s, flex=score.vary(2.1), abduct=0.35, elbow=0.5)


def _settle(score: Score) -> None:
    """Give way after a landing and come back to a stand."""
    score.move(0.28, spine_pitch=0.4, pelvis_pitch=0.3, ahead=-0.02)
    score.arm("both", 0.4, flex=0.6, abduct=0.4, elbow=0.7)
    score.wait(0.32)
    rest(score, 0.6)
    feet_together(score)
    score.wait(0.4)


def hop(score: Score, n_hops: int = 4, ahead_m: float = 0.0, side: str = "left") -> None:
    """Hop on one leg, the other held up behind."""
    free = other(side)
    feet_together(score)
    score.move(0.5, drop=0.06, spine_pitch=0.12, pelvis_pitch=0.08, gait=0.0)
    score.arm("both", 0.5, abduct=score.vary(0.55), elbow=score.vary(1.0), flex=0.25)
    raised = score.time
    lifted = score.vary(0.24) * score.size
    behind = score.beside(score.feet[free].place, 0.0, -0.22 * score.size)
    score.hold(free, raised, 0.45, behind, lifted, 0.9)
    score.wait(0.75)
    for _ in range(n_hops):
        _one_hop(score, side, ahead_m * score.size * score.style.amplitude)
    down = score.footprint(free, score.place)
    score.hold(free, score.time, 0.5, down, 0.0, 0.0)
    score.airborne(free, raised, score.time + 0.5)
    score.wait(0.45)
    rest(score, 0.5)
    score.wait(0.5)


def _one_hop(score: Score, side: str, ahead_m: float) -> None:
    """Sink, fly, land once on the foot of `side`; the other leg and the arms come along."""
    free, height = other(side), score.vary(0.07) * score.size
    speed = float(np.sqrt(2.0 * GRAVITY * height))
    sink_s, flight_s, start = score.seconds(0.3), 2.0 * speed / GRAVITY, score.time
    off, toes, deep = start + sink_s, 0.03 * score.size, 0.05 * score.size * score.style.bounce
    score.place[:] = score.beside(score.place, 0.0, ahead_m)
    score.step(side, score.footprint(side, score.place, width=0.8), off, flight_s, 0.02, push_rad=0.5, strike_rad=-0.2)
    score.fly(side, off, flight_s)
    score.fly(free, off, flight_s)
    score.hold(free, off - 0.1, flight_s + 0.2, score.beside(score.footprint(free, score.place), 0.0, -0.22 * score.size))
    score.hops.append(
        [(start, 0.0, 0.0, 0.0), (start + 0.6 * sink_s, -deep, 0.0, 6.0), (off, toes, speed, -GRAVITY)]
        + [(off + flight_s, toes, -speed, -GRAVITY), (off + flight_s + 0.25, 0.0, 0.0, 0.0)]
    )
    score.nod(f"{free}.flex", sink_s + flight_s, score.vary(0.3))
    score.nod(f"{side}.abduct", sink_s + flight_s, score.vary(0.25))
    score.wait(sink_s + flight_s + 0.26)
