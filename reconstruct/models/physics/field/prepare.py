"""Motions as force fields take them: filtered, at one rate, on a ground at height 0, with their contacts."""

import numpy as np

from database.clips import Clip
from database.files.resample import resample
from reconstruct.models.physics.body import body_of
from reconstruct.models.physics.contacts import contact_parts, ground_under, part_positions
from reconstruct.models.physics.dynamics import Dynamics, configurations, poses
from reconstruct.models.physics.field.train import FPS, FieldMotion
from reconstruct.models.physics.smoothing import smoothed


def field_motion(clip: Clip, mass_kg: float | None = None) -> FieldMotion:
    """Return a clip as a motion to learn from; mass_kg None: usual for the height."""
    body = body_of(clip.skeleton, mass_kg)
    smooth = smoothed(clip.skeleton, configurations(clip.rotvec, clip.root_m), clip.fps)
    rotvec, root_m = poses(smooth.q)
    even = resample(Clip(clip.name, clip.skeleton, clip.fps, rotvec, root_m), FPS)
    q = configurations(even.rotvec, even.root_m)
    point_m = Dynamics(body).contact_positions(q)
    ground = ground_under(part_positions(body.contacts, point_m), FPS)
    q[:, 1] -= ground.height_m
    parts = contact_parts(body.contacts, point_m, FPS)
    return FieldMotion(clip.name, clip.skeleton, body.total_kg, q, parts, np.asarray(ground.level_m))
