"""A take on another body: the same rotations, the way of the hips scaled by their heights, feet on the floor as before.

Bodies differ in the shares of thigh, shin and foot, so that with the same rotations feet would float or slide. Each foot
therefore keeps its orientation, and its ball is brought to where the performer's is, scaled, above the other body's sole.
"""

from dataclasses import replace

import numpy as np

from config.arrays import Floats
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.finish.leg import LEGS, solve_leg
from stream.take.take import Take, measure_hips_height_m

ROUNDS = 4  # a leg's solver stays near its start, so it is asked again from where it came to


def retarget_take(take: Take, skeleton: Skeleton) -> Take:
    """Return a take on another body, without the markers and forces of the performer.

    Args:
        take: the motion.
        skeleton: the other body.
    """
    rotvec, root_m = retarget_poses(take.skeleton, skeleton, take.rotvec, take.root_m)
    return replace(take, skeleton=skeleton, rotvec=rotvec, root_m=root_m, markers=None, forces=None, error_m=None)


def retarget_poses(performer: Skeleton, skeleton: Skeleton, rotvec: Floats, root_m: Floats) -> tuple[Floats, Floats]:
    """Return poses on another body: rotation vectors (N, J, 3) [rad] and positions of the hips (N, 3) [m].

    Args:
        performer: body of the poses.
        skeleton: the other body.
        rotvec: charted, (N, J, 3) [rad].
        root_m: (N, 3) [m].
    """
    height_m, own_height_m = measure_hips_height_m(performer), measure_hips_height_m(skeleton)
    ratio = own_height_m / height_m
    turns, place_m = compute_forward_kinematics(performer, rotvec, root_m)
    turned, moved_m = np.array(rotvec), ratio * root_m
    sole_m, own_sole_m = performer.rest_positions_m()[:, 1] + height_m, skeleton.rest_positions_m()[:, 1] + own_height_m
    R = compute_forward_kinematics(skeleton, turned, moved_m)[0][:, 0]
    for side, leg in enumerate(LEGS):
        ankle, ball = leg[2:]
        ball_m = ratio * place_m[:, ball]
        ball_m[:, 1] += own_sole_m[ball] - ratio * sole_m[ball]
        target_m = np.stack([ball_m - turns[:, ankle] @ skeleton.offsets_m[ball], ball_m], axis=1)
        for n in range(len(turned)):
            for _ in range(ROUNDS):
                turned[n, leg[:3]] = solve_leg(skeleton, turned[n], R[n], moved_m[n], side, target_m[n])
    return turned, moved_m
