"""The words that guide a performer into a T-pose, as that person sees left and right."""

from collections.abc import Sequence

COME_IN = "come into both cameras' view"
NO_TPOSE = "stand in a T-pose: upright, arms level to the sides"
FACE = "face the cameras"
HOLD = "hold still"
HELD = "taken, relax"
SIDES = ("left", "right")
MANY = 3


def few_words(n_left: int, n_right: int, n: int) -> str:
    """Say that too few markers are seen."""
    worst = "left" if n_left < n_right else "right"
    who = "both cameras see" if n_left == n_right else f"the {worst} camera sees"
    return f"step back or turn: {who} {min(n_left, n_right)} of {n} markers"


def counted(n_left: int, n_right: int, n: int) -> str:
    """Say how many spots each camera sees."""
    return f"left camera {n_left}, right camera {n_right} of {n} markers"


def arm_words(slopes_deg: tuple[float, float], most_deg: float) -> str:
    """Say which arm is to be raised or lowered; empty where both are level."""
    low = [side for side, slope in zip(SIDES, slopes_deg, strict=True) if slope < -most_deg]
    high = [side for side, slope in zip(SIDES, slopes_deg, strict=True) if slope > most_deg]
    for word, sides in (("raise", low), ("lower", high)):
        if sides:
            return f"{word} both arms" if len(sides) == 2 else f"{word} the {sides[0]} arm"
    return ""


def forward_words(forward_deg: tuple[float, float], most_deg: float) -> str:
    """Say which arm is to be held farther back or forward; empty where both point sideways."""
    for side, forward in zip(SIDES, forward_deg, strict=True):
        if abs(forward) > most_deg:
            return f"{side} arm straight to the side, not {'forward' if forward > 0.0 else 'back'}"
    return ""


def missing_words(missing: Sequence[tuple[str, str]]) -> str:
    """Say which markers are missing and who does not see them: left, right, both, out of left, out of right."""
    for side in SIDES:
        out = [name for name, why in missing if why == f"out of {side}"]
        if out:
            return f"step back: {_listed(out)} {'is' if len(out) == 1 else 'are'} outside of the {side} picture"
    names, blind = [name for name, _ in missing], {why for _, why in missing}
    if len(names) > MANY:
        return f"{len(names)} markers are not seen: {_listed(names)}"
    who = blind.pop() if len(blind) == 1 else "both"
    return f"not seen: {_listed(names)}" if who == "both" else f"the {who} camera does not see {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    """List names, not more than can be read at a glance."""
    if len(names) > MANY:
        return f"{', '.join(names[:MANY])} and others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def hold_words(left_s: float, missing: Sequence[str]) -> str:
    """Say how much longer to hold the pose."""
    without = f", without {' and '.join(missing)}" if missing else ""
    return f"good{without}: hold it, {max(left_s, 0.0):.0f} s more"
