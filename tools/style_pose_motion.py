"""Joints of a motion file as curves that a body in a style shall follow."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from config.joints import JOINT_INDEX, JOINTS
from database.kinematics import forward
from database.read import read_clip
from reconstruct.style.model import StyleError
from reconstruct.style.trajectory_curves import Curve
from tools.style_pose_entries import POINT_SIGMA_M
from tools.style_pose_request import CurveAsked, Handle, Request
from tools.style_pose_values import PoseFileError, word


def with_motion(request: Request, file: Path, joints: str) -> Request:
    """Give a request with joints of a motion as further curves, from 0 s on.

    joints: names with commas between. Raises DuocapError: no motion, unknown joints, several poses asked for as well.
    """
    names = [name.strip() for name in joints.split(",") if name.strip()]
    for name in names:
        word("--joints", {"joint": name}, "joint", JOINTS)
    if not names or len(set(names)) != len(names):
        raise PoseFileError(f"--joints {joints!r}: give some joints, each once, such as leftHand,leftFoot,rightFoot")
    if len(request.poses) > 1:
        raise PoseFileError(
            f"--trajectory and {len(request.poses)} poses; what holds during the whole motion stands outside of [[pose]]"
        )
    clip = read_clip(file)
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
    seconds = np.arange(clip.n_frames) / clip.fps
    try:
        curves = tuple(
            CurveAsked(
                Handle(name, JOINT_INDEX[name], np.zeros(3)), Curve(seconds, p[:, JOINT_INDEX[name]], "linear"), POINT_SIGMA_M
            )
            for name in names
        )
    except StyleError as error:
        raise PoseFileError(f"{file}: {error}") from error
    return replace(request, curves=request.curves + curves)
