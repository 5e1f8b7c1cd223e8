"""A pipeline that is warmed has nothing left to compile: a frame that waited for it would lose those behind it."""

import sys
from multiprocessing import get_context

import numpy as np
from numba.core.dispatcher import Dispatcher

from tests.support.compiled import compiled_only
from tests.support.people import lone_views, seen_pair
from tests.support.performances import Performance

ROOMS = ("calibration", "capture", "database", "numerics", "reconstruct")
NOISE_PX = 0.3


@compiled_only
def test_after_it_nothing_is_compiled() -> None:
    """In a process of its own: others may have compiled what is missing."""
    with get_context("spawn").Pool(1) as pool:
        before, after = pool.apply(_track)
    assert before and [name for name, n in after.items() if n > before.get(name, 0)] == []


def _track() -> tuple[dict[str, int], dict[str, int]]:
    """Return how many signatures each kernel has after warming, and after a walk that is seen by halves."""
    performance, rng = Performance.of_walk(90), np.random.default_rng(1)
    pipeline = performance.pipeline()
    pipeline.warm()
    before = _count_signatures()
    for k, markers in enumerate(performance.markers):
        gone = list(range(5)) if 20 <= k < 30 else []
        views = seen_pair(performance.rig, k, markers, NOISE_PX, rng, (gone, list(range(8 if k % 7 == 0 else 0))))
        pipeline.step(lone_views(views[0], 2) if 50 <= k < 55 else views)
    return before, _count_signatures()


def _count_signatures() -> dict[str, int]:
    """Return the number of signatures that each kernel is compiled for."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in ROOMS]
    kernels = {id(each): each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)}
    return {f"{each.py_func.__module__}.{each.__name__}": len(each.signatures) for each in kernels.values()}
