"""`duocap play`: publish a recording as if it were live."""

import logging
from dataclasses import dataclass
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from config.words import format_count
from tools.arguments import create_vmc_outputs
from tools.commands.declaration import add_settings_options
from tools.commands.options import RecordingFile, Vmc

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayOptions:
    """Options of `duocap play`."""

    recording: RecordingFile
    speed: Annotated[float, typer.Option(min=0.01, max=100.0, help="How many times as fast as it was.")] = 1.0
    loop: Annotated[bool, typer.Option("--loop", help="Begin again at the end, until Ctrl-C.")] = False
    from_s: Annotated[float | None, typer.Option("--from", metavar="SECONDS", min=0.0, help="Leave out what was before.")] = None
    to_s: Annotated[float | None, typer.Option("--to", metavar="SECONDS", min=0.0, help="Leave out what comes after.")] = None
    vmc: Vmc = None


@add_settings_options
def play(settings: Settings, options: PlayOptions) -> None:
    """Publish a recording on the stream as if it were live: poses, status, whatever was recorded."""
    from stream.recording.folders import find_take
    from stream.recording.playback import select_playback_span
    from stream.recording.recording import open_recording
    from stream.take.read import is_motion_file
    from tools.interrupt import raise_on_interrupt
    from tools.progress import open_progress_bar
    from tools.replay.play import open_outlet
    from tools.replay.play import play_recording as run_play
    from tools.run.supervisor import choose_session_name

    if options.recording.is_file() and is_motion_file(options.recording):
        recorded = options.recording.with_suffix(".mcap").name
        raise DuocapError(
            f"{options.recording}: is a motion, and what is played is a recording; write one: "
            f"duocap export {options.recording} --out {recorded}"
        )
    outputs, recording = create_vmc_outputs(options.vmc), find_take(options.recording)
    opened = open_recording(recording)
    for note in opened.notes:
        logger.warning("%s: %s", recording, note)
    span, session = select_playback_span(opened, options.from_s, options.to_s), choose_session_name()
    with raise_on_interrupt(), open_outlet(settings.stream, session, outputs) as outlet, open_progress_bar("playing") as progress:
        typer.echo(f"streaming at {outlet.address}", err=True)
        n_played = run_play(opened, span, outlet, session, speed=options.speed, loop=options.loop, progress=progress)
    typer.echo(f"{format_count(n_played, 'pose')} of {opened.skeleton.subject} played")
