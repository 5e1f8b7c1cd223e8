"""Removal of the flips that solvers of optical motion capture leave.

A joint jumps away and back within a few frames; or a foot rotates by pi about its own length and stays so.
"""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Bools, Floats
from config.joints import JOINT_INDEX
from database.clips import Clip
from database.geometry.kinematics import charted_from_local, local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec, rotvec_from_matrix

# Rates of change no joint reaches: a punch turns the elbow by some 25 rad/s, a thrown ball the shoulder by some 130 rad/s
# about its own axis for a few milliseconds.
SPIKE_RAD_PER_S = 36.0  # away and back within two frames
FLIP_RAD_PER_S = 120.0  # away for up to FLIP_S
SPIKE_FRAMES = 2
FLIP_S = 0.25
RETURN_SHARE = 0.4  # of the smaller jump that may remain between the frames before and after
ROOT_SPIKE_M_PER_S = 20.0
FOOT_FAR_RAD = 1.9  # from the middle of its range; no ankle rotates so far
FOOT_GAIN_RAD = 0.5


@dataclass(frozen=True, slots=True)
class CleaningReport:
    """What was repaired in a clip, and what was not.

    frames: that jumped away and back; rotations: of joints in them; feet: turned back; jumps_left: impossible jumps that stay.
    """

    frames: int
    rotations: int
    feet: int
    jumps_left: int


def clean_clip(clip: Clip) -> tuple[Clip, CleaningReport]:
    """Return a clip whose flips are replaced by geodesic interpolation between the frames around them, and what was repaired.

    A flip is a run of frames a..b-1 with d(a-1, a) and d(b-1, b) beyond what a joint can do and d(a-1, b) small compared with
    them, d the geodesic distance of one joint's rotations. Other joints that jump at the same two frames are repaired with it (a
    solver that flips a thigh flips its foot back). A foot upside down is rotated by pi about its length, which moves no joint.
    Clips of fewer than three frames are not changed.
    """
    if clip.n_frames < 3:
        return clip, CleaningReport(0, 0, 0, 0)
    local = local_from_charted(clip.rotvec)
    turned = _rotate_feet_back(clip, local)
    jump = np.zeros((clip.n_frames, local.shape[1]))
    jump[1:] = compute_geodesic_rad(local[:-1], local[1:])
    repaired = np.zeros(jump.shape, bool)
    for joint in np.flatnonzero((jump > SPIKE_RAD_PER_S / clip.fps).any(axis=0)):
        for a, b in _find_flips(local, jump, int(joint), clip.fps):
            _repair_frames(local, jump, a, b, int(joint), SPIKE_RAD_PER_S / clip.fps, repaired)
    root_m, moved = _remove_root_spikes(clip)
    frames = int((repaired.any(axis=1) | moved).sum())
    feet = [JOINT_INDEX["leftFoot"], JOINT_INDEX["rightFoot"]]
    report = CleaningReport(
        frames, int(repaired.sum()), int(turned[:, feet].sum()), int((jump > _compute_flip_rad(clip.fps)).sum())
    )
    changed = repaired | turned
    if not (changed.any() or moved.any()):
        return clip, report
    rotvec = clip.rotvec.copy()
    rotvec[changed] = charted_from_local(local)[changed]
    return replace(clip, rotvec=rotvec, root_m=root_m), report


def _rotate_feet_back(clip: Clip, local: Floats) -> Bools:
    """Rotate feet that are upside down by H, pi about the line from ankle to toes, L <- L H, in `local`.

    The toes keep their direction: L_toes <- H^-1 L_toes H_toes. Returns what was changed, (N, J).
    """
    changed = np.zeros(local.shape[:2], bool)
    offsets, tails = clip.skeleton.offsets_m, clip.skeleton.tails_m
    for side in ("left", "right"):
        foot, toes = JOINT_INDEX[f"{side}Foot"], JOINT_INDEX[f"{side}Toes"]
        far = np.linalg.norm(clip.rotvec[:, foot], axis=-1)
        if not (far > FOOT_FAR_RAD).any() or not offsets[toes].any():
            continue
        H, H_toes = _compute_half_turn(offsets[toes]), _compute_half_turn(tails[toes] if tails[toes].any() else offsets[toes])
        other = np.linalg.norm(charted_from_local(_replace_joint(local, foot, local[:, foot] @ H))[:, foot], axis=-1)
        upside_down = (far > FOOT_FAR_RAD) & (other < far - FOOT_GAIN_RAD)
        local[upside_down, foot] = local[upside_down, foot] @ H
        local[upside_down, toes] = H.T @ local[upside_down, toes] @ H_toes
        changed[upside_down, foot] = changed[upside_down, toes] = True
    return changed


def _compute_half_turn(direction: Floats) -> Floats:
    """Return the rotation by pi about a direction."""
    return matrix_from_rotvec(np.pi * direction / np.linalg.norm(direction))


def _replace_joint(local: Floats, joint: int, rotations: Floats) -> Floats:
    """Return all rotations with those of one joint replaced."""
    out = local.copy()
    out[:, joint] = rotations
    return out


def _compute_flip_rad(fps: float) -> float:
    """Return the impossible rotation between two frames; at low rates the direction of more than 2 rad is not known."""
    return min(FLIP_RAD_PER_S / fps, 2.0)


def _find_flips(local: Floats, jump: Floats, joint: int, fps: float) -> list[tuple[int, int]]:
    """Return the runs [a, b) over which one joint has flipped."""
    spike, flip = SPIKE_RAD_PER_S / fps, _compute_flip_rad(fps)
    jumps = np.flatnonzero(jump[:, joint] > spike)
    found: list[tuple[int, int]] = []
    for a in jumps:
        if found and a < found[-1][1] + 1:
            continue
        for b in jumps[(jumps > a) & (jumps <= a + max(SPIKE_FRAMES, FLIP_S * fps))]:
            smaller = min(jump[a, joint], jump[b, joint])
            possible = b - a <= SPIKE_FRAMES or smaller > flip
            if possible and compute_geodesic_rad(local[a - 1, joint], local[b, joint]) < RETURN_SHARE * smaller:
                found.append((int(a), int(b)))
                break
    return found


def _repair_frames(local: Floats, jump: Floats, a: int, b: int, joint: int, min_rad: float, repaired: Bools) -> None:
    """Interpolate frames a..b-1 of `joint` and of those that jump with it, in `local`, `jump` and `repaired`."""
    back = compute_geodesic_rad(local[a - 1], local[b])
    smaller = np.minimum(jump[a], jump[b])
    joints = np.flatnonzero((smaller > min_rad) & (back < RETURN_SHARE * smaller) | (np.arange(len(back)) == joint))
    share = (np.arange(a, b) - (a - 1)) / (b - a + 1)
    step = rotvec_from_matrix(np.swapaxes(local[a - 1, joints], -1, -2) @ local[b, joints])
    local[a:b, joints] = local[a - 1, joints] @ matrix_from_rotvec(share[:, None, None] * step)
    jump[a : b + 1, joints] = back[joints] / (b - a + 1)
    repaired[a:b, joints] = True


def _remove_root_spikes(clip: Clip) -> tuple[Floats, Bools]:
    """Return root positions with one-frame spikes replaced by the mean of their neighbours, and where, (N,)."""
    root = clip.root_m
    step = np.linalg.norm(np.diff(root, axis=0), axis=1)
    back = np.linalg.norm(root[2:] - root[:-2], axis=1)
    moved = np.zeros(len(root), bool)
    smaller = np.minimum(step[:-1], step[1:])
    moved[1:-1] = (smaller > ROOT_SPIKE_M_PER_S / clip.fps) & (back < RETURN_SHARE * smaller)
    out = root.copy()
    middle = np.flatnonzero(moved)
    out[middle] = (root[middle - 1] + root[middle + 1]) / 2
    return out, moved
