"""`duocap relay`: the stream for pages in a browser."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from config.settings import Settings
from config.words import format_count
from tools.commands.declaration import add_settings_options
from tools.progress import StreamWatch, Tell

if TYPE_CHECKING:
    from stream.publish.relay import Relay

HOST = "127.0.0.1"
SAY_S = 1.0
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port of the WebSocket; 0 takes a free one.")]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", metavar="URL", help="Also serve pages of this site, such as https://example.org; repeatable."),
]


@add_settings_options
def relay(settings: Settings, port: Port = 5574, origin: Origins = None) -> None:
    """Hand a running stream on to browsers over WebSocket, on this machine."""
    asyncio.run(run_relay(settings, port, origin or (), typer.echo))


async def run_relay(settings: Settings, port: int, origins: Sequence[str], tell: Tell) -> None:
    """Serve browsers of this machine; raises RelayError, and DuocapError for addresses and keys."""
    from capture.sockets.endpoints import find_key_settings
    from stream.publish.relay import Relay, StreamReader

    relay = Relay(origins)
    reader = StreamReader(settings.stream.address, find_key_settings(settings.stream), relay, asyncio.get_running_loop())
    try:
        port = await relay.open(HOST, port)
        tell(f"{settings.stream.address} for browsers at ws://{HOST}:{port}; Ctrl-C ends it")
        await _report(relay, StreamWatch(settings.stream.address, tell, time.monotonic()), tell)
    finally:
        reader.close()
        await relay.close()


async def _report(relay: "Relay", watch: StreamWatch, tell: Tell) -> None:
    """Say who listens whenever that changes, for ever.

    Args:
        relay: the relay.
        watch: tells where the stream does not come.
        tell: receives the lines.
    """
    before = 0, 0
    while True:
        await asyncio.sleep(SAY_S)
        watch.look(relay.has_heard, time.monotonic())
        now = relay.n_listening, relay.n_refused
        if now != before:
            refused = f", {now[1]} refused (other sites need --origin)" if now[1] else ""
            tell(f"{format_count(now[0], 'browser')} listening{refused}")
            before = now
