"""What a project of another program was calibrated with: videos of a board, its description, and the times of their frames.

| program | videos of the board | board |
|---|---|---|
| caliscope | calibration/extrinsic/ | calibration/targets/*charuco*.toml, charuco.toml or config.toml: squares a side, cm |
| FreeMoCap | synchronized_videos/ of the recording its calibration names, else its own | `[metadata]` of its calibration, mm |
| Pose2Sim | calibration/extrinsics/ext_NAME/, pictures or a video | Config.toml: inner corners, mm |
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibration.board.pattern import MARKER_SHARE, Board, board_from_text
from calibration.camera import MAX_CAMERAS
from config.arrays import Floats
from config.errors import CalibrationError, DuocapError, FileFormatError
from config.files import read_toml
from tools.projects.project import (
    BEST,
    find_best_calibrated_pair,
    find_calibration_file,
    list_videos,
    match_videos_to_cameras,
    read_video_times,
)

INCH_CM = 2.54
FREEMOCAP_MARKERS = (0.8, "DICT_4X4_250")  # side relative to a square's, dictionary
FREEMOCAP_SQUARES = [7, 5]


@dataclass(frozen=True, slots=True)
class BoardVideos:
    """The videos of a board of a project.

    Attributes:
        videos: video of each camera, by name.
        board: None where no file describes it.
        of: name of that file.
    """

    folder: Path
    videos: dict[str, Path]
    board: Board | None
    of: str = ""

    def choose(self, cameras: str | None) -> tuple[str, ...]:
        """Return the cameras asked for, by name or number, or all; `best`: the pair that measures best.

        Raises DuocapError: none of that name, one twice, or more than eight.
        """
        known = ", ".join(self.videos)
        if cameras == BEST:
            found = find_calibration_file(self.folder)
            if found is None:
                raise DuocapError(f"--cameras {BEST}: {self.folder} has no calibration that tells; choose two of {known}")
            calibration, options = found
            pair = find_best_calibrated_pair(calibration, options)
            cameras = f"{pair.rig.cameras[0].name},{pair.rig.cameras[1].name}"
        wanted = [name.strip() for name in cameras.split(",")] if cameras else list(self.videos)
        if len(wanted) > MAX_CAMERAS:
            raise DuocapError(
                f"{self.folder}: {len(wanted)} cameras ({known}); choose at most {MAX_CAMERAS} with --cameras A,B,C"
            )
        found_videos = match_videos_to_cameras(wanted, list(self.videos.values()))
        names = [next((name for name, video in self.videos.items() if video == found_videos.get(one)), "") for one in wanted]
        for name, one in zip(names, wanted, strict=True):
            if not name:
                raise DuocapError(f"{self.folder}: no video of the board of a camera {one!r}; it has {known}")
            if names.count(name) > 1:
                raise DuocapError(f"--cameras {cameras}: the same camera twice; expected each once, of {known}")
        return tuple(names)

    def frame_times(self, names: Sequence[str]) -> tuple[Floats, ...] | None:
        """Return the times of the frames of cameras, (N,) each [s], None where no file has them. Raises FileFormatError."""
        return read_video_times([self.videos[name] for name in names])


def open_board_videos(folder: Path) -> BoardVideos | None:
    """Return the videos that a project was calibrated with, None where a folder is no project or has no videos of a board.

    Raises FileFormatError: a file that describes the board is damaged.
    """
    for find in (_find_caliscope_videos, _find_freemocap_videos, _find_pose2sim_videos):
        found = find(folder)
        if found is not None:
            return found
    return None


def _find_caliscope_videos(folder: Path) -> BoardVideos | None:
    """Look for a project of caliscope."""
    videos = list_videos(folder / "calibration" / "extrinsic")
    if len(videos) < 2:
        return None
    targets = folder / "calibration" / "targets"
    files = [*sorted(targets.glob("extrinsic*charuco*.toml")), *sorted(targets.glob("*charuco*.toml"))]
    for file in (*files, folder / "charuco.toml", folder / "config.toml"):
        tables = _read_toml_tables(file)
        table = tables.get("charuco", tables)
        if "columns" in table and "rows" in table:
            return BoardVideos(folder, _name_videos(videos), _read_board(file, table, _read_caliscope_board), file.name)
    return BoardVideos(folder, _name_videos(videos), None)


def _read_caliscope_board(table: dict[str, Any]) -> Board:
    """Return the board of a table: its sides are counted in squares, its measures are of the sheet unless one is given in cm."""
    columns, rows = int(table["columns"]), int(table["rows"])
    told = [float(value) for key, value in table.items() if key.startswith("square_size") and key.endswith("_cm") and value]
    unit_cm = INCH_CM if str(table.get("units", "")).startswith("inch") else 1.0
    if not told:
        told.append(unit_cm * min(float(table["board_width"]) / columns, float(table["board_height"]) / rows))
    share = float(table.get("aruco_scale", MARKER_SHARE))
    return _build_charuco_board(columns, rows, 10.0 * told[0], share, str(table["dictionary"]), table.get("legacy_pattern"))


def _find_freemocap_videos(folder: Path) -> BoardVideos | None:
    """Look for a recording of FreeMoCap; the recording that its calibration was made of is looked at first, if it is there."""
    file = next(iter(sorted(folder.glob("*camera_calibration*.toml"))), None)
    metadata = _read_toml_tables(file).get("metadata", {}) if file is not None else {}
    told = Path(str(metadata.get("path_to_recorded_videos", "")) or folder)
    for place in (told, told / "synchronized_videos", folder / "synchronized_videos", folder / "synced_videos"):
        videos = list_videos(place) if place != folder else []
        if len(videos) > 1:
            known = file is not None and "charuco_square_size" in metadata
            board = _read_board(file, metadata, _read_freemocap_board) if file is not None and known else None
            return BoardVideos(folder, _name_videos(videos), board, file.name if file is not None else "")
    return None


def _read_freemocap_board(metadata: dict[str, Any]) -> Board:
    """Return the board of a calibration's metadata, such as CharucoBoardDefinition(..., number_of_squares_width=7, ...)."""
    text = str(metadata.get("charuco_board_object", ""))
    sides = [re.search(rf"number_of_squares_{side}['\"]?\s*[=:]\s*(\d+)", text) for side in ("width", "height")]
    named = re.search(r"(\d+)x(\d+)", text)
    squares = [int(side) for side in named.groups()] if named else FREEMOCAP_SQUARES
    squares = [int(side[1]) for side in sides if side] if all(sides) else squares
    share, dictionary = FREEMOCAP_MARKERS
    return _build_charuco_board(squares[0], squares[1], float(metadata["charuco_square_size"]), share, dictionary)


def _find_pose2sim_videos(folder: Path) -> BoardVideos | None:
    """Look for a project of Pose2Sim; each camera's pictures or video are in a folder of their own."""
    places = sorted(path for path in (folder / "calibration").glob("extrinsics/*") if path.is_dir())
    videos = [found[0] if len(found := list_videos(place)) == 1 else place for place in places]
    if len(videos) < 2:
        return None
    file = folder / "Config.toml"
    table = _read_toml_tables(file)
    for key in ("calibration", "calculate", "extrinsics", "board"):
        table = table.get(key, {})
    board = _read_board(file, table, _read_pose2sim_board) if "extrinsics_corners_nb" in table else None
    names = {place.name.removeprefix("ext_").removesuffix("_img"): video for place, video in zip(places, videos, strict=True)}
    return BoardVideos(folder, names, board, file.name)


def _read_pose2sim_board(table: dict[str, Any]) -> Board:
    """Return the chessboard of a table, which counts inner corners and measures in mm."""
    rows, columns = (int(side) for side in table["extrinsics_corners_nb"])
    square = table["extrinsics_square_size"]
    return board_from_text(f"chessboard:{columns}x{rows}:{float(square[0] if isinstance(square, list) else square):g}")


def _build_charuco_board(
    columns: int, rows: int, square_mm: float, share: float, dictionary: str, legacy: bool | None = None
) -> Board:
    """Return a ChArUco board whose sides are counted in squares."""
    board = board_from_text(f"charuco:{columns - 1}x{rows - 1}:{square_mm:.6g}:{share * square_mm:.6g}:{dictionary}")
    return Board("charuco", board.columns, board.rows, board.square_m, board.marker_m, board.dictionary, legacy)


def _read_board(file: Path, table: dict[str, Any], board: Callable[[dict[str, Any]], Board]) -> Board:
    """Return the board of a table. Raises FileFormatError: it describes none."""
    try:
        return board(table)
    except (KeyError, ValueError, TypeError, IndexError, CalibrationError) as error:
        raise FileFormatError(f"{file}: does not describe a board ({error}); give it with --board") from error


def _name_videos(videos: list[Path]) -> dict[str, Path]:
    """Return videos by their own names."""
    return {video.stem: video for video in videos}


def _read_toml_tables(file: Path) -> dict[str, Any]:
    """Return the tables of a TOML file, none where it is not there. Raises FileFormatError: it is not TOML."""
    return read_toml(file) if file.is_file() else {}
