"""Render a simulated scene to disk: a video a camera, time stamps, rig, markers and the truth; all of it or nothing."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import tomli_w
from numpy.typing import NDArray

from calibration.formats.rig_toml import write_rig_toml
from capture.sources.simulated.camera import SimulatedCamera, choose_marker_colors
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.arrays import Floats
from config.errors import FileFormatError, SettingsError, describe_reason
from config.files import write_atomically
from config.joints import JOINTS
from config.settings import CAMERA_NAMES
from database.clips import Clip
from reconstruct.pose import TrackingState
from stream.export.bvh import write_bvh
from stream.export.csv import write_csv
from stream.take.take import Take
from tools.progress import ignore_progress

# fourcc, OpenCV backend: motion JPEG is written by OpenCV itself, lossless FFV1 needs its FFmpeg.
CODECS = {"mjpg": ("MJPG", cv2.CAP_OPENCV_MJPEG), "ffv1": ("FFV1", cv2.CAP_FFMPEG)}
QUALITY = 97
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Simulation:
    """A written recording: folder, frames, the performer and when the T-pose begins and ends [s]."""

    folder: Path
    n_frames: int
    performer: Performer
    tpose_s: tuple[float, float]


def simulate_recording(
    scene: SimulatedScene, out: Path, codec: str = "mjpg", progress: Progress = ignore_progress, clip: Clip | None = None
) -> Simulation:
    """Write a scene to the folder `out`: left.avi, right.avi and so on, timestamps.csv, rig.toml, markers.toml, scene.toml,
    truth.*.

    Args:
        scene: scene to render.
        out: folder of the videos.
        codec: mjpg or ffv1.
        progress: called with frames done and frames in all.
        clip: instead of the motion the scene names.
    Raises: FileFormatError, SettingsError, CalibrationError: a fault in the scene, a folder or codec that cannot be written.
    """
    if codec not in CODECS:
        raise SettingsError(f"the codec {codec!r} is unknown; known: {', '.join(CODECS)}")
    performer = make_scene_performer(scene, clip)
    cameras = [SimulatedCamera(scene, index, performer) for index in range(len(performer.rig))]
    n_frames = min(len(camera.times_s) for camera in cameras)
    with _open_whole_folder(out) as folder:
        image_px, shown = _write_videos(folder, cameras, n_frames, codec, progress)
        times = np.stack([camera.times_s[:n_frames] for camera in cameras])
        _write_stamps(folder / "timestamps.csv", times)
        write_rig_toml(folder / "rig.toml", performer.rig)
        write_atomically(folder / "markers.toml", _format_markers(performer))
        write_atomically(folder / "scene.toml", tomli_w.dumps(scene.to_plain()))
        _write_truth(folder, performer, times, image_px, shown)
    return Simulation(out, n_frames, performer, performer.tpose_s)


@contextmanager
def _open_whole_folder(out: Path) -> Iterator[Path]:
    """Return a temporary folder that becomes `out` when the block ends well; after an exception nothing of it is left."""
    if out.exists() and not out.is_dir():
        raise FileFormatError(f"{out} is a file; --out names a folder, which is made if it is missing")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".part", dir=out.parent))
    except OSError as error:
        raise FileFormatError(f"{out}: cannot be made ({describe_reason(error)}); choose a folder you may write to") from error
    try:
        yield temporary
        # A folder of mkdtemp is its owner's alone; a result is an ordinary folder.
        out.mkdir(exist_ok=True)
        for file in temporary.iterdir():
            file.replace(out / file.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_videos(
    folder: Path, cameras: list[SimulatedCamera], n_frames: int, codec: str, progress: Progress
) -> tuple[Floats, Floats]:
    """Write all videos; give the exact image points (V, N, M, 2) [px] and visible shares (V, N, M) of the markers."""
    n_views, n_markers = len(cameras), len(cameras[0].performer.markers)
    image_px, shown = np.empty((n_views, n_frames, n_markers, 2)), np.empty((n_views, n_frames, n_markers))
    for index, (camera, name) in enumerate(zip(cameras, CAMERA_NAMES, strict=False)):
        with _open_video_writer(folder / f"{name}.avi", codec, camera.fps, camera.size) as write:
            for frame in range(n_frames):
                drawn, image_px[index, frame], shown[index, frame] = camera.frame_with_truth(frame)
                write(drawn.image)
                progress(index * n_frames + frame + 1, n_views * n_frames)
    return image_px, shown


@contextmanager
def _open_video_writer(
    file: Path, codec: str, fps: float, size: tuple[int, int]
) -> Iterator[Callable[[NDArray[np.uint8]], object]]:
    """Return a function that appends an image; the finished file is opened again to see that it is one."""
    fourcc, backend = CODECS[codec]
    writer = cv2.VideoWriter(str(file), backend, cv2.VideoWriter.fourcc(*fourcc), fps, size)
    if not writer.isOpened():
        other = next(name for name in CODECS if name != codec)
        raise FileFormatError(f"{file.name}: this OpenCV cannot write {fourcc} video of {size[0]}x{size[1]}; try --codec {other}")
    if codec == "mjpg":
        writer.set(cv2.VIDEOWRITER_PROP_QUALITY, QUALITY)
    try:
        yield writer.write
    finally:
        writer.release()
    reader = cv2.VideoCapture(str(file))
    ok = reader.isOpened() and reader.read()[0]
    reader.release()
    if not ok:
        raise FileFormatError(f"{file.name}: the video was not written whole; is the disk full?")


def _write_stamps(file: Path, times: Floats) -> None:
    """Write when each camera looked, (V, N) [s]."""
    head = ",".join(["frame", *(f"{name}_seconds" for name in CAMERA_NAMES[: len(times)])])
    rows = [",".join([str(k), *(f"{seconds:.9f}" for seconds in row)]) for k, row in enumerate(times.T)]
    write_atomically(file, "\n".join([head, *rows]) + "\n")


def _format_markers(performer: Performer) -> str:
    """Return markers.toml: the set as worn nominally, with the colours that were drawn."""
    markers, scene = performer.markers, performer.scene
    colors = choose_marker_colors(markers)
    tables = {}
    for m, name in enumerate(markers.names):
        table: dict[str, object] = {"joint": JOINTS[markers.joint[m]], "torso": bool(markers.torso[m])}
        table["offset_m"] = markers.offset_m[m].tolist()
        if scene.look != "dark" or markers.has_color[m]:
            table["color_rgb"] = np.rint(colors[m]).astype(int).tolist()
        tables[name] = table
    return tomli_w.dumps(tables)


def _write_truth(folder: Path, performer: Performer, times: Floats, image_px: Floats, shown: Floats) -> None:
    """Write truth.npz, truth.csv and truth.bvh; the time of a row is the mean of its cameras."""
    seconds = times.mean(axis=0)
    rotvec, root_m = performer.poses_at(seconds)
    G, p = performer.joints_at(seconds)
    skeleton = performer.clip.skeleton
    np.savez_compressed(
        folder / "truth.npz",
        seconds=seconds,
        camera_seconds=times,
        joints=np.array(JOINTS),
        joint_m=p,
        rotvec=rotvec,
        root_m=root_m,
        markers=np.array(performer.markers.names),
        marker_m=performer.markers_of(G, p),
        marker_offset_m=performer.offset_m,
        image_px=image_px,
        visible=shown,
        offsets_m=skeleton.offsets_m,
        tails_m=skeleton.tails_m,
        tpose_s=np.array(performer.tpose_s),
    )
    away = seconds < performer.scene.empty_s
    states = tuple(TrackingState.LOST if gone else TrackingState.TRACKING for gone in away)
    take = Take(skeleton, seconds - seconds[0], states, rotvec, np.ascontiguousarray(root_m))
    write_csv(folder / "truth.csv", take)
    write_bvh(folder / "truth.bvh", take)
