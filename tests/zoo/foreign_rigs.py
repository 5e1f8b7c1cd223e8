"""One rig of two cameras in files of many programs, with what is odd about each, and some of them broken."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from calibration.formats.camera_file import ReadOptions
from calibration.formats.rig_file import PLAIN, read_rig
from tests.zoo.specimen import Outcome, Specimen

FOREIGN = Path(__file__).parent / "foreign" / "rigs"
MATRICES = (
    np.array([[601.5, 0.0, 318.2], [0.0, 600.3, 241.7], [0.0, 0.0, 1.0]]),
    np.array([[611.2, 0.0, 322.9], [0.0, 609.8, 236.4], [0.0, 0.0, 1.0]]),
)
LENSES = (np.array([-0.12, 0.05, 0.001, -0.0007, 0.0]), np.array([-0.1, 0.03, -0.0004, 0.0009, 0.0]))
TURN, STEP_M = np.array([0.03735969886028, -0.31381965827473246, 0.022790897484484776]), np.array([-0.52, 0.013, 0.09])
# In the first camera's frame, seen by both.
POINTS_M = np.array([(x, y, z) for z in (2.0, 3.1) for x in (-0.25 * z, 0.0, 0.35 * z) for y in (-0.3 * z, 0.05, 0.25 * z)])
RATIONAL = np.array([-0.12, 0.05, 0.001, -0.0007, 0.01, 0.2, 0.03, 0.004])


def read(
    name: str,
    *changes: tuple[str, str],
    lenses: tuple[np.ndarray, ...] = LENSES,
    fisheye: bool = False,
    options: ReadOptions = PLAIN,
) -> Callable[[Path], Outcome]:
    """Return what reads a file and compares where its cameras see points with where OpenCV sees them with the true values.

    Args:
        name: of the file or folder.
        changes: texts of it that are replaced by others.
        lenses: the true coefficients.
        fisheye: which model they are of.
        options: what the file leaves open.
    """

    def make(folder: Path) -> Outcome:
        rig = read_rig(_copy_changed(FOREIGN / name, folder, changes), options)
        first = rig.cameras[0]
        world_m = (POINTS_M - first.translation) @ first.rotation
        model, error = cv2.fisheye.projectPoints if fisheye else cv2.projectPoints, 0.0
        for n, camera in enumerate(rig.cameras):
            turn, step = (np.zeros(3), np.zeros(3)) if n == 0 else (TURN, STEP_M)
            seen, _ = model(POINTS_M[:, None], turn, step, MATRICES[n], lenses[n])
            error = max(error, float(np.abs(camera.project(world_m) - seen.reshape(-1, 2)).max()))
        sizes = " and ".join(f"{camera.name} {camera.size[0]}x{camera.size[1]}" for camera in rig.cameras)
        return Outcome(f"{len(rig)} camera{'s' * (len(rig) > 1)}: {sizes}", error)

    return make


def _copy_changed(source: Path, folder: Path, changes: tuple[tuple[str, str], ...]) -> Path:
    """Copy a file, or the files of a folder, with texts replaced, each of which must be there."""
    target, found = folder / source.name, set()
    if source.is_dir():
        target.mkdir()
    for file in source.iterdir() if source.is_dir() else (source,):
        text = file.read_bytes().decode("utf-8")
        for old, new in changes:
            found |= {old} & {old if old in text else ""}
            text = text.replace(old, new)
        (target / file.name if source.is_dir() else target).write_bytes(text.encode("utf-8"))
    assert len(found) == len(changes)
    return target


PX = 1e-6
BOTH = "2 cameras: .* 640x480 and .* 640x480"
TAKEN = (
    *("anipose.toml", "anipose_dist5x1.toml", "anipose_error_list.toml", "anipose_error_missing_nan.toml"),
    *("anipose_int_values.toml", "anipose_names_int.toml", "anipose_skew.toml", "easymocap_5x1", "easymocap_quoted"),
    *("kalibr_5coeffs.yaml", "kalibr_bom.yaml", "kalibr_comments.yaml", "kalibr_crlf.yaml", "kalibr_flowmatrix.yaml"),
    *("kalibr_header.yaml", "kalibr_imu_cam_only.yaml", "kalibr_imu_only.yaml", "kalibr_indent3.yaml", "kalibr_plain.yaml"),
    *("kalibr_wrapped.yaml", "opencv.xml", "opencv_14_zeros.yml", "opencv_LR_names.yml", "opencv_crlf_bom.yml"),
    *("opencv_left_right_names.yml", "opencv_noheader_dashes.yml", "opencv_plain.yml", "opencv_row_T.yml", "opencv_yaml12.yml"),
    *("qualisys_64.qca.txt", "qualisys_pixels_nofov.qca.txt", "qualisys_pixels_nofov.xml"),
)
SIZED, FISHEYES = ReadOptions(size=(640, 480)), (LENSES[0][:4], LENSES[1][:4])
FIRST = (LENSES[0] * [1, 0, 0, 0, 0], LENSES[1] * [1, 0, 0, 0, 0])
UNKNOWN = ("cameras.txt", "rig.json", "vicon.xcp", "zed.conf")
THIN = np.array([-0.12, 0.05, 0.001, -0.0007, 0.01, 0.0, 0.0, 0.0, 0.0004, -0.0002, 0.0003, 0.0001])
SAMPLE = np.array([-0.26, -0.046, 0.0018, -0.0003, 0.25, 0.06, -0.02, 0.11, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
FIVE = "cols: 5\n   dt: d\n   data: [ -0.12, 0.05, 0.001, -0.0007, 0. ]"
MATRIX = "  rows: 3\n  cols: 3\n  data: [601.5, 0.0, 318.2, 0.0, 600.3, 241.7, 0.0, 0.0, 1.0]"
LISTS = "- - 601.5\n  - 0.0\n  - 318.2\n- - 0.0\n  - 600.3\n  - 241.7\n- - 0.0\n  - 0.0\n  - 1.0"


def more(lens: np.ndarray) -> tuple[str, str]:
    """Return the change that gives the first camera another lens."""
    return FIVE, f"cols: {len(lens)}\n   dt: d\n   data: {lens.tolist()}"


SECOND = (FOREIGN / "kalibr_plain.yaml").read_text("utf-8").partition("cam1:")[2]
BROKEN = (
    (
        "Kalibr, a row of three numbers",
        read("kalibr_plain.yaml", (", -0.52]", "]")),
        "cam1 T_cn_cnm1 must be 4 x 4 finite numbers",
    ),
    ("Kalibr, a list without its end", read("kalibr_plain.yaml", ("318.2, 241.7]", "318.2")), r"yaml:\d+: not a YAML"),
    ("Kalibr, the first camera missing", read("kalibr_bom.yaml", ("cam0:", "left:")), "cam1 has a pose from a camera before it"),
    ("Kalibr, cut short", read("kalibr_plain.yaml", (SECOND, "\n")), "cam1 has no values by name.*cut short"),
    ("Kalibr, no pose at all", read("kalibr_imu_cam_only.yaml", ("T_imu_cam", "T_cam")), "cam0 has no pose; expected T_cn_cnm1"),
    ("Kalibr, a pose of zeros", read("kalibr_imu_cam_only.yaml", (", 1.0]", ", 0.0]")), "is no pose; expected right-handed"),
    ("OpenCV, six coefficients", read("opencv_plain.yml", more(np.ones(6))), "must be a matrix of 1, 2, 4, 5, 8, 12 or 14"),
    ("OpenCV, a lens that folds back", read("opencv_plain.yml", more(RATIONAL * [700.0, *7 * [1.0]])), "folds back and sees"),
    ("OpenCV, a text for a number", read("opencv_plain.yml", ("600.3", "wide")), "M1 must be a matrix of 3 x 3 finite"),
    ("ROS, eight of nine numbers", read("ros_camera_info.yaml", ("0.0, 318.2, ", "318.2, ")), "camera_matrix must be .* 3 x 3"),
    ("EasyMocap, a camera without a matrix", read("easymocap_quoted", ("K_01:", "L_01:")), "lacks K_01"),
    ("aniposelib, a bracket missing", read("anipose.toml", ("241.7]", "241.7")), "not valid TOML: .*line 5, column 1"),
    ("aniposelib, a skew that would be seen", read("anipose_skew.toml", ("0.35", "35.0")), "a skew of 35 px"),
    (
        "Qualisys, a letter in a number",
        read("qualisys_64.qca.txt", ('r22="-1.0"', 'r22="-l.0"')),
        "camera 11: <transform> r22 must",
    ),
    ("Qualisys, a tag not closed", read("qualisys_64.qca.txt", ("</cameras>", "")), "not valid XML: .*line 11, column"),
    ("bytes of no text", read("kalibr_plain.yaml", ("cam1:", "cam1:\0")), r"yaml:9: a byte 00, .*expected TOML"),
)
SPECIMENS: tuple[Specimen, ...] = (
    *(Specimen(name, read(name), BOTH, PX, "px") for name in TAKEN),
    Specimen("anipose_dist1.toml", read("anipose_dist1.toml", lenses=FIRST), BOTH, PX, "px"),
    Specimen("freemocap_mm.toml, --unit mm", read("freemocap_mm.toml", options=ReadOptions(unit_m=0.001)), BOTH, PX, "px"),
    Specimen("easymocap_norot_nosize, --size", read("easymocap_norot_nosize", options=SIZED), BOTH, PX, "px"),
    Specimen(
        "EasyMocap, names without quotes", read("easymocap_quoted", ('"01"', "01"), ('"02"', "02")), ": 01 .* 02 ", PX, "px"
    ),
    Specimen("kalibr_equi_name.yaml", read("kalibr_equi_name.yaml", lenses=FISHEYES, fisheye=True), BOTH, PX, "px"),
    Specimen("opencv_float.yml", read("opencv_float.yml"), BOTH, 1e-3, "px"),
    Specimen("opencv_rational8.yml", read("opencv_rational8.yml", lenses=(RATIONAL, LENSES[1])), BOTH, 0.01, "px"),
    Specimen("OpenCV, 12 coefficients", read("opencv_plain.yml", more(THIN), lenses=(THIN, LENSES[1])), BOTH, 0.1, "px"),
    Specimen("OpenCV, 14 coefficients", read("opencv_plain.yml", more(SAMPLE), lenses=(SAMPLE, LENSES[1])), BOTH, 0.1, "px"),
    Specimen(
        "OpenCV, imageSize as a list",
        read("opencv_plain.yml", ("image_width: 640\nimage_height: 480", "imageSize: [640, 480]")),
        BOTH,
        PX,
        "px",
    ),
    Specimen("ros_camera_info.yaml", read("ros_camera_info.yaml"), "1 camera: left 640x480", PX, "px"),
    Specimen(
        "ROS, matrices as lists in lists", read("ros_camera_info.yaml", (MATRIX, LISTS)), "1 camera: left 640x480", PX, "px"
    ),
    Specimen("freemocap_mm.toml", read("freemocap_mm.toml"), "527.89. m apart.*--unit mm", refused=True),
    Specimen("easymocap_norot_nosize", read("easymocap_norot_nosize"), "--size", refused=True),
    *(Specimen(name, read(name), "of no program that is read; expected TOML .*OpenCV, Kalibr", refused=True) for name in UNKNOWN),
    *(Specimen(name, make, words, refused=True) for name, make, words in BROKEN),
)
