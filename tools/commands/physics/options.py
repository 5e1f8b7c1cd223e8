"""Options that the commands of `duocap physics` share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from reconstruct.models.physics.anthropometry import Anthropometry
from tools.commands.declaration import InProject
from tools.commands.options import MarkersSubject

MotionFile = Annotated[
    Path,
    typer.Argument(metavar="MOTION", help="A motion (.bvh, .amc, .glb, .vrma), recording (.mcap), or markers (.trc, .c3d)."),
    InProject("take"),
]
Mass = Annotated[float | None, typer.Option(metavar="KG", help="Of the whole body; default usual for its height.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicsBodyOptions:
    """The body of a motion, the ground and their contacts."""

    mass: Mass = None
    segment: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT=KG", help="Mass of a segment, leftFoot=3, or more of it, leftFoot=+2; repeatable."),
    ] = None
    table: Annotated[Anthropometry, typer.Option(help="Masses of segments: of women, of men, or the mean (de Leva 1996).")] = (
        Anthropometry.MEAN
    )
    subject: MarkersSubject = None
    contacts: Annotated[Path | None, typer.Option(metavar="FILE", help="Contacts from such a table; default as detected.")] = None
    friction: Annotated[float, typer.Option(metavar="MU", help="Coefficient of the ground's friction.")] = 0.8
