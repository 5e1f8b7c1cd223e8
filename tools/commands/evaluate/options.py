"""Options that several commands of `duocap evaluate` share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tools.cluster import WorkerPlan

Motion = Annotated[
    Path | None,
    typer.Option(
        "--motion",
        metavar="DIR",
        help="Unpacked CMU motions, cmu/subjects/NN/NN_TT.amc, for clips that are no files; default clip: all of the protocol.",
        show_default=False,
    ),
]
Database = Annotated[
    Path | None,
    typer.Option(
        "--database",
        metavar="FILE",
        help="Motion database; default built from --motion, once, without its clips; without it the one of all commands.",
        show_default=False,
    ),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures.", show_default=False)]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="DIR", help="Draw the figures as PNG.", show_default=False)]
AnyClips = Annotated[
    list[str] | None,
    typer.Option(
        "--clip",
        metavar="CLIP",
        help="A clip of the protocol or of a set, or a file (.amc, .bvh, .c3d); repeatable.",
        show_default=False,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--clips", metavar="SET", help="Clips for tuning, test, or quick: some of both; repeatable.", show_default=False
    ),
]
Skeleton = Annotated[
    Path | None,
    typer.Option("--skeleton", metavar="FILE", help="ASF of clips as .amc; default found beside them.", show_default=False),
]
Seconds = Annotated[float, typer.Option("--seconds", metavar="S", help="Longest part of a clip [s]; 0 for all.")]
Markers = Annotated[str, typer.Option("--markers", metavar="SET", help="Marker preset or markers.toml.")]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", metavar="NAME", help="exact, noise, missing, six; repeatable; default all.", show_default=False),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method", metavar="NAME", help="NN, LWR, average, paper, ours; repeatable; default all but average.", show_default=False
    ),
]
C3d = Annotated[
    Path | None,
    typer.Option(
        "--c3d", metavar="FILE", help="Vicon markers of clip 02_05; default cmu_02_05.c3d near --motion.", show_default=False
    ),
]
Cameras = Annotated[int, typer.Option("--cameras", min=1, max=8, help="Cameras that look on after the T-pose.")]
Occlude = Annotated[
    list[float] | None,
    typer.Option("--occlude", metavar="SHARE", help="Share of the markers hidden, such as 0.2; repeatable.", show_default=False),
]
OccludeEach = Annotated[bool, typer.Option("--occlude-each", help="Hide other markers from each camera.")]
TrueSubject = Annotated[bool, typer.Option("--true-subject", help="Give the pipeline the true skeleton and marker places.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of noise and gaps.")]
MarkerSets = Annotated[
    list[str] | None,
    typer.Option(
        "--markers",
        metavar="SET",
        help="Marker preset or markers.toml; repeatable; default boxing, all_around.",
        show_default=False,
    ),
]
Cases = Annotated[
    list[str] | None,
    typer.Option(
        "--case", metavar="WHAT", help="Missing: 10%, 50%, 'a leg', 2s and so on; repeatable; default all.", show_default=False
    ),
]
EvaluationWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "--processes",
        min=1,
        metavar="N",
        help="Clips measured at once, each by a process; default as many as there is room for, 1 without duocap[cluster].",
    ),
]


def evaluation_plan(count: int | None, scheduler: str) -> "WorkerPlan":
    """Return who measures; without Dask this process alone if nothing else is asked for."""
    from tools.cluster import WorkerPlan, has_dask

    return WorkerPlan(1 if count is None and not scheduler and not has_dask() else count, scheduler)
