"""Options that several groups of commands share: what is learned from, and what whole poses are found from."""

from pathlib import Path
from typing import Annotated

import typer

Motions = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MOTION...]",
        help="Motion files (.bvh, .amc with its .asf), recordings (.mcap), folders of sessions.",
        show_default=False,
    ),
]
Builtin = Annotated[
    list[str] | None,
    typer.Option("--builtin", metavar="NAME", help="A built-in motion, such as walk or punches; repeatable.", show_default=False),
]
TakeFiles = Annotated[
    list[Path],
    typer.Option("--out", metavar="FILE", help="Write .bvh, .csv, .glb, .vrma or .trc; repeatable.", show_default=False),
]
RigFile = Annotated[
    Path | None, typer.Option("--rig", metavar="FILE", help="The cameras that image points are in: rig.toml.", show_default=False)
]
TrajectoryFile = Annotated[
    Path | None,
    typer.Option("--trajectory", metavar="FILE", help="Follow joints of a motion: BVH, or AMC with its ASF.", show_default=False),
]
Joints = Annotated[
    str | None,
    typer.Option("--joints", metavar="A,B", help="Which joints of it, such as leftHand,leftFoot,rightFoot.", show_default=False),
]
Fps = Annotated[float, typer.Option("--fps", help="Frames a second of what is written.")]
