"""`duocap physics animate`: a motion from a script."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.options import ForceTakeFiles
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsAnimateOptions:
    """Options of `duocap physics animate`."""

    script: Annotated[Path, typer.Argument(metavar="SCRIPT.toml", help="What is wanted: docs/animate.md.")]
    out: ForceTakeFiles
    motions: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Where motions are; default with the script; repeatable."),
    ] = None
    field: Annotated[
        Path | None,
        typer.Option(metavar="FILE.forces", help="Another force field than the script's."),
    ] = None
    before: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the motion without physics as well."),
    ] = None
    strip: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw it, without physics and with it, with forces."),
    ] = None
    film: Annotated[
        Path | None,
        typer.Option(metavar="FILE.mp4", help="Film it, with forces and key poses."),
    ] = None
    steps: Annotated[int, typer.Option(min=1, max=1000, help="Steps of the search in each window, at most.")] = 30


@add_settings_options
def animate(_settings: Settings, options: PhysicsAnimateOptions) -> None:
    """Make a motion from a few key poses that obeys the laws of motion. Ctrl-C keeps what is there."""
    from dataclasses import replace

    from config.files import write_together
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.synthesis.animate import AnimateOptions
    from tools.export import plan_export_files, write_takes
    from tools.physics.animate import AnimateTask, animate_script, format_animation
    from tools.physics.script import read_script

    check_folders(*options.out, options.before, options.strip, options.film)
    for option, file, suffix in (("--strip", options.strip, ".png"), ("--film", options.film, ".mp4")):
        if file is not None and file.suffix.lower() != suffix:
            raise DuocapError(f"{option} {file}: expected a name that ends with {suffix}")
    files = plan_export_files(options.script, options.out, ())
    others = [] if options.before is None else plan_export_files(options.script, [options.before], ())
    import_pinocchio()
    task = AnimateTask(
        read_script(options.script),
        options.motions or [options.script.parent],
        options.field,
        options=AnimateOptions(options.steps, options.steps),
    )
    with open_progress_bar("animating") as show:
        made = animate_script(task, lambda done, total: show(done, total))
    for line in format_animation(made):
        typer.echo(line)
    notes = (*(("interrupted: the motion so far is kept",) if made.interrupted else ()), *made.notes)
    for words in notes:
        typer.echo(f"duocap: warning: {words}", err=True)
    with write_together():
        write_takes(files, made.take(options.script.stem))
        write_takes(others, replace(made, q=made.start).take(options.script.stem))
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(made.q)} frames ({wanted.format})")
    for wanted in others:
        typer.echo(f"{wanted.file}: {len(made.q)} frames, without physics ({wanted.format})")
    if options.strip is not None:
        from tools.physics.strip import draw_strip

        draw_strip(options.strip, made, options.script.stem)
        typer.echo(f"{options.strip}: drawn")
    if options.film is not None:
        from tools.physics.film import write_film

        write_film(options.film, made)
        typer.echo(f"{options.film}: {len(made.q) / made.problem.fps:.1f} s")
