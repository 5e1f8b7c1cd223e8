"""`duocap physics animate`: a motion from a script."""

from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import add_settings_options, check_folders
from tools.progress import open_progress_bar

Script = Annotated[Path, typer.Argument(metavar="SCRIPT.toml", help="What is wanted: docs/animate.md.", show_default=False)]
Out = Annotated[
    list[Path],
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write .bvh, .csv, .glb, .vrma, .trc, or with forces .mcap or .c3d; repeatable.",
        show_default=False,
    ),
]
Motions = Annotated[
    list[Path] | None,
    typer.Option(
        "--motions", metavar="FOLDER", help="Where motions are; default with the script; repeatable.", show_default=False
    ),
]
Field = Annotated[
    Path | None,
    typer.Option("--field", metavar="FILE.forces", help="Another force field than the script's.", show_default=False),
]
Start = Annotated[
    Path | None,
    typer.Option("--before", metavar="FILE", help="Write the motion without physics as well.", show_default=False),
]
Strip = Annotated[
    Path | None,
    typer.Option("--strip", metavar="FILE.png", help="Draw it, without physics and with it, with forces.", show_default=False),
]
Steps = Annotated[int, typer.Option("--steps", min=1, max=1000, help="Steps of the search in each window, at most.")]


@add_settings_options
def animate(
    _settings: Settings,
    script: Script,
    *,
    out: Out,
    motions: Motions = None,
    field: Field = None,
    before: Start = None,
    strip: Strip = None,
    steps: Steps = 30,
) -> None:
    """Make a motion from a few key poses that obeys the laws of motion. Ctrl-C keeps what is there."""
    from dataclasses import replace

    from config.files import write_together
    from reconstruct.models.physics.backend import import_pinocchio
    from reconstruct.models.physics.synthesis.animate import AnimateOptions
    from tools.export import plan_export_files, write_takes
    from tools.physics.animate import AnimateTask, animate_script, format_animation
    from tools.physics.script import read_script

    check_folders(*out, before, strip)
    if strip is not None and strip.suffix.lower() != ".png":
        raise DuocapError(f"--strip {strip}: expected a name that ends with .png")
    files = plan_export_files(script, out, ())
    others = [] if before is None else plan_export_files(script, [before], ())
    import_pinocchio()
    task = AnimateTask(read_script(script), motions or [script.parent], field, options=AnimateOptions(steps, steps))
    with open_progress_bar("animating") as show:
        made = animate_script(task, lambda done, total: show(done, total))
    for line in format_animation(made):
        typer.echo(line)
    notes = (*(("interrupted: the motion so far is kept",) if made.interrupted else ()), *made.notes)
    for words in notes:
        typer.echo(f"duocap: warning: {words}", err=True)
    with write_together():
        write_takes(files, made.take(script.stem))
        write_takes(others, replace(made, q=made.start).take(script.stem))
    for wanted in files:
        typer.echo(f"{wanted.file}: {len(made.q)} frames ({wanted.format})")
    for wanted in others:
        typer.echo(f"{wanted.file}: {len(made.q)} frames, without physics ({wanted.format})")
    if strip is not None:
        from tools.physics.strip import draw_strip

        draw_strip(strip, made, script.stem)
        typer.echo(f"{strip}: drawn")
