"""Which markers are missing when: at random in gaps of one length, or all of a limb. The same for every method.

At random: a number of markers is missing at any time, each for the length of the gap; then another one goes missing in its stead.
The gaps begin at different times. A limb is missing for a gap, seen for as long, and missing again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Bools
from config.errors import DatabaseError
from config.joints import JOINTS
from database.geometry.kinematics import compute_local_markers
from database.store import open_database
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.protocol import MAIN, OTHERS, ProtocolClip, measurable_clips
from tools.evaluate.queries import FPS

MIN_SEEN = 3  # markers seen in every frame
LEAD_FRAMES = 6  # at the beginning, with all markers seen
REST_FRAMES = 6  # for which a marker is seen between two gaps, if another can go missing
SIDE_M = 0.03  # markers farther left than this in the T-pose belong to the left side
ARM = ("leftUpperArm", "leftLowerArm", "leftHand")
LEG = ("leftUpperLeg", "leftLowerLeg", "leftFoot", "leftToes")
LIMBS = {
    "an arm": ARM,
    "a leg": LEG,
    "both arms": (*ARM, *(name.replace("left", "right") for name in ARM)),
    "one side": (),  # by the positions of the markers, those of the torso included
}
SHARES = (0.1, 0.3, 0.5, 0.7)
GAPS_S = (0.5, 2.0)


@dataclass(frozen=True, slots=True)
class MissingCase:
    """A share of the markers missing at random, or a limb, in gaps of one length [s]; nothing for neither."""

    gap_s: float
    share: float = 0.0
    limb: str = ""

    def __str__(self) -> str:
        return f"{self.what}, {self.gap_s:g} s"

    @property
    def what(self) -> str:
        """The case without its gap."""
        return self.limb or f"{100 * self.share:.0f} %"


CASES = (
    *(MissingCase(g, share=s) for g in GAPS_S for s in SHARES),
    *(MissingCase(g, limb=limb) for g in GAPS_S for limb in LIMBS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapPlan:
    """Which clips are measured with which markers missing; clips: none for all; seconds: of each clip, 0 for all of it."""

    motion: Path | None
    database: Path
    clips: tuple[ProtocolClip, ...] = ()
    markers: tuple[str, ...] = ("boxing", "all_around")
    seconds: float = 8.0
    cases: tuple[MissingCase, ...] = CASES
    workers: WorkerPlan = ALONE
    seed: int = 1

    def find_clips(self) -> list[ProtocolClip]:
        """Return the clips that can be measured. Raises DatabaseError."""
        return measurable_clips(open_database(self.database), self.clips, (*MAIN, *OTHERS))


def n_missing(share: float, n_markers: int) -> int:
    """Return the number of markers that a share is, at least one and so that MIN_SEEN are left."""
    return max(1, min(int(share * n_markers + 0.5), n_markers - MIN_SEEN))


def at_random(n_frames: int, n_markers: int, missing: int, gap: int, rng: np.random.Generator) -> Bools:
    """Return which markers are seen, (N, M): after the lead `missing` of them never are, each for `gap` frames.

    The first gaps begin one after another over `gap` frames; in the last frame all are seen.
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
    """Return which markers are on a limb, (M,)."""
    if limb == "one side":
        straight = np.zeros((1, len(JOINTS), 3))
        left_m = compute_local_markers(subject.skeleton, straight, subject.joint, subject.offset_m)[0, :, 0]
        return np.asarray(left_m > SIDE_M)
    joints = [JOINTS.index(name) for name in LIMBS[limb]]
    return np.asarray(np.isin(subject.joint, joints) & ~subject.markers.torso)


def limb_gaps(n_frames: int, of_limb: Bools, gap: int) -> Bools:
    """Return which markers are seen, (N, M), where those of a limb, (M,), are missing for every other `gap` frames."""
    frames = np.arange(n_frames)
    gone = (frames >= LEAD_FRAMES) & ((frames - LEAD_FRAMES) // gap % 2 == 0) & (frames < n_frames - 1)
    return np.asarray(~(gone[:, None] & of_limb))


def seen_in(case: MissingCase, subject: Subject, n_frames: int, seed: int, stem: str) -> Bools | None:
    """Return which markers of a clip are seen, (N, M); None where it is too short for such gaps or too few would be seen."""
    gap, n_markers = round(case.gap_s * FPS), len(subject.markers)
    if n_frames < LEAD_FRAMES + gap + FPS // 2:
        return None
    if case.limb:
        of_limb = markers_of_limb(subject, case.limb)
        return limb_gaps(n_frames, of_limb, gap) if 0 < of_limb.sum() <= n_markers - MIN_SEEN else None
    if not case.share:
        return np.ones((n_frames, n_markers), bool)
    rng = np.random.default_rng([seed, *f"{case} {stem}".encode()])
    return at_random(n_frames, n_markers, n_missing(case.share, n_markers), gap, rng)


def cases_named(names: Sequence[str]) -> tuple[MissingCase, ...]:
    """Return the cases whose share, limb or gap is named (`50%`, `a leg`, `2s`), all for no names. Raises DatabaseError."""
    if not names:
        return CASES
    plain = [name.replace(" ", "").lower() for name in names]
    whats = {case.what.replace(" ", "") for case in CASES}
    gaps = {f"{case.gap_s:g}s" for case in CASES}
    unknown = [name for name in plain if name not in whats | gaps]
    if unknown:
        raise DatabaseError(f"{unknown[0]!r} is no case; take {', '.join(sorted(whats))}, {', '.join(sorted(gaps))}")
    wanted_whats, wanted_gaps = set(plain) & whats or whats, set(plain) & gaps or gaps
    return tuple(c for c in CASES if c.what.replace(" ", "") in wanted_whats and f"{c.gap_s:g}s" in wanted_gaps)


def scored(visible: Bools) -> Bools:
    """Return which frames are scored, (N,): those with the largest number of markers missing."""
    missing = (~visible).sum(axis=1)
    return np.asarray((missing == missing.max()) & (missing > 0))
