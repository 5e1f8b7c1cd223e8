"""Tables of the search: by behaviour, and by the size of the database."""

from collections.abc import Sequence

import numpy as np

from config.arrays import Floats
from tools.evaluate.search.measure import MARKERS, QueryCost, SearchedFrames


def table_lines(results: Sequence[SearchedFrames], n_poses: int, count: int) -> list[str]:
    """Return the lines of Table 1: by behaviour, then of all; without the first frame, whose search has no seeds."""
    lines = [
        f"{count} nearest of {n_poses} poses; markers: {MARKERS} with 5 mm noise",
        "",
        f"{'':<14}{'poses examined':^23}{'distance':>9}{'recall':>8}{'nearest':>9}{'mean':>8}{'us':>7}{'us':>12}{'lost':>8}",
        f"{'behaviour':<14}{'mean':>8}{'min':>7}{'max':>8}{'ratio':>9}{'@' + str(count):>8}{'deg':>9}{'deg':>8}{'':>7}"
        f"{'exhaustive':>12}{'frames':>8}",
    ]
    for behaviour in dict.fromkeys(each.behaviour for each in results):
        lines.append(_line(behaviour, [each for each in results if each.behaviour == behaviour]))
    walk = np.concatenate([each.walk_examined[1:] for each in results])
    ratio = np.concatenate([each.walk_ratio[1:] for each in results])
    alone = f"{'walk alone':<14}{walk.mean():8.0f}{walk.min():7.0f}{walk.max():8.0f}{ratio.mean():9.4f}"
    return [*lines, _line("all", results), alone]


def _line(name: str, results: Sequence[SearchedFrames]) -> str:
    """Return one line of the table."""

    def over(field: str) -> Floats:
        return np.concatenate([getattr(each, field)[1:] for each in results])

    examined, lost = over("examined"), np.concatenate([each.lost_frames for each in results])
    return (
        f"{name:<14}{examined.mean():8.0f}{examined.min():7.0f}{examined.max():8.0f}{over('ratio').mean():9.4f}"
        f"{over('recall').mean():8.3f}{over('nearest_deg').mean():9.4f}{over('mean_deg').mean():8.4f}{np.median(over('us')):7.0f}"
        f"{np.median(over('exhaustive_us')):12.0f}{lost.mean():5.2f}/{lost.max():.0f}"
    )


def cost_lines(costs: Sequence[QueryCost]) -> list[str]:
    """Return the lines of the cost by the size of the database."""
    lines = ["", f"{'poses':>8}{'us':>8}{'exhaustive us':>15}{'examined':>10}{'ratio':>8}"]
    return lines + [f"{c.poses:8d}{c.us:8.0f}{c.exhaustive_us:15.0f}{c.examined:10.0f}{c.ratio:8.4f}" for c in costs]
