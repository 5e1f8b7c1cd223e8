"""Options that several commands of `duocap evaluate` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tools.commands.options import Scheduler

if TYPE_CHECKING:
    from tools.cluster import WorkerPlan
    from tools.evaluate.missing.masks import MissingCase

Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="DIR", help="Draw the figures as PNG.")]
Seconds = Annotated[float, typer.Option("--seconds", metavar="S", help="Longest part of a clip [s]; 0 for all.")]
Markers = Annotated[str, typer.Option("--markers", metavar="SET", help="Marker preset or markers.toml.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipOptions:
    """Which clips are measured, with which database, and where the figures are written."""

    motion: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Unpacked CMU motions, cmu/subjects/NN/NN_TT.amc, for clips that are no files; default clip: all of the "
            "protocol.",
        ),
    ] = None
    database: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Motion database; default built from --motion, once, without its clips; without it the one of all commands.",
        ),
    ] = None
    clip: Annotated[
        list[str] | None,
        typer.Option(metavar="CLIP", help="A clip of the protocol or of a set, or a file (.amc, .bvh, .c3d); repeatable."),
    ] = None
    sets: Annotated[
        list[str] | None,
        typer.Option("--clips", metavar="SET", help="Clips for tuning, test, or quick: some of both; repeatable."),
    ] = None
    skeleton: Annotated[Path | None, typer.Option(metavar="FILE", help="ASF of clips as .amc; default found beside them.")] = None
    json: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapOptions:
    """Which markers are worn and which of them go missing."""

    markers: Annotated[
        list[str] | None,
        typer.Option(metavar="SET", help="Marker preset or markers.toml; repeatable; default boxing, all_around."),
    ] = None
    case: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="Missing: 10%, 50%, 'a leg', 2s and so on; repeatable; default all."),
    ] = None
    seconds: Seconds = 8.0

    @property
    def marker_sets(self) -> tuple[str, ...]:
        """Presets or files of the markers."""
        return tuple(self.markers or ("boxing", "all_around"))

    @property
    def cases(self) -> "tuple[MissingCase, ...]":
        """Which markers go missing, and when. Raises DuocapError: an unknown name."""
        from tools.evaluate.missing.masks import cases_named

        return cases_named(self.case or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringOptions:
    """Who measures, and what is drawn at random."""

    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "--processes",
            min=1,
            metavar="N",
            help="Clips measured at once, each by a process; default as many as there is room for, 1 without duocap[cluster].",
        ),
    ] = None
    scheduler: Scheduler = ""
    seed: Annotated[int, typer.Option(metavar="N", help="Of noise and gaps.")] = 1

    @property
    def plan(self) -> "WorkerPlan":
        """Who measures; without Dask this process alone if nothing else is asked for."""
        from tools.cluster import WorkerPlan, has_dask

        alone = self.workers is None and not self.scheduler and not has_dask()
        return WorkerPlan(1 if alone else self.workers, self.scheduler)
