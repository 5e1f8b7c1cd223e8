"""Times of the pictures of cameras that were read in turn, faster than they give pictures.

A program that reads webcams one after the other and notes one stamp for all writes, now and then, the picture before once
more. The stamp is then of the reading: a picture was taken at some moment between the reading before, which did not have it yet,
and the reading that has it. A camera's pictures come evenly: the line through some twenty of them that keeps to these moments
tells when each was taken, to a few milliseconds, where stamps are off by up to a picture.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats

INTRA = frozenset({"mjpeg", "png", "ffv1", "rawvideo", "huffyuv", "utvideo"})  # codecs of which a picture is a packet of its own
SUFFIXES = frozenset({".avi", ".mkv", ".mov", ".mp4"})
MIN_REPEATED = 0.005  # share of the pictures: fewer are no sign of a camera that is read too often
MAX_REPEATED = 0.5
HALF_WINDOW = 20  # pictures on either side; the rate of a webcam changes within seconds with the light
N_PROJECTIONS = 60


def find_repeated_pictures(file: Path) -> Bools | None:
    """Return which pictures of a video are byte for byte the one before, (N,); None for a codec of which this is not known.

    Nothing is decoded.
    """
    if file.suffix.lower() not in SUFFIXES or not file.is_file():
        return None
    status = file.stat()
    return _find_repeated_packets(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _find_repeated_packets(file: Path, changed_ns: int, size: int) -> Bools | None:
    """Compare the packets; changed_ns, size: of the file, so that another of the same name is read anew."""
    import av

    repeated, before = [], b""
    try:
        with av.open(str(file.absolute())) as container:
            stream = container.streams.video[0]
            if stream.codec_context.name not in INTRA:
                return None
            for packet in container.demux(stream):
                if packet.size:
                    data = bytes(packet)
                    repeated.append(data == before)
                    before = data
    except (av.FFmpegError, OSError, IndexError):
        return None
    found = np.array(repeated, bool)
    found.setflags(write=False)
    return found


def estimate_polled_times(stamps_s: Floats, files: Sequence[Path]) -> Floats | None:
    """Return when the pictures of V cameras were taken, (N, V) [s], for stamps that all share, (N,) [s].

    None where the videos do not say that the cameras were polled. A repeated picture has the stamp of its reading.
    """
    repeated = [find_repeated_pictures(file) for file in files]
    if any(each is None or abs(len(each) - len(stamps_s)) > 2 for each in repeated) or len(stamps_s) < 2:
        return None
    n = len(stamps_s)
    found = np.stack([np.append(each, np.zeros(n, bool))[:n] for each in repeated if each is not None], axis=1)
    if not MIN_REPEATED <= found.mean() <= MAX_REPEATED:
        return None
    return np.stack([estimate_picture_times(stamps_s, each) for each in found.T], axis=1)


def estimate_picture_times(stamps_s: Floats, repeated: Bools) -> Floats:
    """Return when each picture was taken, (N,) [s], increasing, of stamps of their readings, (N,) [s].

    repeated: which are the picture before once more, (N,); these keep their stamps, or the time of the next picture if that is
    earlier. Each time is on the least-squares line through the times around it, each in the interval of its readings: found by
    alternating projections on lines and intervals.
    """
    new = np.flatnonzero(~repeated)
    latest = stamps_s[new]
    earliest = stamps_s[np.maximum(new - 1, 0)]
    earliest[0] = latest[0] - float(np.median(np.diff(stamps_s)))
    taken = np.array([_interpolate_time(earliest, latest, j) for j in range(len(new))])
    times = stamps_s.astype(float)
    times[new] = np.maximum.accumulate(taken + 1e-6 * np.arange(len(new)))
    for k in np.flatnonzero(repeated)[::-1]:
        if k + 1 < len(times):
            times[k] = min(times[k], times[k + 1])
    return times


def _interpolate_time(earliest: Floats, latest: Floats, j: int) -> float:
    """Return the time of picture j on the line through those around it."""
    a, b = max(0, j - HALF_WINDOW), min(len(latest), j + HALF_WINDOW + 1)
    count = np.arange(a, b) - 0.5 * (a + b - 1)
    norm, low, high = float(count @ count), earliest[a:b], latest[a:b]
    times = 0.5 * (low + high)
    for _ in range(N_PROJECTIONS):
        mean, slope = times.mean(), (count @ times) / max(norm, 1e-12)
        times = np.clip(mean + slope * count, low, high)
    return float(times.mean() + (count @ times) / max(norm, 1e-12) * (j - 0.5 * (a + b - 1)))
