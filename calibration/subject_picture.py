"""A picture of a subject: skeleton and markers from the front and from the side, how far markers are from nominal, lengths,
verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration.picture import ACCENT, INK, LEFT, MEASURED, QUIET, new_figure, save_figure, style, verdict_panel
from calibration.subject_takes import TakesFit
from calibration.subject_words import Length, lengths_of
from calibration.verdict import Verdict
from config.joints import JOINT_INDEX, JOINTS, PARENTS
from database.rotations import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VIEWS = (("from the front", 0, 1, -1.0), ("from the left", 2, 1, -1.0))


def draw_subject(found: TakesFit, verdict: Verdict, path: str | Path) -> Path:
    """Draw a fitted subject to a PNG and give its path. Raises FileFormatError: it cannot be written."""
    import matplotlib

    with matplotlib.rc_context(style()):
        figure = new_figure(12.0, 8.4)
        places = ((0.04, 0.36, 0.40, 0.58), (0.45, 0.36, 0.22, 0.58))
        for place, view in zip(places, VIEWS, strict=True):
            _view(figure.add_axes(place), found, *view)
        _lengths(figure.add_axes((0.79, 0.40, 0.18, 0.52)), lengths_of(found.fit))
        title = f"{found.fit.subject.name}, {len(found.used)} take{'' if len(found.used) == 1 else 's'}"
        verdict_panel(figure.add_axes((0.04, 0.03, 0.93, 0.26)), verdict, title, 120)
    return save_figure(figure, path)


def _own_frame(found: TakesFit) -> tuple[Floats, Floats, Floats, Floats]:
    """Give joints (J, 3), tail ends (J, 3), markers where they were found (M, 3) and where the set has them (M, 3), hips at the
    origin."""
    fit = found.fit
    G, p = fit.pose
    joint, subject = fit.subject.joint, fit.subject
    ends = p + np.einsum("jik,jk->ji", G, subject.skeleton.tails_m)
    placed = [p[joint] + np.einsum("mij,mj->mi", G[joint], o) for o in (subject.offset_m, subject.markers.offset_m)]
    return tuple((x - p[0]) @ G[0] for x in (p, ends, *placed))


def _view(ax: Axes, found: TakesFit, title: str, across: int, up: int, sign: float) -> None:
    """Draw bones, known ones in blue, markers and the way each came from its nominal place."""
    p, ends, markers, nominal = _own_frame(found)
    fit = found.fit
    known = fit.measured | (not fit.problem.space.n_parameters)
    for j in range(1, len(JOINTS)):
        _bone(ax, p[PARENTS[j]], p[j], across, up, sign, bool(known[0, j]))
    for name in ("head", "leftHand", "rightHand", "leftToes", "rightToes"):
        j = JOINT_INDEX[name]
        _bone(ax, p[j], ends[j], across, up, sign, bool(known[1, j]))
    for m, name in enumerate(fit.subject.markers.names):
        a, b = nominal[m], markers[m]
        ax.plot([sign * a[across], sign * b[across]], [a[up], b[up]], color=MEASURED, lw=1.2)
        color = MEASURED if fit.seen[m] else "white"
        ax.plot(sign * b[across], b[up], "o", ms=5.5, mfc=color, mec=MEASURED, zorder=5)
        if across == 0:
            ax.annotate(name, (sign * b[across], b[up]), (4, 4), textcoords="offset points", size=6.5, color="0.35")
    ax.set_title(title)
    ax.set_aspect("equal")
    ax.grid(True)
    ax.set_xlabel("m")


def _bone(ax: Axes, a: Floats, b: Floats, across: int, up: int, sign: float, known: bool) -> None:
    """Draw one bone: thick where its length was measured."""
    color, width = (LEFT, 3.2) if known else (QUIET, 2.0)
    ax.plot([sign * a[across], sign * b[across]], [a[up], b[up]], color=color, lw=width, solid_capstyle="round", zorder=2)


def _lengths(ax: Axes, lengths: list[Length]) -> None:
    """Draw how well each length is known."""
    ax.set_title("lengths [mm]")
    if not lengths:
        ax.set_axis_off()
        ax.text(0.0, 0.9, "kept from before", color=INK)
        return
    rows = np.arange(len(lengths))
    sigma = [1e3 * length.sigma_m for length in lengths]
    colors = [LEFT if length.measured else QUIET for length in lengths]
    ax.barh(rows, sigma, color=colors, height=0.62)
    for row, length in enumerate(lengths):
        text = f"{1e3 * length.length_m:.0f} +- {sigma[row]:.0f}"
        ax.text(sigma[row] + 0.6, row, text, va="center", size=8, color=INK)
    ax.set_yticks(rows, [length.name for length in lengths])
    ax.set_xlim(0.0, 1.45 * max(sigma))
    ax.invert_yaxis()
    ax.set_xlabel("standard deviation [mm]; blue: measured, grey: from people of that size", size=7)
    ax.tick_params(length=0)
    ax.axvline(0.0, color=ACCENT, lw=0.8)
