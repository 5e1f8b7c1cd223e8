"""The one-euro filter on joint positions (Casiez, Roussel and Vogel 2012): the peer of our output filter in its evaluation."""

import numpy as np

from database.rotations import Floats

SPEED_HZ = 1.0  # cutoff of the speed, the authors' value


def one_euro(joint_m: Floats, seconds: Floats, least_hz: float, beta: float) -> Floats:
    """Filter every coordinate by itself: a first-order low pass with cutoff least_hz + beta |speed|, (N, ...) [m].

    The cutoff rises with the low-passed speed of its own coordinate, beta in 1/m.
    """
    out = np.empty_like(joint_m)
    out[0], speed = joint_m[0], np.zeros_like(joint_m[0])
    for n in range(1, len(joint_m)):
        dt = seconds[n] - seconds[n - 1]
        speed += _share(SPEED_HZ, dt) * ((joint_m[n] - joint_m[n - 1]) / dt - speed)
        out[n] = out[n - 1] + _share(least_hz + beta * np.abs(speed), dt) * (joint_m[n] - out[n - 1])
    return out


def low_pass(joint_m: Floats, seconds: Floats, cutoff_hz: float) -> Floats:
    """Filter by a first-order low pass, (N, ...) [m]."""
    out = joint_m.copy()
    for n in range(1, len(joint_m)):
        out[n] = out[n - 1] + _share(cutoff_hz, seconds[n] - seconds[n - 1]) * (joint_m[n] - out[n - 1])
    return out


def _share(cutoff_hz: Floats | float, dt_s: float) -> Floats:
    """Give the share of the new value, 1 / (1 + tau / dt) with tau = 1 / (2 pi cutoff)."""
    return np.asarray(1.0 / (1.0 + 1.0 / (2.0 * np.pi * np.maximum(cutoff_hz, 1e-9) * dt_s)))
