"""The colours of the 3D scene: distinct for colour-blind eyes, and readable on dark and light ground.

The hues are those of Okabe and Ito (Color Universal Design, 2008): blue, orange, bluish green, vermilion, purple, yellow; and a
violet.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reconstruct.pose import TrackingState
from stream.protocol.messages import MarkerReading, PoseMessage

Color = tuple[int, int, int]
Colors = NDArray[np.uint8]

BLUE: Color = (0, 114, 178)
SKY: Color = (86, 180, 233)
GREEN: Color = (0, 158, 115)
YELLOW: Color = (240, 228, 66)
ORANGE: Color = (230, 159, 0)
VERMILION: Color = (213, 94, 0)
PURPLE: Color = (204, 121, 167)
VIOLET: Color = (128, 32, 224)
PLUM: Color = (160, 60, 120)
PALE: Color = (224, 226, 232)
SLATE: Color = (92, 100, 116)
GREY: Color = (140, 140, 146)

BODY: Color = (96, 150, 196)
BODIES = (BODY, (190, 150, 120))  # of two takes at once
CONTACT: Color = GREEN
EXCHANGED: Color = (255, 64, 160)  # a limb that a picture has on the wrong side: unlike any side's, on any wall
CAMERA_COLORS = (SKY, ORANGE, GREEN, PURPLE, YELLOW, VERMILION, BLUE, VIOLET)  # by their place in the rig

MEASURED, ONE_VIEW, INFERRED = GREEN, YELLOW, VERMILION  # of markers
SOURCES = np.array([BLUE, ORANGE, GREY], np.uint8)  # of joints, by JointSource
CONFIDENCE_STEPS = 8  # finer shades are not worth sending


@dataclass(frozen=True, slots=True)
class GroundColors:
    """The colours of the floor, and those that are readable on it."""

    plane: Color
    cell: Color
    section: Color
    left: Color
    right: Color
    middle: Color
    bone: Color

    def side(self, name: str) -> Color:
        """Return the colour of a joint by its side."""
        return self.left if name.startswith("left") else self.right if name.startswith("right") else self.middle


DARK = GroundColors(
    plane=(36, 38, 43), cell=(62, 65, 72), section=(104, 109, 120), left=SKY, right=ORANGE, middle=PURPLE, bone=PALE
)
LIGHT = GroundColors(
    plane=(244, 245, 247), cell=(218, 221, 226), section=(172, 177, 186), left=BLUE, right=VERMILION, middle=PLUM, bone=SLATE
)


def choose_body_color(state: TrackingState, own: Color) -> Color:
    """Return the body's colour: its own while it is tracked, orange while it coasts, grey when lost."""
    return {TrackingState.TRACKING: own, TrackingState.COASTING: ORANGE, TrackingState.LOST: GREY}[state]


def choose_marker_color(marker: MarkerReading) -> Color:
    """Return a marker's colour: measured by two cameras at least, seen by one, or inferred from the rest."""
    if marker.measured is not None or len(marker.cameras) > 1:
        return MEASURED
    return ONE_VIEW if marker.cameras else INFERRED


def compute_joint_colors(pose: PoseMessage) -> Colors:
    """Return the colours of the joints by source, greyer where confidence is low, (J, 3)."""
    source = np.minimum(pose.joint_source, len(SOURCES) - 1)
    certain = np.round(np.clip(pose.confidence, 0.0, 1.0) * CONFIDENCE_STEPS)[:, None] / CONFIDENCE_STEPS
    return np.asarray(certain * SOURCES[source] + (1.0 - certain) * np.array(GREY), np.uint8)


def convert_to_linear_colors(colors: ArrayLike) -> Colors:
    """Convert colours, (..., 3), from sRGB to linear, which viser expects for lines and batched meshes, 0-255 each."""
    share = np.asarray(colors, float) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)  # IEC 61966-2-1
    return np.asarray(np.round(255.0 * linear), np.uint8)
