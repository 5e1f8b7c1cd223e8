"""What became of landmarks, counted."""

import pytest

from stream.protocol.landmarks import LandmarkTally, format_landmarks


def test_exchanges_and_refused_landmarks_are_counted_by_picture() -> None:
    tally = LandmarkTally()
    tally.add(("nothing", None), 10, (10, 0))  # what the second camera does not show is not refused
    tally.add(("nothing", "legs"), 10, (8, 10))
    tally.add(("nothing", "arms"), 10, (10, 6))
    counts = tally.as_plain()
    assert counts is not None and counts["pictures"] == {"left": 3, "right": 2}
    assert counts["exchanged"] == {"left": {}, "right": {"legs": 1, "arms": 1}} and counts["refused"] == pytest.approx(0.12)
    (line,) = format_landmarks(counts)
    assert line == "landmarks: pictures with left and right exchanged: left 0 of 3; right 2 of 2 (legs 1, arms 1); 12.0 % refused"


def test_without_landmarks_nothing_is_said() -> None:
    tally = LandmarkTally()
    tally.add((), 0, ())
    assert tally.as_plain() is None and format_landmarks(None) == []
