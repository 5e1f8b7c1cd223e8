"""Projects of other programs: videos and cameras that belong together, all of them or those that are chosen."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from calibration.camera import Camera, Rig
from calibration.formats.rig_file import write_rig_file
from calibration.formats.rig_toml import table_from_camera
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.errors import DuocapError
from tools.projects.project import choose_project_cameras, open_project

SIZE = (640, 480)
PLACES_M = {"a": (-1.2, 1.2, 4.0), "b": (-1.0, 1.2, 4.0), "c": (1.0, 1.2, 4.0)}


def camera(name: str, place: str) -> Camera:
    view = make_camera_looking_at(
        name, SIZE, intrinsics_from_fov(SIZE, 60.0), np.array(PLACES_M[place]), np.array([0.0, 1.0, 0.0])
    )
    return replace(view, distortions=np.zeros(5))


def tables(names: list[str], unit_m: float = 1.0) -> str:
    """Return three cameras by name as aniposelib and Pose2Sim write them."""
    found = {}
    for n, (name, place) in enumerate(zip(names, PLACES_M, strict=True)):
        table = table_from_camera(camera(name, place))
        found[f"cam_{n}"] = {**table, "translation": [x / unit_m for x in table["translation"]]}
    return tomli_w.dumps({**found, "metadata": {"adjusted": False, "error": 0.3}})


def videos(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()


def caliscope(folder: Path) -> None:
    arrays = {
        str(n): {"cam_id": n, "rotation_count": 0, **table_from_camera(camera(f"cam_{n}", place))}
        for n, place in enumerate(PLACES_M)
    }
    (folder / "camera_array.toml").write_text(tomli_w.dumps({"cameras": arrays}), encoding="utf-8")
    videos(folder / "recordings" / "walk_1", ["cam_0.mp4", "cam_1.mp4", "cam_2.mp4", "frame_timestamps.csv"])


def freemocap(folder: Path) -> None:
    names = [f"Camera_00{n}_synchronized" for n in range(3)]
    (folder / "run_camera_calibration.toml").write_text(tables(names, 1e-3), encoding="utf-8")
    videos(folder / "synchronized_videos", [f"{name}.mp4" for name in names])


def pose2sim(folder: Path) -> None:
    (folder / "calibration").mkdir()
    (folder / "calibration" / "Calib_scene.toml").write_text(tables(["cam_01", "cam_02", "cam_03"]), encoding="utf-8")
    videos(folder / "videos", ["cam01.mp4", "cam02.mp4", "cam03.mp4"])


def easymocap(folder: Path) -> None:
    write_rig_file(folder / "both", Rig((camera("01", "a"), camera("02", "c"))), "easymocap")
    for file in ("intri.yml", "extri.yml"):
        shutil.move(folder / "both" / file, folder / file)
    for name in ("01", "02"):
        videos(folder / "images" / name, ["000001.jpg"])


def number(name: str) -> int:
    return int("".join(filter(str.isdigit, name)))


@pytest.mark.parametrize("make", [caliscope, freemocap, pose2sim, easymocap])
def test_each_program_s_project_opens(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path)
    project = open_project(tmp_path)
    assert project is not None
    names = choose_project_cameras(project, None)
    rig = project.rig(names)
    assert len(rig) == (2 if make is easymocap else 3) and [one.name for one in rig.cameras] == list(names) == list(
        project.videos
    )
    assert rig.baseline_m == pytest.approx(2.2, abs=1e-6) and rig.floor_known is (make is pose2sim)
    assert all(video.exists() and number(name) == number(video.stem) for name, video in project.videos.items())


def test_cameras_are_chosen_by_name_or_as_the_best_pair(tmp_path: Path) -> None:
    freemocap(tmp_path)
    project = open_project(tmp_path)
    assert project is not None
    names = list(project.videos)
    assert choose_project_cameras(project, f"{names[2]}, {names[1]}") == (names[2], names[1])
    assert choose_project_cameras(project, "best") == (names[0], names[2])
    with pytest.raises(DuocapError, match="no video of a camera 'left'; it has Camera"):
        choose_project_cameras(project, f"{names[0]},left")


def test_four_cameras_of_qualisys_in_a_project_of_pose2sim(shared_data: Path) -> None:
    project = open_project(shared_data / "walk_four_cameras")
    assert project is not None
    names = choose_project_cameras(project, None)
    rig = project.rig(names)
    assert names == ("cam01", "cam02", "cam03", "cam04") and rig.floor_known
    assert [project.videos[name].name for name in names] == [f"{name}.mp4" for name in names]
    assert all(1.0 < camera.center_m[1] < 2.5 and camera.size[0] * camera.size[1] == 1088 * 1920 for camera in rig.cameras)


def test_what_is_no_project_or_has_no_videos(tmp_path: Path) -> None:
    assert open_project(tmp_path) is None
    pose2sim(tmp_path)
    shutil.rmtree(tmp_path / "videos")
    with pytest.raises(DuocapError, match="but no videos; expected them in"):
        open_project(tmp_path)
    videos(tmp_path / "videos", ["front.mp4", "side.mp4"])
    with pytest.raises(DuocapError, match="do not go together"):
        open_project(tmp_path)
