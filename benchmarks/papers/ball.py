"""The paper's own search: every pose within the limit of eq. 4 is a neighbour, one hop from the last ones is searched."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.papers.frame import PaperTable, Request, Row, number_columns, text_columns
from benchmarks.papers.grown import pick_clips
from benchmarks.papers.search import make_graph, query_clip, time_exhaustive
from config.arrays import Ints, Singles
from database.graph.neighbours import find_graph
from database.store import open_database
from reconstruct.search.examples import Examples
from reconstruct.search.nearest import Query, compute_distances, find_nearest_examples
from tools.evaluate.protocol import protocol_clip
from tools.evaluate.scores import moving_angles

CLIPS = ("14_02", "07_08")
PAPER = {"boxing": (752.3, 36, 8968, 0.025), "all": (710.1, 31, 9101, 0.014)}
NEIGHBOURS = 150


@dataclass(slots=True)
class BallSearch:
    """Chai & Hodgins 2005, section 5: neighbours are sought among the last ones and the poses within `radius_rad` of them (L1).

    Balls are found when they are asked for and kept, which gives the same poses as a graph that was computed beforehand.
    """

    examples: Examples
    radius_rad: float
    balls: dict[int, Ints] = field(default_factory=dict)
    last: Ints | None = None

    def find_ball(self, row: int) -> Ints:
        """Return the poses within the limit of a pose, itself included."""
        if row not in self.balls:
            apart = np.abs(self.examples.pose[:] - self.examples.pose[row]).sum(axis=1)
            self.balls[row] = np.flatnonzero(apart < self.radius_rad)
        return self.balls[row]

    def find_nearest(self, query: Query, count: int) -> tuple[Ints, int]:
        """Return the neighbours found, (K,), and how many poses were examined; the first query examines all."""
        if self.last is None:
            self.last = find_nearest_examples(self.examples, query, count)[0]
            return self.last, len(self.examples)
        near = np.unique(np.concatenate([self.find_ball(int(row)) for row in self.last]))
        part = Examples(self.examples.pose[near], self.examples.marker_m[near], self.examples.clip[near], self.examples.fps)
        distances: Singles = compute_distances(part, query)
        self.last = near[np.argsort(distances, kind="stable")[:count]]
        return self.last, len(near)


def compute_ball_search(request: Request) -> Iterator[Row]:
    """Yield a row for each clip in the database of its behaviour's takes and in all. Raises DuocapError."""
    clips, path = request.find_clips([protocol_clip(stem) for stem in CLIPS])
    database = open_database(path)
    stems = [name.partition("+")[0].partition("_")[0] for name in database.clip_names]
    for which in clips:
        own = np.flatnonzero([stem == which.stem.partition("_")[0] for stem in stems])
        for name, table in (("its person", pick_clips(database, own)), ("all", database)):
            queries, examples = query_clip(which, request, table)
            radius = make_graph(table, find_graph(database) if name == "all" else None).radius_rad
            search, exact = BallSearch(examples, radius), time_exhaustive(examples, queries, NEIGHBOURS)
            found = [search.find_nearest(query, NEIGHBOURS) for query in queries][1:]
            examined = np.array([count for _, count in found])
            moving = moving_angles(np.asarray(table.rotvec[:: max(1, len(table.rotvec) // 5000)], float)).ravel()
            off = [
                np.abs(examples.pose[rows].mean(axis=0) - examples.pose[best].mean(axis=0))[moving].mean()
                for (rows, _), (best, _) in zip(found, exact.found[1:], strict=True)
            ]
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
                **dict(zip(("paper examined", "paper least", "paper most", "paper deg"), paper, strict=True)),
            }


TABLE = PaperTable(
    "search-ball",
    "Chai & Hodgins 2005, Table 1",
    "the paper's own search: whole balls of eq. 4, one hop; poses examined, degrees of the neighbours' mean from the exact one",
    (
        *text_columns("behaviour", "clip", "database"),
        *number_columns(0, "poses", "frames", "examined", "paper examined", "least", "paper least", "most", "paper most"),
        *number_columns(3, "deg off", "paper deg"),
    ),
    compute_ball_search,
)
