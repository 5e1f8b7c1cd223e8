"""The relay for browsers: every message as it was, newcomers told all they need, slow ones skipped ahead, other sites refused."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from capture.sockets.endpoints import KeySettings
from stream.protocol.codec import encode_message
from stream.publish.publisher import Publisher
from stream.publish.relay import MAX_CONNECTIONS, Mailbox, Relay, RelayError, StreamReader
from tests.support.stream_messages import EVENT, POSE, SKELETON, STATUS


def pose(seq: int) -> bytes:
    return encode_message(replace(POSE, seq=seq))


def with_relay(work: Callable[[Relay, str], Awaitable[None]], *origins: str) -> None:
    """Do some work with an open relay at an address."""

    async def run() -> None:
        relay = Relay(origins)
        port = await relay.open("127.0.0.1", 0)
        try:
            await asyncio.wait_for(work(relay, f"ws://127.0.0.1:{port}"), 20)
        finally:
            await relay.close()

    asyncio.run(run())


async def listening(relay: Relay, n: int) -> None:
    while relay.n_listening != n:
        await asyncio.sleep(0.005)


async def next_message(socket: ClientConnection) -> bytes:
    message = await asyncio.wait_for(socket.recv(), 5)
    assert isinstance(message, bytes)
    return message


def test_a_mailbox_keeps_the_newest_of_each_kind_and_all_events_in_order() -> None:
    mailbox = Mailbox()
    events = [encode_message(replace(EVENT, text=str(n))) for n in range(3)]
    for payload in (
        pose(1),
        encode_message(SKELETON),
        events[0],
        pose(2),
        events[1],
        encode_message(STATUS),
        pose(3),
        events[2],
        b"unknown x",
    ):
        mailbox.put(payload)
    assert mailbox.take() == [encode_message(SKELETON), encode_message(STATUS), pose(3), *events] and mailbox.n_skipped == 2
    assert mailbox.take() == [] and not mailbox.filled.is_set()


def test_browsers_get_what_the_stream_says_and_late_ones_what_they_missed() -> None:
    async def work(relay: Relay, url: str) -> None:
        async with connect(url) as early:
            await listening(relay, 1)
            for payload in (encode_message(SKELETON), pose(1), encode_message(EVENT)):
                relay.offer(payload)
                assert await next_message(early) == payload
            async with connect(url) as late:
                await listening(relay, 2)
                assert [await next_message(late) for _ in range(2)] == [encode_message(SKELETON), pose(1)]
                relay.offer(pose(2))
                assert await next_message(late) == pose(2) == await next_message(early)
        await listening(relay, 0)

    with_relay(work)


def test_who_does_not_read_holds_nobody_up_and_costs_no_memory() -> None:
    async def work(relay: Relay, url: str) -> None:
        async with connect(url, max_queue=1, close_timeout=0.1) as slow, connect(url) as quick:
            await listening(relay, 2)
            for number in range(200):  # 40 MB, far more than any buffer on the way holds
                relay.offer(b"pose %d " % number + bytes(200_000))
                if number % 4 == 0:
                    await next_message(quick)
            skipped = [mailbox.n_skipped for mailbox in relay._mailboxes]
            assert max(skipped) > 100
            del slow

    with_relay(work)


def test_pages_of_other_sites_are_refused_unless_named() -> None:
    async def work(relay: Relay, url: str) -> None:
        for origin in ("http://localhost:8080", "https://127.0.0.1", "http://[::1]:3000", "https://studio.example", None):
            async with connect(url, origin=origin):
                pass
        for n, origin in enumerate(
            ("https://evil.example", "http://localhost.evil.example", "null", "http://127.0.0.1.evil.example:80", "file://"), 1
        ):
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, origin=origin)
            assert refused.value.response.status_code == 403 and relay.n_refused == n

    with_relay(work, "https://studio.example")


def test_there_is_an_end_to_connections_and_to_what_browsers_may_say(caplog: pytest.LogCaptureFixture) -> None:
    async def work(relay: Relay, url: str) -> None:
        sockets = [await connect(url) for _ in range(MAX_CONNECTIONS)]
        await listening(relay, MAX_CONNECTIONS)
        with pytest.raises(InvalidStatus):
            await connect(url)
        await sockets[0].send(b"x" * 5000)
        await listening(relay, MAX_CONNECTIONS - 1)
        await sockets[1].send(b"hello")
        relay.offer(pose(7))
        assert await next_message(sockets[1]) == pose(7)
        for socket in sockets:
            await socket.close()

    with caplog.at_level(logging.ERROR):
        with_relay(work)
    assert not caplog.records


def test_a_taken_port_is_named() -> None:
    async def work(relay: Relay, url: str) -> None:
        with pytest.raises(RelayError, match=r"cannot listen there.*--port"):
            await Relay().open("127.0.0.1", int(url.rpartition(":")[2]))

    with_relay(work)


def test_reads_a_real_stream() -> None:
    publisher = Publisher("tcp://127.0.0.1:0")
    publisher.publish(SKELETON)

    async def work(relay: Relay, url: str) -> None:
        reader = StreamReader(publisher.address, KeySettings(), relay, asyncio.get_running_loop())
        try:
            async with connect(url) as socket:
                receiving = asyncio.create_task(next_message(socket))
                while not receiving.done():
                    publisher.serve(1)
                    await asyncio.sleep(0.005)
                assert receiving.result() == encode_message(SKELETON)
                publisher.publish(POSE)
                assert await next_message(socket) == encode_message(POSE)
        finally:
            reader.close()

    try:
        with_relay(work)
    finally:
        publisher.close()
