"""`duocap landmarks`: get the networks that find the landmarks of a body, whose weights do not come with duocap."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import LandmarkSettings, Settings
from tools.commands.declaration import add_settings_options
from tools.progress import print_note

if TYPE_CHECKING:
    from config.markers import MarkerSet

app = typer.Typer()


@dataclass(frozen=True, slots=True, kw_only=True)
class LandmarksGetOptions:
    """Options of `duocap landmarks get`."""

    model: Annotated[
        Literal["lite", "full", "heavy"], typer.Option(help="Which model; full comes with pip, the others with npm.")
    ] = "full"
    given: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A wheel, an npm archive (.tgz) or a .tflite on this disk.")
    ] = None


@app.command()
@add_settings_options
def get(settings: Settings, options: LandmarksGetOptions) -> None:
    """Get a landmark model: it is fetched by pip or npm, checked, and kept in the user's data folder."""
    from capture.landmarks.weights import LICENCE, find_weights_folder
    from tools.landmarks import get_weights

    typer.echo(f"Landmark models: {LICENCE}")
    written = get_weights(options.model, options.given, print_note)
    for file in written:
        typer.echo(f"{file}: SHA-256 as expected")
    if not written:
        typer.echo(f"{find_weights_folder()}: the model {options.model} is there already")


def ask_on_terminal(question: str) -> bool:
    """Ask a question with yes or no."""
    return typer.confirm(question, default=True, err=True)


def set_landmarks(
    settings: Settings, model: Literal["lite", "full", "heavy", "off"] | None, markers: "MarkerSet | None" = None
) -> Settings:
    """Return the settings with the given model for landmarks, having made sure that it is there; asks on a terminal.

    Args:
        settings: as they are.
        model: None leaves them, but where `markers` cannot do without.
        markers: of the performer; landmarks among them are found by the model `full` where none is set.
    Raises: LandmarksUnavailableError.
    """
    if model is None and settings.landmarks.model == "off" and markers is not None and not markers.worn.all():
        model = "full"
    settings = settings if model is None else replace(settings, landmarks=LandmarkSettings(model))
    if settings.landmarks.model == "off":
        return settings
    from tools.landmarks import check_landmarks

    check_landmarks(settings.landmarks.model, ask_on_terminal if sys.stdin.isatty() else None, print_note)
    return settings
