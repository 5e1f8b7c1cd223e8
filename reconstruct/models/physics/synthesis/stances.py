"""Which parts of the feet carry weight in a motion, sought: contacts are unknowns of the energy, as poses are.

For a given motion the terms of the energy that depend on contacts are sums over frames: what the contacts there cannot give of
the force that the body needs, how far parts in contact are off the ground, and how fast they move. So the best contacts are found
by dynamic programming over the ways a foot stands, with a price for each change. Solving for the motion and for the contacts in
turn moves times of contacts, and with them the footholds. A motion that does not obey yet needs forces that are far off: the
force counts less here than in the energy, and a frame hardly more than a foot that is some centimetres off.
"""

from dataclasses import dataclass
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
FAR_M = 0.15  # higher feet are not tried


@dataclass(frozen=True, slots=True)
class _FootCosts:
    """What parts of the feet cost in contact, (N, 2, 3), and which are near enough, (N, 2)."""

    part: Floats
    near: Bools


def seek_contacts(energy: MotionEnergy, q: Floats, held: int = 0) -> Bools:
    """Return the contacts that suit a motion best, (N, 2, 3).

    Args:
        energy: energy of the motion, with the contacts so far.
        q: the motion, (N, 95).
        held: number of frames at the beginning whose contacts stay.
    """
    motion = energy.kinematics(q)
    feet = _compute_foot_costs(energy, motion)
    parts = energy.problem.parts
    cost = _compute_force_costs(energy, motion, feet)
    cost += np.einsum("nfp,sfp->ns", feet.part, STANCES.astype(float))
    cost += OTHER * (parts[:, None] != STANCES).sum(axis=(2, 3))
    cost[:held] += np.where((parts[:held, None] == STANCES).all(axis=(2, 3)), 0.0, 1e6)
    apart = CHANGE * (STANCES[:, None] != STANCES).sum(axis=(2, 3))
    return STANCES[_find_cheapest_way(cost, apart)]


def _compute_foot_costs(energy: MotionEnergy, motion: MotionKinematics) -> _FootCosts:
    """Return what contacts cost by their heights and speeds; next to the ends of a contact the energy asks nothing of them."""
    problem, points = energy.problem, energy.problem.body.contacts
    p = motion.point_m[:, : energy.n_points]
    over, _ = energy.heights_over(p)
    scale = 0.5 * problem.weights.constraints * energy.share
    speed = np.linalg.norm(np.diff(p, axis=0, prepend=p[:1]), axis=2) * problem.fps
    each = scale * ((over / HEIGHT_M) ** 2 + (speed / SLIDE_M_S) ** 2)
    part, height = np.zeros((len(p), N_FEET, N_PARTS)), np.empty((len(p), N_FEET, N_PARTS))
    for foot, k in product(range(N_FEET), range(N_PARTS)):
        rows = (points.foot == foot) & (points.part == k)
        part[:, foot, k], height[:, foot, k] = each[:, rows].sum(axis=1), over[:, rows].min(axis=1)
    edge = max(1, round(EDGE_S * problem.fps))
    return _FootCosts(minimum_filter1d(part, 2 * edge + 1, axis=0, mode="nearest"), height.min(axis=2) < FAR_M)


def _compute_force_costs(energy: MotionEnergy, motion: MotionKinematics, feet: _FootCosts) -> Floats:
    """Return what the force that the ground cannot give costs in each stance, (N, S)."""
    points = energy.problem.body.contacts
    need, A, _ = energy.wrench(motion)
    unit = energy.wrench_unit / energy.wrench_unit[0] * FORCE * energy.problem.weight_n / np.sqrt(energy.share)
    r, scaled = need / unit, A * energy.problem.weight_n / unit[:, None]
    out = np.full((len(motion.q), len(STANCES)), 1e6)
    inner = out[1:-1]
    inner[:, 0] = 0.5 * (r**2).sum(axis=1)
    for s in range(1, len(STANCES)):
        stance = STANCES[s]
        rows = np.flatnonzero((feet.near[1:-1] | ~stance.any(axis=1)).all(axis=1))
        if len(rows):
            carrying = np.repeat(stance[points.foot, points.part], N_EDGES)
            even = np.full((len(rows), int(carrying.sum())), EVEN * energy.share)
            loads = share_loads(scaled[rows][:, :, carrying], r[rows], even)
            inner[rows, s] = 0.5 * ((loads.residual**2).sum(axis=1) + (even * loads.weight**2).sum(axis=1))
    inner[:] = np.where(inner < 1e6, MOST * np.log1p(inner / MOST), inner)
    out[0], out[-1] = out[1], out[-2]
    return out


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
