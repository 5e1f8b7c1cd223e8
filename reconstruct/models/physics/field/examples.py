"""The nearest stretch of an example to a motion that is wanted, and how motions differ from it.

Of all stretches of the motions that a force field was learned from, that one is taken whose ends are most like two poses, whose
hips go as far and turn as much, and whose contacts are most like those that are wanted. Its time is stretched, it is turned and
moved as a whole, and becomes either pose next to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from config.arrays import Bools, Floats, Ints, Singles
from config.joints import N_JOINTS
from database.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix, rotation_about
from reconstruct.models.physics.contacts import compute_part_positions
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics
from reconstruct.models.physics.field.field import ExampleMotions
from reconstruct.models.physics.field.state import N_POSE, Units, compute_states

STRETCH = 1.6  # of an example's time, at most, and its inverse
ANGLE_RAD, PLACE_M, TURN_RAD, TEMPO, CONTACT = 0.15, 0.15, 0.25, 0.2, 0.25  # deviations that count 1
SAMPLES = 12  # frames at which contacts are compared
NEAREST = 40  # candidates for either end of a stretch, in each example
LEARNED_S, EVERY_S = (0.9, 1.2, 1.5), 1.5  # lengths of the stretches that deviations are learned of; between their beginnings
ALIKE = 2.5  # distance of examples that deviations are learned of, at most
USUAL_M, USUAL_RAD, USUAL_COUNT = 0.02, 0.06, 5.0  # deviations before any is known, worth as many stretches
AVERAGED = 5  # examples, at most
LEAST_DISTANCE = 0.3  # hardly any example is nearer to another performer's motion
FAR = 10.0  # distance where no example is long or short enough
BEND_S = 0.6  # the pose of an example becomes that of an end within this time
LEAST = 0.01  # rad or m, added to every deviation


@dataclass(frozen=True, slots=True)
class ExampleBank:
    """The examples, with the values that are compared.

    Poses (F, 70) of `compute_states`, places in the plane (F, 2), headings (F,).
    """

    examples: ExampleMotions
    pose: Floats
    place: Floats
    heading: Floats
    units: Units

    def compute_pose_states(self, q: Floats) -> Floats:
        """Return the part of the states of configurations (N, 95) that is pose, (N, 70)."""
        return compute_pose_states(q, self.units)


def build_example_bank(examples: ExampleMotions, dynamics: Dynamics, units: Units) -> ExampleBank:
    """Return the examples with the values that are compared, each as high over the ground as this body's legs are long.

    Args:
        examples: motions of any performers.
        dynamics: equations of motion of the body that is to move like them.
        units: units of states.
    """
    q = examples.q.astype(np.float64)
    height = compute_part_positions(dynamics.points, dynamics.contact_positions(q))[..., 1]
    for (a, b), level_m in zip(pairwise(examples.start.tolist()), examples.level_m, strict=True):
        over = (height[a:b] - level_m)[examples.parts[a:b]]
        q[a:b, 1] -= np.median(over) if len(over) else 0.0
    examples = replace(examples, q=q.astype(np.float32))
    return ExampleBank(examples, compute_pose_states(q, units), q[:, [0, 2]], compute_heading_rad(q), units)


def compute_pose_states(q: Floats, units: Units) -> Floats:
    """Return the part of states that is pose, (N, 70)."""
    return compute_states(q, np.zeros((len(q), N_TANGENT)), 0.0, units)[:, :N_POSE]


def compute_heading_rad(q: Floats) -> Floats:
    """Return the angle about Y of where the hips face, (N,) [rad]."""
    ahead = matrix_from_quaternion(q[:, 3:7])[:, :, 2]
    return np.asarray(np.arctan2(ahead[:, 0], ahead[:, 2]))


def find_nearest_stretch(
    bank: ExampleBank,
    first: Floats,
    last: Floats,
    seconds: float,
    wanted: Bools | None,
    motions: Sequence[int] | None = None,
) -> tuple[tuple[int, int], float]:
    """Return the rows of the nearest stretch of an example, and its distance.

    Args:
        bank: the examples.
        first: pose it begins near, (95,).
        last: pose it ends near, (95,).
        seconds: length of the stretch [s].
        wanted: contacts, (N, 2, 3), None for any.
        motions: those that are looked through, None for all.
    """
    both = np.array((first, last))
    target = bank.compute_pose_states(both)
    turn, shift = compute_relative_places(
        both[:1, [0, 2]], compute_heading_rad(both[:1]), both[1:, [0, 2]], compute_heading_rad(both[1:])
    )
    apart = [np.sqrt(((bank.pose - row) ** 2).mean(axis=1)) / ANGLE_RAD for row in target]
    best, least = (0, 1), np.inf
    examples, frames = bank.examples, seconds * bank.examples.fps
    ranges = list(pairwise(examples.start.tolist()))
    for start, stop in ranges if motions is None else [ranges[k] for k in motions]:
        firsts = start + np.argsort(apart[0][start:stop], kind="stable")[:NEAREST]
        lasts = start + np.argsort(apart[1][start:stop], kind="stable")[:NEAREST]
        a, b = (grid.ravel() for grid in np.meshgrid(firsts, lasts))
        allowed = (b - a + 1 > frames / STRETCH) & (b - a + 1 < frames * STRETCH) & (b - a >= 2)
        a, b = a[allowed], b[allowed]
        if not len(a):
            continue
        turned, moved = compute_relative_places(bank.place[a], bank.heading[a], bank.place[b], bank.heading[b])
        cost = apart[0][a] ** 2 + apart[1][b] ** 2
        cost += ((moved - shift) ** 2).sum(axis=1) / PLACE_M**2
        cost += (np.angle(np.exp(1j * (turned - turn))) / TURN_RAD) ** 2 + (np.log((b - a + 1) / frames) / TEMPO) ** 2
        if wanted is not None:
            cost += _compute_contact_cost(examples.parts, a, b, wanted)
        k = int(np.argmin(cost))
        if cost[k] < least:
            best, least = (int(a[k]), int(b[k])), float(cost[k])
    if not np.isfinite(least):
        best, least = _choose_longest_example(examples, frames), FAR**2
    return best, float(np.sqrt(least))


def _compute_contact_cost(parts: Bools, a: Ints, b: Ints, wanted: Bools) -> Floats:
    """Return how unlike those wanted, (N, 2, 3), the contacts of stretches from rows a to rows b are, (C,)."""
    share = np.linspace(0.0, 1.0, SAMPLES)
    rows = np.rint(a[:, None] + share * (b - a)[:, None]).astype(int)
    here = wanted[np.rint(share * (len(wanted) - 1)).astype(int)]
    return np.asarray(((parts[rows] != here).mean(axis=(1, 2, 3)) / CONTACT) ** 2 * 4.0)


def _choose_longest_example(examples: ExampleMotions, frames: float) -> tuple[int, int]:
    """Return the longest example, as much of it as is wanted: where none can be stretched enough."""
    lengths = np.diff(examples.start)
    k = int(np.argmax(lengths))
    first = int(examples.start[k])
    return first, first + min(int(lengths[k]) - 1, max(2, round(frames) - 1))


def average_examples(
    dynamics: Dynamics,
    bank: ExampleBank,
    nearest: tuple[Floats, float],
    seconds: float,
    wanted: Bools | None,
    others: Sequence[int],
) -> tuple[Floats, Floats]:
    """Return the mean of the nearest examples between two poses, (N, 95), and their spread about it, (N, K, 72).

    They count by their likelihoods exp(-distance^2 / 2). The spread is of differences from the mean, times the roots of shares.

    Args:
        dynamics: the body's equations of motion.
        bank: the examples.
        nearest: the nearest of all, bent to the poses, (N, 95), and its distance.
        seconds: length of the motion [s].
        wanted: contacts, (N, 2, 3), None for any.
        others: motions that the others are sought in, the nearest stretch of each.
    """
    q, least = nearest
    found = [find_nearest_stretch(bank, q[0], q[-1], seconds, wanted, [k]) for k in others]
    found = sorted((each for each in found if each[1] < FAR), key=lambda each: each[1])[: AVERAGED - 1]
    bend = round(BEND_S * len(q) / seconds)
    share, d = np.zeros(AVERAGED), np.zeros((len(q), AVERAGED, N_TANGENT))
    share[0] = 1.0
    for c, (ends, distance) in enumerate(found, 1):
        share[c] = np.exp(-0.5 * (distance**2 - least**2))
        other = bend_stretch(dynamics, sample_configurations(bank.examples.q, np.linspace(*ends, len(q))), q[[0, -1]], bend)
        d[:, c] = dynamics.difference(q, other)
    share /= share.sum()
    mean = share @ d
    return dynamics.integrate(q, mean), np.sqrt(share)[:, None] * (d - mean[:, None])


def compute_nearness(bank: ExampleBank, performers: Sequence[str], dynamics: Dynamics) -> Floats:
    """Return L (72, 72): |L d|^2 is how unlikely a motion is that differs by d from the mean of its nearest examples.

    Every stretch of the examples is compared with the nearest ones of other performers (of other motions, where there is one
    performer); L'L is the inverse of the covariance of the differences, in the tangent space, per distance of the nearest.

    Args:
        bank: the examples.
        performers: performer of each motion.
        dynamics: the body's equations of motion.
    """
    examples = bank.examples
    squares = USUAL_COUNT * np.diag(np.repeat([USUAL_M**2, USUAL_RAD**2], [3, N_TANGENT - 3]))
    count = USUAL_COUNT
    alone = len(set(performers)) == 1
    for c, (start, stop) in enumerate(pairwise(examples.start.tolist())):
        others = [k for k in range(len(performers)) if (k != c if alone else performers[k] != performers[c])]
        for n in (round(seconds * examples.fps) for seconds in LEARNED_S):
            for first in range(start, stop - n, round(EVERY_S * examples.fps)) if others else ():
                real, parts = examples.q[first : first + n].astype(np.float64), examples.parts[first : first + n]
                seconds = n / examples.fps
                stretch, distance = find_nearest_stretch(bank, real[0], real[-1], seconds, parts, others)
                if distance < ALIKE:
                    rows, bend = np.linspace(*stretch, n), round(BEND_S * examples.fps)
                    near = bend_stretch(dynamics, sample_configurations(examples.q, rows), real[[0, -1]], bend)
                    own = int(np.searchsorted(examples.start, stretch[0], side="right")) - 1
                    rest = [k for k in others if k != own]
                    near, _ = average_examples(dynamics, bank, (near, distance), seconds, parts, rest)
                    d = dynamics.difference(near, real) / max(LEAST_DISTANCE, distance)
                    squares += d.T @ d / n
                    count += 1.0
    values, vectors = np.linalg.eigh(squares / count + LEAST**2 * np.eye(N_TANGENT))
    return np.ascontiguousarray((vectors / np.sqrt(values)) @ vectors.T)


def compute_relative_places(place: Floats, heading: Floats, to_place: Floats, to_heading: Floats) -> tuple[Floats, Floats]:
    """Return turns (N,) and shifts (N, 2) from one to the other, seen from the first heading."""
    d = to_place - place
    c, s = np.cos(heading), np.sin(heading)
    shift = np.stack([c * d[:, 0] - s * d[:, 1], s * d[:, 0] + c * d[:, 1]], axis=1)
    return np.asarray(to_heading - heading), shift


def sample_configurations(q: Floats | Singles, rows: Floats) -> Floats:
    """Return configurations at rows between the frames, (N, 95)."""
    low = np.minimum(rows.astype(int), len(q) - 2)
    share = rows - low
    a, b = q[low].astype(np.float64), q[low + 1].astype(np.float64)
    first, second = (each[:, 3:].reshape(len(rows), N_JOINTS, 4) for each in (a, b))
    second = second * np.where((first * second).sum(axis=2, keepdims=True) < 0.0, -1.0, 1.0)
    mixed = (1.0 - share[:, None, None]) * first + share[:, None, None] * second
    mixed /= np.linalg.norm(mixed, axis=2, keepdims=True)
    root = a[:, :3] + share[:, None] * (b[:, :3] - a[:, :3])
    return np.concatenate([root, mixed.reshape(len(rows), -1)], axis=1)


def bend_stretch(dynamics: Dynamics, q: Floats, ends: Floats, frames: int) -> Floats:
    """Return a stretch moved and bent so that it begins and ends with two poses.

    Place and heading change along all of it; the rest of the difference is shared out next to the ends, as a body that is higher
    or bends its knees at an end does so only there.

    Args:
        dynamics: the body's equations of motion.
        q: configurations of the stretch, (N, 95).
        ends: the poses it begins and ends with, (2, 95).
        frames: frames over which the rest is shared out at either end.
    """
    moved = _place_stretch(q, ends[0], ends[1])
    first, last = dynamics.difference(moved[[0, -1]], ends)
    share = np.zeros((len(q), 1))
    share[: min(frames, len(q)), 0] = compute_fade(min(frames, len(q)))
    return dynamics.integrate(moved, share * first + share[::-1] * last)


def compute_fade(n: int) -> Floats:
    """Return shares from 1 to 0 without velocity at the ends, (n,)."""
    share = np.linspace(0.0, 1.0, n) if n > 1 else np.zeros(n)
    return np.asarray(1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2))


def _place_stretch(q: Floats, first: Floats, last: Floats) -> Floats:
    """Return a stretch turned about Y by the mean turn that its ends need, its places through those of the two poses."""
    wanted, have = compute_heading_rad(np.array([first, last])), compute_heading_rad(q[[0, -1]])
    turn = wanted[0] - have[0]
    end = np.angle(np.exp(1j * (wanted[1] - have[1] - turn)))
    chord, new = q[-1, [0, 2]] - q[0, [0, 2]], last[[0, 2]] - first[[0, 2]]
    if np.linalg.norm(chord) > 0.3 and np.linalg.norm(new) > 0.3:
        place_turn = np.arctan2(new[0], new[1]) - np.arctan2(chord[0], chord[1])
    else:
        place_turn = turn
    share = np.linspace(0.0, 1.0, len(q))
    R = rotation_about((0.0, 1.0, 0.0), turn + share * end)
    P = rotation_about((0.0, 1.0, 0.0), place_turn)
    root = (q[:, :3] - q[0, :3]) @ P.T
    root[:, 1] = q[:, 1]
    root[:, [0, 2]] += first[[0, 2]] + share[:, None] * (last[[0, 2]] - first[[0, 2]] - root[-1, [0, 2]])
    out = q.copy()
    out[:, :3] = root
    out[:, 3:7] = quaternion_from_matrix(R @ matrix_from_quaternion(q[:, 3:7]))
    return out


def place_rigidly(q: Floats, pose: Floats) -> Floats:
    """Return a stretch (N, 95) turned about Y and moved in the plane so that it begins where a pose (95,) stands and faces."""
    turn = compute_heading_rad(np.array([pose])) - compute_heading_rad(q[:1])
    R = rotation_about((0.0, 1.0, 0.0), turn[0])
    out = q.copy()
    out[:, :3] = (q[:, :3] - q[0, :3]) @ R.T
    out[:, 1] = q[:, 1]
    out[:, [0, 2]] += pose[[0, 2]]
    out[:, 3:7] = quaternion_from_matrix(R @ matrix_from_quaternion(q[:, 3:7]))
    return out
