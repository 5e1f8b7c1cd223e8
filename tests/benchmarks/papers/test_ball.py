"""The paper's own search, and databases of some clips."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers.ball import BallSearch
from config.joints import N_JOINTS
from reconstruct.search.examples import compute_examples
from reconstruct.search.exhaustive import Query, find_nearest_examples
from tests.support.people import person, table_of, walk

SUBJECT = person("locomotion", 4)
EXAMPLES = compute_examples(SUBJECT, table_of([walk(SUBJECT.skeleton, seed) for seed in (3, 5)]))


def query_of(row: int) -> Query:
    """Return the query of an example."""
    markers = len(SUBJECT.joint)
    pose = np.asarray(EXAMPLES.pose[row], float)
    return Query(
        EXAMPLES.marker_m[row].reshape(-1, 3).astype(float), np.full(markers, 900.0), pose, np.full(3 * (N_JOINTS - 1), 12.0)
    )


def test_one_hop_in_wide_balls_finds_the_nearest_and_in_narrow_ones_examines_few() -> None:
    wide, narrow = BallSearch(EXAMPLES, np.inf), BallSearch(EXAMPLES, 0.5)
    for row in range(10, 30):
        exact = find_nearest_examples(EXAMPLES, query_of(row), 8)[0]
        found = wide.nearest(query_of(row), 8)[0]
        assert set(found.tolist()) == set(exact.tolist()) and wide.examined == len(EXAMPLES)
        narrow.nearest(query_of(row), 8)
        assert row == 10 or narrow.examined < len(EXAMPLES)
    assert (np.abs(EXAMPLES.pose[narrow.find_ball(12)] - EXAMPLES.pose[12]).sum(axis=1) < 0.5).all() and 12 in narrow.find_ball(
        12
    )
