"""The words that guide somebody with a board, as that person sees things: pictures are not mirrored."""

GOOD = "good, taken"
SAME = "move or turn it a little"
HOLD = "hold still"
BLURRED = "hold still: it is blurred; more light helps"
NOTHING = "show the board to the cameras"
BOTH = "both cameras must see it"
ENOUGH = "that is enough"
LEANS = ("top edge", "bottom edge", "left edge", "right edge")
PLACES = ("upper left", "top", "upper right", "left", "middle", "right", "lower left", "bottom", "lower right")


def both_words(side: str) -> str:
    """Say that a camera does not see the board."""
    return f"{BOTH}: the {side} one does not"


def depth_words(near: bool) -> str:
    """Ask to come nearer, or to go farther away."""
    return "come nearer: only far views so far" if near else "go farther away: only near views so far"


def lean_words(side: str) -> str:
    """Ask for a tilt. side: one of LEANS, as it is seen in the picture."""
    return f"tilt more: lean the {side} towards the cameras"


def place_words(place: str, side: str) -> str:
    """Ask for a part of a picture. side: left or right, empty for a lone camera."""
    return f"show it in the {place} of the {side + ' ' if side else ''}picture"
