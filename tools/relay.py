"""Run the relay until it is interrupted, saying who listens."""

import asyncio
from collections.abc import Callable, Sequence

from capture.sockets.endpoints import key_settings
from config.settings import Settings
from stream.publish.relay import Relay, StreamReader

HOST = "127.0.0.1"
SAY_S = 1.0


async def run_relay(settings: Settings, port: int, origins: Sequence[str], tell: Callable[[str], None]) -> None:
    """Serve browsers of this machine; raises RelayError, and DuocapError for addresses and keys."""
    relay = Relay(origins)
    reader = StreamReader(settings.stream.address, key_settings(settings.stream), relay, asyncio.get_running_loop())
    try:
        port = await relay.open(HOST, port)
        tell(f"{settings.stream.address} for browsers at ws://{HOST}:{port}; Ctrl-C ends it")
        await _report(relay, tell)
    finally:
        reader.close()
        await relay.close()


async def _report(relay: Relay, tell: Callable[[str], None]) -> None:
    """Say who listens whenever that changes, for ever."""
    before = 0, 0
    while True:
        await asyncio.sleep(SAY_S)
        now = relay.n_listening, relay.n_refused
        if now != before:
            refused = f", {now[1]} refused (other sites need --origin)" if now[1] else ""
            tell(f"{now[0]} browsers listening{refused}")
            before = now
