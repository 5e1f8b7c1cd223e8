"""TRC files: our own and those of others."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from database.marker_files.trc import read_trc

HEADER = (
    "PathFileType\t4\t(X/Y/Z)\twalk.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n  100.0\t\t  100.0\t\t2\t2\t mm\n"
    "Frame#\tTime\tL.Heel\t\t\tR.Heel\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
)
ROWS = "1\t0.00\t100\t20\t-30\t1\t2\t3\n2\t0.01\t101\t21\t-31\t4\t5\t6\n"
FIRST_M = [[0.1, 0.02, -0.03], [0.101, 0.021, -0.031]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its file."""
    return tmp_path / "walk.trc"


@pytest.mark.parametrize("gap", ["\t\t", "", "NaN\tNaN\tNaN", "0\t0\t0", "0.0\t-0.0\t0", "4\t\t6"])
def test_points_are_read_in_metres_and_gaps_are_gaps(file: Path, gap: str) -> None:
    file.write_text(HEADER + ROWS.replace("4\t5\t6", gap))
    found = read_trc(file)
    assert found.labels == ("L.Heel", "R.Heel")
    np.testing.assert_allclose(found.point_m[:, 0], FIRST_M)
    np.testing.assert_array_equal(found.valid, [[True, True], [True, False]])
    assert not found.point_m[1, 1].any()
    np.testing.assert_allclose(found.seconds, [0.0, 0.01])


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff\n\n" + (HEADER + ROWS).replace("\n", "\r\n"),
        HEADER.replace("PathFileType", "pathfiletype") + ROWS.replace("\n", " \n"),
        HEADER + ROWS.replace(".", ","),
        (HEADER + ROWS).replace("Heel\t\t\t", "Heel\t").replace("\t\t", "\t").replace("\t", "  "),
        HEADER.replace("\t\t\t", "\t") + ROWS,
        HEADER.replace("\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n", "\n") + ROWS,
        (HEADER + ROWS).replace("L.Heel", "Ann:L.Heel").replace("R.Heel", "Ann:R.Heel"),
        HEADER + ROWS + "3\t0.02\t1\t2",
    ],
    ids=["windows", "lower case", "commas", "blanks", "names side by side", "no axes", "subject", "cut last row"],
)
def test_variants_are_the_same_motion(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    found = read_trc(file)
    assert found.labels == ("L.Heel", "R.Heel") and found.valid.shape == (2, 2) and found.valid.all()
    np.testing.assert_allclose(found.point_m[:, 0], FIRST_M)
    np.testing.assert_allclose(found.seconds, [0.0, 0.01])


def test_a_column_without_a_name_shifts_no_other(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.write_text(HEADER.replace("L.Heel", "") + ROWS)
    found = read_trc(file)
    assert found.labels == ("unnamed1", "R.Heel") and "columns 3 to 5 have no name" in caplog.text
    np.testing.assert_allclose(found.point_m[0], [[0.1, 0.02, -0.03], [0.001, 0.002, 0.003]])


def test_subjects_of_one_set_of_names_are_kept_apart(file: Path) -> None:
    file.write_text((HEADER + ROWS).replace("L.Heel", "Ann:Heel").replace("R.Heel", "Bob:Heel"))
    assert read_trc(file).labels == ("Ann:Heel", "Bob:Heel")


@pytest.mark.parametrize(
    ("old", "new", "seconds"),
    [
        ("\t0.01\t", "\t0.00\t", [0.0, 0.01]),  # rounded
        ("\t0.01\t", "\t10\t", [0.0, 0.01]),  # milliseconds
        ("\t0.01\t", "\t0.000001\t", [0.0, 0.01]),
        ("100.0", "0.01", [0.0, 0.01]),
        ("100.0", "", [0.0, 0.01]),
    ],
)
def test_times_that_no_motion_has_are_the_rate_s(file: Path, old: str, new: str, seconds: list[float]) -> None:
    file.write_text((HEADER + ROWS).replace(old, new))
    np.testing.assert_allclose(read_trc(file).seconds, seconds)


@pytest.mark.parametrize(
    ("unit", "factor", "taken_m"),
    [
        ("mm", 1.0, 1.0),
        ("m", 1.0, 1.0),
        ("m", 1e-3, 1.0),
        ("", 1e-3, 1.0),
        ("Meters", 1e-3, 1.0),
        ("cm", 0.1, 1.0),
        ("mm", 1e-3, 1.0),
    ],
)
def test_units_are_those_of_a_body(file: Path, unit: str, factor: float, taken_m: float) -> None:
    markers = np.random.default_rng(2).uniform(-500.0, 500.0, (2, 20, 3)) + (300.0, 900.0, 0.0)
    names = "\t\t\t".join(f"M{k}" for k in range(20))
    axes = "\t".join(f"{axis}{k}" for k in range(20) for axis in "XYZ")
    rows = "".join("\t".join(map(repr, [n, 0.01 * n, *(factor * m).ravel().tolist()])) + "\n" for n, m in enumerate(markers))
    file.write_text(f"PathFileType\t4\nDataRate\tUnits\n100\t{unit}\nFrame#\tTime\t{names}\n\t\t{axes}\n\n{rows}")
    np.testing.assert_allclose(read_trc(file).point_m, 1e-3 * taken_m * markers)
    np.testing.assert_allclose(read_trc(file, "in").point_m, 0.0254 * factor * markers)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", r"trc: no TRC file"),
        ("PathFileType\t4\n\0", r"trc:2: a byte 00"),
        (HEADER, r"no points in it"),
        (HEADER.replace("mm", "yards") + ROWS, r"'yards'; expected one of mm, cm, dm, m, in"),
        (HEADER + ROWS.replace("101", "x"), r":8: 'x' in column 3 is no number; expected X of L\.Heel"),
        (HEADER + ROWS.replace("\t5\t", "\t5,1\t"), r":8: '5,1' in column 7 is no number; expected Y of R\.Heel"),
        (HEADER + ROWS.replace("0.00", "now"), r":7: 'now' in column 2 is no number; expected the time"),
        (HEADER + ROWS.replace("\t3\n", "\t3\t4\n"), r":7: a value in column 9, but the names are of 2"),
        (HEADER + ROWS.replace("\t2\t3\n", "\n"), r":7: 6 columns; expected 8"),
        (HEADER.replace("\t\t\tR.Heel", "\tR.Heel\tTop") + ROWS, r":4: the name 'R\.Heel' in column 4 is above no marker's"),
        (
            HEADER.replace("DataRate", "Rate") + ROWS.replace("0.01", "0.00"),
            r":8: its time does not rise, and the header says no rate",
        ),
        (HEADER.replace("100.0", "100000") + ROWS.replace("0.01", "0.00"), r"DataRate is 100000 Hz; expected 5 to 2000 Hz"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(file: Path, text: str, words: str) -> None:
    file.write_text(text)
    with pytest.raises(FileFormatError, match=words) as caught:
        read_trc(file)
    assert "\n" not in str(caught.value)
