"""Which parts of the feet carry weight in a motion, sought: contacts are unknowns of the energy, as poses are.

For a given motion the terms of the energy that depend on contacts are sums over frames: what the contacts there cannot give of
the force that the body needs, how far parts in contact are off the ground, and how fast they move. So the best contacts are found
by dynamic programming over the ways a foot stands, with a price for each change. Solving for the motion and for the contacts in
turn moves times of contacts, and with them the footholds. A motion that does not obey yet needs forces that are far off: the
force counts less here than in the energy, and a frame hardly more than a foot that is some centimetres off.
"""

from itertools import product

import numpy as np
from scipy.ndimage import minimum_filter1d

from config.arrays import Bools, Floats, Ints
from reconstruct.models.physics.contacts import N_FEET, N_PARTS
from reconstruct.models.physics.friction import N_EDGES
from reconstruct.models.physics.synthesis.energy import EDGE_S, EVEN, MotionEnergy
from reconstruct.models.physics.synthesis.kinematics import MotionKinematics
from reconstruct.models.physics.synthesis.loads import share_loads
from reconstruct.models.physics.synthesis.problem import HEIGHT_M, SLIDE_M_S

# Ways a foot stands, by heel, ball and tip, as it rolls.
ROLLS = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], bool)
STANCES = np.array(list(product(ROLLS, repeat=N_FEET)))  # of both feet, (S, 2, 3)
FORCE = 0.1  # of the weight: force that is missing in a motion which does not obey yet and counts 1
MOST = 20.0  # a frame costs hardly more for its force: a foot 3 cm off costs as much at 60 Hz
CHANGE = 2.0  # of a part that comes down or leaves
OTHER = 0.05  # of a part that is not as it was: what nothing decides stays
OUT_OF_QUESTION = 1e6


def seek_contacts(energy: MotionEnergy, q: Floats, held: int = 0) -> Bools:
    """Return the contacts that suit a motion best, (N, 2, 3).

    Args:
        energy: energy of the motion, with the contacts so far.
        q: the motion, (N, 95).
        held: number of frames at the beginning whose contacts stay.
    """
    motion = energy.kinematics(q)
    parts = energy.problem.parts
    cost = np.einsum("nfp,sfp->ns", _compute_part_costs(energy, motion), STANCES.astype(float))
    cost += _compute_force_costs(energy, motion, cost)
    cost += OTHER * (parts[:, None] != STANCES).sum(axis=(2, 3))
    cost[:held] += np.where((parts[:held, None] == STANCES).all(axis=(2, 3)), 0.0, OUT_OF_QUESTION)
    apart = CHANGE * (STANCES[:, None] != STANCES).sum(axis=(2, 3))
    return STANCES[_find_cheapest_way(cost, apart)]


def _compute_part_costs(energy: MotionEnergy, motion: MotionKinematics) -> Floats:
    """Return what parts of the feet cost in contact by their heights and speeds, (N, 2, 3): next to the ends of a contact, as the
    energy has it, nothing."""
    problem, points = energy.problem, energy.problem.body.contacts
    p = motion.point_m[:, : energy.n_points]
    over, _ = energy.heights_over(p)
    scale = 0.5 * problem.weights.constraints * energy.share
    speed = np.linalg.norm(np.diff(p, axis=0, prepend=p[:1]), axis=2) * problem.fps
    each = scale * ((over / HEIGHT_M) ** 2 + (speed / SLIDE_M_S) ** 2)
    out = np.empty((len(p), N_FEET, N_PARTS))
    for foot, part in product(range(N_FEET), range(N_PARTS)):
        out[:, foot, part] = each[:, (points.foot == foot) & (points.part == part)].sum(axis=1)
    edge = max(1, round(EDGE_S * problem.fps))
    return np.asarray(minimum_filter1d(out, 2 * edge + 1, axis=0, mode="nearest"))


def _compute_force_costs(energy: MotionEnergy, motion: MotionKinematics, feet: Floats) -> Floats:
    """Return what the force that the ground cannot give costs in each stance, (N, S).

    Stances whose feet cost more than to be without any are not looked at.

    Args:
        energy: energy of the motion.
        motion: its kinematics.
        feet: what the feet cost in each stance, (N, S).
    """
    points = energy.problem.body.contacts
    need, A, _ = energy.wrench(motion)
    unit = energy.wrench_unit / energy.wrench_unit[0] * FORCE * energy.problem.weight_n / np.sqrt(energy.share)
    r, scaled = need / unit, A * energy.problem.weight_n / unit[:, None]
    out = np.full(feet.shape, OUT_OF_QUESTION)
    inner = out[1:-1]
    inner[:, 0] = _bound_cost(0.5 * (r**2).sum(axis=1))
    enough = inner[:, 0] + 2.0 * CHANGE * STANCES[0].size
    for s in range(1, len(STANCES)):
        rows = np.flatnonzero(feet[1:-1, s] < enough)
        if len(rows):
            carrying = np.repeat(STANCES[s][points.foot, points.part], N_EDGES)
            even = np.full((len(rows), int(carrying.sum())), EVEN * energy.share)
            loads = share_loads(scaled[rows][:, :, carrying], r[rows], even)
            inner[rows, s] = _bound_cost(0.5 * ((loads.residual**2).sum(axis=1) + (even * loads.weight**2).sum(axis=1)))
    out[0], out[-1] = out[1], out[-2]
    return out


def _bound_cost(cost: Floats) -> Floats:
    """Return costs of forces that grow ever less, (...)."""
    return np.asarray(MOST * np.log1p(cost / MOST))


def _find_cheapest_way(cost: Floats, apart: Floats) -> Ints:
    """Return the stance of each frame, (N,).

    Args:
        cost: of each stance, (N, S).
        apart: of a change from one to another, (S, S).
    """
    total, came = cost[0].copy(), np.zeros(cost.shape, int)
    for n in range(1, len(cost)):
        ways = total[:, None] + apart
        came[n] = ways.argmin(axis=0)
        total = ways[came[n], np.arange(len(total))] + cost[n]
    out = np.empty(len(cost), int)
    out[-1] = int(total.argmin())
    for n in range(len(cost) - 1, 0, -1):
        out[n - 1] = came[n, out[n]]
    return out
