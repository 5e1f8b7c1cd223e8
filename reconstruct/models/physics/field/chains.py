"""A chain of stretches of examples between two poses, of any length: a walk in a motion graph.

One stretch of one example is too short for most of what is asked, and seldom goes as far or turns as much. Examples are cut into
steps of a tenth of a second; after each a chain goes on in its example, or in one that is nearly the same there (Kovar et al.
2002, Motion graphs), or stays as it is where a body stands. Of all chains of the wanted length that one is taken whose ends are
most like the two poses, which goes as far and turns as much, which keeps to the ways of moving that its two poses are of, whose
contacts are most like those that are wanted, whose changes of example show least, and whose centre of mass is borne by the ground
that there is: on ice by short steps, on the moon by slow ones. Where the hips have a way to follow, it follows it.
"""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Bools, Floats, Ints
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics
from reconstruct.models.physics.field.examples import (
    ANGLE_RAD,
    BEND_S,
    CONTACT,
    FAR,
    PLACE_M,
    TEMPO,
    TURN_RAD,
    ExampleBank,
    bend_stretch,
    compute_fade,
    compute_heading_rad,
    compute_relative_places,
    find_nearest_stretch,
    place_rigidly,
    sample_configurations,
)
from reconstruct.models.physics.field.graph import STEP_S, MotionGraph
from reconstruct.models.physics.field.state import compute_similar_tempo

TEMPOS = (0.85, 1.0, 1.18)  # of the examples, about the usual one and that of dynamic similarity
BRANCHES = 4  # chains kept that end with the same step
WAY_M = 0.3  # a second this far off a way counts 1
STEADY_M_S, STEADY_RAD_S = 0.4, 0.5  # deviations of mean speed and turning of the rest of a chain from those of its beginning
BORNE = 0.1  # of the weight: force on the centre of mass that the ground cannot give, which counts 1
STYLE_S = 1.0  # so long in another way of moving, one deviation beyond, counts 1
BLEND_S = 0.25  # a difference at a change is shared out over this time, before and after


@dataclass(frozen=True, slots=True)
class Ground:
    """What bears a body: acceleration of gravity [m/s^2] and coefficient of friction."""

    gravity_m_s2: float
    friction: float


@dataclass(frozen=True, slots=True)
class ExampleChain:
    """Stretches of examples, one after the other.

    Attributes:
        first: rows the stretches begin with, (C,).
        last: rows they end with, (C,); the next stretch begins with about the same pose.
        frames: frames that each lasts, (C,); more than it has where the body stays.
        distance: how unlike what is wanted, in deviations.
    """

    first: Ints
    last: Ints
    frames: Ints
    distance: float


@dataclass(frozen=True, slots=True)
class _Walks:
    """Chains so far: their last steps (W,), costs, places (W, 2) and turns since the beginning, and which each came from."""

    step: Ints
    cost: Floats
    place: Floats
    turn: Floats
    parent: Ints


def find_nearest_chain(
    graph: MotionGraph,
    first: Floats,
    last: Floats,
    seconds: float,
    wanted: Bools | None,
    ground: Ground,
    way_m: Floats | None = None,
) -> ExampleChain:
    """Return the nearest chain of examples.

    Args:
        graph: motion graph of the examples.
        first: pose it begins near, (95,).
        last: pose it ends near, (95,).
        seconds: length of the chain [s].
        wanted: contacts, (N, 2, 3), None for any.
        ground: what bears the body.
        way_m: where its hips go at equal times, (K, 2) [m] in the plane, None for anywhere.
    """
    tempos = sorted({tempo * usual for tempo in TEMPOS for usual in (1.0, compute_similar_tempo(ground.gravity_m_s2))})
    (begin, end), begin_to_end = find_nearest_stretch(graph.bank, first, last, seconds, wanted)  # to the frame, at any tempo
    n = max(1, round((end - begin) / graph.length))
    whole = np.clip(np.searchsorted(graph.row, begin + graph.length * np.arange(n), side="right") - 1, 0, None)
    unborne = _compute_unborne_costs(graph, (end - begin) / (seconds * graph.bank.examples.fps), ground)
    distance = float(np.hypot(begin_to_end, np.sqrt(unborne[whole].mean())))
    found = [ExampleChain(np.array([begin]), np.array([end]), np.array([end - begin]), distance)]
    if way_m is not None or begin_to_end >= FAR:  # a single stretch follows no way, and may be of another length
        found = []
    found += [_find_chain_at_tempo(graph, (first, last), seconds, tempo, wanted, ground, way_m) for tempo in tempos]
    return min(found, key=lambda chain: chain.distance)


def _compute_unborne_costs(graph: MotionGraph, tempo: float, ground: Ground) -> Floats:
    """Return how much of the force on the centre of mass the ground cannot give in each step at a tempo, (S,)."""
    along, up = np.moveaxis(tempo**2 * graph.push_m_s2, 2, 0)
    pressed = np.where(graph.down, np.maximum(up + ground.gravity_m_s2, 0.0), 0.0)
    missing = np.hypot(np.maximum(along - ground.friction * pressed, 0.0), up + ground.gravity_m_s2 - pressed)
    return np.asarray(((missing / (BORNE * max(ground.gravity_m_s2, 1.0))) ** 2).mean(axis=1))


def _find_chain_at_tempo(
    graph: MotionGraph,
    ends_at: tuple[Floats, Floats],
    seconds: float,
    tempo: float,
    wanted: Bools | None,
    ground: Ground,
    way_m: Floats | None,
) -> ExampleChain:
    """Return the nearest chain of examples between two poses, played at a tempo."""
    bank = graph.bank
    n = max(1, round(seconds * tempo * bank.examples.fps / graph.length))
    both = np.array(ends_at)
    target = bank.compute_pose_states(both)
    heading = compute_heading_rad(both)
    turn, shift = compute_relative_places(both[:1, [0, 2]], heading[:1], both[1:, [0, 2]], heading[1:])
    wanted_turn, wanted_shift = float(np.angle(np.exp(1j * turn[0]))), shift[0]
    way = None if way_m is None else _sample_way(way_m, heading[0], n)
    begins, ends = (
        ((bank.pose[rows] - pose) ** 2).mean(axis=1) / ANGLE_RAD**2
        for rows, pose in ((graph.row, target[0]), (graph.row + graph.length, target[1]))
    )
    unlike = _compute_contact_costs(graph, n, wanted) + _compute_unborne_costs(graph, tempo, ground) / n
    unlike = unlike + _compute_style_costs(graph, begins, ends)
    to_go = _compute_costs_to_go(graph, ends, unlike)
    steps = np.arange(len(graph.row))
    walks = _Walks(steps, begins + unlike[0], graph.shift.copy(), graph.turn.copy(), np.full(len(steps), -1))
    history = [walks]
    for k in range(1, n):
        walks = _extend_walks(graph, walks, unlike[k])
        if way is not None:
            off = ((walks.place - way[k]) ** 2).sum(axis=1) / WAY_M**2
            walks = replace(walks, cost=walks.cost + STEP_S * off)
        rest_s = (n - 1 - k) * STEP_S if way is None else 0.0
        ends_with = wanted_shift if way is None else way[k]
        heads_to = wanted_turn if way is None else walks.turn
        guess = walks.cost + to_go[k][walks.step]
        guess = guess + _compute_place_costs(walks, (k + 1) * STEP_S, rest_s, ends_with, heads_to)
        walks = _keep_best(walks, guess)
        history.append(walks)
    total = walks.cost + ends[walks.step] + _compute_place_costs(walks, n * STEP_S, 0.0, wanted_shift, wanted_turn)
    usual = np.log([1.0, compute_similar_tempo(ground.gravity_m_s2)])
    total = total + (np.abs(np.log(n * graph.length / (seconds * bank.examples.fps)) - usual).min() / TEMPO) ** 2
    best = int(np.argmin(total))
    return _trace_chain(graph, history, best, float(np.sqrt(total[best])))


def _sample_way(way_m: Floats, heading: float, n: int) -> Floats:
    """Return where each of n steps of a chain ends on a way, seen from its beginning and the heading there, (n, 2) [m]."""
    rows = np.arange(1, n + 1) / n * (len(way_m) - 1)
    places = np.stack([np.interp(rows, np.arange(len(way_m)), column) for column in way_m.T], axis=1)
    start, headings = np.repeat(way_m[:1], n, axis=0), np.full(n, heading)
    return compute_relative_places(start, headings, places, headings)[1]


def _compute_contact_costs(graph: MotionGraph, n: int, wanted: Bools | None) -> Floats:
    """Return how unlike those wanted, (N, 2, 3), the contacts of each step are at each place of a chain of n, (n, S)."""
    if wanted is None:
        return np.zeros((n, len(graph.row)))
    middle = graph.bank.examples.parts[graph.row + graph.length // 2].reshape(len(graph.row), -1)
    frames = np.rint((np.arange(n) + 0.5) / n * (len(wanted) - 1)).astype(int)
    here = wanted[frames].reshape(n, -1)
    return np.asarray((here[:, None] != middle[None]).mean(axis=2) * 4.0 / (CONTACT * n))


def _compute_style_costs(graph: MotionGraph, begins: Floats, ends: Floats) -> Floats:
    """Return what each step costs for a way of moving that is neither that of the first pose nor that of the last, (S,).

    Args:
        graph: motion graph of the examples.
        begins: how unlike the first pose the beginning of each step is, (S,).
        ends: how unlike the last pose its end is, (S,).
    """
    own = graph.motion[[np.argmin(begins), np.argmin(ends)]]
    return np.asarray(graph.unlike[own].min(axis=0)[graph.motion] * STEP_S / STYLE_S)


def _compute_costs_to_go(graph: MotionGraph, ends: Floats, unlike: Floats) -> Floats:
    """Return the least cost of what follows each step at each place of a chain, (n, S), wherever it goes."""
    out = np.empty_like(unlike)
    out[-1] = ends
    for k in range(len(unlike) - 1, 0, -1):
        after = out[k] + unlike[k]
        out[k - 1] = (graph.cost + after[graph.follow]).min(axis=1)
    return out


def _extend_walks(graph: MotionGraph, walks: _Walks, unlike: Floats) -> _Walks:
    """Return walks with every step that may follow."""
    step = graph.follow[walks.step]
    cost = walks.cost[:, None] + graph.cost[walks.step] + unlike[step]
    parent, which = np.nonzero(np.isfinite(cost))
    step, cost = step[parent, which], cost[parent, which]
    c, s = np.cos(walks.turn[parent]), np.sin(walks.turn[parent])
    x, z = graph.shift[step].T
    place = walks.place[parent] + np.stack([c * x + s * z, c * z - s * x], axis=1)
    return _Walks(step, cost, place, walks.turn[parent] + graph.turn[step], parent)


def _compute_place_costs(walks: _Walks, spent_s: float, rest_s: float, shift: Floats, turn: Floats | float) -> Floats:
    """Return how far from its end a chain is expected to be if it goes on and turns as it did, (W,).

    Args:
        walks: chains so far.
        spent_s: their length [s].
        rest_s: what is left [s].
        shift: where they are to end, seen from the beginning, (2,) [m].
        turn: how much they are to turn [rad].
    """
    share = rest_s / spent_s
    off = walks.place * (1.0 + share) - shift
    cost = (off**2).sum(axis=1) / (PLACE_M**2 + (STEADY_M_S * rest_s) ** 2)
    off_turn = np.angle(np.exp(1j * (walks.turn - turn)))
    return np.asarray(cost + off_turn**2 / (TURN_RAD**2 + (STEADY_RAD_S * rest_s) ** 2))


def _keep_best(walks: _Walks, guess: Floats) -> _Walks:
    """Return the likeliest few walks that end with each step."""
    order = np.lexsort((guess, walks.step))
    step = walks.step[order]
    starts = np.flatnonzero(np.r_[True, step[1:] != step[:-1]])
    rank = np.arange(len(step)) - np.repeat(starts, np.diff(np.r_[starts, len(step)]))
    kept = order[rank < BRANCHES]
    return _Walks(walks.step[kept], walks.cost[kept], walks.place[kept], walks.turn[kept], walks.parent[kept])


def _trace_chain(graph: MotionGraph, history: list[_Walks], best: int, distance: float) -> ExampleChain:
    """Return the chain that ends with one of the last walks."""
    steps = []
    for walks in reversed(history):
        steps.append(int(walks.step[best]))
        best = int(walks.parent[best])
    order = np.array(steps[::-1])
    runs = np.flatnonzero(np.r_[True, np.diff(order) != 0])  # a step that is repeated lasts longer
    times = np.diff(np.r_[runs, len(order)])
    row, length = graph.row[order[runs]], graph.length
    cuts = np.flatnonzero((np.diff(row) != length) | (times[1:] > 1) | (times[:-1] > 1)) + 1
    first, last = row[np.r_[0, cuts]], row[np.r_[cuts, len(row)] - 1] + length
    return ExampleChain(first, last, np.maximum(last - first, times[np.r_[0, cuts]] * length), distance)


def lay_chain(dynamics: Dynamics, bank: ExampleBank, chain: ExampleChain, ends: Floats, n: int) -> tuple[Floats, Bools]:
    """Return a chain as a motion between two poses, (N, 95), and its contacts, (N, 2, 3).

    Args:
        dynamics: the body's equations of motion.
        bank: the examples.
        chain: stretches of them.
        ends: poses it begins and ends with, (2, 95).
        n: number N of frames.
    """
    q, parts = list[Floats](), list[Bools]()
    for a, b, frames in zip(chain.first.tolist(), chain.last.tolist(), chain.frames.tolist(), strict=True):
        own = np.linspace(a, b, frames + 1)
        stretch = sample_configurations(bank.examples.q, own)
        if q:
            stretch = _join_stretch(dynamics, q[-1], stretch, round(BLEND_S * bank.examples.fps))
            q[-1] = q[-1][:-1]
            parts[-1] = parts[-1][:-1]
        q.append(stretch)
        parts.append(bank.examples.parts[np.rint(own).astype(int)])
    rows = np.linspace(0.0, sum(map(len, q)) - 1.0, n)
    bend = round(BEND_S * bank.examples.fps * n / (rows[-1] + 1.0))
    motion = sample_configurations(np.concatenate(q), rows)
    return bend_stretch(dynamics, motion, ends, bend), np.concatenate(parts)[np.rint(rows).astype(int)]


def _join_stretch(dynamics: Dynamics, before: Floats, stretch: Floats, frames: int) -> Floats:
    """Return a stretch that begins where the one before ends; `before` is changed so that both meet in the middle.

    Args:
        dynamics: the body's equations of motion.
        before: the stretch before, (M, 95), changed in place.
        stretch: the stretch, (N, 95).
        frames: frames that the difference is shared out over, on either side.
    """
    placed = place_rigidly(stretch, before[-1])
    d = dynamics.difference(placed[:1], before[-1:])[0]  # from the new to the old
    after = 0.5 * compute_fade(min(frames, len(placed)))[:, None] * d
    placed[: len(after)] = dynamics.integrate(placed[: len(after)], after)
    until = -0.5 * compute_fade(min(frames, len(before)))[::-1, None] * d
    before[-len(until) :] = dynamics.integrate(before[-len(until) :], until)
    assert d.shape == (N_TANGENT,)
    return placed
