"""Rigs of 2 to 8 cameras in the files of other programs, some cameras of no use, in several units: two of them are taken."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from calibration.camera import Camera, Rig, compute_relative_pose
from calibration.formats.camera_file import ReadOptions
from calibration.formats.easymocap import EXTRINSICS, INTRINSICS
from calibration.formats.qualisys import format_qualisys
from calibration.formats.rig_file import read_rig, write_rig_file
from calibration.formats.rig_toml import table_from_camera
from calibration.formats.storage import Value, format_storage
from calibration.placement import make_camera_looking_at
from database.geometry.rotations import rotvec_from_matrix
from tests.zoo.specimen import Outcome, Specimen

Writer = Callable[[Path, Sequence[Camera], float], Path]
VOLUME_M = np.array([(x, y, z) for x in (-0.6, 0.1, 0.7) for y in (0.1, 0.9, 1.8) for z in (-0.5, 0.4)])


def array(n: int, fisheye: bool = False) -> list[Camera]:
    """Return cameras on an arc around the origin, no two alike, named cam_1 and so on."""
    cameras = []
    for k in range(n):
        angle, size = 0.5 * k - 0.4, ((1280, 720), (640, 480))[k % 2]
        f = (0.9 + 0.02 * k) * size[0] * (0.55 if fisheye else 1.0)
        K = np.array([[f, 0.0, 0.5 * size[0] + 3.0 * k], [0.0, 1.004 * f, 0.5 * size[1] - 2.0], [0.0, 0.0, 1.0]])
        eye = (4.0 * np.sin(angle), 1.2 + 0.1 * k, 4.0 * np.cos(angle))
        lens = np.array([-0.02, 0.004, -0.001, 0.0003] if fisheye else [-0.1 - 0.01 * k, 0.05, 0.001, -0.0005])
        seen = make_camera_looking_at(f"cam_{k + 1}", size, K, eye, (0.0, 1.0, 0.0))
        cameras.append(Camera(seen.name, size, K, lens, seen.rotation, seen.translation, fisheye))
    return cameras


def _table(camera: Camera, unit_m: float) -> dict[str, Any]:
    """Return a camera's table, its translation in a unit."""
    return {**table_from_camera(camera), "translation": (camera.translation / unit_m).tolist()}


def aniposelib(folder: Path, cameras: Sequence[Camera], unit_m: float) -> Path:
    """Write `[cam_0]` and so on, as aniposelib and Pose2Sim do."""
    file = folder / "calibration.toml"
    tables = {f"cam_{n}": _table(camera, unit_m) for n, camera in enumerate(cameras)}
    file.write_text(tomli_w.dumps({**tables, "metadata": {"adjusted": True, "error": 0.3}}), encoding="utf-8")
    return file


def caliscope(folder: Path, cameras: Sequence[Camera], unit_m: float) -> Path:
    """Write `[cameras.N]`, camera 2 not calibrated, the last one's pictures turned."""
    file = folder / "camera_array.toml"
    tables = {}
    for n, camera in enumerate(cameras, 1):
        tables[str(n)] = {"cam_id": n, "rotation_count": int(n == len(cameras)), "ignore": False, **_table(camera, unit_m)}
    tables["2"] |= dict.fromkeys(("matrix", "distortions", "rotation", "translation"), "null")
    file.write_text(tomli_w.dumps({"cameras": tables}), encoding="utf-8")
    return file


def easymocap(folder: Path, cameras: Sequence[Camera], unit_m: float) -> Path:
    """Write EasyMocap's two files."""
    inside: dict[str, Value] = {"names": [camera.name for camera in cameras]}
    outside = dict(inside)
    for camera in cameras:
        name = camera.name
        inside |= {f"K_{name}": camera.matrix, f"dist_{name}": camera.distortions[None]}
        inside |= {f"H_{name}": camera.size[1], f"W_{name}": camera.size[0]}
        outside |= {f"R_{name}": rotvec_from_matrix(camera.rotation)[:, None], f"Rot_{name}": camera.rotation}
        outside |= {f"T_{name}": camera.translation[:, None] / unit_m}
    for file, values in ((INTRINSICS, inside), (EXTRINSICS, outside)):
        (folder / file).write_text(format_storage(values, ".yml"), encoding="utf-8")
    return folder


def kalibr(folder: Path, cameras: Sequence[Camera], unit_m: float) -> Path:
    """Write Kalibr's chain: each camera's pose from the one before."""
    lines: list[str] = []
    for n, camera in enumerate(cameras):
        lines.append(f"cam{n}:")
        if n:
            R, t = compute_relative_pose(cameras[n - 1], camera)
            rows = np.vstack([np.column_stack([R, t / unit_m]), [0.0, 0.0, 0.0, 1.0]]).tolist()
            lines += ["  T_cn_cnm1:", *(f"  - {row}" for row in rows)]
        K = camera.matrix
        lines += ["  camera_model: pinhole", f"  distortion_coeffs: {camera.distortions.tolist()}"]
        lines += [f"  distortion_model: {'equidistant' if camera.fisheye else 'radtan'}"]
        lines += [f"  intrinsics: {[K[0, 0].item(), K[1, 1].item(), K[0, 2].item(), K[1, 2].item()]}"]
        lines += [f"  resolution: {list(camera.size)}", f"  rostopic: /cam{n}/image_raw"]
    (folder / "camchain.yaml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder / "camchain.yaml"


def qualisys(folder: Path, cameras: Sequence[Camera], unit_m: float) -> Path:
    """Write a file of Qualisys, which is in millimetres always, one more camera not calibrated."""
    texts = [format_qualisys(Rig((camera,))) for camera in cameras]
    parts = [text[text.index("  <camera ") : text.index(" </cameras>")] for text in texts]
    parts.append('  <camera active="1" calibrated="false" serial="9"/>\n')
    file = folder / "calibration.qca.txt"
    head = texts[0][: texts[0].index("  <camera ")]
    file.write_text("".join([head, *parts, " </cameras>\n</calibration>\n"]), encoding="utf-8")
    return file


def opencv(folder: Path, cameras: Sequence[Camera], unit_m: float) -> Path:
    """Write OpenCV's two cameras."""
    first, second = (
        Camera(c.name, c.size, c.matrix, c.distortions, c.rotation, c.translation / unit_m, c.fisheye) for c in cameras[:2]
    )
    return write_rig_file(folder / "stereo.yml", Rig((first, second)), "opencv")[0]


def taken(
    writer: Writer,
    n: int,
    names: tuple[str, ...] = (),
    truth: tuple[int, ...] = (0, 1),
    unit_m: float = 1.0,
    fisheye: bool = False,
) -> Callable[[Path], Outcome]:
    """Return what writes an array and reads cameras of it; truth: which they are."""

    def make(folder: Path) -> Outcome:
        cameras = array(n, fisheye)
        rig = read_rig(writer(folder, cameras, unit_m), ReadOptions(unit_m=unit_m, names=names))
        true = Rig(tuple(cameras[n] for n in truth))
        world = VOLUME_M
        if writer is kalibr:  # its world is the first camera
            world = cameras[0].to_camera(VOLUME_M)
        off = [a.project(world) - b.project(VOLUME_M) for a, b in zip(rig.cameras, true.cameras, strict=True)]
        text = f"{rig.cameras[0].name} and {rig.cameras[-1].name}, {1e3 * rig.baseline_m:.1f} mm apart"
        return Outcome(text, float(np.abs(off).max()))

    return make


def _as_metres(folder: Path) -> Outcome:
    rig = read_rig(aniposelib(folder, array(2), 0.001))
    return Outcome(f"{rig.baseline_m:.0f} m apart")


PX = 1e-8
SPECIMENS: tuple[Specimen, ...] = (
    Specimen("aniposelib, 2 cameras", taken(aniposelib, 2), "cam_1 and cam_2", PX, "px"),
    Specimen("aniposelib, 2 fisheyes", taken(aniposelib, 2, fisheye=True), "cam_1 and cam_2", PX, "px"),
    Specimen("aniposelib, 5 cameras in mm", taken(aniposelib, 5, ("cam_4", "cam_2"), (3, 1), 0.001), "cam_4 and cam_2", PX, "px"),
    Specimen("aniposelib, 5 cameras", taken(aniposelib, 5, truth=(0, 1, 2, 3, 4)), "cam_1 and cam_5", PX, "px"),
    Specimen("Pose2Sim, 3 cameras in inches", taken(aniposelib, 3, ("cam_3", "cam_1"), (2, 0), 0.0254), "cam_3", PX, "px"),
    Specimen("caliscope, 6 cameras, 2 of no use", taken(caliscope, 6, ("cam_1", "cam_5"), (0, 4)), "cam_1 and cam_5", PX, "px"),
    Specimen(
        "caliscope, one not calibrated",
        taken(caliscope, 6, ("cam_1", "cam_2")),
        "is not calibrated",
        refused=True,
    ),
    Specimen("caliscope, one that turns its pictures", taken(caliscope, 6, ("cam_1", "cam_6")), "90 degrees", refused=True),
    Specimen("caliscope, 4 fisheyes", taken(caliscope, 4, ("cam_3", "cam_1"), (2, 0), fisheye=True), "cam_3", PX, "px"),
    Specimen("EasyMocap, 8 cameras", taken(easymocap, 8, ("cam_8", "cam_7"), (7, 6)), "cam_8 and cam_7", PX, "px"),
    Specimen("EasyMocap, 8 cameras in mm", taken(easymocap, 8, ("cam_1", "cam_7"), (0, 6), 0.001), "cam_1 and cam_7", PX, "px"),
    Specimen("EasyMocap, a name twice", taken(easymocap, 4, ("cam_1", "cam_1")), "named twice", refused=True),
    Specimen("EasyMocap, a name that is not there", taken(easymocap, 4, ("cam_1", "top")), "no camera 'top'", refused=True),
    Specimen("Kalibr, 4 cameras", taken(kalibr, 4, ("cam1", "cam3"), (1, 3)), "cam1 and cam3", PX, "px"),
    Specimen("Kalibr, 2 fisheyes", taken(kalibr, 2, fisheye=True), "cam0 and cam1", PX, "px"),
    Specimen("Qualisys, 7 cameras and one more", taken(qualisys, 7, ("cam_6", "cam_2"), (5, 1)), "cam_6 and cam_2", 1e-6, "px"),
    Specimen("OpenCV, 2 cameras", taken(opencv, 2), "cam_1 and cam_2", PX, "px"),
    Specimen("OpenCV, 2 fisheyes in cm", taken(opencv, 2, unit_m=0.01, fisheye=True), "cam_1 and cam_2", PX, "px"),
    Specimen("mm taken for metres", _as_metres, "--unit mm", refused=True),
)
