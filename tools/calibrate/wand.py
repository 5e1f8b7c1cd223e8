"""A rig from recordings of a wand: detected as live, solved, judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig
from calibration.formats.rig_file import read_cameras
from calibration.placement import intrinsics_from_fov
from calibration.quality.report import QualityReport
from calibration.wand.quality import judge_wand
from calibration.wand.solve import solve_wand
from calibration.wand.tracks import Sightings, WandSolution, find_wand_tracks
from capture.packets import Blobs, Frame
from capture.recording.recording import CaptureRecording
from config.arrays import Floats
from config.errors import CalibrationError
from config.markers import MarkerSet, read_marker_set
from config.settings import CAMERA_NAMES
from tools.progress import Progress, ignore_progress


@dataclass(frozen=True, slots=True)
class WandTask:
    """Known and wanted values of a calibration with a wand.

    Attributes:
        length_m: length of the wand [m].
        distance_m: distance between the first two cameras [m].
        n_markers: number of markers of the wand.
        intrinsics: files.
        fov_deg: field of view for cameras without intrinsics [deg].
        focal: whether the focal length is solved for.
        synchronised: stamps are right.
        late_s: known delay of the timestamps of all cameras but the first [s].
    """

    length_m: float | None = None
    distance_m: float | None = None
    n_markers: int = 2
    intrinsics: tuple[Path, ...] = ()
    fov_deg: float | None = None
    focal: bool = False
    synchronised: bool = False
    late_s: float = 0.0


def build_uncolored_markers() -> MarkerSet:
    """Return a marker set that expects no colours: whatever is bright may be the wand."""
    markers = read_marker_set("dark_room")
    return replace(markers, has_color=np.zeros(len(markers), bool))


def detect_sightings(recording: CaptureRecording, progress: Progress = ignore_progress) -> tuple[Sightings, ...]:
    """Detect the bright spots in all frames of every camera. Raises SourceError: a recording breaks off."""
    seen: tuple[list[tuple[float, Floats]], ...] = tuple([] for _ in recording.sizes)

    def watch(frame: Frame, blobs: Blobs) -> None:
        seen[frame.camera].append((frame.t_capture_ns * 1e-9, blobs.points_px))
        progress(len(seen[0]), recording.n_frames)

    for _ in recording.pairs(watch=watch):
        pass
    return tuple(
        Sightings(np.array([t_s for t_s, _ in rows]), tuple(points for _, points in rows), size)
        for rows, size in zip(seen, recording.sizes, strict=True)
    )


def choose_intrinsics(
    files: Sequence[Path], fov_deg: float | None, sizes: Sequence[tuple[int, int]], names: Sequence[str]
) -> tuple[tuple[Camera, ...], Rig | None]:
    """Return the cameras' intrinsics by the names given, and the rig of a file of all of them to compare with.

    Args:
        files: one of all cameras, or one a camera.
        fov_deg: field of view; None: the files tell.
        sizes: width and height of the cameras' pictures [px].
        names: names of the cameras.
    Raises: CalibrationError: too many, too few, of another size, no field of view.
    """
    if not files:
        if fov_deg is None:
            raise CalibrationError("nothing tells the lenses; give --intrinsics FILE of an earlier calibration, or --fov DEGREES")
        return tuple(
            Camera(name, size, intrinsics_from_fov(size, fov_deg), np.zeros(5), np.eye(3), np.zeros(3))
            for name, size in zip(names, sizes, strict=True)
        ), None
    rigs = [read_cameras(file) for file in files]
    found = tuple(camera for rig in rigs for camera in rig.cameras)
    if len(found) != len(sizes) or (len(rigs) > 1 and not all(rig.is_monocular for rig in rigs)):
        wanted = "one file of two cameras, or two files of one each, left first"
        wanted = wanted if len(sizes) == 2 else f"one file of {len(sizes)} cameras, or so many files of one each"
        raise CalibrationError(f"--intrinsics {' '.join(str(file) for file in files)}: expected {wanted}")
    for name, camera, size in zip(names, found, sizes, strict=True):
        if camera.size != tuple(size):
            raise CalibrationError(
                f"the {name} images are {size[0]}x{size[1]}, but its intrinsics are of {camera.size[0]}x{camera.size[1]}; "
                "record at that size or calibrate the lens at this one"
            )
    named = tuple(replace(camera, name=name) for camera, name in zip(found, names, strict=True))
    return named, rigs[0] if len(rigs) == 1 else None


def calibrate_wand(
    recording: CaptureRecording, wishes: WandTask, names: Sequence[str] = (), progress: Progress = ignore_progress
) -> tuple[WandSolution, QualityReport]:
    """Measure a rig with a wand and judge it.

    Args:
        recording: recording of the wand.
        wishes: known values of the wand and the cameras.
        names: names of the cameras, by default the usual ones.
        progress: called with the amount done and the whole amount.
    Raises: CalibrationError: one camera only, nothing tells lenses or scale, no wand is seen or too little of it, nothing fits.
    """
    if wishes.length_m is None and wishes.distance_m is None:
        raise CalibrationError("nothing tells the scale; give --length of the wand or --distance between the cameras")
    sizes = recording.sizes
    if len(sizes) < 2:
        raise CalibrationError(
            f"{recording.spec.name}: one camera; a wand tells where two cameras stand, so give both recordings"
        )
    names = names or CAMERA_NAMES[: len(sizes)]
    cameras, earlier = choose_intrinsics(wishes.intrinsics, wishes.fov_deg, sizes, names)
    tracks = find_wand_tracks(detect_sightings(recording, progress), wishes.n_markers, names)
    solution = solve_wand(
        tracks,
        cameras,
        length_m=wishes.length_m,
        distance_m=wishes.distance_m,
        assumed_lens=not wishes.intrinsics,
        focal=wishes.focal,
        synchronised=wishes.synchronised,
        offset_s=wishes.late_s,
    )
    report = judge_wand(
        solution, assumed_lens=not wishes.intrinsics, focal_asked=wishes.focal, earlier=earlier, distance_m=wishes.distance_m
    )
    return solution, report


def add_verdict(solution: WandSolution, report: QualityReport) -> Rig:
    """Return the rig with its error and the verdict."""
    return replace(solution.rig, error_px=solution.rms_px, grade=report.grade.word)
