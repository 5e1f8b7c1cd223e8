"""Options that several groups of commands share: what is learned from, what whole poses are found from, who does the work."""

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
WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Processes of this machine; default as many as it has room for."),
]
Scheduler = Annotated[
    str,
    typer.Option("--scheduler", metavar="tcp://HOST:8786", help="Use the workers of a Dask cluster instead.", show_default=False),
]
TlsCa = Annotated[Path | None, typer.Option("--tls-ca", metavar="FILE", help="Who signs a tls:// cluster.", show_default=False)]
TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate of this machine.", show_default=False)
]
TlsKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate.", show_default=False)]
