"""The table of the rendered clips, for a terminal or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tools.evaluation.rendered import Result

HEAD = (
    f"{'clip':<7}{'behaviour':<16}{'frames':>7}{'tracked':>9}{'position mm':>16}{'ASF deg':>14}{'angle deg':>14}{'joint deg':>14}"
    f"{'in view':>9}{'labelled':>10}{'wrong':>8}{'bones':>7}{'offset':>8}{'m away':>8}{'fps':>6}"
)


def row(result: Result) -> str:
    """Give one line."""
    s = result.score
    return (
        f"{result.clip:<7}{result.behaviour:<16}{s.frames:>7}{100 * s.tracked:>8.1f}%"
        f"{_spread(s.position_mm, 16, 1)}{_spread(result.asf_deg, 14, 2)}"
        f"{_spread(s.angle_deg, 14, 2)}{_spread(s.geodesic_deg, 14, 2)}"
        f"{100 * s.in_view:>8.1f}%{100 * s.labelled:>9.1f}%{100 * s.wrong_frames:>7.1f}%"
        f"{result.skeleton_mm:>7.1f}{result.offset_mm:>8.1f}{result.distance_m:>8.1f}{result.fps:>6.0f}"
    )


def mean_row(results: list[Result], behaviour: str) -> str:
    """Give the mean of the clips of a behaviour, each clip alike; errors are those of the clips that were tracked at all."""
    scores = [result.score for result in results]
    tracked = [result for result in results if result.score.tracked > 0.0] or results
    position, angle, geodesic = (
        tuple(np.mean([getattr(result.score, name) for result in tracked], axis=0))
        for name in ("position_mm", "angle_deg", "geodesic_deg")
    )
    asf = tuple(np.mean([result.asf_deg for result in tracked], axis=0))
    return (
        f"{'mean':<7}{behaviour:<16}{sum(s.frames for s in scores):>7}{100 * np.mean([s.tracked for s in scores]):>8.1f}%"
        f"{_spread(position, 16, 1)}{_spread(asf, 14, 2)}{_spread(angle, 14, 2)}{_spread(geodesic, 14, 2)}"
    )


def print_scores(results: list[Result]) -> None:
    """Print a table for each share of occlusion, with means by behaviour."""
    for occlude in dict.fromkeys(result.occlude for result in results):
        part = [result for result in results if result.occlude == occlude]
        print(f"\n{100 * occlude:.0f} % of the markers occluded; mean / p95 of tracked frames; bones, offset: of the fit [mm]")
        print(HEAD)
        print("\n".join(row(result) for result in part))
        for behaviour in dict.fromkeys(result.behaviour for result in part):
            same = [result for result in part if result.behaviour == behaviour]
            if len(same) > 1:
                print(mean_row(same, behaviour))
        if len(part) > 1:
            print(mean_row(part, "all"))
    if any(result.behaviour == "boxing" for result in results):
        print("Chai & Hodgins 2005, section 8, boxing from two cameras: 2.54 degrees per joint angle")


def _spread(spread: tuple[float, ...], width: int, digits: int) -> str:
    """Give mean and 95th percentile."""
    return f"{spread[0]:.{digits}f} / {spread[1]:.{digits}f}".rjust(width)
