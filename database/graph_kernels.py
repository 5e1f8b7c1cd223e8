"""Kernels of the neighbour graph: pairs of poses nearer than a limit, and a uniform sample of each pose's partners.

Coordinates are whole numbers, so that a distance is the same in whatever order, on whatever machine it is summed. Rows come in
segments, short runs of consecutive poses: with c the middle of a segment and r the largest L1 distance of its poses from c, poses
of segments A and B can be less than `limit` apart only if |c_A - c_B| < limit + r_A + r_B, and a pose i of B reaches into A only
if |i - c_A| < limit + r_A (triangle inequality).

A pose keeps the partners of smallest keys. A key is a hash of the ordered pair with the partner in its low bits, so the sample is
uniform, repeatable, the same in whatever order pairs are found, and can be taken up again when poses are added.
"""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel

LANES = 16  # rows are padded to a multiple of this: a cache line of int32
TILE = 64  # segments that stay in the first cache while a span is compared with them
PARTNER_BITS = 31
NO_KEY = np.iinfo(np.int64).max

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]
Segments = tuple[Longs, Ints, Ints]  # first pose of each and N (S + 1,), centre (S, D), radius (S,)
Table = tuple[Longs, Ints]  # smallest keys of each pose, ascending (N, K); partners found (N,)


@kernel
def _near(row: Ints, others: Ints, slack: Ints, at: tuple[int, int, int], bound: int, out: Longs) -> int:
    """Write which rows j of `others`, first <= j < stop, have |row[n] - others[j]| < bound + slack[j]; gives their number.

    row: (N, D); others: (M, D); slack: (M,), or (0,) for none; at: n, first, stop; out: (>= stop - first,).
    One call for many rows: to pass arrays costs as much as ten distances.
    """
    n, first, stop = at
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
def _middles(rows: Ints, start: Longs, centre: Ints, radius: Ints) -> None:
    """Write the middle of each segment's range (S, D) and the largest L1 distance of its rows from it (S,)."""
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


@kernel
def _mixed(x: int) -> int:
    """Scramble 32 bits, one to one; all intermediate values stay below 2^63."""
    x = ((x >> 16) ^ x) * 0x45D9F3B & 0xFFFFFFFF
    x = ((x >> 16) ^ x) * 0x45D9F3B & 0xFFFFFFFF
    return (x >> 16) ^ x


@kernel
def _key(pose: int, partner: int, salt: int) -> int:
    """Give the key of an ordered pair: 32 random bits, then the partner."""
    return (_mixed(_mixed(pose ^ salt) ^ partner) << PARTNER_BITS) | partner


@kernel
def _keep(keys: Longs, n: int, key: int) -> None:
    """Put a key into row n, which holds the smallest seen so far, ascending."""
    k = keys.shape[1] - 1
    if k < 0 or key >= keys[n, k]:
        return
    while k > 0 and keys[n, k - 1] > key:
        keys[n, k] = keys[n, k - 1]
        k -= 1
    keys[n, k] = key


@kernel
def _join_pose(i: int, partners: Longs, n_partners: int, follows: Flags, salt: int, table: Table) -> None:
    """Enter pose i and its first n_partners partners into each other's rows."""
    keys, ball = table
    last = keys.shape[1] - 1
    for p in range(n_partners):
        j = partners[p]
        ball[i] += 1
        ball[j] += 1
        # The poses beside in the clip are neighbours anyway; they take no place in the sample.
        if last >= 0 and (j != i - 1 or not follows[i]):
            key, back = _key(i, j, salt), _key(j, i, salt)
            if key < keys[i, last]:
                _keep(keys, i, key)
            if back < keys[j, last]:
                _keep(keys, j, back)


@kernel
def _join_span(
    rows: Ints, segments: Segments, span: tuple[int, int], follows: Flags, limit: int, salt: int, table: Table, work: Longs
) -> None:
    """Join every pose of segments span[0] <= b < span[1] with all poses before it.

    rows: (N, D); follows: pose n is the next of its clip after n - 1, (N,); table: added to; work: (3, at least TILE and the
    poses of a segment).
    """
    start, centre, radius = segments
    none = radius[:0]
    for tile in range(0, span[1], TILE):
        for b in range(max(tile, span[0]), span[1]):
            reach = limit + radius[b]
            n_near = _near(centre, centre, radius, (b, tile, min(tile + TILE, b + 1)), reach, work[0])
            for s in range(n_near):
                a = work[0, s]
                n_rows = _near(centre, rows, none, (a, start[b], start[b + 1]), limit + radius[a], work[1])
                for r in range(n_rows):
                    i = work[1, r]
                    n_partners = _near(rows, rows, none, (i, start[a], min(start[a + 1], i)), limit, work[2])
                    _join_pose(i, work[2], n_partners, follows, salt, table)


@kernel
def _merge_keys(keys: Longs, more: Longs) -> None:
    """Take the keys of another table into this one, row by row."""
    for n in range(keys.shape[0]):
        for k in range(more.shape[1]):
            _keep(keys, n, more[n, k])


@kernel
def _keys_of_rows(start: Longs, neighbour: Ints, follows: Flags, salt: int, keys: Longs) -> None:
    """Write the keys a stored graph was sampled by; the poses before and after in the clip are no part of the sample."""
    for n in range(start.shape[0] - 1):
        for e in range(start[n], start[n + 1]):
            m = int(neighbour[e])
            beside = (m == n + 1 and follows[m]) or (m == n - 1 and follows[n])
            if not beside:
                _keep(keys, n, _key(n, m, salt))
