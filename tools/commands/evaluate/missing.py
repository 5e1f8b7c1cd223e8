"""`duocap evaluate missing` and `labels`: poses, and labels, while markers are missing and after."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options
from tools.commands.evaluate.clips import ClipPart, measure_clips
from tools.commands.evaluate.options import ClipOptions, GapOptions, MeasuringOptions, Plot


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateMissingOptions:
    """Options of `duocap evaluate missing`."""

    clips: ClipOptions
    gaps: GapOptions
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="hold, linear, local, synthesis, fixed, style, sparse, choice, offline; repeatable."),
    ] = None
    style: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Learned from the same motion (known), another (unknown) or nothing (none)."),
    ] = None
    dictionary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Dictionary of sparse and choice; left out: learned as the styles are."),
    ] = None
    exact: Annotated[bool, typer.Option("--exact", help="Markers without noise.")] = False
    plot: Plot = None
    measuring: MeasuringOptions


@add_settings_options
def missing(settings: Settings, options: EvaluateMissingOptions) -> None:
    """Error of missing markers and of the pose without them, by the local model alone and with other pose models."""
    from tools.evaluate.missing.measure import MissingOptions, measure_missing
    from tools.evaluate.missing.table import report

    clips, gaps, measuring = options.clips, options.gaps, options.measuring
    # With clips of a set nothing is learned unless it is asked for.
    methods = options.method or (["local"] if clips.sets else [])
    styles = options.style or ["none" if clips.sets else "known"]

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        begin_s = perf_counter()
        asked = MissingOptions(
            motion=clips.motion,
            database=part.database,
            clips=part.clips,
            markers=gaps.marker_sets,
            seconds=gaps.seconds,
            cases=gaps.cases,
            methods=tuple(methods),
            styles=tuple(styles),
            exact=options.exact,
            dictionary=options.dictionary,
            workers=measuring.plan,
            seed=measuring.seed,
        )
        runs = measure_missing(asked, settings)
        if options.plot is not None and runs:
            from tools.evaluate.missing.plot import plot_missing_markers

            plot_missing_markers(runs, options.plot / part.title)
        return report(runs, options.exact, perf_counter() - begin_s), [run.as_json() for run in runs]

    measure_clips(clips, measure)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateLabelsOptions:
    """Options of `duocap evaluate labels`."""

    clips: ClipOptions
    gaps: GapOptions
    style: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Learned from the same motion (known) or nothing (none); repeatable; default both, of sets none.",
        ),
    ] = None
    offline: Annotated[bool, typer.Option("--offline", help="Labels with past and future, as duocap replay.")] = False
    cameras: Annotated[int, typer.Option(min=2, max=8, help="Cameras that look on.")] = 2
    measuring: MeasuringOptions

    @property
    def learned(self) -> tuple[bool, ...]:
        """Without a learned style (False), with one, or both; with clips of a set none unless it is asked for.

        Raises typer.BadParameter: there is no such kind, or a style is asked for offline, where none is used.
        """
        kinds = {"none": False, "known": True}
        for kind in self.style or ():
            if kind not in kinds or (self.offline and kinds[kind]):
                raise typer.BadParameter(f"{kind!r}; expected none or known, none with --offline", param_hint="--style")
        return tuple(kinds[kind] for kind in self.style or (("none",) if self.clips.sets or self.offline else kinds))


@add_settings_options
def labels(settings: Settings, options: EvaluateLabelsOptions) -> None:
    """Whether markers that come back after a gap get their labels, without a style learned of the motion and with one."""
    from tools.evaluate.missing.labels import LabelOptions, measure_labels, report

    clips, gaps, measuring, learned = options.clips, options.gaps, options.measuring, options.learned

    def measure(part: ClipPart) -> tuple[Iterable[str], object]:
        begin_s = perf_counter()
        asked = LabelOptions(
            motion=clips.motion,
            database=part.database,
            clips=part.clips,
            markers=gaps.marker_sets,
            seconds=gaps.seconds,
            cases=gaps.cases,
            workers=measuring.plan,
            seed=measuring.seed,
            styles=learned,
            offline=options.offline,
            cameras=options.cameras,
        )
        runs = measure_labels(asked, settings)
        return report(runs, perf_counter() - begin_s), [run.as_json() for run in runs]

    measure_clips(clips, measure)
