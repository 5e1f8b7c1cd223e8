"""A picture of a subject: skeleton and markers from the front and from the side, how well lengths are known, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration.quality.picture import INK, LEFT, MEASURED, QUIET, draw_report_panel, open_figure, save_figure
from calibration.quality.report import QualityReport
from calibration.subject.fit import TakesFit
from calibration.subject.quality import BoneLength, collect_lengths
from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from config.words import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAVES = ("head", "leftHand", "rightHand", "leftToes", "rightToes")
LABEL_M = (0.34, 0.048)  # room that the name of a marker takes
SIGMAS_DRAWN = 2.0


@dataclass(frozen=True, slots=True)
class _ViewSide:
    """A side to look from: which axes of the body run across and up, and which way across."""

    title: str
    across: int
    sign: float
    named: bool

    def flat(self, x: Floats) -> Floats:
        """Return places in the picture, (..., 3) -> (..., 2) [m]."""
        return np.stack([self.sign * x[..., self.across], x[..., 1]], axis=-1)


FRONT = _ViewSide("from the front: the performer's left is on the right", 0, 1.0, True)
SIDE = _ViewSide("from the performer's left", 2, -1.0, False)


@dataclass(frozen=True, slots=True)
class _DrawnBody:
    """A body with its hips at the origin, turned to face +z [m].

    joint, end: of bones, (J, 3); marker, nominal: where markers were found and where the set has them, (M, 3).
    """

    joint: Floats
    end: Floats
    marker: Floats
    nominal: Floats


def draw_subject(found: TakesFit, report: QualityReport, path: str | Path) -> Path:
    """Draw a fitted subject as a PNG and return its path.

    Args:
        found: the fit.
        report: the findings to show beside it.
        path: the file to write.
    Raises: FileFormatError: it cannot be written.
    """
    with open_figure(13.0, 9.4) as figure:
        body = _extract_body(found)
        _draw_view(figure.add_axes((0.04, 0.34, 0.44, 0.61)), found, body, FRONT)
        _draw_view(figure.add_axes((0.50, 0.34, 0.22, 0.61)), found, body, SIDE)
        _draw_lengths(figure.add_axes((0.80, 0.42, 0.18, 0.50)), collect_lengths(found.fit))
        n_moving = len(found.fit.problem.takes) - len(found.used)
        title = f"{found.fit.subject.name}, {format_count(len(found.used), 'take')}"
        title += f" and {format_count(n_moving, 'frame')} of movement" if n_moving else ""
        draw_report_panel(figure.add_axes((0.04, 0.02, 0.94, 0.26)), report, title, 140)
    return save_figure(figure, path)


def _extract_body(found: TakesFit) -> _DrawnBody:
    """Return the body of the first take in its own frame."""
    fit = found.fit
    (G, p), subject = fit.pose, fit.subject
    joint = subject.joint
    end = p + np.einsum("jik,jk->ji", G, subject.skeleton.tails_m)
    marker, nominal = (p[joint] + np.einsum("mij,mj->mi", G[joint], o) for o in (subject.offset_m, subject.markers.offset_m))
    joint_m, end_m, marker_m, nominal_m = ((x - p[0]) @ G[0] for x in (p, end, marker, nominal))
    return _DrawnBody(joint_m, end_m, marker_m, nominal_m)


def _draw_view(ax: Axes, found: TakesFit, body: _DrawnBody, view: _ViewSide) -> None:
    """Draw bones, how well each is known, markers and the way each came from its nominal place."""
    fit = found.fit
    kept = not fit.problem.space.n_parameters
    sigma = fit.subject.length_sigma_m
    bones = [(PARENTS[j], body.joint[PARENTS[j]], body.joint[j], 0, j) for j in range(1, N_JOINTS)]
    bones += [(JOINT_INDEX[n], body.joint[JOINT_INDEX[n]], body.end[JOINT_INDEX[n]], 1, JOINT_INDEX[n]) for n in LEAVES]
    for _, begin, end, row, j in bones:
        a, b = view.flat(begin), view.flat(end)
        known = kept or bool(fit.measured[row, j])
        ax.plot(
            *zip(a, b, strict=True), color=LEFT if known else QUIET, lw=3.0 if known else 2.0, solid_capstyle="round", zorder=3
        )
        if sigma is not None:
            _draw_halo(ax, b, SIGMAS_DRAWN * float(sigma[row, j]), LEFT if known else QUIET)
    found_at, nominal = view.flat(body.marker), view.flat(body.nominal)
    for m in range(len(found_at)):
        ax.plot(*zip(nominal[m], found_at[m], strict=True), color=MEASURED, lw=1.3, zorder=4)
        ax.plot(*found_at[m], "o", ms=5.5, mfc=MEASURED if fit.seen[m] else "white", mec=MEASURED, zorder=5)
    if view.named:
        _draw_names(ax, fit.subject.markers.names, found_at)
    ax.set_title(view.title)
    ax.set_aspect("equal")
    ax.margins(0.12)
    ax.grid(True)
    ax.set_xlabel("m from the hips" if view.named else "m from the hips, front to the left")


def _draw_halo(ax: Axes, middle: Floats, radius_m: float, color: str) -> None:
    """Draw how far the end of a bone may be off."""
    from matplotlib.patches import Circle

    ax.add_patch(Circle((float(middle[0]), float(middle[1])), radius_m, color=color, alpha=0.16, lw=0, zorder=1))


def _draw_names(ax: Axes, names: tuple[str, ...], places: Floats) -> None:
    """Write the markers' names beside them, each on the outer side and below those that are in its way."""
    written: list[Floats] = []
    for m in np.lexsort((places[:, 0], -places[:, 1])):
        outward = 1.0 if places[m, 0] >= 0 else -1.0
        at = places[m] + [0.03 * outward, 0.03]
        middle = at + [0.5 * LABEL_M[0] * outward, 0.0]
        while any((np.abs(middle - other) < LABEL_M).all() for other in written):
            at, middle = at - [0.0, 0.5 * LABEL_M[1]], middle - [0.0, 0.5 * LABEL_M[1]]
        written.append(middle)
        side = "left" if outward > 0 else "right"
        ax.text(float(at[0]), float(at[1]), names[m], size=7, color="0.3", ha=side, va="center", zorder=6)


def _draw_lengths(ax: Axes, lengths: list[BoneLength]) -> None:
    """Draw how well each length is known."""
    ax.set_title("lengths [mm]")
    if not lengths:
        ax.set_axis_off()
        ax.text(0.0, 0.9, "kept from before", color=INK)
        return
    rows = np.arange(len(lengths))
    length_mm, sigma_mm = (1e3 * np.array([getattr(each, name) for each in lengths]) for name in ("length_m", "sigma_m"))
    colors = [LEFT if length.measured else QUIET for length in lengths]
    ax.barh(rows, length_mm, color=colors, height=0.62, xerr=SIGMAS_DRAWN * sigma_mm, ecolor=INK, capsize=2.0)
    for row in rows.tolist():
        end_mm = length_mm[row] + SIGMAS_DRAWN * sigma_mm[row]
        ax.text(end_mm + 8.0, row, f"{length_mm[row]:.0f} +- {sigma_mm[row]:.0f}", va="center", size=8, color=INK)
    ax.set_yticks(rows, [length.name for length in lengths])
    ax.set_xlim(0.0, 1.5 * float((length_mm + SIGMAS_DRAWN * sigma_mm).max()))
    ax.invert_yaxis()
    ax.set_xlabel("mm; lines and halos: two standard deviations;\nblue: measured, grey: from people of that size", size=7.5)
    ax.tick_params(length=0)
