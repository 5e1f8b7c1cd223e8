"""`duocap evaluate`: errors on clips of one's own and on published motions, beside other methods in the same run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options
from tools.commands.evaluate.clips import ClipPart, measure_clips
from tools.commands.evaluate.forces import forces
from tools.commands.evaluate.missing import labels, missing
from tools.commands.evaluate.options import ClipOptions, Markers, MeasuringOptions, Plot, Seconds

app = typer.Typer()
app.command()(forces)
app.command()(missing)
app.command()(labels)

# What moved to the benchmarks, with the tables that it is there.
MOVED = {
    "search": "search search-sizes",
    "dimensionality": "dimensionality",
    "filtering": "filters prediction smoother",
    "feet": "feet",
    "acquisition": "acquisition",
    "posing": "posing posing-reach",
    "poses": "restoring-large restoring-small",
}
ANY_WORDS = {"ignore_unknown_options": True, "allow_extra_args": True}


def _register_moved(name: str, tables: str) -> None:
    """Add a command that says where the one of its name went; it takes any words and is not in the help."""

    @app.command(name, hidden=True, add_help_option=False, context_settings=ANY_WORDS)
    def moved() -> None:
        command = f"python -m benchmarks.papers {tables} --motion DIR"
        typer.echo(f"duocap evaluate {name} is now among the benchmarks, run from the source folder: {command}", err=True)
        raise typer.Exit(2)


for _name, _tables in MOVED.items():
    _register_moved(_name, _tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateSynthesisOptions:
    """Options of `duocap evaluate synthesis`."""

    clips: ClipOptions
    seconds: Seconds = 20.0
    markers: Markers = "boxing"
    variant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="exact, noise, missing, six; repeatable; default all.")
    ] = None
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="NN, LWR, average, paper, ours; repeatable; default all but average."),
    ] = None
    c3d: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Vicon markers of clip 02_05; default cmu_02_05.c3d near --motion.")
    ] = None
    plot: Plot = None
    measuring: MeasuringOptions


@app.command()
@add_settings_options
def synthesis(settings: Settings, options: EvaluateSynthesisOptions) -> None:
    """Error of the poses per behaviour: nearest neighbour, regression, the paper's model, ours."""
    from tools.evaluate.methods import check_methods
    from tools.evaluate.queries import check_variants
    from tools.evaluate.synthesis.measure import SynthesisOptions, measure_synthesis
    from tools.evaluate.synthesis.table import report
    from tools.evaluate.synthesis.vicon import find_c3d

    clips, measuring = options.clips, options.measuring
    variants, methods = tuple(options.variant or ()), tuple(options.method or ())
    check_variants(variants)
    check_methods(methods)

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        begin_s = perf_counter()
        asked = SynthesisOptions(
            clips.motion,
            part.database,
            part.clips,
            options.seconds,
            options.markers,
            variants,
            methods,
            options.c3d or find_c3d(clips.motion),
            measuring.plan,
            measuring.seed,
        )
        runs = measure_synthesis(asked, settings.solve)
        if options.plot is not None:
            from tools.evaluate.synthesis.plot import plot_runs

            plot_runs(runs, options.plot / part.title)
        return report(runs, perf_counter() - begin_s), [run.as_json() for run in runs]

    measure_clips(clips, measure)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRenderedOptions:
    """Options of `duocap evaluate end-to-end`."""

    clips: ClipOptions
    seconds: Seconds = 20.0
    markers: Markers = "boxing"
    cameras: Annotated[int, typer.Option(min=1, max=8, help="Cameras that look on after the T-pose.")] = 2
    occlude: Annotated[
        list[float] | None,
        typer.Option(metavar="SHARE", help="Share of the markers hidden, such as 0.2; repeatable."),
    ] = None
    occlude_each: Annotated[bool, typer.Option("--occlude-each", help="Hide other markers from each camera.")] = False
    true_subject: Annotated[
        bool, typer.Option("--true-subject", help="Give the pipeline the true skeleton and marker places.")
    ] = False
    measuring: MeasuringOptions


@app.command(name="end-to-end")
@add_settings_options
def end_to_end(settings: Settings, options: EvaluateRenderedOptions) -> None:
    """Real motions rendered as videos of one to eight cameras and reconstructed again."""
    from config.errors import DuocapError
    from tools.evaluate.rendered import RenderedOptions, measure_rendered, report

    clips, measuring = options.clips, options.measuring
    shares = tuple(options.occlude or (0.0,))
    asked = RenderedOptions(
        options.markers, options.seconds, 0.0, options.true_subject, measuring.seed, options.cameras, options.occlude_each
    )
    failed: list[str] = []

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        found = measure_rendered(
            clips.motion, part.database, settings, asked, clips=part.clips, occlude=shares, workers=measuring.plan
        )
        failed.extend(found.failed if not found.results else ())
        return report(found), found.results

    measure_clips(clips, measure)
    if failed:
        raise DuocapError(f"no clip could be measured; {failed[0]}")
