"""Ctrl-C and SIGTERM: they end a loop even where the exception that they raise is lost."""

import contextlib
import signal

import pytest

from tools.interrupt import raise_if_interrupted, raise_on_interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_was_lost_is_raised_at_the_next_turn(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with raise_on_interrupt():
        raise_if_interrupted()
        with contextlib.suppress(KeyboardInterrupt):  # as compiled code does that has no way to pass it on
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()
    raise_if_interrupted()
    assert signal.getsignal(number) == before


def test_an_interrupt_that_an_inner_block_took_as_its_own_end_ends_the_outer_one() -> None:
    with raise_on_interrupt():
        with (
            raise_on_interrupt(),
            contextlib.suppress(KeyboardInterrupt),
        ):  # a guided calibration shows its result so
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()
    raise_if_interrupted()


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with raise_on_interrupt():
            signal.raise_signal(signal.SIGINT)
            raise_if_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
