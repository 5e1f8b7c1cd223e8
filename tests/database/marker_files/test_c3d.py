"""C3D files: written by hand and by ezc3d, read back; damaged ones are refused; real ones as ezc3d reads them."""

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from database.marker_files.c3d import read_c3d
from tests.zoo.marker_files import FOREIGN


def record(group: int, name: str, body: bytes, order: str = "<", last: bool = False) -> bytes:
    """Return a group or a parameter."""
    return struct.pack("bb", len(name), group) + name.encode() + struct.pack(order + "H", 0 if last else 2 + len(body)) + body


def text(values: list[str], width: int) -> bytes:
    """Return a parameter of texts."""
    return struct.pack("bBBB", -1, 2, width, len(values)) + "".join(v.ljust(width) for v in values).encode() + b"\0"


def c3d_bytes(order: str = "<", scale: float = -1.0, units: str = "mm") -> bytes:
    """Two points and one analog channel over three frames; the second point is missing in the second frame."""
    parameters = b"\1\x50\1" + bytes([{"<": 84, ">": 86}[order]])
    parameters += record(-3, "POINT", b"\0", order) + record(3, "LABELS", text(["Ann:HEAD", "Ann:LTOE"], 8), order)
    parameters += record(3, "UNITS", text([units], 4), order) + record(3, "Y_SCREEN", text(["+Z"], 2), order, last=True)
    header = b"\2\x50" + struct.pack(order + "5HfHHf", 2, 1, 1, 3, 10, scale, 3, 1, 50.0)
    xyz = np.array([[[100, 200, 300], [-4, 5, 6]], [[110, 210, 310], [0, 0, 0]], [[120, 220, 320], [-5, 6, 7]]])
    fourth = np.array([[[0], [2]], [[0], [-1]], [[0], [0]]])
    points = np.concatenate([xyz * (1.0 if scale < 0 else 1.0 / scale), fourth], axis=2).reshape(3, 8)
    body = np.concatenate([points, np.full((3, 1), 9.0)], axis=1).astype(np.dtype(order + ("f4" if scale < 0 else "i2")))
    return header.ljust(512, b"\0") + parameters.ljust(512, b"\0") + body.tobytes()


@pytest.mark.parametrize(("order", "scale", "units"), [("<", -1, "mm"), (">", -1, "cm"), ("<", 0.5, "mm"), (">", 0.25, "cm")])
def test_points_names_gaps_and_units(tmp_path: Path, order: str, scale: float, units: str) -> None:
    file = tmp_path / "a.c3d"
    file.write_bytes(c3d_bytes(order, scale, units))
    read, metres = read_c3d(file), 1.0 if units == "mm" else 10.0
    assert read.labels == ("HEAD", "LTOE") and read.fps == 50.0 and read.up == "+Z"
    assert read.valid.tolist() == [[True, True], [True, False], [True, True]]
    np.testing.assert_allclose(read.point_m[0], metres * np.array([[0.1, 0.2, 0.3], [-0.004, 0.005, 0.006]]), atol=1e-9)
    np.testing.assert_allclose(read.point_m[1], metres * np.array([[0.11, 0.21, 0.31], [0, 0, 0]]), atol=1e-9)
    np.testing.assert_allclose(read.point_m[2, 1], metres * np.array([-0.005, 0.006, 0.007]), atol=1e-9)


def many_dimensions(data: bytes) -> bytes:
    """Return a file whose labels have six dimensions of up to 110, read from their own text."""
    head = b"LABELS" + struct.pack("<H", 23) + b"\xff"
    assert head + b"\2" in data
    return data.replace(head + b"\2", head + b"\6")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda b: b[:600], "no C3D file"),
        (lambda b: b"\2\x51" + b[2:], "no C3D file"),
        (lambda b: b[:515] + b"\x57" + b[516:], "processor type 87"),
        (lambda b: b[:-30], "cut short"),
        (lambda b: b[:1024], "cut short"),
        (lambda b: b[:2] + b"\0\0" + b[4:], "no points"),
        (lambda b: b.replace(b"mm  ", b"ell "), "'ell'"),
        # Counts that do not fit the file are refused before they are believed: points, analog samples, frames, start of data.
        (lambda b: b[:2] + b"\xff\xff" + b[4:], "cut short"),
        (lambda b: b[:4] + b"\xff\xff" + b[6:], "cut short|damaged"),
        (lambda b: b[:8] + b"\xff\xff" + b[10:], "cut short"),
        (lambda b: b[:16] + b"\xff\xff" + b[18:], "cut short"),
        (many_dimensions, "damaged"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, damage: object, words: str) -> None:
    file = tmp_path / "b.c3d"
    file.write_bytes(damage(c3d_bytes()))  # type: ignore[operator]
    with pytest.raises(FileFormatError, match=rf"b\.c3d: .*({words})") as caught:
        read_c3d(file)
    assert "\n" not in str(caught.value)


def test_garbage_is_read_or_refused(tmp_path: Path) -> None:
    rng, file = np.random.default_rng(0), tmp_path / "b.c3d"
    for _ in range(60):
        data = bytearray(c3d_bytes())
        for at in rng.integers(0, 640, rng.integers(1, 20)):
            data[at] = rng.integers(256)
        file.write_bytes(data)
        try:
            assert read_c3d(file).point_m.size <= len(data)
        except FileFormatError as error:
            assert "b.c3d" in str(error)
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_c3d(tmp_path / "none.c3d")


def test_frames_are_counted_over_65535(tmp_path: Path) -> None:
    """The last 3 frames of a long take: first and last are in two words each, the header's own at their limit."""

    def field(name: str, frame: int) -> bytes:
        return record(4, name, struct.pack("<bBB2H", 2, 1, 2, frame & 0xFFFF, frame >> 16) + b"\0")

    trial = record(-4, "TRIAL", b"\0") + field("ACTUAL_START_FIELD", 65541) + field("ACTUAL_END_FIELD", 65543)
    good, file = c3d_bytes(), tmp_path / "long.c3d"
    parameters = (good[512:516] + trial + good[516:1024])[:512]
    file.write_bytes(good[:6] + b"\xff\xff\xff\xff" + good[10:512] + parameters + good[1024:])
    read = read_c3d(file)
    assert read.point_m.shape == (3, 2, 3)
    np.testing.assert_allclose(read.point_m[2, 1], [-0.005, 0.006, 0.007], atol=1e-9)


def test_as_ezc3d_writes_them(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    points = np.ones((4, 3, 7))
    points[:3] = np.random.default_rng(5).normal(0.0, 500.0, (3, 3, 7))
    points[:3, 1, 2:4] = np.nan
    made = ezc3d.c3d()
    made["parameters"]["POINT"]["RATE"]["value"] = [100]
    made["parameters"]["POINT"]["LABELS"]["value"] = ["A", "B", "C"]
    made["data"]["points"] = points
    made.write(str(tmp_path / "a.c3d"))
    read = read_c3d(tmp_path / "a.c3d")
    assert read.labels == ("A", "B", "C") and read.fps == 100.0
    assert np.array_equal(read.valid, np.isfinite(points[0]).T)
    np.testing.assert_allclose(read.point_m[read.valid], 1e-3 * points[:3].transpose(2, 1, 0)[read.valid], atol=1e-6)


@pytest.mark.parametrize("name", ["cmu_02_05", "nick_freeform_001"])
def test_real_files_as_ezc3d_reads_them(shared_data: Path, name: str) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    file = shared_data / "markers" / f"{name}.c3d"
    if not file.is_file():
        pytest.skip(f"{file} does not exist")
    theirs, ours = ezc3d.c3d(str(file)), read_c3d(file)
    point = theirs["data"]["points"][:3].transpose(2, 1, 0)
    assert list(ours.labels) == [label.rpartition(":")[2] for label in theirs["parameters"]["POINT"]["LABELS"]["value"]]
    assert ours.fps == theirs["header"]["points"]["frame_rate"]
    assert np.array_equal(ours.valid, np.isfinite(point).all(axis=2)) and not ours.valid.all()
    np.testing.assert_allclose(ours.point_m[ours.valid], 1e-3 * point[ours.valid], atol=1e-7)


def swap_halves(data: bytes) -> bytes:
    """Return floats as a processor of DEC stores them."""
    return np.ascontiguousarray((np.frombuffer(data, "<f4") * np.float32(4.0)).view("<u2").reshape(-1, 2)[:, ::-1]).tobytes()


def dec_bytes() -> bytes:
    """Return the file of `c3d_bytes` with the numbers of DEC's processors."""
    data = c3d_bytes()
    head = data[:12] + swap_halves(data[12:16]) + data[16:20] + swap_halves(data[20:24]) + data[24:515] + b"\x55" + data[516:1024]
    return head + swap_halves(data[1024:])


def test_numbers_of_dec_s_processors_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "dec.c3d").write_bytes(dec_bytes())
    (tmp_path / "intel.c3d").write_bytes(c3d_bytes())
    dec, intel = read_c3d(tmp_path / "dec.c3d"), read_c3d(tmp_path / "intel.c3d")
    assert dec.labels == intel.labels and dec.fps == intel.fps and np.array_equal(dec.valid, intel.valid)
    np.testing.assert_array_equal(dec.point_m, intel.point_m)
    c3d = pytest.importorskip("c3d")
    with (tmp_path / "dec.c3d").open("rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parameters that are missing
        theirs = np.array([frame[:, :3] for _, frame, _ in c3d.Reader(stream).read_frames()])
    np.testing.assert_allclose(dec.point_m, 1e-3 * theirs, atol=1e-9)


def with_fields(body: bytes, count: int = 3, group: str = "TRIAL") -> bytes:
    """Return a file whose last frame is also said by another parameter: `ACTUAL_END_FIELD` of such a type and dimensions."""
    more = record(-4, group, b"\0") + record(4, "ACTUAL_START_FIELD", struct.pack("<bBB2H", 2, 1, 2, 1, 0) + b"\0")
    more += record(4, "ACTUAL_END_FIELD", body + struct.pack("<2H", count, 0) + b"\0")
    good = c3d_bytes()
    return good[:516] + (more + good[516:1024])[:508] + good[1024:]


@pytest.mark.parametrize(
    "body", [struct.pack("<bBB", 2, 1, 2), struct.pack("<bBBB", 2, 2, 2, 1), struct.pack("<bBBB", 2, 2, 1, 2)]
)
def test_fields_of_any_dimensions_are_counted(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "a.c3d").write_bytes(with_fields(body))
    assert read_c3d(tmp_path / "a.c3d").valid.shape == (3, 2)
    # A cropped take keeps the numbers of the whole one: the header is believed.
    (tmp_path / "a.c3d").write_bytes(with_fields(body, 500))
    assert read_c3d(tmp_path / "a.c3d").valid.shape == (3, 2)


def test_a_file_of_rotations_alone_is_named(tmp_path: Path) -> None:
    good = c3d_bytes()
    rotations = record(-5, "ROTATION", b"\0") + record(5, "LABELS", text(["pelvis_4X4", "thigh_4X4"], 10))
    file = tmp_path / "b.c3d"
    file.write_bytes(good[:2] + b"\0\0" + good[4:516] + (rotations + good[516:1024])[:508] + good[1024:])
    with pytest.raises(FileFormatError, match=r"rotations of segments \(pelvis_4X4, thigh_4X4\), which are not read"):
        read_c3d(file)


@pytest.mark.parametrize(
    ("rate_hz", "expected"), [(50.0, 50.0), (0.02, 50.0), (100_000.0, None), (0.0, None), (float("nan"), None)]
)
def test_rates_that_no_motion_has_are_questioned(tmp_path: Path, rate_hz: float, expected: float | None) -> None:
    file, good = tmp_path / "a.c3d", c3d_bytes()
    file.write_bytes(good[:20] + struct.pack("<f", rate_hz) + good[24:])
    if expected:
        assert read_c3d(file).fps == pytest.approx(expected)
    else:
        with pytest.raises(FileFormatError, match=r"expected 5 to 2000 Hz"):
            read_c3d(file)


def test_points_at_zero_are_gaps_where_a_file_marks_none(tmp_path: Path) -> None:
    good = c3d_bytes()
    missing = np.frombuffer(good[1024:], "<f4").reshape(3, 9).copy()
    missing[1, 7] = 0.0
    (tmp_path / "a.c3d").write_bytes(good[:1024] + missing.tobytes())
    assert read_c3d(tmp_path / "a.c3d").valid.tolist() == [[True, True], [True, False], [True, True]]


@pytest.mark.parametrize("kind", ["one_dimension", "two_dimensions"])
def test_odd_files_as_ezc3d_reads_them(kind: str) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    file = FOREIGN / "c3d" / f"fields_of_{kind}.c3d"
    theirs, ours = ezc3d.c3d(str(file)), read_c3d(file)
    point = theirs["data"]["points"][:3].transpose(2, 1, 0)
    assert np.array_equal(ours.valid, np.isfinite(point).all(axis=2))
    np.testing.assert_allclose(ours.point_m[ours.valid], 1e-3 * point[ours.valid], atol=1e-9)
