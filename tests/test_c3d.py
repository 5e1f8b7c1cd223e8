"""C3D files: written by hand and by ezc3d, read back; real ones as ezc3d reads them."""

import struct
from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from database.c3d import read_c3d


def record(group: int, name: str, body: bytes, order: str, last: bool = False) -> bytes:
    step = 0 if last else 2 + len(body)
    return struct.pack("bb", len(name), group) + name.encode() + struct.pack(order + "H", step) + body


def text(values: list[str], width: int) -> bytes:
    return struct.pack("bBBB", -1, 2, width, len(values)) + "".join(v.ljust(width) for v in values).encode() + b"\0"


def c3d_bytes(order: str = "<", scale: float = -1.0, units: str = "mm") -> bytes:
    """Two points and one analog channel over three frames; the second point is missing in the second frame."""
    kind = {"<": 84, ">": 86}[order]
    parameters = b"\1\x50\1" + bytes([kind])
    parameters += record(-3, "POINT", b"\0", order)
    parameters += record(3, "LABELS", text(["Ann:HEAD", "Ann:LTOE"], 8), order)
    parameters += record(3, "UNITS", text([units], 4), order)
    parameters += record(3, "Y_SCREEN", text(["+Z"], 2), order, last=True)
    header = b"\2\x50" + struct.pack(order + "5HfHHf", 2, 1, 1, 3, 10, scale, 3, 1, 50.0)
    factor = 1.0 if scale < 0 else 1.0 / scale
    xyz = np.array([[[100, 200, 300], [-4, 5, 6]], [[110, 210, 310], [0, 0, 0]], [[120, 220, 320], [-5, 6, 7]]]) * factor
    fourth = np.array([[[0], [2]], [[0], [-1]], [[0], [0]]])
    points = np.concatenate([xyz, fourth], axis=2).reshape(3, 8)
    frames = np.concatenate([points, [[9.0], [9.0], [9.0]]], axis=1)
    body = frames.astype(np.dtype(order + ("f4" if scale < 0 else "i2"))).tobytes()
    return header.ljust(512, b"\0") + parameters.ljust(512, b"\0") + body


@pytest.mark.parametrize(("order", "scale"), [("<", -1.0), (">", -1.0), ("<", 0.5), (">", 0.25)])
def test_points_names_gaps_and_units(tmp_path: Path, order: str, scale: float) -> None:
    file = tmp_path / "a.c3d"
    file.write_bytes(c3d_bytes(order, scale))
    read = read_c3d(file)
    assert read.labels == ("HEAD", "LTOE") and read.fps == 50.0 and read.up == "+Z"
    assert read.valid.tolist() == [[True, True], [True, False], [True, True]]
    np.testing.assert_allclose(read.point_m[0], [[0.1, 0.2, 0.3], [-0.004, 0.005, 0.006]], atol=1e-9)
    np.testing.assert_allclose(read.point_m[1], [[0.11, 0.21, 0.31], [0, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(read.point_m[2, 1], [-0.005, 0.006, 0.007], atol=1e-9)


def test_centimetres(tmp_path: Path) -> None:
    file = tmp_path / "a.c3d"
    file.write_bytes(c3d_bytes(units="cm"))
    np.testing.assert_allclose(read_c3d(file).point_m[0, 0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda b: b[:600], "no C3D file"),
        (lambda b: b"\2\x51" + b[2:], "no C3D file"),
        (lambda b: b[:515] + b"\x55" + b[516:], "processor type 85"),
        (lambda b: b[:-30], "cut short"),
        (lambda b: b[:2] + b"\0\0" + b[4:], "no points"),
        (lambda b: b[:-100][:1024], "cut short"),
        (lambda b: b.replace(b"mm  ", b"ell "), "'ell'"),
        (lambda b: b[:1] + b[1:2] + b[2:520] + b"\xff" * 100 + b[620:], ""),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, damage: object, words: str) -> None:
    file = tmp_path / "b.c3d"
    file.write_bytes(damage(c3d_bytes()))  # type: ignore[operator]
    if not words:  # garbage in the parameters: read without them, or refused, never anything else
        try:
            read_c3d(file)
        except FileFormatError as error:
            assert "b.c3d" in str(error)
        return
    with pytest.raises(FileFormatError, match=words) as caught:
        read_c3d(file)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_c3d(tmp_path / "none.c3d")


def test_as_ezc3d_writes_them(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    rng = np.random.default_rng(5)
    points = np.ones((4, 3, 7))
    points[:3] = rng.normal(0.0, 500.0, (3, 3, 7))
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
