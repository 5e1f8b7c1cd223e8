"""The landmarks of a body in a picture: the 33 of BlazePose (Bazarevsky et al. 2020), in its order and by its names."""

from enum import IntEnum
from typing import Final

import numpy as np

from config.arrays import Ints, make_read_only

LANDMARKS: Final[tuple[str, ...]] = (
    "nose",
    "left_eye_inner",
    "left_eye",
    "left_eye_outer",
    "right_eye_inner",
    "right_eye",
    "right_eye_outer",
    "left_ear",
    "right_ear",
    "mouth_left",
    "mouth_right",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_pinky",
    "right_pinky",
    "left_index",
    "right_index",
    "left_thumb",
    "right_thumb",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
    "left_heel",
    "right_heel",
    "left_foot_index",
    "right_foot_index",
)
N_LANDMARKS: Final[int] = len(LANDMARKS)
LANDMARK_INDEX: Final[dict[str, int]] = {name: index for index, name in enumerate(LANDMARKS)}


def _mirror_landmark_name(name: str) -> str:
    """Return the name of the landmark on the other side of the body; the nose is its own mirror image."""
    return name.replace("left", "right") if "left" in name else name.replace("right", "left")


# Index of the same landmark on the other side.
MIRRORED: Final[tuple[int, ...]] = tuple(LANDMARK_INDEX[_mirror_landmark_name(name)] for name in LANDMARKS)

# Pairs of landmarks that are joined in a drawing of the body.
LANDMARK_BONES: Final[tuple[tuple[int, int], ...]] = tuple(
    (LANDMARK_INDEX[first], LANDMARK_INDEX[second])
    for first, second in (
        ("left_shoulder", "right_shoulder"),
        ("left_hip", "right_hip"),
        *(
            (f"{side}_{first}", f"{side}_{second}")
            for side in ("left", "right")
            for first, second in (
                ("shoulder", "hip"),
                ("shoulder", "elbow"),
                ("elbow", "wrist"),
                ("wrist", "index"),
                ("hip", "knee"),
                ("knee", "ankle"),
                ("ankle", "heel"),
                ("heel", "foot_index"),
            )
        ),
    )
)


class Exchange(IntEnum):
    """What a picture has exchanged, left with right: nothing, arms, legs, both, all down to the hips, the whole body."""

    NOTHING = 0
    ARMS = 1
    LEGS = 2
    LIMBS = 3
    UPPER = 4
    BODY = 5


ABSENT: Final = -1  # in place of an exchange: the picture has no landmarks
_ARMS = ("elbow", "wrist", "pinky", "left_index", "right_index", "thumb")
_LEGS = ("knee", "ankle", "heel", "foot")


def _find_sources() -> Ints:
    """Return which landmark of the picture is each of the body's in every state, (E, 33)."""
    arms, legs = (np.array([any(part in name for part in parts) for name in LANDMARKS]) for parts in (_ARMS, _LEGS))
    every, mirrored = np.arange(N_LANDMARKS), np.array(MIRRORED)
    exchanged = (arms & False, arms, legs, arms | legs, ~legs, arms | True)
    return make_read_only(np.array([np.where(each, mirrored, every) for each in exchanged]))


SOURCES: Final[Ints] = _find_sources()
