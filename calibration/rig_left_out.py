"""Views left out of a calibration: how many, and whether they are the last or the first ones, as when a camera was moved."""

import re
from collections.abc import Sequence

from calibration.rig_solution import RigSolution
from calibration.verdict import Finding, Grade
from calibration.views import BoardView

MANY = 0.4  # of all views
LEAST, TOGETHER = 3, 0.8  # so many, and such a share of them at one end of the calibration
MOVED_SHARE = 0.1  # of all views: fewer than that at an end may have other reasons


def left_out_findings(solution: RigSolution) -> list[Finding]:
    """Judge the views that were left out."""
    n_out, n_all = len(solution.dropped), len(solution.pairs) + len(solution.dropped)
    moved = _one_end(solution)
    if moved == "last":
        text = f"the last {n_out} of {n_all} views contradict all before: was a camera moved? The rig is that of before"
        return [Finding(Grade.POOR, text, "calibrate again, with cameras that hold still from then on")]
    if moved == "first":
        text = f"the first {n_out} of {n_all} views contradict all later ones: was a camera moved?"
        return [Finding(Grade.POOR, text, "fix both cameras firmly and calibrate again")]
    if n_out > MANY * n_all:
        text = f"{n_out} of {n_all} views were left out, such as {solution.dropped[0]}"
        return [Finding(Grade.POOR, text, "hold the board still and wholly in view")]
    return []


def _one_end(solution: RigSolution) -> str:
    """Tell whether the views left out are the last or the first ones by the numbers in their names; empty if neither or unknown.

    Names are those of pictures or moments, such as left07.jpg or 12.3 s, which go on as time does.
    """
    out = [key_of(words) for words in solution.dropped]
    kept = [key_of(name) for pair in solution.pairs for name in [_name(pair.views)] if name]
    numbered = {len(key) for key in out + kept} in ({1}, {2})
    if not kept or not numbered or len(out) < max(LEAST, MOVED_SHARE * (len(out) + len(kept))):
        return ""
    order = sorted([(key, True) for key in out] + [(key, False) for key in kept])
    last = sum(is_out for _, is_out in order[-len(out) :])
    first = sum(is_out for _, is_out in order[: len(out)])
    return "last" if last >= TOGETHER * len(out) else "first" if first >= TOGETHER * len(out) else ""


def key_of(words: str) -> tuple[float, ...]:
    """Give the numbers in the first name of a line, which sort by time."""
    name = re.split(r" and |: ", words, maxsplit=1)[0]
    return tuple(float(number) for number in re.findall(r"\d+(?:\.\d+)?", name))


def _name(views: Sequence[BoardView | None]) -> str:
    """Give the name of a place's first picture."""
    return next((view.name for view in views if view is not None and view.name), "")
