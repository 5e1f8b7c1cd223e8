"""Which markers are missing when: at random in gaps of one length, or a limb at a time. The same for every method.

At random: so many markers are missing at once, each for the length of the gap; then another, seen until then, takes its turn,
each at a moment of its own. A limb is gone for a gap, seen for as long, and gone again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from config.joints import JOINTS
from database.kinematics import local_markers
from tools.evaluation.queries import FPS

Bools = NDArray[np.bool_]
LEAST_SEEN = 3  # markers in sight in every frame
LEAD_FRAMES = 6  # at the beginning, all in sight
REST_FRAMES = 6  # a marker is seen for so long between two gaps, where there is another to take its turn
SIDE_M = 0.03  # a marker of the left side is so far left of the middle in the T-pose
ARM = ("leftUpperArm", "leftLowerArm", "leftHand")
LEG = ("leftUpperLeg", "leftLowerLeg", "leftFoot", "leftToes")
LIMBS = {
    "an arm": ARM,
    "a leg": LEG,
    "both arms": (*ARM, *(name.replace("left", "right") for name in ARM)),
    "one side": (),  # by where the markers are, those of the torso too
}
SHARES = (0.1, 0.3, 0.5, 0.7)
GAPS_S = (0.5, 2.0)


@dataclass(frozen=True, slots=True)
class Case:
    """What is missing: a share of the markers at random, or a limb, in gaps of one length [s]."""

    gap_s: float
    share: float = 0.0
    limb: str = ""

    def __str__(self) -> str:
        what = self.limb or f"{100 * self.share:.0f} %"
        return f"{what}, {self.gap_s:g} s"

    @property
    def what(self) -> str:
        """Name the case without its gap."""
        return self.limb or f"{100 * self.share:.0f} %"


CASES = (*(Case(g, share=s) for g in GAPS_S for s in SHARES), *(Case(g, limb=limb) for g in GAPS_S for limb in LIMBS))


def n_missing(share: float, n_markers: int) -> int:
    """Give how many markers a share of them is, at least one, as many as leave `LEAST_SEEN`."""
    return max(1, min(int(share * n_markers + 0.5), n_markers - LEAST_SEEN))


def at_random(n_frames: int, n_markers: int, missing: int, gap: int, rng: np.random.Generator) -> Bools:
    """Give which markers are seen, (N, M): after the lead, ever `missing` of them are not, each for `gap` frames.

    The gaps begin one after another over the first `gap` frames; those that would outlast the last frame but one end there.
    """
    visible = np.ones((n_frames, n_markers), bool)
    until = np.full(n_markers, -REST_FRAMES)  # first frame in which a marker is seen again
    of_slot = np.full(missing, -1)
    for frame in range(LEAD_FRAMES, n_frames - 1):
        for slot in range(missing):
            if frame < LEAD_FRAMES + slot * gap // missing or (of_slot[slot] >= 0 and until[of_slot[slot]] > frame):
                continue
            free = np.flatnonzero(until < frame)
            rested = free[until[free] <= frame - REST_FRAMES]
            chosen = int(rng.choice(rested if len(rested) else free))
            of_slot[slot], until[chosen] = chosen, frame + gap
            visible[frame : min(frame + gap, n_frames - 1), chosen] = False
    return visible


def markers_of_limb(subject: Subject, limb: str) -> Bools:
    """Tell which markers a limb wears, (M,)."""
    if limb == "one side":
        straight = np.zeros((1, len(JOINTS), 3))
        left_m = local_markers(subject.skeleton, straight, subject.joint, subject.offset_m)[0, :, 0]
        return np.asarray(left_m > SIDE_M)
    joints = [JOINTS.index(name) for name in LIMBS[limb]]
    return np.asarray(np.isin(subject.joint, joints) & ~subject.markers.torso)


def limb_in_turns(n_frames: int, worn: Bools, gap: int) -> Bools:
    """Give which markers are seen, (N, M), where those worn, (M,), go and come back every `gap` frames after the lead."""
    frames = np.arange(n_frames)
    gone = (frames >= LEAD_FRAMES) & ((frames - LEAD_FRAMES) // gap % 2 == 0) & (frames < n_frames - 1)
    return np.asarray(~(gone[:, None] & worn))


def seen_in(case: Case, subject: Subject, n_frames: int, seed: int, stem: str) -> Bools | None:
    """Give which markers of a clip are seen, (N, M); None where it is too short for such gaps or would leave too few in sight."""
    gap, n_markers = round(case.gap_s * FPS), len(subject.markers)
    if n_frames < LEAD_FRAMES + gap + FPS // 2:
        return None
    if case.limb:
        worn = markers_of_limb(subject, case.limb)
        return limb_in_turns(n_frames, worn, gap) if 0 < worn.sum() <= n_markers - LEAST_SEEN else None
    rng = np.random.default_rng([seed, *f"{case} {stem}".encode()])
    return at_random(n_frames, n_markers, n_missing(case.share, n_markers), gap, rng)


def scored(visible: Bools) -> Bools:
    """Tell which frames count, (N,): those in which as many markers are missing as ever are."""
    missing = (~visible).sum(axis=1)
    return np.asarray((missing == missing.max()) & (missing > 0))
