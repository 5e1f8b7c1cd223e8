"""`duocap relay`: the stream for pages in a browser."""

from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import with_settings

Port = Annotated[int, typer.Option(min=0, max=65535, help="Port of the WebSocket; 0 takes a free one.")]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", metavar="URL", help="Also serve pages of this site, such as https://example.org; repeatable."),
]


@with_settings
def relay(settings: Settings, port: Port = 5574, origin: Origins = None) -> None:
    """Hand a running stream on to browsers over WebSocket, on this machine."""
    import asyncio

    from tools.relay import run_relay

    asyncio.run(run_relay(settings, port, origin or (), typer.echo))
