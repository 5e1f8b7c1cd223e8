"""Blobs that fall into several at a higher threshold: markers that touch."""

import numpy as np
from numpy.typing import NDArray

from capture.blobs import RawBlobs
from config.jit import kernel

Floats = NDArray[np.float64]
PART_SHARE = 0.15  # least area of a part, of the whole
MOST = 500  # blobs; more are no markers


def taken_apart(
    raw: RawBlobs, parts: RawBlobs, elongated: float, min_area_px: float, alone: NDArray[np.bool_] | None = None
) -> RawBlobs:
    """Give the blobs, those at least so elongated that hold several large parts replaced by these.

    alone: marks blobs known to be one marker, (N,), None for none. A part belongs to the first blob whose bounding box its own
    lies in.
    """
    if not 0 < len(raw) < len(parts) + len(raw) <= MOST:
        return raw
    out = np.empty((len(raw) + len(parts), raw.sums.shape[1]))
    whole = np.zeros(len(raw), np.bool_) if alone is None else alone
    n = _taken_apart(raw.sums, parts.sums, whole, elongated, min_area_px, np.empty(len(parts), np.int64), out)
    return RawBlobs(out[:n]) if n else raw


@kernel
def _taken_apart(
    raw: Floats, parts: Floats, whole: NDArray[np.bool_], elongated: float, min_area: float, owner: NDArray[np.int64], out: Floats
) -> int:
    """Fill out with blobs left whole, then with parts; give their number, 0 where all are whole. Sums are (.., 13)."""
    pieces = np.zeros(len(raw), np.int64)
    for p in range(len(parts)):
        s = parts[p]
        owner[p] = -1
        for i in range(len(raw)):
            b = raw[i]
            if s[8] >= b[8] and s[9] <= b[9] and s[10] >= b[10] and s[11] <= b[11]:
                if s[6] >= max(PART_SHARE * b[6], min_area):
                    owner[p] = i
                    pieces[i] += 1
                break
    n, some = 0, False
    for i in range(len(raw)):
        width, height = raw[i, 9] - raw[i, 8] + 1.0, raw[i, 11] - raw[i, 10] + 1.0
        if pieces[i] > 1 and not whole[i] and max(width, height) >= elongated * min(width, height):
            some = True
        else:
            pieces[i] = 0
            out[n] = raw[i]
            n += 1
    if not some:
        return 0
    for p in range(len(parts)):
        if owner[p] >= 0 and pieces[owner[p]] > 0:
            out[n] = parts[p]
            n += 1
    return n
