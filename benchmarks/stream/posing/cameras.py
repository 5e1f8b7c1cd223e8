"""Poses from pictures whose camera is not known: set by hand, solved from the clicks, and as it truly was.

    python -m benchmarks.stream.posing.cameras --motion DIR --work DIR [--behaviours NAME,...] [--noise 4] [--json F]

Four poses of takes that were held out of each behaviour are seen by cameras 0.4 to 2.6 m high with fields of view of 40 to 75
degrees; fourteen joints are clicked with normal noise of so many pixels of 1280, in a session without its page. Errors are means
over the joints, hips and heading aligned, for nobody can know the heading without the camera.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.papers.posing_cases import splits
from benchmarks.report import build_parser, write_json
from benchmarks.stream.posing.pictures import JOINTS_CLICKED, SIZE, Behaviour, prepare_behaviour
from calibration.camera import Camera
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.arrays import Floats
from database.default import open_default_database
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.models.style.file import read_style
from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.posing.style import StylePoser
from stream.posing.camera import fit_cameras_to_poses, guess_cameras
from stream.posing.document import Document, PictureView, create_document
from stream.posing.model import PosingModel
from stream.posing.near import collect_known_poses, compute_standing_joints_m
from stream.posing.page.picture import IN_TURN, TRIED_POSES
from stream.posing.picture import find_picture_camera
from stream.posing.session import PosingSession

HOW = ("by hand", "solved", "true")


def build_camera(number: int) -> Camera:
    """Return the true camera of a picture."""
    rng = np.random.default_rng(number + 50)
    fov_deg, height_m = rng.uniform(40.0, 75.0), rng.uniform(0.4, 2.6)
    away_m = 1.755 / np.tan(np.radians(0.5 * fov_deg))
    return make_camera_looking_at("true", SIZE, intrinsics_from_fov(SIZE, fov_deg), (0.3, height_m, away_m), (0.0, 0.9, 0.0))


def pose_from_clicks(model: PosingModel, clicks: Floats, camera: Camera | None, poses_m: Floats | None) -> tuple[Floats, float]:
    """Return the joints of the pose that clicks give, (J, 3) [m], and seconds for the camera.

    Args:
        model: the model.
        clicks: image points, (P, 2) [px].
        camera: the camera.
        poses_m: joints of the poses that the camera is solved by, (N, J, 3) [m].
    """
    skeleton, picture = model.poser.skeleton, PictureView(SIZE, camera=camera)
    session = PosingSession(model, Document(create_document(skeleton).pose, picture=picture))
    for name, image_px in zip(IN_TURN, clicks, strict=True):
        session.drag_in_picture(name, image_px)
        session.release()
    begin_s = time.monotonic()
    if poses_m is not None:
        points = session.document.image_points
        by_poses = fit_cameras_to_poses(picture, points, poses_m)
        session.set_best_camera(
            [replace(find_picture_camera(picture), name="solved"), *by_poses, *guess_cameras(picture, points)]
        )
    return session.joints_m(), time.monotonic() - begin_s


def compute_error_mm(joint_m: Floats, true_m: Floats) -> float:
    """Return the mean distance of joints, (J, 3) [m] each, hips and heading aligned."""
    a, b = joint_m - joint_m[0], true_m - true_m[0]
    turn = np.arctan2((b[:, 0] * a[:, 2] - b[:, 2] * a[:, 0]).sum(), (b[:, 0] * a[:, 0] + b[:, 2] * a[:, 2]).sum())
    return 1e3 * float(np.linalg.norm(a @ matrix_from_rotvec(np.array([0.0, turn, 0.0])).T - b, axis=1).mean())


def measure_errors(case: Behaviour, poses_m: Floats, noise_px: float) -> Iterator[tuple[list[float], float]]:
    """Return the errors of each picture with each camera [mm], and the seconds it took to solve.

    Args:
        case: what is measured.
        poses_m: joints of the poses that the camera is solved by, (N, J, 3) [m].
        noise_px: standard deviation of the clicks [px].
    """
    model = PosingModel("style", StylePoser(Synthesizer([read_style(case.style)])))
    for number, true_m in enumerate(case.true.joint_m):
        camera = build_camera(number)
        noise = np.random.default_rng(number).normal(0.0, noise_px, (len(IN_TURN), 2))
        clicks = camera.project(true_m)[JOINTS_CLICKED] + noise
        by_hand = pose_from_clicks(model, clicks, None, None)[0]
        solved, seconds = pose_from_clicks(model, clicks, None, poses_m)
        exact = pose_from_clicks(model, clicks, camera, None)[0]
        yield [compute_error_mm(joint_m, true_m) for joint_m in (by_hand, solved, exact)], seconds


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="folder of the takes")
    parser.add_argument("--work", type=Path, required=True, help="folder for styles")
    parser.add_argument("--noise", type=float, default=4.0, help="of clicks [px]")
    parser.add_argument("--behaviours", default="09 running,16 jumping,02 sword")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    database = open_default_database()
    known = collect_known_poses([database.clip(n) for n in range(database.n_clips)])
    rows = []
    for split in splits(tuple(options.behaviours.split(","))):
        case = prepare_behaviour(split, options.motion, options.work)
        for number, (errors, seconds) in enumerate(
            measure_errors(case, compute_standing_joints_m(known, case.skeleton, TRIED_POSES), options.noise)
        ):
            rows.append({"behaviour": split.name, "number": number, **dict(zip(HOW, errors, strict=True)), "seconds": seconds})
            words = "  ".join(f"{how} {error:.0f}" for how, error in zip(HOW, errors, strict=True))
            print(f"{split.name:11} {number}  mm: {words}  solved in {seconds:.1f} s", flush=True)
    for how in HOW:
        values = [float(row[how]) for row in rows]
        print(f"{how:8} median {np.median(values):.0f}, mean {np.mean(values):.0f}, worst {max(values):.0f} mm of {len(values)}")
    write_json(options.json, rows)


if __name__ == "__main__":
    main()
