"""`duocap calibrate floor`: where the floor is, by a board, markers or a walk."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import check_folders, check_range, check_sources
from tools.calibrate.outcome import choose_picture_file
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.options import NoPicture, VerdictPicture, VideoOptions

if TYPE_CHECKING:
    from calibration.floor.feet import FootHeights
    from config.markers import MarkerSet

HEIGHT_RANGE_MM = (0.0, 500.0)
DISTANCE_RANGE_MM = (20.0, 20e3)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorOptions:
    """Options of `duocap calibrate floor`."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="CAM...",
            help="The rig's cameras in their order: each a video, a folder of pictures or one picture; or a session's folder.",
        ),
    ]
    rig: Annotated[Path, typer.Option(metavar="FILE", help="The cameras, of any format that is read."), InProject("rig")]
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to write rig.toml, perhaps over that of --rig."), InProject("new rig")
    ]
    by: Annotated[
        Literal["board", "markers", "walk"] | None,
        typer.Option(
            help="A board that lies on the floor; markers that lie on it, 3 or more; or somebody who walks with markers on the "
            "feet. Default: board with --board, walk with --markers or --subject."
        ),
    ] = None
    body: Annotated[bool, typer.Option("--body", help="By somebody who walks, with --subject or --markers: as --by walk.")] = (
        False
    )
    board: Annotated[
        str | None,
        typer.Option(
            metavar="BOARD", help="Inner corners and millimetres: chessboard:9x6:25, or charuco:9x6:25:18.75:DICT_5X5_100."
        ),
    ] = None
    markers: Annotated[
        str | None,
        typer.Option(metavar="SET", help="What is worn: a markers.toml, or locomotion, boxing, kendo, dark_room, all_around."),
    ] = None
    subject: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who walks: subject.toml, which knows how high its markers are.")
    ] = None
    height: Annotated[
        float | None,
        typer.Option(
            metavar="MM",
            help="Of the board's face, of the markers' centres, or of the lowest marker of a standing foot, over the floor [mm].",
        ),
    ] = None
    distance: Annotated[
        float | None,
        typer.Option(
            metavar="MM", help="Of markers on the floor: the largest distance between two, by tape [mm]; tells the scale."
        ),
    ] = None
    rescale: Annotated[bool, typer.Option("--rescale", help="Correct the rig's scale by the board, or by --distance.")] = False
    ahead: Annotated[
        Literal["frame", "cameras"],
        typer.Option(help="Where +Z points: along the board's edge or L-frame's long arm, or straight to the cameras."),
    ] = "frame"
    start: Annotated[float | None, typer.Option("--from", metavar="S", help="Time from which to look [s].")] = None
    end: Annotated[float | None, typer.Option("--to", metavar="S", help="Time until which to look [s].")] = None
    videos: VideoOptions
    picture: VerdictPicture = None
    no_picture: NoPicture = False


@add_settings_options
def floor(settings: Settings, options: FloorOptions) -> None:
    """Find the floor: Y up, metres, the floor at 0, +Z towards the cameras."""
    from calibration.board.pattern import board_from_text
    from calibration.formats.rig_file import read_cameras
    from tools.calibrate.floor import FloorTask, find_floor, finish_floor
    from tools.calibrate.floor_sources import TimeWindow, check_floor_cameras
    from tools.progress import open_progress_bar

    if options.body and (options.by or "walk") != "walk":
        raise typer.BadParameter(
            f"a body that walks is another way than --by {options.by}; give one of them", param_hint="--body"
        )
    way = "walk" if options.body else options.by or _way(options.board, options.markers, options.subject)
    _check_ranges(options)
    drawn = choose_picture_file(options.out, options.picture, options.no_picture)
    check_folders(options.out, drawn)
    check_sources(*options.sources)
    cameras = read_cameras(options.rig)
    check_floor_cameras(cameras, options.sources, way)
    worn, heights = _worn(options.markers, options.subject, options.height, way)
    wishes = FloorTask(
        by=way,
        spec=options.videos.create_spec(options.sources),
        window=TimeWindow(options.start, options.end),
        board=board_from_text(options.board or "chessboard:9x6:25"),
        worn=worn,
        out=options.out,
        picture=drawn,
        heights=heights,
        height_m=1e-3 * (options.height or 0.0),
        distance_m=None if options.distance is None else 1e-3 * options.distance,
        late_s=1e-3 * settings.time.offset_ms,
        rescale=options.rescale,
        to_cameras=options.ahead == "cameras",
    )
    with open_progress_bar(f"floor by {way}") as progress:
        found = find_floor(wishes, cameras, settings, progress)
    finish_floor(cameras, found, wishes, typer.echo)


def _way(board: str | None, markers: str | None, subject: Path | None) -> Literal["board", "walk"]:
    """Return by what the floor is to be found, where nobody says so. Raises typer.BadParameter: nothing tells."""
    if board is not None:
        return "board"
    if markers is not None or subject is not None:
        return "walk"
    raise typer.BadParameter("say what shows the floor: board, markers or walk", param_hint="--by")


def _check_ranges(options: FloorOptions) -> None:
    """Raise typer.BadParameter for values that cannot be."""
    start, end = options.start, options.end
    check_range("--height", options.height, HEIGHT_RANGE_MM)
    check_range("--distance", options.distance, DISTANCE_RANGE_MM)
    if (start is not None and not start >= 0) or (end is not None and not end > (start or 0.0)):  # so that nan is refused, too
        raise typer.BadParameter("the second time must come after the first", param_hint="--from/--to")


def _worn(markers: str | None, subject: Path | None, height: float | None, way: str) -> "tuple[MarkerSet, FootHeights | None]":
    """Return the markers that are worn, or lie on the floor, and how high those of standing feet are.

    Raises DuocapError: no such subject or set; for a walk: neither given, or no marker on a foot.
    """
    from calibration.floor.feet import compute_nominal_heights, measure_subject_heights, shift_to_lowest_height
    from calibration.subject.subject import read_subject
    from config.markers import read_marker_set
    from database.builtin import build_person_skeleton

    if subject is not None:
        person = read_subject(subject)
        known = None if way != "walk" else measure_subject_heights(person)
        return person.markers, known if height is None or known is None else shift_to_lowest_height(1e-3 * height, known)
    if way != "walk":
        return read_marker_set(markers or "dark_room"), None
    if markers is None:
        raise typer.BadParameter(
            "say what the performer wears: --markers SET, or better --subject subject.toml", param_hint="--markers/--subject"
        )
    worn = read_marker_set(markers)
    known = compute_nominal_heights(worn, build_person_skeleton())
    return worn, known if height is None else shift_to_lowest_height(1e-3 * height, known)
