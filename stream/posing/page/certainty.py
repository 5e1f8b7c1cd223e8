"""How far a pose can be trusted: what the model knows of poses like it, and which handles are not where they should be."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np

from reconstruct.posing.protocol import FoundPose
from stream.posing.targets import Unmet
from stream.viewer.scene.colors import ORANGE, VERMILION, Color
from stream.web.html import BAD, GOOD, NEUTRAL, format_pill

MISS_M = 0.1  # a handle missed by this much halves the certainty
PX_M = 0.002  # a pixel of a picture counts as much
STEPS = 8  # of the colour: finer shades are not worth sending
NEAR = 0.35  # relative variance up to which a pose is like those that the model knows


@dataclass(frozen=True, slots=True)
class Certainty:
    """How sure the model is of a pose.

    Attributes:
        share: certainty from 0 to 1; None for a pose that no model has found.
        variance: variance of the model.
        unmet: handles that the pose misses.
    """

    share: float | None
    variance: float
    unmet: Mapping[str, Unmet]

    @property
    def color(self) -> Color:
        """The body's colour: blue where the pose is certain, orange where it is not."""
        share = 1.0 if self.share is None else round(self.share * STEPS) / STEPS
        return _mix_colors(ORANGE, CERTAIN, share)


def compute_certainty(found: FoundPose | None, unmet: Mapping[str, Unmet]) -> Certainty:
    """Return how certain a pose is: (1 - variance) / (1 + (worst miss / MISS_M)^2)."""
    worst_m = max((each.error_m + PX_M * min(each.error_px, 1e4) for each in unmet.values()), default=0.0)
    variance = 0.0 if found is None else float(np.clip(found.variance, 0.0, 1.0))
    share = None if found is None and not unmet else (1.0 - variance) / (1.0 + (worst_m / MISS_M) ** 2)
    return Certainty(share, variance, dict(unmet))


def format_certainty_html(certainty: Certainty, n_held: int) -> str:
    """Return the page's text on the certainty of a pose, with the legend of the colours."""
    row = f"<div class='row'>{_format_reached(certainty)}<span>{_format_model_certainty(certainty)}</span></div>"
    return row + _format_missed(certainty, n_held) + _format_legend()


def _format_reached(certainty: Certainty) -> str:
    """Return whether the handles are reached, as a label."""
    if certainty.unmet:
        return format_pill("not reached", BAD)
    return format_pill("as set", NEUTRAL) if certainty.share is None else format_pill("reached", GOOD)


def _format_model_certainty(certainty: Certainty) -> str:
    """Return in words how well the model knows such poses."""
    if certainty.share is None:
        return "drag a joint: the body follows"
    known = f"{100.0 * (1.0 - certainty.variance):.0f} % known"
    return f"{'like poses that the model knows' if certainty.variance <= NEAR else 'unlike the poses it knows'}: {known}"


def _format_missed(certainty: Certainty, n_held: int) -> str:
    """Return in words which handles are missed, the worst ones, or that none is."""
    if not certainty.unmet:
        return f"<div class='dim'>{n_held} {'joint is' if n_held == 1 else 'joints are'} held, all where they should be</div>"
    worst = sorted(certainty.unmet.items(), key=lambda pair: -pair[1].error_m - PX_M * min(pair[1].error_px, 1e6))[:3]
    words = ", ".join(f"{escape(name)} by {_format_distance(each)}" for name, each in worst)
    more = "" if len(certainty.unmet) <= len(worst) else f" and {len(certainty.unmet) - len(worst)} more"
    why = "out of reach, against each other, or unlike what the model knows. This is the best pose."
    if n_held > 1 and any(each.error_m > 0.0 for each in certainty.unmet.values()):
        why += " Let others go (P, F all), and the body follows."
    return f"<div class='dim'>missed: {words}{more}: {why}</div>"


def _format_distance(unmet: Unmet) -> str:
    """Return a distance for people."""
    if unmet.error_px > 0.0:
        return f"{unmet.error_px:.0f} px" if np.isfinite(unmet.error_px) else "being behind the camera"
    return f"{100.0 * unmet.error_m:.0f} cm"


def _format_legend() -> str:
    """Return the colours and what they mean."""
    ends = ", ".join(_format_css_color(_mix_colors(ORANGE, CERTAIN, share)) for share in (0.0, 0.5, 1.0))
    style = f"display:inline-block;width:3.5em;height:0.7em;border-radius:3px;background:linear-gradient(90deg, {ends})"
    bar = f"<span style='{style}'></span>"
    dots = "".join(_format_dot(color, words) for color, words in ((HELD, "held"), (SELECTED, "selected"), (VERMILION, "missed")))
    return f"<div class='legend' style='margin-top:0.3em'><span>uncertain {bar} certain</span>{dots}</div>"


def _format_dot(color: Color, words: str) -> str:
    """Return one colour of the legend."""
    background = f"background:{_format_css_color(color)}"
    style = f"display:inline-block;width:0.7em;height:0.7em;border-radius:50%;{background};margin-right:0.3em"
    return f"<span><span style='{style}'></span>{words}</span>"


CERTAIN: Color = (40, 120, 210)
HELD: Color = (0, 190, 80)
SELECTED: Color = (255, 190, 0)


def choose_handle_color(joint: str, held: bool, selected: str, certainty: Certainty, free: Color) -> Color:
    """Return the colour of a handle.

    Args:
        joint: name of the joint.
        held: names of held joints.
        selected: name of the selected joint.
        certainty: certainty of the pose.
        free: colour of a handle that is not held, readable on the ground.
    """
    if joint in certainty.unmet:
        return VERMILION
    return SELECTED if joint == selected else HELD if held else free


def _mix_colors(first: Color, second: Color, share: float) -> Color:
    """Return a colour between two; share: of the second."""
    r, g, b = (round((1.0 - share) * a + share * b) for a, b in zip(first, second, strict=True))
    return r, g, b


def _format_css_color(color: Color) -> str:
    """Return a colour as CSS has it."""
    return f"rgb{color}"
