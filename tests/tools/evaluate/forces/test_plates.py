"""Plates of any laboratory: columns of any name, plates under the feet, C3D plates as ezc3d reads them."""

import struct
from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from stream.export.c3d import Groups, encode_parameters
from tools.evaluate.forces.c3d_plates import read_plate_c3d
from tools.evaluate.forces.measure import find_walk
from tools.evaluate.forces.plates import PlateReadings, assign_plates, read_plate_table

RATE = 200.0
SECONDS = np.arange(800) / RATE
NAMES = ("ground_force_{k}", "{k}_ground_force", "FP{k}", "ground_force_{w}", "plate{k}")
FORCE_AND_PLACE = (("v", "p"), ("v", "p"), ("_F", "_COP"), ("v", "p"), ("_force_", "_p"))


def feet() -> tuple[np.ndarray, np.ndarray]:
    """Return heels and tips at SECONDS: each foot is a step further every second, the left one first."""
    heel = np.zeros((len(SECONDS), 2, 3))
    for foot in range(2):
        for n, second in enumerate(SECONDS):
            step = 2 * int((second - 0.5 * foot) // 1.0) + foot
            heel[n, foot] = (0.6 * step, 0.0, 0.1 if foot == 0 else -0.1)
    return heel, heel + (0.22, 0.0, 0.0)


def trodden(n_plates: int) -> tuple[np.ndarray, np.ndarray]:
    """Return force and place on plates of which the k-th bears the k-th step, [N] and [m]."""
    force, place = np.zeros((len(SECONDS), n_plates, 3)), np.full((len(SECONDS), n_plates, 3), 9.0)
    for k in range(n_plates):
        rows = (0.5 * k + 0.02 < SECONDS) & (0.5 * k + 0.7 > SECONDS)
        force[rows, k] = (10.0 * k, 700.0 + k, -5.0)
        share = np.linspace(0.0, 1.0, int(rows.sum()))
        place[rows, k] = np.stack([0.6 * k + 0.22 * share, 0.0 * share, np.full(len(share), 0.1 if k % 2 == 0 else -0.1)], axis=1)
    return force, place


def write_mot(file: Path, pattern: str, kinds: tuple[str, str], unit: float, order: list[int]) -> None:
    """Write plates to a MOT, in an order, places in some unit."""
    force, place = trodden(len(order))
    names, columns = ["time"], [SECONDS[:, None]]
    for k in order:
        stem = pattern.format(k=k + 1, w="abcdef"[k])
        names += [f"{stem}_{kinds[0]}{axis}".replace("__", "_") for axis in "xyz"]
        names += [f"{stem}_{kinds[1]}{axis}".replace("__", "_") for axis in "xyz"]
        names += [f"{stem}_torque_{axis}" for axis in "xyz"]
        columns += [force[:, k], unit * place[:, k], np.zeros((len(SECONDS), 3))]
    rows = ["\t".join(f"{value:.6f}" for value in row) for row in np.concatenate(columns, axis=1)]
    file.write_text("\n".join(["walk", "version=1", "endheader", "\t".join(names), *rows]) + "\n")


@pytest.mark.parametrize(("pattern", "kinds", "unit"), list(zip(NAMES, FORCE_AND_PLACE, (1.0, 1e3, 1.0, 1e3, 1.0), strict=True)))
def test_six_plates_in_any_order_and_of_any_name(tmp_path: Path, pattern: str, kinds: tuple[str, str], unit: float) -> None:
    write_mot(tmp_path / "plates.mot", pattern, kinds, unit, [3, 0, 5, 1, 4, 2])
    plates = read_plate_table(tmp_path / "plates.mot")
    assert len(plates.names) == 6
    found = assign_plates(plates.turned(np.eye(3)), *feet(), SECONDS)
    steps = found.steps()
    assert [step[0] for step in steps] == [0, 1, 0, 1, 0, 1]
    assert [step[1] for step in steps] == pytest.approx([0.5 * k + 0.025 for k in range(6)], abs=0.01)
    both = found.force_n[int(1.6 * RATE)]  # the third step still stands, the fourth does already
    np.testing.assert_allclose(both, [[20.0, 702.0, -5.0], [30.0, 703.0, -5.0]])
    on = found.force_n[..., 1] > 20.0
    heel, tip = feet()
    assert (np.abs(found.center_m - 0.5 * (heel + tip))[on] < 0.12).all()


def test_a_single_plate_and_axes_with_z_up(tmp_path: Path) -> None:
    force, place = trodden(1)
    columns = ("ground_force_vx", "ground_force_vy", "ground_force_vz", "ground_force_px", "ground_force_py", "ground_force_pz")
    values = np.concatenate([SECONDS[:, None], -force[:, 0][:, [2, 0, 1]], place[:, 0][:, [2, 0, 1]]], axis=1)  # pushing down
    rows = [" ".join(f"{value:.6f}" for value in row) for row in values]
    (tmp_path / "one.mot").write_text("\n".join(["endheader", " ".join(("time", *columns)), *rows]))
    found = assign_plates(read_plate_table(tmp_path / "one.mot").turned(np.eye(3)[[1, 2, 0]]), *feet(), SECONDS)
    assert [step[0] for step in found.steps()] == [0] and found.force_n[..., 1].max() == pytest.approx(700.0)


def test_what_nobody_of_ours_trod_on_is_left_out() -> None:
    force, place = trodden(2)
    heel, tip = feet()
    far = place + (0.0, 0.0, 2.0)
    both = PlateReadings(("a", "b"), SECONDS, force, np.stack([place[:, 0], far[:, 1]], axis=1))
    found = assign_plates(both, heel, tip, SECONDS)
    assert [step[0] for step in found.steps()] == [0]
    with pytest.raises(FileFormatError, match="no foot is over a plate"):
        assign_plates(PlateReadings(("b",), SECONDS, force[:, 1:], far[:, 1:]), heel, tip, SECONDS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no header", "expected a line endheader"),
        ("endheader\ntime a b\n0 1 2\n", "no plates; expected time, and for each plate"),
        ("endheader\ntime FP1_Fx FP1_Fy\n0 1 x\n", "expected numbers"),
        ("endheader\ntime a b\n0 1 2\n0 1\n", "expected numbers"),
    ],
)
def test_tables_without_plates_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.mot").write_text(text)
    with pytest.raises(FileFormatError, match=said):
        read_plate_table(tmp_path / "a.mot")


def test_the_files_of_a_walk(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="0 files of markers"):
        find_walk(tmp_path)
    for name in ("a.trc", "b.mot"):
        (tmp_path / name).write_text("")
    assert (find_walk(tmp_path).markers.name, find_walk(tmp_path).plates.name) == ("a.trc", "b.mot")
    (tmp_path / "c.mot").write_text("")
    with pytest.raises(FileFormatError, match=r"1 file of markers .* and 2 of plates"):
        find_walk(tmp_path)


def write_plates(file: Path, kind: int) -> None:
    """Write a C3D of one point and one plate of a type, turned and away from the origin, with z into the floor."""
    rng = np.random.default_rng(kind)
    n, channels = 20, 8 if kind == 3 else 6
    analog = rng.uniform(-50.0, 50.0, (n, channels))
    analog[:, 4:] -= 300.0 if kind == 3 else 0.0
    analog[:, 2] -= 0.0 if kind == 3 else 700.0
    analog[:, 3:6] *= 1.0 if kind == 3 else 1000.0
    corners = np.array([[600.0, 900.0, 0.0], [600.0, 400.0, 0.0], [200.0, 400.0, 0.0], [200.0, 900.0, 0.0]])
    platform: dict[str, object] = {
        "USED": 1, "TYPE": [kind], "ZERO": [1, 0], "CORNERS": corners[None], "CHANNEL": np.arange(1, channels + 1)[None],
        "ORIGIN": np.array([[120.0, 200.0, -40.0] if kind == 3 else [2.0, -3.0, -40.0]]),
    }  # fmt: skip
    if kind == 4:
        platform["CAL_MATRIX"] = (np.eye(6) + 0.05 * rng.normal(size=(6, 6)))[None]
    units = ["N"] * 8 if kind == 3 else ["N"] * 3 + ["Nmm"] * 3

    def groups(start: int) -> Groups:
        point = {"USED": 1, "SCALE": -0.1, "RATE": 100.0, "DATA_START": start, "FRAMES": n, "UNITS": "mm", "LABELS": ["a"]}
        labels = [f"ch{k}" for k in range(channels)]
        described = {"LABELS": labels, "SCALE": np.ones(channels), "OFFSET": [0] * channels, "UNITS": units}
        return {
            "POINT": point,
            "ANALOG": {"USED": channels, "GEN_SCALE": 1.0, "RATE": 100.0, **described},
            "FORCE_PLATFORM": platform,
        }  # type: ignore[dict-item]

    blocks = len(encode_parameters(groups(0))) // 512
    head = struct.pack("<BB5H", 2, 0x50, 1, channels, 1, n, 10) + struct.pack("<fHHf", -0.1, 2 + blocks, 1, 100.0)
    frames = np.concatenate([np.zeros((n, 4)), analog], axis=1).astype("<f4").tobytes()
    file.write_bytes(head.ljust(512, b"\0") + encode_parameters(groups(2 + blocks)) + frames)


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_ezc3d_finds_the_same_forces(tmp_path: Path, kind: int) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    write_plates(tmp_path / "a.c3d", kind)
    theirs = ezc3d.c3d(str(tmp_path / "a.c3d"), extract_forceplat_data=True)["data"]["platform"][0]
    ours = read_plate_c3d(tmp_path / "a.c3d")
    np.testing.assert_allclose(ours.force_n[:, 0], theirs["force"].T, atol=1e-2)
    np.testing.assert_allclose(1e3 * ours.center_m[:, 0], theirs["center_of_pressure"].T, atol=0.1)
    assert ours.seconds[1] == pytest.approx(0.01)
