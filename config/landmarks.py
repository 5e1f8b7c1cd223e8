"""The landmarks of a body in a picture: the 33 of BlazePose (Bazarevsky et al. 2020), in its order and by its names."""

from typing import Final

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
