"""`duocap keys`: CURVE key pairs for streams and cameras that other machines reach, and whom they admit.

Private keys are written to files that only their owner reads, and never shown.
"""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options

app = typer.Typer(
    epilog="Both machines say `duocap keys make` once. Then, on the one that publishes: `duocap keys add NAME KEY` with the "
    "client's public key; on the client: `duocap keys trust HOST KEY` with the publisher's. Keys are asked for as soon as "
    "stream.address can be reached from other machines, such as tcp://0.0.0.0:5570; on 127.0.0.1 only if stream.keys "
    "names their folder."
)

Key = Annotated[str, typer.Argument(metavar="KEY", help="A public key: a .key file, or its 40 characters.")]


@app.command()
@add_settings_options
def make(
    settings: Settings,
    force: Annotated[bool, typer.Option("--force", help="Replace keys that are there; others then need the new ones.")] = False,
) -> None:
    """Make this machine's keys.

    One pair to publish with, one to listen with.
    """
    from capture.sockets.keys import make_key_pairs

    folder = _folder(settings)
    public = make_key_pairs(folder, force)
    typer.echo(f"keys are in {folder}; the _secret files stay on this machine")
    for name, key in public.items():
        typer.echo(f"public key of the {name}: {key.decode()}  ({folder / name}.key)")


@app.command()
@add_settings_options
def add(settings: Settings, name: Annotated[str, typer.Argument(help="What you call the client.")], key: Key) -> None:
    """Admit a client to this machine's stream.

    It counts from its next connection on.
    """
    from capture.sockets.keys import CLIENTS, add_public_key, read_key_text

    typer.echo(f"{name} is admitted: {add_public_key(_folder(settings), CLIENTS, name, read_key_text(key))}")


@app.command()
@add_settings_options
def remove(settings: Settings, name: Annotated[str, typer.Argument(help="A client, as `duocap keys list` shows it.")]) -> None:
    """Admit a client no longer.

    A connection that it has lasts until it ends.
    """
    from capture.sockets.keys import CLIENTS, remove_public_key

    remove_public_key(_folder(settings), CLIENTS, name)
    typer.echo(f"{name} is not admitted any more; start the stream again to end a connection it may have")


@app.command()
@add_settings_options
def trust(settings: Settings, host: Annotated[str, typer.Argument(help="As in the address you connect to.")], key: Key) -> None:
    """Know another machine by its publisher's public key.

    It is asked for when you connect to that machine.
    """
    from capture.sockets.keys import SERVERS, add_public_key, read_key_text

    typer.echo(f"{host} is known by its key: {add_public_key(_folder(settings), SERVERS, host, read_key_text(key))}")


@app.command("list")
@add_settings_options
def list_keys(settings: Settings) -> None:
    """Show this machine's keys and whom it knows.

    Public keys only: its own, those of clients it admits and of machines it connects to.
    """
    from capture.sockets.keys import CLIENT, CLIENTS, PUBLISHER, SERVERS, has_own_pair, read_own_pair, read_public_keys

    folder = _folder(settings)
    typer.echo(f"keys in {folder}")
    if not has_own_pair(folder):
        typer.echo("no keys of this machine; make them with: duocap keys make")
    else:
        for name in (PUBLISHER, CLIENT):
            typer.echo(f"  this machine as {name:<9}  {read_own_pair(folder, name).public.decode()}")
    for kind, what in ((CLIENTS, "admitted"), (SERVERS, "known")):
        for name, key in read_public_keys(folder, kind).items():
            typer.echo(f"  {what:<8} {name:<21}  {key.decode()}")


def _folder(settings: Settings) -> Path:
    """Return the folder of the keys as the settings say."""
    from capture.sockets.keys import find_default_folder

    return Path(settings.stream.keys).expanduser() if settings.stream.keys else find_default_folder()
