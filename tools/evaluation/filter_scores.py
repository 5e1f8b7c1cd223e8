"""What filters are measured by: jitter of a body that stands still, delay and error of one that moves."""

import numpy as np

from database.rotations import Floats

MEAN_S = 0.5  # jitter is what is left about a mean over so long
DELAYS_S = np.arange(-0.03, 0.1501, 0.001)


def jitter_mm(joint_m: Floats, seconds: Floats) -> float:
    """Give the RMS distance of joints (N, J, 3) [m] from their slow mean [mm]."""
    windows = np.searchsorted(seconds, seconds[:, None] + (0.5 * MEAN_S + 1e-6) * np.array([-1.0, 1.0]))
    mean = np.stack([joint_m[first:last].mean(axis=0) for first, last in windows])
    return 1e3 * float(np.sqrt(((joint_m - mean) ** 2).sum(axis=2).mean()))


def delay_ms(joint_m: Floats, reference_m: Floats, seconds: Floats) -> float:
    """Give by how much the reference (N, J, 3) [m] must be delayed to come nearest to the joints, in mean square [ms].

    The maximum of the cross-correlation of all joints' coordinates, refined by a parabola through the three best.
    """
    inner = (seconds > seconds[0] + DELAYS_S[-1]) & (seconds < seconds[-1] + DELAYS_S[0])
    flat, wanted = reference_m.reshape(len(seconds), -1), joint_m.reshape(len(seconds), -1)[inner]
    cost = np.array([np.mean((_at(flat, seconds, seconds[inner] - d) - wanted) ** 2) for d in DELAYS_S])
    k = int(np.clip(np.argmin(cost), 1, len(cost) - 2))
    bend = cost[k - 1] - 2.0 * cost[k] + cost[k + 1]
    offset = 0.0 if bend <= 0.0 else float(np.clip(0.5 * (cost[k - 1] - cost[k + 1]) / bend, -1.0, 1.0))
    return 1e3 * float(DELAYS_S[k] + offset * (DELAYS_S[1] - DELAYS_S[0]))


def error_mm(joint_m: Floats, truth_m: Floats) -> float:
    """Give the mean distance of the joints from the truth, (N, J, 3) [m] twice -> [mm]."""
    return 1e3 * float(np.linalg.norm(joint_m - truth_m, axis=2).mean())


def positions_at(joint_m: Floats, seconds: Floats, wanted_s: Floats) -> Floats:
    """Give joints (N, J, 3) [m] at other times (F,) by cubic interpolation (Catmull and Rom 1974) -> (F, J, 3)."""
    return _at(joint_m.reshape(len(seconds), -1), seconds, wanted_s).reshape(len(wanted_s), *joint_m.shape[1:])


def _at(values: Floats, seconds: Floats, wanted_s: Floats) -> Floats:
    """Interpolate (N, C) at times within `seconds`, (F,) -> (F, C), with slopes by central differences."""
    slope = np.gradient(values, seconds, axis=0)
    after = np.clip(np.searchsorted(seconds, wanted_s), 1, len(seconds) - 1)
    step = seconds[after] - seconds[after - 1]
    u, h = ((wanted_s - seconds[after - 1]) / step)[:, None], step[:, None]
    start, end = values[after - 1], values[after]
    rise = (3.0 - 2.0 * u) * u**2
    bends = u * (1.0 - u) * ((1.0 - u) * slope[after - 1] - u * slope[after])
    return np.asarray(start + rise * (end - start) + h * bends)
