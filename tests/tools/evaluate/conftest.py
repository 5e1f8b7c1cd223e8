"""What the tests of the evaluations share: a short walk, the walk as a query, and a database of it."""

import numpy as np
import pytest

from config.markers import read_marker_set
from database.builtin import build_person_skeleton
from database.clips import Clip, slice_clip
from reconstruct.search.examples import Examples, compute_examples
from tests.support.people import table_of, walk
from tools.evaluate.asf_angles import AsfAngles, JointChain
from tools.evaluate.queries import MotionQuery, query_from_clip


@pytest.fixture(scope="session")
def clip() -> Clip:
    """40 frames of a walk at 60 Hz."""
    return slice_clip(walk(build_person_skeleton(1.78)), 20, 60)


@pytest.fixture(scope="session")
def query(clip: Clip) -> MotionQuery:
    """The walk with exact markers, and one hip as its file's skeleton."""
    hip = JointChain(1, np.eye(3), ("hip.rx", "hip.ry", "hip.rz"), np.eye(3), np.eye(3))
    return query_from_clip(clip, "walking", read_marker_set("boxing"), AsfAngles((hip,), (np.zeros((clip.n_frames, 3)),)))


@pytest.fixture(scope="session")
def examples(clip: Clip, query: MotionQuery) -> Examples:
    """Examples of a database that consists of the walk."""
    return compute_examples(query.subject, table_of([clip]))
