"""Events of walking, from the motion of the feet relative to the pelvis.

A foot is behind the pelvis as far as it goes when its tip leaves the ground, and ahead of it as far as it goes when its heel
strikes (Zeni et al. 2008), over ground and on a treadmill alike. The heel goes back a little before it lands, so this is early;
the middle of the foot comes down fastest (O'Connor et al. 2007) when the heel has landed, which is late. The strike is taken
half-way.
"""

from dataclasses import dataclass

import numpy as np
from scipy.signal import find_peaks

from config.arrays import Floats
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.models.physics.body import FootPart, build_contact_points
from reconstruct.models.physics.contacts import compute_part_positions
from reconstruct.models.physics.smoothing import filter_columns
from stream.export.events import GaitEvent, GaitEventKind

CUTOFF_HZ = 7.0  # of feet and pelvis (O'Connor et al. 2007)
LEAST_M = 0.15  # a foot goes so far ahead of the pelvis and back, or it does not step
NEAR_S = 0.1  # the foot comes down fastest so near to where it is ahead the most
N_FEET = 2


@dataclass(frozen=True, slots=True)
class FeetMotion:
    """Feet and pelvis of a motion, filtered.

    Attributes:
        fps: frames a second.
        heel_m, tip_m: lowest points of the feet, left first, (N, 2, 3) [m].
        pelvis_m: the hips, (N, 3) [m].
        ahead: the level direction in which the pelvis faces, (N, 3).
    """

    fps: float
    heel_m: Floats
    tip_m: Floats
    pelvis_m: Floats
    ahead: Floats


def compute_feet_motion(skeleton: Skeleton, rotvec: Floats, root_m: Floats, fps: float) -> FeetMotion:
    """Return feet and pelvis of poses at equal times.

    Args:
        skeleton: of the performer.
        rotvec: charted rotation vectors, (N, J, 3) [rad].
        root_m: of the hips, (N, 3) [m].
        fps: frames a second.
    """
    G, p = compute_forward_kinematics(skeleton, rotvec, root_m)
    points = build_contact_points(skeleton)
    point_m = p[:, points.joint] + np.einsum("npij,pj->npi", G[:, points.joint], points.offset_m)
    parts = compute_part_positions(points, point_m)
    facing = G[:, 0, :, 2] * (1.0, 0.0, 1.0)
    columns = np.concatenate([parts[:, :, FootPart.HEEL], parts[:, :, FootPart.TIP], root_m[:, None], facing[:, None]], axis=1)
    if fps > 2.5 * CUTOFF_HZ:
        columns = filter_columns(columns.reshape(len(p), -1), fps, CUTOFF_HZ).reshape(columns.shape)
    ahead = columns[:, 5]
    return FeetMotion(fps, columns[:, :2], columns[:, 2:4], columns[:, 4], ahead / np.linalg.norm(ahead, axis=1, keepdims=True))


def find_gait_events(motion: FeetMotion) -> list[GaitEvent]:
    """Return strikes and leaves of both feet in the order of time; those of one foot alternate."""
    found: list[GaitEvent] = []
    for foot in range(N_FEET):
        heel = ((motion.heel_m[:, foot] - motion.pelvis_m) * motion.ahead).sum(axis=1)
        tip = ((motion.tip_m[:, foot] - motion.pelvis_m) * motion.ahead).sum(axis=1)
        middle = 0.5 * (motion.heel_m[:, foot, 1] + motion.tip_m[:, foot, 1])
        falling = np.gradient(middle) * motion.fps
        reached = [_refine_peak(heel, k) for k in find_peaks(heel, prominence=LEAST_M)[0].tolist()]
        strikes = [0.5 * (k + _find_fastest_fall(falling, k, motion.fps)) for k in reached]
        leaves = [_refine_peak(-tip, k) for k in find_peaks(-tip, prominence=LEAST_M)[0].tolist()]
        events = [GaitEvent(k / motion.fps, foot, GaitEventKind.FOOT_STRIKE) for k in strikes]
        events += [GaitEvent(k / motion.fps, foot, GaitEventKind.FOOT_OFF) for k in leaves]
        events.sort(key=lambda event: event.seconds)
        # Of several of a kind in a row the first counts.
        found += [event for k, event in enumerate(events) if k == 0 or event.kind is not events[k - 1].kind]
    return sorted(found, key=lambda event: event.seconds)


def _find_fastest_fall(falling: Floats, frame: float, fps: float) -> float:
    """Return where a foot comes down fastest near a frame, in frames; the frame itself where it does not come down."""
    near = max(1.0, NEAR_S * fps)
    first = max(round(frame - near), 0)
    part = falling[first : round(frame + near) + 1]
    lowest = first + int(np.argmin(part))
    inside = first < lowest < first + len(part) - 1
    return _refine_peak(-falling, lowest) if inside and falling[lowest] < 0.0 else frame


def _refine_peak(values: Floats, frame: int) -> float:
    """Return the top of the parabola through a highest value and its neighbours, in frames."""
    if not 0 < frame < len(values) - 1:
        return float(frame)
    before, top, after = values[frame - 1 : frame + 2].tolist()
    bend = before - 2.0 * top + after
    return frame + (0.5 * (before - after) / bend if bend < 0.0 else 0.0)
