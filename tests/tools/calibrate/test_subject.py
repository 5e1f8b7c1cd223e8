"""What `calibrate subject` is asked for, read from words: takes, other recordings, and what is missing."""

import pytest
import typer

from config.errors import DuocapError
from tools.calibrate.subject import TakeWindow, check_take_source, parse_further_source, parse_take_window


def test_a_take_is_two_times_and_perhaps_a_side() -> None:
    assert parse_take_window("1:4.5") == TakeWindow((1.0, 4.5), None)
    assert parse_take_window("9:12:left") == TakeWindow((9.0, 12.0), "left")
    assert parse_take_window("9:12:all") == TakeWindow((9.0, 12.0), "all")
    assert "from 9 to 12 s" in parse_take_window("9:12:right").words


@pytest.mark.parametrize("text", ["", "3", "4:1", "1:2:up", "left", "a:b:left", "-1:2"])
def test_what_is_no_take(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_take_window(text)


def test_another_recording_has_its_own_times_or_those_of_the_first() -> None:
    first = [TakeWindow((1.0, 2.0), "left"), TakeWindow((4.0, 5.0), None)]
    alike = parse_further_source("sessions/second", first)
    assert alike.spec.files == ("sessions/second",) and alike.windows == tuple(first)
    own = parse_further_source("ann@home/second@3:6:right", first)
    assert own.spec.files == ("ann@home/second",) and own.windows == (TakeWindow((3.0, 6.0), "right"),)
    videos = parse_further_source("b/left.avi,b/right.avi@3:6", first)
    assert videos.spec.files == ("b/left.avi", "b/right.avi")
    odd = parse_further_source("ann@home/second", first)
    assert odd.spec.files == ("ann@home/second",) and odd.windows == tuple(first)
    with pytest.raises(typer.BadParameter):
        parse_further_source("second@3:1", first)


def test_what_is_needed() -> None:
    check_take_source("left.avi", 2)
    with pytest.raises(DuocapError, match="one camera cannot measure depth"):
        check_take_source("left.avi", 1)
