"""Twenty poses made from pictures with known truth, by clicks in a browser.

    python -m benchmarks.stream.posing.pictures --motion DIR --work DIR [--noise 3] [--shots DIR] [--json F]

Poses of takes that were held out of five behaviours are drawn in a room, 1280x960; `duocap pose` with a style of the behaviour's
other takes shows each picture in a headless Chromium of 1280x720; the camera is chosen from a rig file; the fourteen joints that
the page asks for are clicked where they are, hidden ones too, with normal noise of so many pixels of the page. The pose is read
from the session's file. Beside it, from the same clicks: the nearest pose of the same takes, and that with damped least squares.
Errors are means over the joints; a pose has succeeded with at most 50 mm, the hips aligned.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from benchmarks.papers.posing_cases import PersonPoses, PoseQuery, TakeSplit, held_out_poses, pose_pool, read_ranges, splits
from benchmarks.papers.posing_peers import damped_least_squares, nearest
from benchmarks.report import Column, TablePrinter, build_parser, group_rows, number_columns, run_main, write_json
from benchmarks.stream.posing.latency import NOT_DRAWN
from benchmarks.stream.posing.page import PosePage
from calibration.camera import Camera, Rig
from calibration.formats.rig_toml import write_rig_toml
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from capture.sources.simulated.body import build_body_around
from capture.sources.simulated.image import CameraView, Renderer, Sensor
from config.arrays import Bytes, Floats
from config.joints import JOINT_INDEX
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.file import write_style
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from stream.posing.document import create_document
from stream.posing.page.picture import IN_TURN
from stream.posing.session_file import read_posing_session, write_posing_session
from tools.evaluate.scores import geodesic_errors_deg

BEHAVIOURS = ("07 walking", "09 running", "14 boxing", "16 jumping", "02 sword")
EACH, LEARNED = 4, 500
SIZE, FOV_DEG = (1280, 960), 55.0
EYES_M, TARGET_M = {"left": (-1.2, 1.5, 3.8), "right": (1.2, 1.5, 3.8)}, (0.0, 0.9, 0.0)
JOINTS_CLICKED = np.array([JOINT_INDEX[name] for name in IN_TURN])
SUCCESS_MM = 50.0
Pose = tuple[Floats, Floats]


@dataclass(frozen=True)
class PictureRun:
    """One pose by one method. world_mm: of joints where they are; hips_mm: with the hips aligned; turn_deg: of joint rotations;
    off_px: the worst of the clicked joints, in the picture; seconds: from the first click to the last answer."""

    behaviour: str
    number: int
    method: str
    world_mm: float
    hips_mm: float
    turn_deg: float
    off_px: float
    seconds: float

    @property
    def succeeded(self) -> bool:
        """Whether the pose is as in the picture."""
        return self.hips_mm <= SUCCESS_MM


@dataclass(frozen=True)
class Behaviour:
    """What is posed. style: its file; pool: of the nearest pose, (N, J, 3) [rad]; true: held-out poses."""

    name: str
    skeleton: Skeleton
    style: Path
    pool: Floats
    true: PersonPoses


def build_cameras() -> tuple[Camera, Camera]:
    """Return the cameras of the rig, left first."""
    matrix = intrinsics_from_fov(SIZE, FOV_DEG)
    left, right = (make_camera_looking_at(name, SIZE, matrix, eye_m, TARGET_M) for name, eye_m in EYES_M.items())
    return left, right


def prepare_behaviour(split: TakeSplit, motion: Path, work: Path) -> Behaviour:
    """Return one behaviour, its style learned unless its file is there.

    Args:
        split: takes to learn from and to pose.
        motion: folder of motion files.
        work: folder of intermediate files.
    """
    clips = read_ranges(split.learned, motion)
    skeleton, pool = pose_pool(clips)
    style = work / f"{split.name.replace(' ', '-')}.style"
    if not style.is_file():
        write_style(style, fit_style(subsample_poses(build_training_poses(clips), LEARNED), skeleton, split.name, LearnOptions()))
    return Behaviour(split.name, skeleton, style, pool, held_out_poses(read_ranges(split.held_out, motion), EACH))


def draw_picture(skeleton: Skeleton, pose: Pose, camera: Camera, seed: int) -> Bytes:
    """Return a picture of a pose in a room, BGR.

    Args:
        skeleton: the skeleton.
        pose: the pose.
        camera: the camera.
        seed: of the random numbers.
    """
    body, none = build_body_around(skeleton), np.zeros((0, 3))
    renderer = Renderer(camera, camera, Sensor(dark=False), (body.color_rgb, none), (seed, seed))
    rotations, positions_m = compute_forward_kinematics(skeleton, *pose)
    view = CameraView(np.zeros((3, 0, 3)), np.zeros(0), none, np.zeros((0, 2)), body.posed(rotations, positions_m))
    return renderer.image(view, 0.01, 0)


def pose_in_page(
    case: Behaviour, rig: Path, work: Path, noise_px: float, shots: Path | None
) -> Iterator[tuple[int, Pose, Floats, float]]:
    """Pose all pictures of a behaviour in one page; return number, pose, clicks [px of the picture] and seconds of each.

    Args:
        case: what is measured.
        rig: file of the camera.
        work: folder of intermediate files.
        noise_px: standard deviation of the clicks [px].
        shots: folder for pictures of the page, or None.
    """
    session, camera = work / "session.json", build_cameras()[0]
    write_posing_session(session, create_document(case.skeleton), case.skeleton)
    with PosePage([case.style, session], "" if shots else NOT_DRAWN, 1.0) as page:
        page.browser.press("Picture")
        page.browser.upload(".toml", rig)
        for number in range(len(case.true.rotvec)):
            file = work / f"{case.style.stem}-{number}.png"
            cv2.imwrite(
                str(file), draw_picture(case.skeleton, (case.true.rotvec[number], case.true.root_m[number]), camera, number)
            )
            page.browser.upload("image/png", file)
            page.browser.wait("the picture", lambda: f"(0 of {len(IN_TURN)})" in page.browser.text())
            page.browser.choose("Camera", "left")
            time.sleep(1.5)
            rng = np.random.default_rng(number)
            width, height = page.canvas()
            scale = min(width / SIZE[0], height / SIZE[1])
            exact = camera.project(case.true.joint_m[number])[JOINTS_CLICKED]
            at_page = np.round(
                [0.5 * width, 0.5 * height]
                + scale * (exact - 0.5 * (np.array(SIZE) - 1.0))
                + rng.normal(0.0, noise_px, exact.shape)
            )
            begin_s = time.monotonic()
            page.click_joints(at_page)
            seconds = time.monotonic() - begin_s
            if shots is not None:
                time.sleep(4.0)
                page.save_picture(shots / f"{case.style.stem}-{number}.png")
            time.sleep(1.5)
            document = read_posing_session(session)
            clicks = np.array([document.image_points[name] for name in IN_TURN])
            yield number, (document.pose.rotvec, document.pose.root_m), clicks, seconds
            page.browser.press("Put it away")
            time.sleep(1.0)


def measure_pose(case: Behaviour, number: int, method: str, pose: Pose, clicks: Floats, seconds: float) -> PictureRun:
    """Return the errors of a pose.

    Args:
        case: what is measured.
        number: of the picture.
        method: how it was posed.
        pose: the pose.
        clicks: image points, (P, 2) [px].
        seconds: that it took [s].
    """
    joint_m, true_m = compute_forward_kinematics(case.skeleton, *pose)[1], case.true.joint_m[number]
    world = np.linalg.norm(joint_m - true_m, axis=1)
    hips = np.linalg.norm((joint_m - joint_m[0]) - (true_m - true_m[0]), axis=1)
    turn = geodesic_errors_deg(pose[0][None], case.true.rotvec[number][None])
    off = np.linalg.norm(build_cameras()[0].project(joint_m)[JOINTS_CLICKED] - clicks, axis=1)
    means = 1e3 * float(world.mean()), 1e3 * float(hips.mean()), float(turn.mean())
    return PictureRun(case.name, number, method, *means, float(off.max()), seconds)


def measure_behaviour(case: Behaviour, rig: Path, work: Path, noise_px: float, shots: Path | None) -> Iterator[PictureRun]:
    """Measure the page and its peers on one behaviour.

    Args:
        case: what is measured.
        rig: file of the camera.
        work: folder of intermediate files.
        noise_px: standard deviation of the clicks [px].
        shots: folder for pictures of the page, or None.
    """
    camera = build_cameras()[0]
    for number, pose, clicks, seconds in pose_in_page(case, rig, work, noise_px, shots):
        yield measure_pose(case, number, "page", pose, clicks, seconds)
        query = PoseQuery(JOINTS_CLICKED, None, camera.undistort(clicks), camera)
        start = nearest(case.skeleton, case.pool, query)
        yield measure_pose(case, number, "nearest", start, clicks, 0.0)
        yield measure_pose(case, number, "nearest + DLS", damped_least_squares(case.skeleton, start, query), clicks, 0.0)


def print_table(runs: Sequence[PictureRun]) -> None:
    """Print medians and how many succeeded."""
    names = ("world_mm", "hips_mm", "turn_deg", "off_px")
    table = TablePrinter((Column("method"), *number_columns(1, *names, "worst"), Column("succeeded")))
    for rows in group_rows(runs, "method"):
        medians = {name: float(np.median([getattr(run, name) for run in rows])) for name in names}
        good = f"{sum(run.succeeded for run in rows)} of {len(rows)}"
        table.show({"method": rows[0].method, **medians, "worst": max(run.hips_mm for run in rows), "succeeded": good})


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="folder of the takes")
    parser.add_argument("--work", type=Path, required=True, help="folder for styles, pictures and sessions")
    parser.add_argument("--noise", type=float, default=3.0, help="of clicks [px of the page]")
    parser.add_argument("--behaviours", default=",".join(BEHAVIOURS))
    parser.add_argument("--shots", type=Path, help="draw, and keep what the page looks like")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.shots is not None:
        options.shots.mkdir(parents=True, exist_ok=True)
    rig, runs = options.work / "rig.toml", []
    write_rig_toml(rig, Rig(tuple(build_cameras()), error_px=0.3, floor_known=True))
    for split in splits(tuple(options.behaviours.split(","))):
        for run in measure_behaviour(
            prepare_behaviour(split, options.motion, options.work), rig, options.work, options.noise, options.shots
        ):
            runs.append(run)
            errors = f"{run.world_mm:6.0f} {run.hips_mm:6.0f} mm {run.turn_deg:5.1f} deg {run.off_px:5.0f} px"
            print(f"{run.behaviour:11} {run.number} {run.method:14} {errors} {run.seconds:5.1f} s", flush=True)
    print_table(runs)
    write_json(options.json, runs)


if __name__ == "__main__":
    run_main(main)
