"""Motions as force fields take them: filtered, at one rate, on a ground at height 0, with their contacts; and single poses."""

import numpy as np

from config.joints import N_JOINTS
from database.clips import Clip
from database.files.resample import resample_clip
from reconstruct.models.physics.body import build_body
from reconstruct.models.physics.clean import clean_by_windows, prepare_motion
from reconstruct.models.physics.contacts import (
    N_FEET,
    N_PARTS,
    compute_part_positions,
    compute_usual_levels_m,
    find_contact_parts,
    fit_ground,
)
from reconstruct.models.physics.dynamics import Dynamics, configurations_from_poses, poses_from_configurations
from reconstruct.models.physics.field.train import FPS, FieldMotion
from reconstruct.models.physics.smoothing import smooth_motion


def prepare_field_motion(clip: Clip, mass_kg: float | None = None, sound: bool = False) -> FieldMotion:
    """Return a clip as a motion to learn from.

    Args:
        clip: the motion.
        mass_kg: mass of the body [kg]; None for the mass usual for the height.
        sound: whether it is made to obey eq. 1 (section 5.1).
    """
    body = build_body(clip.skeleton, mass_kg)
    smooth = smooth_motion(clip.skeleton, configurations_from_poses(clip.rotvec, clip.root_m), clip.fps)
    rotvec, root_m = poses_from_configurations(smooth.q)
    even = resample_clip(Clip(clip.name, clip.skeleton, clip.fps, rotvec, root_m), FPS)
    q = configurations_from_poses(even.rotvec, even.root_m)
    dynamics = Dynamics(body)
    if sound:
        *_, q = clean_by_windows(prepare_motion(dynamics, q, FPS))
    point_m = dynamics.contact_positions(q)
    middle = compute_part_positions(body.contacts, point_m)
    ground = fit_ground(middle, FPS)
    q = ground.level_configurations(q)
    parts = find_contact_parts(body.contacts, point_m, FPS)
    level_m = compute_usual_levels_m(ground.height_over(middle), parts, ground.level_m)
    return FieldMotion(clip.name, clip.skeleton, body.total_kg, q, parts, level_m)


def prepare_field_poses(clip: Clip, mass_kg: float | None = None) -> FieldMotion:
    """Return poses that are no motion, at their own rate, each with its lowest foot on a ground at height 0 and no contacts."""
    body = build_body(clip.skeleton, mass_kg)
    dynamics = Dynamics(body)
    q = configurations_from_poses(clip.rotvec, clip.root_m)
    q[:, 1] -= dynamics.contact_positions(q)[..., 1].min(axis=1)
    rest = dynamics.contact_positions(configurations_from_poses(np.zeros((1, N_JOINTS, 3)), np.zeros((1, 3))))
    level_m = compute_part_positions(body.contacts, rest)[0, ..., 1] - rest[..., 1].min()
    return FieldMotion(clip.name, clip.skeleton, body.total_kg, q, np.zeros((len(q), N_FEET, N_PARTS), bool), level_m)
