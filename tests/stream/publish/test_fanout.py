"""Outputs beside the publisher: each hears everything in order, and one that fails is dropped without harm."""

import pickle
from dataclasses import replace
from functools import partial

import pytest

from capture.clock import now_ns
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.messages import EventMessage, Message
from stream.publish.fanout import OutputFanout, open_outputs
from stream.publish.publisher import Publisher
from tests.stream.publish.test_publisher import serve_until_joined, subscriber
from tests.support.kept import Kept
from tests.support.stream_messages import EVENT, POSE, RIG, SKELETON, STATUS


class Notebook:
    """Notes what it is given; fails at the message told."""

    def __init__(self, fails_at: Message | None = None, log: list[str] | None = None) -> None:
        self.taken: list[tuple[Message, bytes, int]] = []
        self.served: list[int] = []
        self.closed = 0
        self._fails_at, self._log = fails_at, log

    def write(self, message: Message, payload: bytes, t_ns: int) -> None:
        if message is self._fails_at:
            raise OSError("no space left")
        self.taken.append((message, payload, t_ns))

    def serve(self, t_ns: int) -> None:
        self.served.append(t_ns)

    def close(self) -> None:
        self.closed += 1


class Unmakeable:
    def __init__(self) -> None:
        raise ValueError("nobody at that address")


def test_outputs_hear_the_very_bytes_with_the_time_of_publishing(kept: Kept) -> None:
    notes = Notebook()
    fanout = kept(OutputFanout(Publisher("tcp://127.0.0.1:0"), "s1", [notes]))
    before_ns = now_ns()
    for message in (SKELETON, RIG, POSE, STATUS, EVENT):
        fanout.publish(message)
    fanout.serve(77)
    fanout.close()
    completed = replace(STATUS, drops={"late": 1, "requests": 0})  # no service, nothing recorded
    assert [payload for _, payload, _ in notes.taken] == [encode_message(m) for m in (SKELETON, RIG, POSE, completed, EVENT)]
    assert [t for _, _, t in notes.taken[2:]] == [POSE.t_publish_ns, STATUS.t_ns, EVENT.t_ns]
    assert before_ns <= notes.taken[0][2] <= notes.taken[1][2] <= now_ns()
    assert notes.served == [77] and notes.closed == 1


def test_a_failing_output_is_dropped_with_an_event_and_the_others_go_on(kept: Kept) -> None:
    bad, good = Notebook(fails_at=POSE), Notebook()
    fanout = kept(OutputFanout(publisher := Publisher("tcp://127.0.0.1:0"), "s1", [bad, good]))
    socket = kept(subscriber(fanout.address, b"event "))
    serve_until_joined(publisher, 1)
    fanout.publish(SKELETON)
    fanout.publish(POSE)
    fanout.publish(STATUS)
    assert [m for m, _, _ in bad.taken] == [SKELETON]
    heard = [m for m, _, _ in good.taken]
    assert heard[:2] == [SKELETON, POSE] and getattr(heard[3], "rates_hz", None) == STATUS.rates_hz
    event = decode_message(socket.recv())
    assert isinstance(event, EventMessage) and event.kind == "output" and event.session == "s1"
    assert event.text == "Notebook failed and is dropped: no space left" and event == heard[2]
    socket.close()
    fanout.close()
    assert (bad.closed, good.closed) == (1, 1)


def test_outputs_are_made_of_picklable_factories_and_closed_if_one_cannot_be() -> None:
    factory = pickle.loads(pickle.dumps(partial(Notebook, fails_at=None)))
    assert [type(output) for output in open_outputs([factory, Notebook])] == [Notebook, Notebook]
    first = Notebook()
    with pytest.raises(ValueError, match="nobody"):
        open_outputs([lambda: first, Unmakeable])
    assert first.closed == 1
