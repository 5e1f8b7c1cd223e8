"""Advice in itself: progress, what is missing, words that stay long enough to be read."""

import pytest

from calibration.guidance.advice import Advice, Requirement, SteadyText, sort_by_need


def test_progress_is_the_mean_of_what_there_is_and_complete_only_when_done() -> None:
    needs = (Requirement("views", 0.5), Requirement("tilt", 2.0), Requirement("cover", 0.0))
    assert Advice("", needs=needs).progress == pytest.approx(0.5)
    assert Advice("", needs=(Requirement("views", 1.0),)).progress == 0.99
    assert Advice("", needs=needs, done=True).progress == 1.0
    assert Advice("").progress == 0.0


def test_what_is_missing_the_farthest_first() -> None:
    needs = (Requirement("views", 0.8, figure="8 of 10"), Requirement("tilt", 1.0), Requirement("cover", 0.3, figure="30 %"))
    assert Advice("", needs=needs).missing == ["cover 30 %", "views 8 of 10"]
    assert [need.name for need in sort_by_need(needs)] == ["cover", "views", "tilt"]


def test_words_stay_until_they_were_read_unless_it_is_urgent() -> None:
    steady = SteadyText(700)
    assert steady.say("hold still", 0) == "hold still"
    assert steady.say("tilt more", 300) == "hold still"
    assert steady.say("tilt more", 700) == "tilt more"
    assert steady.say("gone", 800, urgent=True) == "gone"
    assert steady.say("tilt more", 900) == "gone"
    assert steady.say("tilt more", 100) == "tilt more"  # the clock was set back
