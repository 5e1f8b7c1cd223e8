"""Files of markers as other programs write them: one motion of three markers in every TRC, of two in every C3D."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from database.marker_files.c3d import read_c3d
from database.marker_files.trc import read_trc
from tests.zoo.specimen import Outcome, Specimen

FOREIGN = Path(__file__).parent / "foreign"
# Of the TRC files, (4, 3, 3) [mm]: each marker 100 mm from the one before, all move by 1 mm a frame along the diagonal.
TRUE_MM = np.arange(4.0)[:, None, None] + 100.0 * np.arange(3.0)[:, None] + np.array([0.0, 10.0, 20.0])
# Of the C3D files, (2, 2, 3) [mm].
TRUE_C3D_MM = np.array([[[0.0, 20.0, 30.0], [1.0, 20.0, 30.0]], [[10.0, 20.0, 30.0], [11.0, 20.0, 30.0]]])


def trc(name: str, off_mm: float = 0.0) -> Callable[[Path], Outcome]:
    """Return what reads a TRC; off_mm: of all its numbers from the true ones."""

    def make(folder: Path) -> Outcome:
        found = read_trc(FOREIGN / "trc" / name)
        error = np.abs(1e3 * found.point_m - TRUE_MM - off_mm)[found.valid].max()
        seconds = found.seconds - found.seconds[0]
        text = f"{', '.join(found.labels)}, {found.valid.sum()} of 12 seen, {1e3 * np.median(np.diff(seconds)):.0f} ms apart"
        return Outcome(f"{text}, {seconds[-1]:.2f} s", float(error))

    return make


def c3d(name: str) -> Callable[[Path], Outcome]:
    """Return what reads a C3D."""

    def make(folder: Path) -> Outcome:
        found = read_c3d(FOREIGN / "c3d" / name)
        text = f"{', '.join(found.labels)}, {found.valid.sum()} of 4 seen, {found.fps:g} Hz"
        return Outcome(text, float(np.abs(1e3 * found.point_m - TRUE_C3D_MM).max()))

    return make


MM = 1e-9
ALL, ONE_GAP = "A, B, C, 12 of 12 seen, 10 ms apart, 0.03 s", "A, B, C, 11 of 12 seen, 10 ms apart, 0.03 s"
TRC: tuple[tuple[str, str, str], ...] = (
    ("plain", "plain", ALL),
    ("cells that are blank", "blank_cells", ONE_GAP),
    ("cells that are blank at the end", "blank_last", ONE_GAP),
    ("NaN", "nan", ONE_GAP),
    ("zeros of a whole marker", "zeros_missing", ONE_GAP),
    ("byte order mark", "bom", ALL),
    ("decimal commas", "comma_decimals", ALL),
    ("line ends of Windows", "crlf", ALL),
    ("blank first line", "leading_blank", ALL),
    ("first word in lower case", "lower_first", ALL),
    ("blanks at the ends of lines", "trailing_spaces", ALL),
    ("blanks for tabs", "spaces", ALL),
    ("subject before the names", "prefix", ALL),
    ("last marker without a name", "short_header_names", ALL.replace("C", "unnamed3")),
    ("middle marker without a name", "unnamed_middle", ALL.replace("B", "unnamed2")),
    ("first time 5 s", "time_not_zero", ALL),
    ("first time twice", "time_repeats", ALL),
    ("times rounded", "time_rounded", ALL),
    ("MM", "units_MM", ALL),
    ("millimetres said to be metres", "units_m", ALL),
    ("millimetres said to be meters", "units_meters", ALL),
)
SPECIMENS: tuple[Specimen, ...] = (
    *(
        Specimen(f"TRC, {name}", trc(f"{file}.trc", 0.5 if file == "comma_decimals" else 0.0), expect, MM, "mm")
        for name, file, expect in TRC
    ),
    Specimen("C3D, fields of one dimension", c3d("fields_of_one_dimension.c3d"), "A, B, 4 of 4 seen, 100 Hz", 1e-5, "mm"),
    Specimen("C3D, fields of two dimensions", c3d("fields_of_two_dimensions.c3d"), "A, B, 4 of 4 seen, 100 Hz", 1e-5, "mm"),
)
