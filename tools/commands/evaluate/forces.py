"""`duocap evaluate forces`: forces on the ground beside force plates."""

from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.evaluate.options import Json

Plates = Annotated[
    Path,
    typer.Option(
        "--plates",
        metavar="DIR",
        help="Holds the walk: a .trc or .c3d of markers and a .mot of plates, or a .c3d of both.",
        show_default=False,
    ),
]
Mass = Annotated[
    float | None, typer.Option("--mass", metavar="KG", help="Of the walker; default by the plates.", show_default=False)
]


@add_settings_options
def forces(settings: Settings, plates: Plates, mass: Mass = None, json: Json = None) -> None:
    """Forces of a walk beside force plates: vertical force, impulse, centre of pressure."""
    from reconstruct.models.physics.anthropometry import check_mass_kg
    from reconstruct.models.physics.backend import import_pinocchio
    from tools.evaluate.figures import write_figures
    from tools.evaluate.forces.measure import measure_forces, report
    from tools.progress import open_progress_bar

    check_folders(json)
    import_pinocchio()
    with open_progress_bar("posing the walker") as show:
        found = measure_forces(plates, None if mass is None else check_mass_kg(mass, "--mass"), show)
    for line in report(found):
        print(line)
    if json is not None:
        write_figures(json, found.methods)
