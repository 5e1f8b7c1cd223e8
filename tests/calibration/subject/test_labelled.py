"""Marker files that cannot be solved are refused in one line; labels are known with a performer's name before them."""

from pathlib import Path

import numpy as np
import pytest

from calibration.subject.labelled import label_take, turn_upright
from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from config.optical import read_optical_set
from database.marker_files.points import read_points
from database.marker_files.trc import read_trc
from tests.tools.solve.files import write_trc
from tools.solve.solve import prepare_marker_file

CMU = tuple(read_optical_set("cmu_41"))


def write_still(file: Path, labels: tuple[str, ...], fps: float = 60.0) -> Path:
    """Write a TRC of points that stand still."""
    at = np.arange(3.0 * len(labels)).reshape(1, -1, 3) / 100.0 + 0.01
    return write_trc(file, labels, np.repeat(at, 20, axis=0), np.ones((20, len(labels)), bool), fps)


def test_labels_of_a_file_are_known_and_other_things_left_out(tmp_path: Path) -> None:
    take = label_take(read_points(write_still(tmp_path / "a.trc", (*CMU, "racket1", "Unlabeled 12"))))
    assert take.has_labels and take.set_name == "cmu_41" and take.worn.names == CMU
    assert take.marker.tolist() == [*range(len(CMU)), -1] and take.unused == ("racket1",)


def test_markers_of_a_set_are_worn_where_a_file_names_none(tmp_path: Path) -> None:
    points = read_points(write_still(tmp_path / "a.trc", tuple(f"*{k}" for k in range(41))))
    take = label_take(points, "cmu_41")
    assert not take.has_labels and take.worn.names == CMU and (take.marker == -1).all()


@pytest.mark.parametrize(
    ("labels", "fps", "words"),
    [
        (("LASI", "RASI", "C7"), 60.0, "shows 3 markers"),
        (CMU, 1.0, "DataRate is 1 Hz; expected 5 to 2000 Hz"),
        (tuple(f"*{k}" for k in range(20)), 60.0, "0 labels are known"),
        (tuple(f"hoof{k}" for k in range(20)), 60.0, "name the set worn by --markers"),
        ((*CMU, "LFWT"), 60.0, "LFWT stands twice"),
    ],
)
def test_what_is_no_person_in_motion_is_refused_in_a_line(
    tmp_path: Path, labels: tuple[str, ...], fps: float, words: str
) -> None:
    with pytest.raises(FileFormatError, match=words) as found:
        prepare_marker_file(write_still(tmp_path / "a.trc", labels, fps=fps))
    assert "\n" not in str(found.value) and "a.trc" in str(found.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="no such file"):
        read_points(tmp_path / "a.c3d")
    (tmp_path / "a.bvh").write_text("HIERARCHY")
    with pytest.raises(FileFormatError, match="no marker file"):
        read_points(tmp_path / "a.bvh")
    assert np.isfinite(read_points(write_still(tmp_path / "b.trc", CMU)).point_m).all()


@pytest.mark.parametrize("between", [":", "_"])
def test_of_several_people_one_is_chosen(tmp_path: Path, between: str) -> None:
    labels = tuple(f"{name}{between}{label}" for name in ("Nick", "Ann") for label in CMU)
    file = write_still(tmp_path / "a.trc", labels)
    with pytest.raises(FileFormatError, match="markers of 2 people: Ann, Nick; choose one by --person NAME"):
        read_points(file)
    with pytest.raises(FileFormatError, match="no markers of Bob; its labels name Ann, Nick"):
        read_points(file, person="Bob")
    both, ann = read_trc(file).point_m, read_points(file, person="ann")
    assert ann.labels == CMU and np.array_equal(ann.point_m, both[:, len(CMU) :])


def test_up_is_what_the_user_says(tmp_path: Path) -> None:
    take = label_take(read_points(write_still(tmp_path / "a.trc", CMU)))
    turned = turn_upright(take, "-x")
    assert np.allclose(turned.points.point_m[..., 1], -take.points.point_m[..., 0])
    assert np.allclose(turned.points.point_m, take.points.point_m @ turned.turn.T) and np.isclose(np.linalg.det(turned.turn), 1.0)


@pytest.mark.parametrize(
    ("file", "set_name", "count"),
    [
        ("markers/cmu_02_05.c3d", "cmu_41", 41),
        ("markers/nick_freeform_001.c3d", "vicon_53", 52),
        ("forces/motion_capture_walk.trc", "helen_hayes", 41),
    ],
)
def test_labels_of_real_files_are_known_and_up_is_found(shared_data: Path, file: str, set_name: str, count: int) -> None:
    take = turn_upright(label_take(read_points(shared_data / file)))
    assert take.set_name == set_name and len(take.worn.names) == count and not take.unused
    head = [k for k, m in enumerate(take.marker) if m >= 0 and take.worn.joint[m] == JOINT_INDEX["upperChest"]]
    foot = [k for k, m in enumerate(take.marker) if m >= 0 and take.worn.joint[m] == JOINT_INDEX["leftFoot"]]
    assert np.median(take.points.point_m[:, head, 1]) > np.median(take.points.point_m[:, foot, 1]) + 0.8
