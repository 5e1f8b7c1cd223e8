"""What speaks against the labels or the pose of a frame: the reasons that a report lists with their times."""

from enum import StrEnum


class Doubt(StrEnum):
    """Why a frame is doubtful.

    FIT: the pose is far from what the cameras see; RIVALS: other labels, of another pose, are nearly as likely; EXCHANGED: other
    labels have just turned out to be right; SIDES: left and right limb, or ankle and toe, would fit their bones better exchanged.
    """

    FIT = "fit"
    RIVALS = "rivals"
    EXCHANGED = "exchanged"
    SIDES = "sides"


NO_DOUBT: frozenset[Doubt] = frozenset()
OF_LABELS = frozenset({Doubt.RIVALS, Doubt.EXCHANGED, Doubt.SIDES})
