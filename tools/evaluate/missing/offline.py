"""A query solved offline, as `duocap replay` solves takes: from the live poses, with frames on both sides of each gap."""

from time import process_time

import numpy as np

from reconstruct.offline.motion import build_take_motion
from reconstruct.offline.take import TakeSolver
from tools.evaluate.missing.methods import MethodInput, SolvedMarkers
from tools.evaluate.queries import FPS, RIG, marker_positions

OFFLINE = "offline"


def solve_offline(given: MethodInput, live: SolvedMarkers) -> SolvedMarkers:
    """Solve a query offline; live: result of the local model. The time of a frame is that of both."""
    query, n = given.query, len(given.query)
    begin_s = process_time()
    start = build_take_motion(np.arange(n) / FPS, live.rotvec, live.root_m, given.index.examples.fps)
    frames = [query.frame(k) for k in range(n)]
    solved = TakeSolver(query.subject, given.index, RIG).solve(frames, start, errors=True)
    spent_ms = 1e3 * (process_time() - begin_s) / n
    found, error_m = solved.motion, solved.error_m
    assert error_m is not None  # asked for
    marker_m = marker_positions(query.subject, found.rotvec, found.position_m)
    return SolvedMarkers(found.rotvec, found.position_m, marker_m, error_m, live.frame_ms + spent_ms)
