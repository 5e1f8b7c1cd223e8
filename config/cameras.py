"""The two cameras of a rig by name, in the order in which everything numbers them."""

from typing import Final

CAMERAS: Final = ("left", "right")
