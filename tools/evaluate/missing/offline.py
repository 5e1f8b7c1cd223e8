"""A query solved offline, as `duocap replay` solves takes: from the live poses on, with past and future of every gap."""

from time import perf_counter

import numpy as np

from reconstruct.offline.motion import take_motion
from reconstruct.offline.take import TakeSolver
from tools.evaluate.missing.methods import MethodInput, SolvedMarkers
from tools.evaluate.queries import FPS, RIG, marker_positions

OFFLINE = "offline"


def solve_offline(given: MethodInput, live: SolvedMarkers) -> SolvedMarkers:
    """Solve a query offline; live: what the local model gave. The time of a frame is that of both."""
    query, n = given.query, len(given.query)
    begin_s = perf_counter()
    start = take_motion(np.arange(n) / FPS, live.rotvec, live.root_m, given.index.examples.fps)
    frames = [query.frame(k) for k in range(n)]
    found = TakeSolver(query.subject, given.index, RIG).solve(frames, start).motion
    spent_ms = 1e3 * (perf_counter() - begin_s) / n
    marker_m = marker_positions(query.subject, found.rotvec, found.position_m)
    return SolvedMarkers(found.rotvec, found.position_m, marker_m, live.frame_ms + spent_ms)
