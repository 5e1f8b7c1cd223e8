"""Options that the commands of `duocap physics` share."""

from pathlib import Path
from typing import Annotated

import typer

from reconstruct.models.physics.anthropometry import Anthropometry

Mass = Annotated[
    float | None,
    typer.Option("--mass", metavar="KG", help="Of the whole body; default usual for its height.", show_default=False),
]
Segments = Annotated[
    list[str] | None,
    typer.Option(
        "--segment",
        metavar="JOINT=KG",
        help="Mass of a segment, leftFoot=3, or more of it, leftFoot=+2; repeatable.",
        show_default=False,
    ),
]
Table = Annotated[
    Anthropometry, typer.Option("--table", help="Masses of segments: of women, of men, or the mean (de Leva 1996).")
]
Friction = Annotated[float, typer.Option("--friction", metavar="MU", help="Coefficient of the ground's friction.")]
Subject = Annotated[
    Path | None, typer.Option("--subject", metavar="FILE", help="Who wears the markers: subject.toml.", show_default=False)
]
Contacts = Annotated[
    Path | None,
    typer.Option("--contacts", metavar="FILE", help="Contacts from such a table; default as detected.", show_default=False),
]
MotionFile = Annotated[
    Path,
    typer.Argument(
        metavar="MOTION", help="A motion (.bvh, .amc with its .asf), recording (.mcap), or markers (.trc).", show_default=False
    ),
]
