"""Low-pass filtering of a motion before its accelerations are taken.

Differentiating twice multiplies noise by the square of its frequency. The cut-off follows from the motion itself by residual
analysis (Winter 2009, section 3.4.4.3): what a filter removes is plotted over its cut-off; where that is the straight line which
noise alone would leave, the line's value at 0 is the noise, and the cut-off is where the filter removes as much as that.
"""

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, sosfiltfilt

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.models.physics.dynamics import poses_from_configurations

GAIT_HZ = 6.0  # usual of walking: its motion has next to nothing above (Winter 2009, section 3.4.4)
LOWEST_HZ, HIGHEST_HZ = 4.0, 15.0
STEP_HZ = 0.25
NOISE_FROM = 0.6  # of the Nyquist frequency: from there on what is removed is taken for noise alone
TWO_PASSES = 0.802  # the cut-off of both passes together over that of one, Butterworth of second order
MIN_SECONDS = 0.15  # shorter motions are left as they are


@dataclass(frozen=True, slots=True)
class SmoothMotion:
    """Filtered configurations (N, 95) and the cut-off [Hz], None where nothing was filtered."""

    q: Floats
    cutoff_hz: float | None


def smooth_motion(skeleton: Skeleton, q: Floats, fps: float, cutoff_hz: float | None = None) -> SmoothMotion:
    """Return configurations, (N, 95), filtered by a low-pass.

    Args:
        skeleton: the skeleton.
        q: configurations at equal times, (N, 95).
        fps: frames a second.
        cutoff_hz: cut-off frequency of the filter [Hz]; None to choose it by residual analysis.
    """
    if len(q) < max(MIN_SECONDS * fps, 8):
        return SmoothMotion(q, None)
    chosen = find_residual_cutoff_hz(skeleton, q, fps) if cutoff_hz is None else cutoff_hz
    if chosen >= 0.5 * fps * TWO_PASSES:
        return SmoothMotion(q, None)
    return SmoothMotion(filter_configurations(q, fps, chosen), chosen)


def filter_configurations(q: Floats, fps: float, cutoff_hz: float) -> Floats:
    """Return configurations filtered forwards and backwards; quaternions by component, then normalised.

    Args:
        q: configurations at equal times, (N, 95).
        fps: frames a second.
        cutoff_hz: cut-off frequency of the filter [Hz].
    """
    out = np.empty_like(q)
    quaternion = align_quaternion_signs(q[:, 3:].reshape(-1, N_JOINTS, 4))
    out[:, :3] = filter_columns(q[:, :3], fps, cutoff_hz)
    smooth = filter_columns(quaternion.reshape(len(q), -1), fps, cutoff_hz).reshape(quaternion.shape)
    out[:, 3:] = (smooth / np.linalg.norm(smooth, axis=2, keepdims=True)).reshape(len(q), -1)
    return out


def filter_columns(x: Floats, fps: float, cutoff_hz: float) -> Floats:
    """Return columns through a Butterworth filter of second order, forwards and backwards: no delay.

    Args:
        x: columns of samples, (N, D).
        fps: frames a second.
        cutoff_hz: cut-off frequency of the filter [Hz].
    """
    sections = butter(2, min(cutoff_hz / TWO_PASSES, 0.49 * fps), fs=fps, output="sos")
    return np.asarray(sosfiltfilt(sections, x, axis=0, padtype="odd", padlen=min(len(x) - 1, round(0.3 * fps))))


def align_quaternion_signs(quaternion: Floats) -> Floats:
    """Return quaternions over time, (N, J, 4), of which none jumps to the other sign."""
    steps = np.sign((quaternion[1:] * quaternion[:-1]).sum(axis=-1))
    signs = np.concatenate([np.ones((1, quaternion.shape[1])), np.cumprod(np.where(steps == 0.0, 1.0, steps), axis=0)])
    return np.asarray(quaternion * signs[..., None])


def find_residual_cutoff_hz(skeleton: Skeleton, q: Floats, fps: float) -> float:
    """Return the cut-off of residual analysis of the joints' positions in the world, from 4 to 15 Hz.

    Args:
        skeleton: the skeleton.
        q: configurations at equal times, (N, 95).
        fps: frames a second.
    """
    rotvec, root_m = poses_from_configurations(q)
    x = compute_forward_kinematics(skeleton, rotvec, root_m)[1].reshape(len(q), -1)
    cutoffs = np.arange(LOWEST_HZ, 0.5 * fps * TWO_PASSES, STEP_HZ)
    if len(cutoffs) < 8:
        return HIGHEST_HZ
    removed = np.array([np.sqrt(((filter_columns(x, fps, cutoff) - x) ** 2).mean()) for cutoff in cutoffs])
    tail = cutoffs > NOISE_FROM * cutoffs[-1]
    noise = float(np.polyfit(cutoffs[tail], removed[tail], 1)[1])
    below = removed <= noise
    found = cutoffs[int(np.argmax(below))] if below.any() else HIGHEST_HZ
    return float(np.clip(found, LOWEST_HZ, HIGHEST_HZ))
