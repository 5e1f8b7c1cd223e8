"""`duocap demo`: see it work without a camera, and what it reaches on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import check_recording_file, create_vmc_outputs, set_model
from tools.commands.declaration import add_settings_options
from tools.commands.live.landmarks import set_landmarks
from tools.commands.options import Headless, LandmarkModel, Model, RecordFile, Vmc

if TYPE_CHECKING:
    from stream.publish.fanout import OutputFactory
    from tools.run.child_start import PreparedProcesses

RECONSTRUCTION = ("reconstruct.process.main",)  # imported by the demo's processes while the performer is calibrated
CAMERA = ("capture.process.camera", "capture.sources.simulated.camera")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Options of `duocap demo`."""

    seconds: Annotated[
        float | None,
        typer.Option(min=4.0, max=3600.0, help="How long; default the whole programme of about 45 s."),
    ] = None
    views: Annotated[int, typer.Option(min=1, max=8, help="Simulated cameras.")] = 2
    markers: Annotated[
        Literal["all_around", "none"],
        typer.Option(help="What the performer wears; none: tracked by landmarks of the body in the pictures."),
    ] = "all_around"
    landmarks: LandmarkModel = None
    headless: Headless = False
    vmc: Vmc = None
    record: RecordFile = None
    model: Model = None


@add_settings_options
def demo(settings: Settings, options: DemoOptions) -> None:
    """Track a simulated performer before simulated cameras, in real time; report how well it went."""
    from tools.run.child_start import PreparedProcesses

    outputs, record = create_vmc_outputs(options.vmc), check_recording_file(options.record)
    has_markers = options.markers != "none"
    settings = set_landmarks(set_model(settings, options.model), options.landmarks or (None if has_markers else "full"))
    with PreparedProcesses((RECONSTRUCTION, *[CAMERA] * options.views)) as prepared:
        _perform(settings, options, outputs, record, prepared)


def _perform(
    settings: Settings,
    options: DemoOptions,
    outputs: "Sequence[OutputFactory]",
    record: Path | None,
    prepared: "PreparedProcesses",
) -> None:
    """Compile, get ready, perform and report; what this imports takes a second, in which the processes come up.

    Args:
        settings: of the run.
        options: how long, before how many cameras, with a viewer or without.
        outputs: hear every message beside the subscribers.
        record: the file to record to.
        prepared: processes that have begun to import what they need.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from stream.publish.publisher import choose_address
    from tools.database.installed import find_default_database
    from tools.demo.demo import DemoPlan, run_demo
    from tools.demo.report import build_report_tables
    from tools.kernels import compile_kernels
    from tools.viewer import open_viewer

    settings = choose_address(settings)  # rather now than after a minute of getting ready
    compile_kernels("demo")
    console, notes = Console(), Console(stderr=True)
    say = partial(notes.print, markup=False, highlight=False, soft_wrap=True)
    with open_viewer(settings, notes.print, stay=True, wanted=not options.headless):
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn())
        with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as bars:
            task = bars.add_task("built-in motions", total=None)
            motions = find_default_database(say, lambda done, total, name: bars.update(task, completed=done, total=total or None))
            bars.remove_task(task)
            task = bars.add_task("getting ready", total=None)
            report = run_demo(
                settings,
                DemoPlan(motions, options.seconds, options.views, options.markers != "none", outputs, record),
                notes.print,
                lambda share, state: bars.update(task, completed=share, total=1.0, description=f"performance, {state}"),
                prepared,
            )
        for table in build_report_tables(report):
            console.print(table)
        if record is not None:
            notes.print(f"recorded: {record}", soft_wrap=True)
