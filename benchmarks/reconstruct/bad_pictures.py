"""Pictures that landmarks have a hard time with: what a replay says of them, and how far its poses are off.

    duocap simulate punches --out scene --look person --markers none --fps 30 --baseline 2.1 --seconds 8
    duocap calibrate subject scene/left.avi scene/right.avi --rig scene/rig.toml --markers none --from 1 --to 4 --out me.toml
    python -m benchmarks.reconstruct.bad_pictures scene --subject me.toml [--only grey] [--worst worst.png]

Each case changes the videos of a rendered person, and replays them as `duocap replay --as-live` does. `--worst` draws the frames
of the unchanged videos with the largest errors, and as many spread evenly, with their landmarks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from benchmarks.report import build_parser, run_main
from calibration.camera import Camera, Rig
from calibration.formats.rig_file import read_rig
from calibration.subject.subject import Subject, read_subject
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.arrays import Floats, Image
from config.errors import DuocapError
from config.landmarks import Exchange
from config.settings import Settings
from database.store import open_database
from reconstruct.pose import Pose, TrackingState
from stream.protocol.report import build_replay_report
from stream.web.landmarks import LandmarkColors, believe_landmarks, draw_landmarks
from tools.database.installed import find_default_database
from tools.evaluate.states import compute_pose_joints
from tools.replay.replay import ReplayResult, replay_recording
from tools.replay.report import format_replay_report

EVERY, BEGIN_S, END_S = 2, 3.0, 6.5  # of the scene: from the T-pose into the motion
OTHER_S, OTHER_FROM_S = 1.5, 1.0  # how much later the second person does the same, and when that one comes
SHOWN = 30.0  # grey levels by which a person differs from the room
ASIDE_PX = 210
ENLARGED = 6  # of 640x480: more than 4K
N_WORST, CROP_PX = 5, 360
COLORS = LandmarkColors((220, 180, 80), (0, 160, 230), (200, 120, 200), (160, 64, 255))
Cameras = tuple[list[Image], ...]  # the pictures of each camera
Change = Callable[[Cameras, "Scene"], Cameras]


@dataclass(frozen=True, slots=True)
class Scene:
    """A rendered scene: the empty room and the pictures that are used, by camera, with times [s] and joints, (N, J, 3) [m]."""

    empty: tuple[Image, ...]
    pictures: Cameras
    seconds: Floats
    joint_m: Floats
    rig: Rig

    def find_row(self, pose: Pose) -> int:
        """Return the picture that is nearest in time to a pose."""
        return int(np.argmin(np.abs(self.seconds - self.seconds[0] - 1e-9 * pose.t_capture_ns)))


def read_scene(folder: Path) -> Scene:
    """Read a scene that `duocap simulate` wrote."""
    truth = np.load(folder / "truth.npz")
    every = tuple(_read_video(folder / f"{side}.avi") for side in ("left", "right"))
    used = np.flatnonzero((truth["seconds"] >= BEGIN_S) & (truth["seconds"] < END_S))[::EVERY]
    pictures = tuple([images[k] for k in used] for images in every)
    empty = tuple(images[0] for images in every)
    return Scene(empty, pictures, truth["seconds"][used], truth["joint_m"][used], read_rig(folder / "rig.toml", n_views=2))


def _read_video(file: Path) -> list[Image]:
    """Return all pictures of a video."""
    video, found = cv2.VideoCapture(str(file)), list[Image]()
    while True:
        ok, image = video.read()
        if not ok:
            return found
        found.append(np.asarray(image, np.uint8))


def change_pictures(change: Callable[[Image], Image], cameras: Sequence[int] = (0, 1)) -> Change:
    """Return a case that changes every picture of some cameras by itself."""
    return lambda pictures, _: tuple(
        [np.ascontiguousarray(change(image)) for image in images] if c in cameras else images for c, images in enumerate(pictures)
    )


def paste_person(pictures: Cameras, scene: Scene, moves: bool) -> Cameras:
    """Return pictures with a second person beside the first one: the same later, or, as a poster, always as in one picture.

    Args:
        pictures: of the scene.
        scene: with the empty room.
        moves: whether it is a person, who comes after a second.
    """
    later, first = round(OTHER_S / (scene.seconds[1] - scene.seconds[0])), round(OTHER_FROM_S / np.diff(scene.seconds)[0])
    pasted = []
    for empty, images in zip(scene.empty, pictures, strict=True):
        aside = np.array([[1, 0, ASIDE_PX], [0, 1, 0]], np.float32)
        found = []
        for k, image in enumerate(images):
            other = images[(k + later) % len(images)] if moves else images[0]
            apart = np.abs(other.astype(np.int16) - empty).max(axis=2) > SHOWN
            mask = cv2.warpAffine(cv2.medianBlur(apart.astype(np.uint8), 5), aside, image.shape[1::-1]) > 0
            there = image.copy()
            if not moves or k >= first:
                there[mask] = cv2.warpAffine(other, aside, image.shape[1::-1])[mask]
            found.append(there)
        pasted.append(found)
    return tuple(pasted)


def hide_legs(image: Image) -> Image:
    """Return a picture whose lower half shows nothing."""
    hidden = image.copy()
    hidden[image.shape[0] // 2 :] = 96
    return hidden


def make_grey(image: Image) -> Image:
    """Return a picture without colours."""
    return np.repeat(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)[..., None], 3, axis=2)


def enlarge(image: Image) -> Image:
    """Return a picture as a camera of many more pixels would take it."""
    return np.asarray(cv2.resize(image, None, fx=ENLARGED, fy=ENLARGED, interpolation=cv2.INTER_CUBIC), np.uint8)


def enlarge_camera(camera: Camera) -> Camera:
    """Return the camera of enlarged pictures."""
    matrix = camera.matrix.copy()
    matrix[:2, 2] += 0.5
    matrix[:2] *= ENLARGED
    matrix[:2, 2] -= 0.5
    return replace(camera, size=(ENLARGED * camera.size[0], ENLARGED * camera.size[1]), matrix=matrix)


CASES: dict[str, Change] = {
    "as it is": lambda pictures, _: pictures,
    "no person": lambda pictures, scene: tuple([empty] * len(pictures[0]) for empty in scene.empty),
    "two people": lambda pictures, scene: paste_person(pictures, scene, moves=True),
    "a poster of a person": lambda pictures, scene: paste_person(pictures, scene, moves=False),
    "half out of the picture": change_pictures(hide_legs),
    "both upside down": change_pictures(lambda image: image[::-1, ::-1]),
    "one upside down": change_pictures(lambda image: image[::-1, ::-1], cameras=(1,)),
    "both on their sides": change_pictures(np.rot90),
    "both mirrored": change_pictures(lambda image: image[:, ::-1]),
    "one mirrored": change_pictures(lambda image: image[:, ::-1], cameras=(1,)),
    "grey": change_pictures(make_grey),
    "4K": change_pictures(enlarge),
    "5 Hz": lambda pictures, _: tuple(images[::3] for images in pictures),
}


@dataclass(frozen=True, slots=True)
class BadOutcome:
    """What came of a case: lines that a user reads, shares of states, and errors of poses [mm].

    Attributes:
        lines: of the report, or the one that says what is wrong.
        shares: of the poses in each state.
        error_mm: of the tracked poses, each on average, (N,).
        result: None where there is none.
    """

    lines: list[str]
    shares: dict[str, float]
    error_mm: Floats
    result: ReplayResult | None = None


def try_case(name: str, scene: Scene, subject: Subject, folder: Path) -> BadOutcome:
    """Replay the pictures of a case.

    Args:
        name: of the case.
        scene: that is changed.
        subject: the performer.
        folder: where videos are written.
    """
    pictures = CASES[name](scene.pictures, scene)
    step = len(scene.seconds) // len(pictures[0])
    fps = 1.0 / (step * float(np.diff(scene.seconds).mean()))
    files = tuple(_write_video(folder / f"{name.replace(' ', '_')}_{c}.avi", images, fps) for c, images in enumerate(pictures))
    rig = replace(scene.rig, cameras=tuple(map(enlarge_camera, scene.rig.cameras))) if name == "4K" else scene.rig
    settings = Settings()
    try:
        recording = CaptureRecording(RecordingSpec(files), settings.detector, subject.markers, landmarks="full")
        database = open_database(find_default_database(lambda words: None))
        result = replay_recording(recording, rig, subject, database, settings)
    except DuocapError as error:
        return BadOutcome([str(error)], {}, np.zeros(0))
    report = build_replay_report(result.poses, result.wall_s, landmark=~subject.markers.worn)
    states = [pose.state for pose in result.poses]
    shares = {str(state): states.count(state) / len(states) for state in TrackingState}
    tracked = [pose for pose in result.poses if pose.state is TrackingState.TRACKING]
    return BadOutcome(format_replay_report(report), shares, _measure_errors_mm(tracked, scene, subject), result)


def _measure_errors_mm(poses: Sequence[Pose], scene: Scene, subject: Subject) -> Floats:
    """Return how far the joints of poses are from the truth on average, (N,) [mm].

    Args:
        poses: N of them.
        scene: with the truth.
        subject: whose poses they are.
    """
    if not poses:
        return np.zeros(0)
    true_m = scene.joint_m[[scene.find_row(pose) for pose in poses]]
    return np.asarray(1e3 * np.linalg.norm(compute_pose_joints(subject.skeleton, poses) - true_m, axis=2).mean(axis=1))


def _write_video(file: Path, images: Sequence[Image], fps: float) -> str:
    """Write pictures as a video."""
    writer = cv2.VideoWriter(str(file), cv2.VideoWriter.fourcc(*"MJPG"), fps, images[0].shape[1::-1])
    for image in images:
        writer.write(image)
    writer.release()
    return str(file)


def draw_worst(outcome: BadOutcome, scene: Scene, subject: Subject) -> Image:
    """Return the frames with the largest errors, the worst first, below as many spread evenly; the camera takes turns."""
    result = outcome.result
    assert result is not None
    errors = _measure_errors_mm(result.poses, scene, subject)
    rows = []
    for chosen in (np.linspace(0, len(errors) - 1, N_WORST).astype(int), np.argsort(-errors)[:N_WORST]):
        row = [_draw_frame(int(n), k % 2, float(errors[n]), result, scene, subject) for k, n in enumerate(chosen)]
        rows.append(np.hstack(row))
    return np.vstack(rows)


def _draw_frame(n: int, c: int, error_mm: float, result: ReplayResult, scene: Scene, subject: Subject) -> Image:
    """Draw a frame of a camera, cut to the middle.

    Args:
        n: number of the frame.
        c: number of the camera.
        error_mm: of the pose.
        result: of the replay.
        scene: with the pictures.
        subject: the performer.
    """
    pose, blobs = result.poses[n], result.views[n].blobs[c]
    at = scene.find_row(pose)
    left = (scene.pictures[c][at].shape[1] - CROP_PX) // 2
    canvas = np.ascontiguousarray(scene.pictures[c][at][:, left : left + CROP_PX])
    if blobs is not None and blobs.landmarks is not None:
        told = int(pose.exchanged[c]) if len(pose.exchanged) else 0
        seen = result.markers[n].seen[c].tolist()
        found = replace(blobs.landmarks, image_px=blobs.landmarks.image_px - [left, 0.0])
        draw_landmarks(canvas, found, believe_landmarks(subject.markers.names, seen, Exchange(max(told, 0))), COLORS)
    words = f"{pose.t_capture_ns * 1e-9:.2f} s  {error_mm:.0f} mm  {pose.state}"
    cv2.putText(canvas, words, (8, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
    return canvas


def main() -> None:
    """Try the cases and print a row for each."""
    parser = build_parser(__doc__)
    parser.add_argument("scene", type=Path)
    parser.add_argument("--subject", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--videos", type=Path, default=Path("bad_pictures"))
    parser.add_argument("--worst", type=Path)
    asked = parser.parse_args()
    asked.videos.mkdir(parents=True, exist_ok=True)
    scene, subject = read_scene(asked.scene), read_subject(asked.subject)
    for name in asked.only:
        outcome = try_case(name, scene, subject, asked.videos)
        shares = ", ".join(f"{state} {100.0 * share:.0f} %" for state, share in outcome.shares.items())
        off = f"{outcome.error_mm.mean():.0f} mm, worst {outcome.error_mm.max():.0f}" if len(outcome.error_mm) else "-"
        print(f"| {name} | {shares or '-'} | {off} |", flush=True)
        for line in outcome.lines:
            print(f"    {line}", flush=True)
        if name == "as it is" and asked.worst is not None:
            cv2.imwrite(str(asked.worst), draw_worst(outcome, scene, subject))


if __name__ == "__main__":
    run_main(main)
