"""The filters that are compared: our output filter at several strengths, the one-euro filter and a low pass."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from config.arrays import Floats
from config.settings import FilterSettings
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.finish.filter import OutputFilter
from reconstruct.pose import Pose
from tools.evaluate.filtering.signals import PoseSignal

STRENGTHS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)  # factors of our filter's limits; 1 is the setting
BETAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the one-euro filter [1/m]
CUTOFFS_HZ = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of the low pass
SPEED_HZ = 1.0  # cutoff of the one-euro filter's speed, its authors' value
Filter = Callable[[PoseSignal], Floats]  # returns joints, (N, J, 3) [m]


def filters(settings: FilterSettings) -> list[tuple[str, float, Filter]]:
    """Return all filters: family, strength, function."""
    return [
        ("none", 0.0, PoseSignal.joint_m),
        *(("ours", s, partial(_ours, _scaled(settings, s))) for s in STRENGTHS),
        *((f"one-euro, {hz:g} Hz", beta, partial(_one_euro, hz, beta)) for hz in (0.3, 1.0) for beta in BETAS),
        *(("low pass", hz, partial(_low_pass, hz)) for hz in CUTOFFS_HZ),
    ]


def joints_of(poses: Sequence[Pose], signal: PoseSignal) -> Floats:
    """Return the joints of poses, (N, J, 3) [m]."""
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    return compute_forward_kinematics(signal.subject.skeleton, rotvec, root_m)[1]


def one_euro(joint_m: Floats, seconds: Floats, min_cutoff_hz: float, beta: float) -> Floats:
    """Filter every coordinate of (N, ...) [m] on its own: a first-order low pass with cutoff min_cutoff + beta |speed|.

    The speed is that of the coordinate itself, low-passed; beta: [1/m] (Casiez, Roussel & Vogel 2012).
    """
    out = np.empty_like(joint_m)
    out[0], speed = joint_m[0], np.zeros_like(joint_m[0])
    for n in range(1, len(joint_m)):
        dt = seconds[n] - seconds[n - 1]
        speed += _share(SPEED_HZ, dt) * ((joint_m[n] - joint_m[n - 1]) / dt - speed)
        out[n] = out[n - 1] + _share(min_cutoff_hz + beta * np.abs(speed), dt) * (joint_m[n] - out[n - 1])
    return out


def low_pass(joint_m: Floats, seconds: Floats, cutoff_hz: float) -> Floats:
    """Filter (N, ...) [m] by a first-order low pass."""
    out = joint_m.copy()
    for n in range(1, len(joint_m)):
        out[n] = out[n - 1] + _share(cutoff_hz, seconds[n] - seconds[n - 1]) * (joint_m[n] - out[n - 1])
    return out


def _share(cutoff_hz: Floats | float, dt_s: float) -> Floats:
    """Return the weight of the new value, 1 / (1 + tau / dt) with tau = 1 / (2 pi cutoff)."""
    return np.asarray(1.0 / (1.0 + 1.0 / (2.0 * np.pi * np.maximum(cutoff_hz, 1e-9) * dt_s)))


def _ours(settings: FilterSettings, signal: PoseSignal) -> Floats:
    """Return the joints as our output filter publishes them."""
    output = OutputFilter(settings, signal.subject)
    return joints_of([output.step(pose) for pose in signal.poses()], signal)


def _one_euro(min_cutoff_hz: float, beta: float, signal: PoseSignal) -> Floats:
    """Return the joints after the one-euro filter."""
    return one_euro(signal.joint_m(), signal.seconds, min_cutoff_hz, beta)


def _low_pass(cutoff_hz: float, signal: PoseSignal) -> Floats:
    """Return the joints after the low pass."""
    return low_pass(signal.joint_m(), signal.seconds, cutoff_hz)


def _scaled(settings: FilterSettings, strength: float) -> FilterSettings:
    """Return the output filter with its limits multiplied."""
    return replace(
        settings,
        output=True,
        fast_m_s=strength * settings.fast_m_s,
        slow_m_s=strength * settings.slow_m_s,
        stray_m=strength * settings.stray_m,
    )
