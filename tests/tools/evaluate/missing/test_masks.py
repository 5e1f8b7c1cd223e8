"""Masks of missing markers: lengths and numbers of gaps, limbs, cases by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from config.errors import DatabaseError
from tests.tools.evaluate.walks import SUBJECT
from tools.evaluate.missing.masks import (
    CASES,
    LEAD_FRAMES,
    MIN_SEEN,
    MissingCase,
    at_random,
    cases_named,
    limb_gaps,
    markers_of_limb,
    n_missing,
    scored,
    seen_in,
)


def gaps_of(seen: np.ndarray) -> list[tuple[int, int]]:
    """Return first frame and length of each gap of one marker, (N,)."""
    edges = np.diff(np.concatenate([[1], seen.astype(int), [1]]))
    return [(int(a), int(b - a)) for a, b in zip(np.flatnonzero(edges < 0), np.flatnonzero(edges > 0), strict=True)]


@given(st.integers(6, 20), st.floats(0.01, 0.99), st.integers(20, 60), st.integers(0, 2**31))
@effort(max_examples=25, deadline=None)
def test_gaps_at_random_have_their_length_and_share(n_markers: int, share: float, gap: int, seed: int) -> None:
    n, missing = 150, n_missing(share, n_markers)
    visible = at_random(n, n_markers, missing, gap, np.random.default_rng(seed))
    assert visible[:LEAD_FRAMES].all() and visible[-1].all()
    assert visible.sum(axis=1).min() >= MIN_SEEN
    assert ((~visible[LEAD_FRAMES + gap : -1]).sum(axis=1) == missing).all()
    for m in range(n_markers):
        for first, length in gaps_of(visible[:, m]):
            assert length == min(gap, n - 1 - first)
    again = at_random(n, n_markers, missing, gap, np.random.default_rng(seed))
    np.testing.assert_array_equal(visible, again)


def test_shares_of_markers() -> None:
    assert [n_missing(share, 9) for share in (0.1, 0.3, 0.5, 0.7)] == [1, 3, 5, 6]
    assert [n_missing(share, 14) for share in (0.1, 0.3, 0.5, 0.7)] == [1, 4, 7, 10]
    assert n_missing(0.9, 8) == 5


def test_limbs_wear_the_right_markers() -> None:
    def names(limb: str) -> set[str]:
        return {name for name, worn in zip(SUBJECT.markers.names, markers_of_limb(SUBJECT, limb), strict=True) if worn}

    assert names("an arm") == {"left_hand"} and names("both arms") == {"left_hand", "right_hand"}
    assert names("a leg") == {"left_foot"}
    assert names("one side") == {"left_hand", "left_foot", "left_shoulder", "waist_left"}


def test_a_limb_goes_and_comes_back() -> None:
    worn = np.array([True, False])
    seen = limb_gaps(100, worn, 20)
    assert seen[:, 1].all()
    assert gaps_of(seen[:, 0]) == [(6, 20), (46, 20), (86, 13)]
    assert scored(seen).sum() == 53


def test_a_seed_a_case_and_a_clip_always_hide_the_same() -> None:
    case = MissingCase(0.5, share=0.5)
    one, same = (seen_in(case, SUBJECT, 90, 3, "07_08") for _ in range(2))
    other = seen_in(case, SUBJECT, 90, 3, "16_15")
    assert one is not None and same is not None and other is not None
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert seen_in(MissingCase(2.0, share=0.5), SUBJECT, 120, 3, "07_08") is None  # too short a clip for gaps of 2 s


def test_cases_by_name() -> None:
    assert cases_named(()) == CASES
    assert cases_named(["50%", "2s"]) == (MissingCase(2.0, share=0.5),)
    assert cases_named(["a leg"]) == (MissingCase(0.5, limb="a leg"), MissingCase(2.0, limb="a leg"))
    with pytest.raises(DatabaseError, match="'atail' is no case; take "):
        cases_named(["a tail"])
