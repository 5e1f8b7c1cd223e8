"""Fighting motions: punches from a boxing stance, cuts and swings with both hands or one, kicks."""

import numpy as np

from database.builtin.gait import feet_together, rest, stand_at
from database.builtin.score import HANGING, SIDES, Score

GUARD = {"flex": 0.92, "abduct": 0.0, "twist": -0.5, "elbow": 2.2, "protract": 0.1, "pronate": 0.3, "wrist": 0.0}
STANCE = {
    "pelvis_yaw": -0.35,
    "spine_yaw": -0.2,
    "head_yaw": 0.0,
    "spine_pitch": 0.16,
    "head_pitch": 0.05,
    "drop": 0.05,
    "gait": 0.0,
}


def into_stance(score: Score) -> None:
    """Step into a boxing stance, left foot ahead, and put up the guard."""
    left = score.footprint("left", score.place, width=1.1, ahead_m=0.24 * score.size)
    right = score.footprint("right", score.place, width=1.4, ahead_m=-0.2 * score.size)
    right[2] -= 0.55
    score.move(0.8, **STANCE)
    score.arm("both", 0.7, **GUARD)
    stand_at(score, {"left": left, "right": right}, 0.42)
    score.wait(0.25)


def out_of_stance(score: Score) -> None:
    """Drop the guard and step back to a stand."""
    rest(score, 0.7)
    feet_together(score, 0.45)
    score.wait(0.4)


def guard(score: Score, seconds: float) -> None:
    """Bounce in the guard."""
    beats = max(1, round(seconds / 0.45))
    for _ in range(beats):
        score.nod("drop", 0.45, 0.03 * score.style.bounce)
        score.nod("aside", 0.45, 0.015 * float(score.rng.standard_normal()))
        score.nod("left.flex", 0.4, 0.08 * float(score.rng.standard_normal()))
        score.nod("right.flex", 0.4, 0.08 * float(score.rng.standard_normal()))
        score.wait(0.45)


def punch(score: Score, kind: str) -> None:
    """Throw one punch from the guard: "jab" (left), "cross" (right), "hook" (left) or "uppercut" (right)."""
    side, arm, trunk, out_s = {
        "jab": (
            "left",
            {"flex": 1.4, "abduct": 0.62, "twist": -0.6, "elbow": 0.12, "protract": 0.35},
            (-0.4, -0.25, 0.18, 0.05),
            0.22,
        ),
        "cross": (
            "right",
            {"flex": 1.45, "abduct": 0.5, "twist": -0.6, "elbow": 0.12, "protract": 0.4},
            (0.25, 0.4, 0.2, 0.06),
            0.23,
        ),
        "hook": (
            "left",
            {"flex": 0.85, "abduct": 1.15, "twist": -0.6, "elbow": 1.5, "protract": 0.2},
            (-0.75, -0.5, 0.18, 0.06),
            0.26,
        ),
        "uppercut": (
            "right",
            {"flex": 0.95, "abduct": 0.3, "twist": -0.2, "elbow": 1.75, "protract": 0.3},
            (0.3, 0.35, 0.05, 0.02),
            0.26,
        ),
    }[kind]
    if kind in ("hook", "uppercut"):
        _load(score, kind, side)
    out = score.seconds(out_s)
    score.arm(side, out, **{key: value if key == "elbow" else score.vary(value, 0.04) for key, value in arm.items()})
    yaw, spine, pitch, drop = trunk
    score.move(1.05 * out, pelvis_yaw=score.vary(yaw), spine_yaw=score.vary(spine), spine_pitch=pitch, drop=drop, head_yaw=0.0)
    if side == "right":
        score.hold("right", score.time, out, pitch_rad=0.5)
    score.wait(out + 0.03)
    back = score.seconds(0.3)
    score.arm(side, back, **GUARD)
    score.move(back, **STANCE)
    score.hold("right", score.time, back, pitch_rad=0.0)
    score.wait(back * float(score.rng.uniform(0.7, 1.1)))


def _load(score: Score, kind: str, side: str) -> None:
    """Draw back before a hook, dip before an uppercut."""
    seconds = score.seconds(0.2)
    if kind == "hook":
        score.move(seconds, pelvis_yaw=0.05, spine_yaw=0.15)
        score.arm(side, seconds, flex=0.3, abduct=0.7, twist=-0.3, elbow=1.6)
    else:
        score.move(seconds, drop=0.12, spine_pitch=0.25, spine_yaw=-0.35)
        score.arm(side, seconds, flex=0.05, abduct=0.25, twist=0.0, elbow=1.7)
    score.wait(0.9 * seconds)


def grip(score: Score, seconds: float, x: float, y: float, z: float, delay: float = 0.0, apart: float = 0.045) -> None:
    """Draw both hands to one handle: x to the performer's left, y above the shoulders, z ahead [m, of a 1.75 m body]."""
    score.arm("left", seconds, delay, reach=1.0, x=x + apart, y=y - apart, z=z - 0.5 * apart, pronate=0.2, wrist=0.1)
    score.arm("right", seconds, delay, reach=1.0, x=-x + apart, y=y + apart, z=z + 0.5 * apart, pronate=0.2, wrist=0.1)


def ready(score: Score) -> None:
    """Take a handle in both hands, right foot a little ahead."""
    right = score.footprint("right", score.place, width=1.0, ahead_m=0.16 * score.size)
    left = score.footprint("left", score.place, width=1.0, ahead_m=-0.14 * score.size)
    score.move(0.6, drop=0.03, spine_pitch=0.06, gait=0.0)
    grip(score, 0.7, 0.0, -0.32, 0.36)
    stand_at(score, {"right": right, "left": left}, 0.4)
    score.wait(0.2)


def cut(score: Score, advance_m: float = 0.3) -> None:
    """Raise the handle overhead and cut straight down with a step ahead, as in kendo."""
    raise_s, down_s = score.seconds(0.5), score.seconds(0.24)
    grip(score, raise_s, 0.0, score.vary(0.3), 0.22)
    score.move(raise_s, spine_pitch=-0.08, head_pitch=0.0)
    score.wait(raise_s + 0.08)
    score.place[:] = score.beside(score.place, 0.0, advance_m * score.size)
    grip(score, down_s, 0.0, -0.12, 0.5)
    grip(score, 0.18, 0.0, -0.24, 0.46, down_s)
    score.move(1.3 * down_s, spine_pitch=0.2, drop=0.06)
    right = score.footprint("right", score.place, width=1.0, ahead_m=0.2 * score.size)
    score.step("right", right, score.time - 0.05, 0.3, 0.06 * score.size, push_rad=0.2)
    score.wait(0.25)
    score.step(
        "left",
        score.footprint("left", score.place, ahead_m=-0.12 * score.size),
        score.time,
        0.28,
        0.03 * score.size,
        push_rad=0.5,
    )
    score.wait(0.4)
    score.move(0.4, spine_pitch=0.06, drop=0.03)
    grip(score, 0.4, 0.0, -0.32, 0.36)
    score.wait(0.4)


def bat(score: Score) -> None:
    """Swing a handle from the right shoulder round to the left, as with a bat."""
    load_s, swing_s, end_s = score.seconds(0.6), score.seconds(0.3), score.seconds(0.25)
    score.move(load_s, pelvis_yaw=-0.35, spine_yaw=-0.6, spine_pitch=0.15, head_yaw=0.3, aside=-0.05, drop=0.06)
    grip(score, load_s, -0.2, -0.05, 0.24)
    score.wait(load_s + 0.1)
    score.move(swing_s, pelvis_yaw=0.45, aside=0.04)
    score.move(swing_s, 0.05, spine_yaw=0.5, head_yaw=-0.2)
    grip(score, 0.55 * swing_s, -0.02, -0.26, 0.47, 0.05)
    grip(score, 0.75 * swing_s + end_s, 0.2, -0.02, 0.3, 0.05 + 0.35 * swing_s)
    score.hold("right", score.time, swing_s, pitch_rad=0.6)
    score.wait(swing_s + end_s + 0.25)
    score.hold("right", score.time, 0.4, pitch_rad=0.0)
    score.move(0.5, pelvis_yaw=0.0, spine_yaw=0.0, head_yaw=0.0, spine_pitch=0.06, aside=0.0, drop=0.03)
    grip(score, 0.5, 0.0, -0.32, 0.36)
    score.wait(0.5)


def slash(score: Score, side: str = "right") -> None:
    """Swing one arm from high outside to low across, as with a sword or a racket."""
    load_s, swing_s, sign = score.seconds(0.45), score.seconds(0.28), 1.0 if side == "left" else -1.0
    score.move(load_s, spine_yaw=0.45 * sign, pelvis_yaw=0.2 * sign, head_yaw=-0.3 * sign)
    score.arm(side, load_s, flex=0.7, abduct=score.vary(1.7), twist=0.9, elbow=1.6)
    score.wait(load_s + 0.05)
    score.move(swing_s, spine_yaw=-0.5 * sign, pelvis_yaw=-0.2 * sign, head_yaw=0.1 * sign, spine_pitch=0.18)
    score.arm(side, 0.6 * swing_s, flex=1.3, abduct=0.5, twist=0.0, elbow=0.3)
    score.arm(side, 0.8 * swing_s, 0.35 * swing_s, flex=0.75, abduct=-0.35, twist=-0.5, elbow=0.5)
    score.wait(swing_s + 0.3)
    rest(score, 0.6)
    score.wait(0.55)


def let_go(score: Score) -> None:
    """Take the hands apart and step back to a stand."""
    score.arm("both", 0.6, **HANGING)
    score.move(0.6, spine_pitch=0.0, drop=0.004)
    feet_together(score, 0.45)
    score.wait(0.4)


def kick(score: Score, side: str = "right", height: float = 0.6, ahead: float = 0.84) -> None:
    """Kick forward: lift the knee, stretch the leg to `height` and `ahead` (leg lengths), draw it back, put it down."""
    leg, start = score.leg_m, score.time
    home = score.feet[side].place.copy()
    lift_s, out_s, back_s, down_s = (score.seconds(seconds) for seconds in (0.38, 0.2, 0.24, 0.4))
    score.move(lift_s, drop=0.02, pelvis_pitch=-0.08, spine_pitch=0.1, gait=0.0)
    for name in SIDES:
        score.arm(name, lift_s, flex=0.5, abduct=0.35, elbow=1.3)
    score.hold(side, start, lift_s, score.beside(home, 0.0, 0.08 * leg), 0.36 * leg, 0.5)
    score.hold(
        side, start + 0.92 * lift_s, out_s, score.beside(home, 0.0, score.vary(ahead) * leg), score.vary(height) * leg, -0.5
    )
    score.move(out_s, lift_s, pelvis_pitch=-0.22, spine_pitch=0.12, ahead=-0.03)
    kicked = start + lift_s + out_s + 0.05
    score.hold(side, kicked, back_s, score.beside(home, 0.0, 0.1 * leg), 0.3 * leg, 0.4)
    score.hold(side, kicked + 0.9 * back_s, down_s, home, 0.0, 0.0)
    score.airborne(side, start, kicked + 0.9 * back_s + down_s)
    score.wait(kicked + 0.6 * back_s - score.time)
    rest(score, 0.5)
    score.wait(kicked + 0.9 * back_s + down_s - score.time + float(np.abs(score.rng.normal(0.1, 0.05))))
