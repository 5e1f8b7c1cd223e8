"""Motions as force fields take them: filtered, at one rate, on a ground at height 0, with their contacts; and single poses."""

import numpy as np

from config.joints import N_JOINTS
from database.clips import Clip
from database.files.resample import resample
from reconstruct.models.physics.body import body_of
from reconstruct.models.physics.clean import cleaned, prepared
from reconstruct.models.physics.contacts import N_FEET, N_PARTS, contact_parts, ground_under, part_positions
from reconstruct.models.physics.dynamics import Dynamics, configurations, poses
from reconstruct.models.physics.field.train import FPS, FieldMotion
from reconstruct.models.physics.smoothing import smoothed


def field_motion(clip: Clip, mass_kg: float | None = None, sound: bool = False) -> FieldMotion:
    """Return a clip as a motion to learn from; mass_kg None: usual for the height; sound: made to obey eq. 1 (section 5.1)."""
    body = body_of(clip.skeleton, mass_kg)
    smooth = smoothed(clip.skeleton, configurations(clip.rotvec, clip.root_m), clip.fps)
    rotvec, root_m = poses(smooth.q)
    even = resample(Clip(clip.name, clip.skeleton, clip.fps, rotvec, root_m), FPS)
    q = configurations(even.rotvec, even.root_m)
    dynamics = Dynamics(body)
    if sound:
        *_, q = cleaned(prepared(dynamics, q, FPS))
    point_m = dynamics.contact_positions(q)
    ground = ground_under(part_positions(body.contacts, point_m), FPS)
    q[:, 1] -= ground.height_m
    parts = contact_parts(body.contacts, point_m, FPS)
    return FieldMotion(clip.name, clip.skeleton, body.total_kg, q, parts, np.asarray(ground.level_m))


def field_poses(clip: Clip, mass_kg: float | None = None) -> FieldMotion:
    """Return poses that are no motion, at their own rate, each with its lowest foot on a ground at height 0 and no contacts."""
    body = body_of(clip.skeleton, mass_kg)
    dynamics = Dynamics(body)
    q = configurations(clip.rotvec, clip.root_m)
    q[:, 1] -= dynamics.contact_positions(q)[..., 1].min(axis=1)
    rest = dynamics.contact_positions(configurations(np.zeros((1, N_JOINTS, 3)), np.zeros((1, 3))))
    level_m = part_positions(body.contacts, rest)[0, ..., 1] - rest[..., 1].min()
    return FieldMotion(clip.name, clip.skeleton, body.total_kg, q, np.zeros((len(q), N_FEET, N_PARTS), bool), level_m)
