"""Motions made of steps: walk, run, turn in place, side steps, and the steps into another stance."""

import numpy as np

from database.builtin.score import GRAVITY, HANGING, UPRIGHT, Score
from database.rotations import Floats

RATIO = 0.39  # step length over step rate of an adult's walk, [m s] (Sekiya & Nagasaki 1998: 0.0063 m per step/min)


def other(side: str) -> str:
    """Name the other side."""
    return "right" if side == "left" else "left"


def wrapped(angle_rad: float) -> float:
    """Give the same angle in -pi .. pi."""
    return float((angle_rad + np.pi) % (2.0 * np.pi) - np.pi)


def walk_steps(score: Score, n_steps: int, speed_m_s: float = 1.25, turn_rad: float = 0.0) -> None:
    """Walk `n_steps`, turning left by `turn_rad` each, then bring the feet together."""
    _begin_walk(score, speed_m_s)
    for k in range(n_steps):
        _walk_step(score, speed_m_s * (0.75 if k == 0 else 0.55 if k == n_steps - 1 else 1.0), turn_rad + score.style.turn_rad)
    _end_walk(score)


def walk_to(score: Score, places: list[tuple[float, float]], speed_m_s: float = 1.1, most_rad: float = 0.7) -> None:
    """Walk through places (x, z) [m], turning by at most `most_rad` a step, then bring the feet together."""
    _begin_walk(score, speed_m_s)
    for place, (x, z) in enumerate(places, start=1):
        for _ in range(40):
            away = np.array((x, z)) - score.place[:2]
            distance = float(np.hypot(*away))
            # From the last place the final steps still go on by most of a step.
            if distance < (0.3 * score.size if place < len(places) else _step_size(score, speed_m_s)[0]):
                break
            bearing = wrapped(float(np.arctan2(away[0], away[1])) - score.place[2])
            turn = float(np.clip(bearing, -most_rad, most_rad))
            # Far off the bearing, shorter steps keep the curve tight enough not to circle round the place.
            _walk_step(score, speed_m_s * (1.0 - 0.6 * min(abs(bearing) / 1.2, 1.0)) ** 2, turn)
    _walk_step(score, 0.5 * speed_m_s, 0.0)
    _end_walk(score)


def _step_size(score: Score, speed_m_s: float) -> tuple[float, float]:
    """Give step length [m] and duration [s] at a speed, scaled to the legs as pendulums."""
    speed = speed_m_s * score.style.speed
    rate = np.sqrt(speed / (RATIO * score.size**1.5)) / score.style.amplitude**0.5
    return float(speed / rate), float(1.0 / rate)


def _begin_walk(score: Score, speed_m_s: float) -> None:
    """Loosen the arms and let them swing."""
    style = score.style
    score.move(0.6, gait=1.0, elbow_swing=0.7, drop=0.012 * style.bounce + 0.008 * speed_m_s, ahead=0.01)
    score.move(0.6, spine_pitch=0.03 + style.lean_rad, pelvis_pitch=0.03)
    score.arm("both", 0.6, flex=0.0, abduct=0.13, elbow=0.28 + 0.1 * (speed_m_s - 1.0), twist=-0.1)
    score.wait(0.35)


def _walk_step(score: Score, speed_m_s: float, turn_rad: float) -> None:
    """Make one step ahead with the next foot."""
    side, noise = score.next_side, score.style.noise
    length, period = _step_size(score, speed_m_s * (1.0 + 0.03 * noise * float(score.rng.standard_normal())))
    score.place[2] += turn_rad
    score.place[:] = score.beside(score.place, 0.0, length)
    target = score.footprint(side, score.place, width=0.65)
    target += np.array((0.006, 0.01, 0.02)) * noise * score.rng.standard_normal(3)
    pace = length / (0.75 * score.size)
    lift = (0.035 + 0.035 * pace) * score.size * (0.5 + 0.5 * score.style.bounce)
    score.step(side, target, score.time, 0.78 * period, lift, push_rad=_push(score, side, target, 1.5), strike_rad=0.28 * pace)
    score.next_side = other(side)
    score.wait(period)


def _push(score: Score, side: str, target: Floats, stride_m: float) -> float:
    """Give how far the heel comes up before a foot leaves for `target`, more the farther it was left behind [rad]."""
    behind = float(np.hypot(*(target - score.feet[side].place)[:2])) / score.size
    return 0.25 + 0.55 * min(behind / stride_m, 1.3)


def _end_walk(score: Score) -> None:
    """Bring the trailing foot beside the other and rest."""
    side = score.next_side
    seconds = score.seconds(0.55)
    target = score.footprint(side, score.place, width=0.9)
    score.step(side, target, score.time, 0.85 * seconds, 0.045 * score.size, push_rad=_push(score, side, target, 0.75))
    score.next_side = other(side)
    score.wait(0.7 * seconds)
    rest(score, 0.5)
    score.wait(0.45)


def rest(score: Score, seconds: float) -> None:
    """Let trunk and arms go back to an easy stand."""
    score.move(seconds, **{**UPRIGHT, "drop": 0.004 * score.style.bounce, "spine_pitch": 0.5 * score.style.lean_rad})
    score.arm("both", seconds, **HANGING)


def stand_at(score: Score, feet: dict[str, Floats], seconds: float = 0.5, lift_m: float = 0.05) -> None:
    """Step one foot after the other to given places (x, z, yaw); one that is there already stays."""
    for side, target in feet.items():
        away = target - score.feet[side].place
        if np.hypot(away[0], away[1]) > 0.02 or abs(away[2]) > 0.05:
            duration = score.seconds(seconds)
            score.step(side, target, score.time, 0.8 * duration, lift_m * score.size)
            score.next_side = other(side)
            score.wait(duration)


def feet_together(score: Score, seconds: float = 0.5) -> None:
    """Step back to a stand of usual width."""
    stand_at(score, {side: score.footprint(side, score.place) for side in ("left", "right")}, seconds)


def turn_in_place(score: Score, angle_rad: float) -> None:
    """Turn on the spot by `angle_rad` to the left, in steps of about 45 degrees."""
    n_steps = max(2, int(np.ceil(abs(angle_rad) / 0.8)))
    side = "left" if angle_rad > 0 else "right"
    score.move(0.4, gait=0.6, drop=0.012)
    score.move(0.5, spine_yaw=0.25 * np.sign(angle_rad), head_yaw=0.2 * np.sign(angle_rad))
    for k in range(n_steps):
        # The inner foot opens first, the outer one follows.
        score.place[2] += angle_rad / n_steps if k % 2 == 0 else 0.0
        duration = score.seconds(0.52)
        score.step(side, score.footprint(side, score.place), score.time, 0.8 * duration, 0.055 * score.size, push_rad=0.35)
        side = other(side)
        score.wait(duration)
        score.place[2] += angle_rad / n_steps if k % 2 == 1 else 0.0
    score.move(0.5, spine_yaw=0.0, head_yaw=0.0, gait=0.0)
    feet_together(score)
    rest(score, 0.5)
    score.wait(0.4)


def side_steps(score: Score, n_steps: int, left: bool = True, length_m: float = 0.36) -> None:
    """Step `n_steps` times to the side, closing the feet after each."""
    lead = "left" if left else "right"
    score.move(0.4, drop=0.03 * score.style.bounce, gait=0.5)
    score.arm("both", 0.4, abduct=0.3, elbow=0.7)
    for _ in range(n_steps):
        reach = score.vary(length_m) * score.size
        score.place[:] = score.beside(score.place, reach if left else -reach, 0.0)
        for side in (lead, other(lead)):
            duration = score.seconds(0.42)
            target = score.footprint(side, score.place, width=1.25 if side == lead else 1.0)
            score.step(side, target, score.time, 0.8 * duration, 0.05 * score.size)
            score.wait(duration)
    feet_together(score)
    rest(score, 0.5)
    score.wait(0.4)


def run_steps(score: Score, n_steps: int, speed_m_s: float = 2.6, turn_rad: float = 0.0) -> None:
    """Run `n_steps` with a flight between them; a speed of 0 runs on the spot. Ends standing."""
    style = score.style
    score.move(
        0.5,
        gait=0.6,
        elbow_swing=0.35,
        drop=0.045 + 0.006 * speed_m_s,
        spine_pitch=0.10 + style.lean_rad,
        pelvis_pitch=0.06,
        ahead=0.02,
    )
    score.arm("both", 0.5, flex=-0.15, abduct=0.2, elbow=1.55, twist=-0.35)
    score.wait(0.35)
    period = score.seconds(0.36) * score.size**0.5
    for k in range(n_steps):
        ramp = min(1.0, 0.4 + 0.3 * k, 0.3 + 0.2 * (n_steps - 1 - k))
        _run_step(
            score, period, ramp * speed_m_s * style.speed * style.amplitude * period, turn_rad + style.turn_rad, speed_m_s > 0.3
        )
    _end_walk(score)


def _run_step(score: Score, period: float, length_m: float, turn_rad: float, ahead: bool) -> None:
    """Make one running step: swings last 1.3 periods, so the body flies before each landing."""
    side, flight = score.next_side, (0.36 if ahead else 0.24) * period
    score.place[2] += turn_rad
    score.place[:] = score.beside(score.place, 0.0, length_m)
    target = score.footprint(side, score.place, width=0.5 if ahead else 0.9)
    lift = (0.16 + 0.05 * min(length_m, 1.0)) * score.size * (0.5 + 0.5 * score.style.bounce)
    push = 0.9 if ahead else 0.6
    start = score.time - flight
    score.step(side, target, start, period + flight, lift, push_rad=push, strike_rad=0.1 if ahead else -0.15)
    velocity, sink = GRAVITY * flight / 2.0, 0.03 * score.size * score.style.bounce
    landing = start + period + flight
    # One cycle of the pelvis: fly (starting before this foot lands), land, sink, rise.
    score.hops.append(
        [
            (landing - flight, 0.0, velocity, -GRAVITY),
            (landing, 0.0, -velocity, -GRAVITY),
            (landing + 0.5 * (period - flight), -sink, 0.0, 12.0),
        ]
        + [(landing + period - flight, 0.0, velocity, -GRAVITY)]
    )
    score.next_side = other(side)
    score.wait(period)
