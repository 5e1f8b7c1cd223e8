"""Kernels of the neighbour graph: pairs of poses closer than a limit, and a uniform sample of each pose's partners.

Coordinates are whole numbers, so that a distance does not depend on the order of summation or the machine. Rows come in segments,
short runs of consecutive poses. With c the centre of a segment and r the largest L1 distance of its poses from c, poses of
segments A and B can be closer than `limit` only if |c_A - c_B| < limit + r_A + r_B, and a pose i of B is closer than `limit` to a
pose of A only if |i - c_A| < limit + r_A (triangle inequality).

A pose keeps the partners of smallest keys. A key is a hash of the ordered pair with the partner in its low bits, so the sample is
uniform, repeatable, independent of the order in which pairs are found, and can be continued when poses are added.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Ints
from config.jit import inline_kernel, kernel

LANES = 16  # rows are padded to a multiple of this: a cache line of int32
TILE = 64  # segments that stay in the first cache while a span is compared with them
PARTNER_BITS = 31
NO_KEY = np.iinfo(np.int64).max

ShortInts = NDArray[np.int32]


class Segments(NamedTuple):
    """Runs of poses: start, the first pose of each and N (S + 1,); centre (S, D); radius (S,)."""

    start: Ints
    centre: ShortInts
    radius: ShortInts


class PoseRows(NamedTuple):
    """Poses to be joined: rows (N, D); follows (N,), whether pose n follows n - 1 in its clip; limit; salt of the keys."""

    rows: ShortInts
    segments: Segments
    follows: Bools
    limit: int
    salt: int


class PartnerTable(NamedTuple):
    """What is known of each pose's partners: the smallest keys, ascending (N, K); the number of partners found, ball (N,)."""

    keys: Ints
    ball: ShortInts


@kernel
def _find_near_rows(
    row: ShortInts, n: int, others: ShortInts, slack: ShortInts, first: int, stop: int, bound: int, out: Ints
) -> int:
    """Write which rows j of `others`, first <= j < stop, have |row[n] - others[j]| < bound + slack[j]; return their number.

    row: (N, D); others: (M, D); slack: (M,), or (0,) for none; out: (>= stop - first,). One call for many rows, since passing
    arrays costs as much as ten distances.
    """
    found = 0
    for j in range(first, stop):
        total = np.int32(0)
        for d in range(row.shape[1]):
            # Without the casts sums are of 64 bits, and half as many fit into a register.
            total = np.int32(total + np.int32(abs(np.int32(row[n, d] - others[j, d]))))
        if total < bound + (slack[j] if slack.shape[0] > 0 else 0):
            out[found] = j
            found += 1
    return found


@kernel
def _write_segment_centres(rows: ShortInts, start: Ints, centre: ShortInts, radius: ShortInts) -> None:
    """Write the centre of each segment's range (S, D) and the largest L1 distance of its rows from it (S,)."""
    for s in range(start.shape[0] - 1):
        for d in range(rows.shape[1]):
            low = high = rows[start[s], d]
            for n in range(start[s] + 1, start[s + 1]):
                low, high = min(low, rows[n, d]), max(high, rows[n, d])
            centre[s, d] = low + (high - low) // 2
        radius[s] = 0
        for n in range(start[s], start[s + 1]):
            total = 0
            for d in range(rows.shape[1]):
                total += abs(rows[n, d] - centre[s, d])
            radius[s] = max(radius[s], total)


@inline_kernel
def _hash_32(x: int) -> int:
    """Return a one-to-one hash of 32 bits; all intermediate values stay below 2^63."""
    x = ((x >> 16) ^ x) * 0x45D9F3B & 0xFFFFFFFF
    x = ((x >> 16) ^ x) * 0x45D9F3B & 0xFFFFFFFF
    return (x >> 16) ^ x


@kernel
def _compute_pair_key(pose: int, partner: int, salt: int) -> int:
    """Return the key of an ordered pair: 32 bits of a hash, then the partner."""
    return (_hash_32(_hash_32(pose ^ salt) ^ partner) << PARTNER_BITS) | partner


@kernel
def _insert_key(keys: Ints, n: int, key: int) -> None:
    """Insert a key into row n, which holds the smallest keys so far, ascending."""
    k = keys.shape[1] - 1
    if k < 0 or key >= keys[n, k]:
        return
    while k > 0 and keys[n, k - 1] > key:
        keys[n, k] = keys[n, k - 1]
        k -= 1
    keys[n, k] = key


@inline_kernel
def _join_pose(i: int, partners: Ints, n_partners: int, follows: Bools, salt: int, table: PartnerTable) -> None:
    """Enter pose i and its first n_partners partners into each other's rows."""
    keys, ball = table.keys, table.ball
    last = keys.shape[1] - 1
    for p in range(n_partners):
        j = partners[p]
        ball[i] += 1
        ball[j] += 1
        # The previous and next poses of the clip are neighbours anyway and not part of the sample.
        if last >= 0 and (j != i - 1 or not follows[i]):
            key, back = _compute_pair_key(i, j, salt), _compute_pair_key(j, i, salt)
            if key < keys[i, last]:
                _insert_key(keys, i, key)
            if back < keys[j, last]:
                _insert_key(keys, j, back)


@kernel
def _join_span(poses: PoseRows, first: int, stop: int, table: PartnerTable, work: Ints) -> None:
    """Join every pose of segments first <= b < stop with all poses before it, adding to `table`.

    work: (3, at least TILE and the poses of a segment).
    """
    rows, segments, limit = poses.rows, poses.segments, poses.limit
    start, centre, radius = segments.start, segments.centre, segments.radius
    none = radius[:0]
    for tile in range(0, stop, TILE):
        for b in range(max(tile, first), stop):
            n_near = _find_near_rows(centre, b, centre, radius, tile, min(tile + TILE, b + 1), limit + radius[b], work[0])
            for s in range(n_near):
                a = work[0, s]
                n_rows = _find_near_rows(centre, a, rows, none, start[b], start[b + 1], limit + radius[a], work[1])
                for r in range(n_rows):
                    i = work[1, r]
                    n_partners = _find_near_rows(rows, i, rows, none, start[a], min(start[a + 1], i), limit, work[2])
                    _join_pose(i, work[2], n_partners, poses.follows, poses.salt, table)


@kernel
def _merge_keys(keys: Ints, more: Ints) -> None:
    """Merge the keys of another table into `keys`, row by row."""
    for n in range(keys.shape[0]):
        for k in range(more.shape[1]):
            _insert_key(keys, n, more[n, k])


@kernel
def _write_row_keys(start: Ints, neighbour: ShortInts, follows: Bools, salt: int, keys: Ints) -> None:
    """Write the keys of a stored graph's sample, of which the previous and next poses of the clip are no part."""
    for n in range(start.shape[0] - 1):
        for e in range(start[n], start[n + 1]):
            m = int(neighbour[e])
            adjacent = (m == n + 1 and follows[m]) or (m == n - 1 and follows[n])
            if not adjacent:
                _insert_key(keys, n, _compute_pair_key(n, m, salt))
