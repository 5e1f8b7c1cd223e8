"""The paper's own search: every pose within the limit of eq. 4 is a neighbour, one hop from the last ones is searched."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.grown import pick_clips
from benchmarks.papers.search import SECONDS, make_graph, query_clip, time_exhaustive
from benchmarks.report import Row, number_columns, text_columns
from config.arrays import Ints, Singles
from database.graph.neighbours import find_graph
from database.store import open_database
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, compute_distances
from reconstruct.search.graph_search import PoseSearch, SearchMemory
from tools.evaluate.methods import EstimatorMethod, solve_by
from tools.evaluate.queries import MotionQuery
from tools.evaluate.scores import moving_angles
from tools.evaluate.synthesis.measure import errors_of

CLIPS = ("14_02", "07_08")
PAPER = {"boxing": (752.3, 36, 8968, 0.025), "all": (710.1, 31, 9101, 0.014)}
NEIGHBOURS = 150
N_WIDEST = 10  # coordinates that vary most: poses too far in these are not tried in all


class BallSearch(PoseSearch):
    """Chai & Hodgins 2005, section 5: neighbours are sought among the last ones and the poses within a limit of them (L1).

    Balls are found when they are asked for and kept, which gives the same poses as a graph that was computed beforehand.
    """

    def __init__(self, examples: Examples, radius_rad: float) -> None:
        """Prepare. radius_rad: the limit of eq. 4."""
        super().__init__(examples, None, None)
        self._radius_rad, self._balls = radius_rad, dict[int, Ints]()
        self._pose = examples.pose[:]
        self._wide = np.ascontiguousarray(self._pose[:, np.argsort(self._pose.std(axis=0))[-N_WIDEST:]].T)

    def find_ball(self, row: int) -> Ints:
        """Return the poses within the limit of a pose, itself included."""
        if row not in self._balls:
            near = np.flatnonzero(sum(np.abs(wide - wide[row]) for wide in self._wide) <= self._radius_rad)
            self._balls[row] = near[np.abs(self._pose[near] - self._pose[row]).sum(axis=1) < self._radius_rad]
        return self._balls[row]

    def nearest(self, query: Query, count: int) -> tuple[Ints, Singles]:
        """Return the neighbours found, nearest first, and their squared distances, (K,) each; the first query tries all."""
        last = self.memory.rows
        if last is None:
            return super().nearest(query, count)
        near = np.unique(np.concatenate([self.find_ball(int(row)) for row in last]))
        part = Examples(self.examples.pose[near], self.examples.marker_m[near], self.examples.clip[near], self.examples.fps)
        squared, self.examined = compute_distances(part, query), len(near)
        order = np.argsort(squared, kind="stable")[:count]
        self.memory = SearchMemory(near[order], float(np.sqrt(squared[order[0]])))
        return near[order], squared[order]


def synthesise(query: MotionQuery, examples: Examples, request: Request, search: PoseSearch) -> float:
    """Return the mean error of poses by the paper's model with a search, in degrees per angle of the file's skeleton."""
    settings = replace(request.settings.solve, model="paper")
    method = EstimatorMethod(query.subject, examples, settings, search)
    return errors_of(query, solve_by(query, method)).means()["asf_deg"]


def compute_ball_search(request: Request) -> Iterator[Row]:
    """Yield a row for each clip, quick: for one, in the database of its person's takes and in all. Raises DuocapError."""
    clips, path = request.find_clips(CLIPS)
    clips = clips[:1] if request.quick else clips
    database = open_database(path)
    stems = [name.partition("+")[0].partition("_")[0] for name in database.clip_names]
    for which in clips:
        own = np.flatnonzero([stem == which.stem.partition("_")[0] for stem in stems])
        for name, table in (("its person", pick_clips(database, own)), ("all", database)):
            queries, examples = query_clip(which, request, table)
            radius = make_graph(table, find_graph(database) if name == "all" else None).radius_rad
            search, exact = BallSearch(examples, radius), time_exhaustive(examples, queries, NEIGHBOURS)
            found, counts = list[Ints](), list[int]()
            for query in queries:
                found.append(search.nearest(query, NEIGHBOURS)[0])
                counts.append(search.examined)
            found, examined = found[1:], np.array(counts[1:])
            moving = moving_angles(np.asarray(table.rotvec[:: max(1, len(table.rotvec) // 5000)], float)).ravel()
            off = [
                np.abs(examples.pose[rows].mean(axis=0) - examples.pose[best].mean(axis=0))[moving].mean()
                for rows, (best, _) in zip(found, exact.found[1:], strict=True)
            ]
            motion = request.load_query(which, SECONDS)
            search.forget()
            paper = PAPER["all" if name == "all" else "boxing"] if which.behaviour == "boxing" or name == "all" else (None,) * 4
            yield {
                "behaviour": which.behaviour,
                "clip": which.stem,
                "database": name,
                "poses": len(examples),
                "frames": len(found),
                "examined": examined.mean(),
                "least": examined.min(),
                "most": examined.max(),
                "deg off": float(np.degrees(np.mean(off))),
                "deg": synthesise(motion, examples, request, search),
                "deg of all": synthesise(motion, examples, request, PoseSearch(examples, None, None)),
                **dict(zip(("paper examined", "paper least", "paper most", "paper deg"), paper, strict=True)),
            }


TABLE = PaperTable(
    "search-ball",
    "Chai & Hodgins 2005, Table 1",
    "the paper's own search: whole balls of eq. 4, one hop; poses examined, degrees of the neighbours' mean from the exact one,"
    " degrees of the paper's poses with it and with all tried",
    (
        *text_columns("behaviour", "clip", "database"),
        *number_columns(0, "poses", "frames", "examined", "paper examined", "least", "paper least", "most", "paper most"),
        *number_columns(3, "deg off", "paper deg"),
        *number_columns(2, "deg", "deg of all"),
    ),
    compute_ball_search,
)
