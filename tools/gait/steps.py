"""What steps are like: lengths, times, speed and symmetry, from the events of walking and where the heels stand.

A step ends with the strike of its foot, and begins with that of the other; a stride is two steps. Lengths and widths are along
and across the stride, between the places where heels stand (Huxham et al. 2006), so they hold on curved ways. On a treadmill the
places move with the belt, whose speed is that of standing feet.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from config.arrays import Floats
from stream.export.events import GaitEvent, GaitEventKind
from tools.gait.events import FeetMotion

BELT_M_S = 0.15  # feet that stand on the ground are slower, on a belt faster
STEP_S = (0.2, 2.0)  # a sprinter's steps are no shorter; who takes longer has stopped
BOTH_S = 0.06  # brisk walks have 0.1 s, and runs, whose feet by these events leave late, 0.04 s
STRIDE_M = 0.3  # twice what a foot must go for a step: who goes ahead less steps on the spot
SEVERAL = 0.5  # share of the strikes: a walk that stops and turns has fewer that follow no other
FLAT = (0.2, 0.5)  # share of the stance in which the heel stands
SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class FootStep:
    """One step, nan for what is not known of it.

    Attributes:
        foot: the one that ends it, 0 left, 1 right. strike_s: when.
        step_s, stride_s: since the strike of the other foot, and the last of this one [s].
        length_m, width_m, stride_m: along and across the stride; of the stride [m].
        stance_share: share of the stride that begins here in which the foot is on the ground.
        double_share: share of that stride in which both are.
    """

    foot: int
    strike_s: float
    step_s: float
    stride_s: float
    length_m: float
    width_m: float
    stride_m: float
    stance_share: float
    double_share: float

    def after(self, seconds: float) -> "FootStep":
        """Return the step as one of a motion that begins earlier by some seconds."""
        return replace(self, strike_s=self.strike_s + seconds)


@dataclass(frozen=True, slots=True)
class GaitReport:
    """Steps of a walk in the order of time.

    belt_m_s: the treadmill's speed, 0 over ground; both_s: how long both feet are on the ground in a step, median [s], nan
    if not known.
    """

    steps: tuple[FootStep, ...]
    belt_m_s: float
    both_s: float = math.nan


@dataclass(frozen=True, slots=True)
class _Stance:
    """A foot on the ground, from strike to leave [s], nan if that is not known."""

    foot: int
    begin_s: float
    end_s: float


def measure_steps(motion: FeetMotion, events: Sequence[GaitEvent]) -> GaitReport:
    """Return the steps between events."""
    stances = _list_stances(events)
    belt_m_s = _estimate_belt_speed(motion, stances)
    heels = [_find_standing_heel(motion, stance, belt_m_s) for stance in stances]
    steps = []
    for k, stance in enumerate(stances):
        other = stances[k - 1] if k and _is_step(stances[k - 1], stance) else None
        last = k - 2 if k > 1 and other is not None and _is_step(stances[k - 2], other) else None
        length = width = stride = np.nan
        if last is not None:
            way = heels[k] - heels[last]
            stride = float(np.linalg.norm(way))
            step = heels[k] - heels[k - 1]
            length = float(step @ way) / stride
            width = math.sqrt(max(float(step @ step) - length**2, 0.0))
        share, double = _share_stride(stances, k)
        step_s = np.nan if other is None else stance.begin_s - other.begin_s
        stride_s = np.nan if last is None else stance.begin_s - stances[last].begin_s
        steps.append(FootStep(stance.foot, stance.begin_s, step_s, stride_s, length, width, stride, share, double))
    both_s = [first.end_s - second.begin_s for first, second in pairwise(stances) if _is_step(first, second)]
    known = [seconds for seconds in both_s if not math.isnan(seconds)]
    return GaitReport(tuple(steps), belt_m_s, float(np.median(known)) if known else math.nan)


def describe_no_walk(report: GaitReport) -> tuple[str, ...]:
    """Return in words what of a motion is not walking, if anything.

    Who walks has both feet on the ground for a while in every step, which is what tells walking from running, goes ahead, and
    strikes with one foot after the other.
    """
    stride_m, step_s = (np.array([getattr(step, name) for step in report.steps]) for name in ("stride_m", "step_s"))
    found = []
    if report.both_s < BOTH_S:
        found.append(f"both feet are on the ground for {max(1e3 * report.both_s, 0.0):.0f} ms of a step alone: that is running")
    if np.isfinite(stride_m).any() and np.nanmedian(stride_m) < STRIDE_M:
        found.append(f"strides of {np.nanmedian(stride_m):.2f} m: nobody goes anywhere")
    others = int(np.isnan(step_s).sum())
    if others > SEVERAL * len(step_s):
        found.append(f"{others} of {len(step_s)} strikes do not follow one of the other foot")
    if not found:
        return ()
    return (f"this is no walk, what follows may mean nothing: {'; '.join(found)}",)


def _is_step(first: _Stance, second: _Stance) -> bool:
    """Return whether the strikes of two stances are those of a step: of different feet, one after the other."""
    return first.foot != second.foot and STEP_S[0] < second.begin_s - first.begin_s < STEP_S[1]


def _list_stances(events: Sequence[GaitEvent]) -> list[_Stance]:
    """Return when each foot is on the ground, by its strikes, in the order of time."""
    found = []
    for foot in range(len(SIDES)):
        own = [event for event in events if event.foot == foot]
        for event, after in pairwise([*own, GaitEvent(np.nan, foot, GaitEventKind.FOOT_OFF)]):
            if event.kind is GaitEventKind.FOOT_STRIKE:
                found.append(_Stance(foot, event.seconds, after.seconds))
    return sorted(found, key=lambda stance: stance.begin_s)


def _estimate_belt_speed(motion: FeetMotion, stances: Sequence[_Stance]) -> float:
    """Return how fast standing heels go backwards [m/s], 0 where they stand."""
    speeds = [
        -((np.diff(motion.heel_m[rows, stance.foot], axis=0) * motion.ahead[rows][1:]).sum(axis=1) * motion.fps).mean()
        for stance in stances
        if (rows := _select_flat(motion, stance)).stop - rows.start > 2
    ]
    speed = float(np.median(speeds)) if speeds else 0.0
    return speed if speed > BELT_M_S else 0.0


def _select_flat(motion: FeetMotion, stance: _Stance) -> slice:
    """Return the frames in which the heel of a stance stands; a stance without an end is one of 0.6 s."""
    seconds = 0.6 if np.isnan(stance.end_s) else stance.end_s - stance.begin_s
    first, stop = (round((stance.begin_s + share * seconds) * motion.fps) for share in FLAT)
    n = len(motion.pelvis_m)
    return slice(min(first, n - 1), min(max(stop, first + 1), n))


def _find_standing_heel(motion: FeetMotion, stance: _Stance, belt_m_s: float) -> Floats:
    """Return where a heel stands on the ground, or on the belt, level, (3,) [m]."""
    rows = _select_flat(motion, stance)
    seconds = np.arange(rows.start, rows.stop)[:, None] / motion.fps
    ahead = motion.ahead.mean(axis=0)  # on a belt nobody turns
    place = motion.heel_m[rows, stance.foot] + belt_m_s * seconds * ahead / np.linalg.norm(ahead)
    return np.asarray(np.median(place, axis=0) * (1.0, 0.0, 1.0))


def _share_stride(stances: Sequence[_Stance], k: int) -> tuple[float, float]:
    """Return the shares of the stride from stance k on in which its foot, and both feet, are on the ground; nan if not known."""
    own = stances[k]
    after = next((stance for stance in stances[k + 1 :] if stance.foot == own.foot), None)
    between = [stance for stance in stances[k + 1 :] if stance.foot != own.foot and after and stance.begin_s < after.begin_s]
    before = stances[k - 1] if k and stances[k - 1].foot != own.foot else None
    stride_s = np.nan if after is None else after.begin_s - own.begin_s
    if np.isnan(own.end_s) or not stride_s < 2.0 * STEP_S[1]:
        return np.nan, np.nan
    share = (own.end_s - own.begin_s) / stride_s
    if len(between) != 1 or before is None or np.isnan(before.end_s):
        return share, np.nan
    both_s = max(before.end_s - own.begin_s, 0.0) + max(own.end_s - between[0].begin_s, 0.0)
    return share, both_s / stride_s


# Of what symmetry is told, and how figures are written: name, unit, digits, factor.
FIGURES = (
    ("step length", "m", 3, 1.0),
    ("step time", "s", 3, 1.0),
    ("step width", "m", 3, 1.0),
    ("stride length", "m", 3, 1.0),
    ("stride time", "s", 3, 1.0),
    ("stance", "% of stride", 1, 100.0),
    ("double support", "% of stride", 1, 100.0),
    ("cadence", "steps/min", 1, 1.0),
    ("speed", "m/s", 3, 1.0),
)


def tabulate_figures(report: GaitReport, foot: int) -> dict[str, Floats]:
    """Return the values of each figure over the steps of a foot, without those that are not known."""
    rows = [step for step in report.steps if step.foot == foot]
    table = np.array([[s.length_m, s.step_s, s.width_m, s.stride_m, s.stride_s, s.stance_share, s.double_share] for s in rows])
    table = table.reshape(len(rows), 7)
    columns = [*table.T, 60.0 / table[:, 1], table[:, 3] / table[:, 4]]
    return {name: column[np.isfinite(column)] for (name, *_), column in zip(FIGURES, columns, strict=True)}


def format_gait(report: GaitReport) -> Iterator[str]:
    """Yield the lines that are printed: mean and standard deviation of either side, and their asymmetry."""
    counts = [sum(step.foot == foot for step in report.steps) for foot in range(len(SIDES))]
    where = f"on a treadmill at {report.belt_m_s:.2f} m/s" if report.belt_m_s else "over ground"
    yield f"{counts[0]} strikes of the left foot, {counts[1]} of the right, {where}"
    yield f"{'':<28}{'left':>18}{'right':>18}{'asymmetry %':>14}"
    sides = [tabulate_figures(report, foot) for foot in range(len(SIDES))]
    for name, unit, digits, factor in FIGURES:
        values = [factor * side[name] for side in sides]
        cells = "".join(f"{_format_spread(each, digits):>18}" for each in values)
        yield f"{f'{name}, {unit}':<28}{cells}{_format_asymmetry(*values):>14}"


def _format_spread(values: Floats, digits: int) -> str:
    """Return mean and standard deviation in words."""
    if not len(values):
        return "-"
    return f"{values.mean():.{digits}f}" + (f" +- {values.std(ddof=1):.{digits}f}" if len(values) > 1 else "")


def _format_asymmetry(left: Floats, right: Floats) -> str:
    """Return the symmetry index 100 (left - right) / mean of both (Robinson et al. 1987)."""
    if not len(left) or not len(right):
        return "-"
    return f"{200.0 * (left.mean() - right.mean()) / (left.mean() + right.mean()):+.1f}"


def format_steps_csv(report: GaitReport) -> str:
    """Return the steps as the text of a CSV file, one a row; cells of what is not known are empty."""
    names = (
        "foot,strike_s,step_time_s,stride_time_s,step_length_m,step_width_m,stride_length_m,stance_percent,double_support_percent"
    )
    lines = [names]
    for step in report.steps:
        values = (step.strike_s, step.step_s, step.stride_s, step.length_m, step.width_m, step.stride_m)
        shares = (100.0 * step.stance_share, 100.0 * step.double_share)
        cells = ("" if np.isnan(value) else f"{value:.4f}" for value in (*values, *shares))
        lines.append(",".join([SIDES[step.foot], *cells]))
    return "\n".join(lines) + "\n"
