"""Bodies fitted to named markers: poses as they were, whichever axis of the file is up."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.subject.labelled import LabelledTake, describe_mirrored, label_take, turn_upright
from calibration.subject.marker_motion import cut_to_held, describe_start, describe_unmoved, list_unmoved_ends, pose_marker_file
from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from config.optical import find_marker_places
from database.builtin import build_person_skeleton
from database.clips import slice_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.marker_files.points import OpticalPoints
from tests.support.people import walk

NAMES = tuple(
    ["C7", "T10", "CLAV", "STRN"]
    + [
        side + name
        for side in "LR"
        for name in ("FWT", "BWT", "KNE", "ANK", "HEE", "TOE", "SHO", "UPA", "ELB", "WRA", "WRB", "FIN", "FHD", "BHD", "MT5")
    ]
)


LEGS = ("ASI", "PSI", "KNE", "ANK", "HEE", "TOE", "THI", "TIB")


def labelled(labels: Sequence[str], axes: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> LabelledTake:
    """Give markers at their usual places in the T-pose, x, y and z in the file being ours times `axes`."""
    places = find_marker_places(labels).places
    rest = build_person_skeleton(1.75).rest_positions_m()
    at = [rest[JOINT_INDEX[places[label].joint]] + places[label].offset_m if label in places else np.zeros(3) for label in labels]
    points = OpticalPoints(Path("a.c3d"), tuple(labels), 60.0, np.array([at] * 3) * axes, np.ones((3, len(labels)), bool))
    return turn_upright(label_take(points))


@pytest.mark.parametrize("scheme", ["{s}{n}", "{s}.{n}", "{s}_{n}", "Ann:{s}{n}", "{l}_{n}", "walker_{s}{n}"])
def test_the_usual_ways_to_write_a_label(scheme: str) -> None:
    labels = [scheme.format(s=side, l={"L": "left", "R": "right"}[side], n=name) for name in LEGS for side in "LR"]
    plain = [label.rpartition(":")[2] for label in labels]
    assert labelled(plain).worn.names == tuple(plain) and np.array_equal(labelled(plain).turn, np.eye(3))


def test_what_no_marker_moves_is_said_and_unknown_names_are_refused() -> None:
    legs = labelled([side + name for name in LEGS for side in "LR"])
    said = describe_unmoved(legs.worn.joint)
    assert said[0].startswith("no marker moves the trunk, the head, the left arm, the right arm: ")
    assert list_unmoved_ends(legs.worn.joint) == ("the left toes", "the right toes")
    with pytest.raises(FileFormatError, match="0 labels are known"):
        labelled(["a", "b"])


@pytest.mark.parametrize("labels", [list(NAMES), [side + name for name in (*LEGS, "SHO") for side in "LR"]])
def test_a_negated_axis_and_exchanged_sides_are_said(labels: list[str]) -> None:
    take = labelled(labels)
    sides = {f"{a}{name[1:]}": f"{b}{name[1:]}" for name in labels for a, b in ("LR", "RL") if f"{b}{name[1:]}" in labels}
    exchanged = take.points.choose(np.array([labels.index(sides.get(name, name)) for name in labels]))
    exchanged = replace(exchanged, labels=take.points.labels)
    assert describe_mirrored(take) == ()
    assert "left and right are mirrored" in describe_mirrored(labelled(labels, (1.0, 1.0, -1.0)))[0]
    assert "left and right are mirrored" in describe_mirrored(turn_upright(label_take(exchanged)))[0]


def test_a_file_that_begins_later_says_so() -> None:
    points = labelled(NAMES).points
    assert describe_start(points) == () and "1.250 s" in describe_start(replace(points, start_s=1.25))[0]


def test_an_upper_body_is_upright_although_its_arms_are_longer_than_it_is_high() -> None:
    labels = [*NAMES[:4], *(side + name for side in "LR" for name in ("ASI", "PSI", "SHO", "ELB", "WRA", "WRB", "FIN"))]
    assert np.array_equal(labelled(labels).turn, np.eye(3))


@pytest.mark.slow
def test_the_poses_of_markers_with_z_up_are_those_of_the_motion() -> None:
    clip = slice_clip(walk(build_person_skeleton(1.78)), 20, 80)
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
    places = [find_marker_places(NAMES).places[name] for name in NAMES]
    joint = [JOINT_INDEX[place.joint] for place in places]
    offset_m = np.array([place.offset_m for place in places]) + 0.01 * np.random.default_rng(1).normal(size=(len(NAMES), 3))
    marker_m = p[:, joint] + np.einsum("nmij,mj->nmi", G[:, joint], offset_m)
    z_up = marker_m[:, :, [2, 0, 1]]  # our x, y, z are the file's y, z, x
    valid = np.ones(z_up.shape[:2], bool)
    valid[10:20, NAMES.index("LKNE")] = False
    valid[40:43] = False
    motion = pose_marker_file(OpticalPoints(Path("walk.c3d"), NAMES, 60.0, z_up, valid))
    found = motion.clip
    assert np.array_equal(np.flatnonzero(~motion.held), [40, 41, 42])
    error_mm = 1e3 * np.linalg.norm(compute_forward_kinematics(found.skeleton, found.rotvec, found.root_m)[1] - p, axis=2)
    assert error_mm.mean() < 25.0 and np.percentile(error_mm, 95) < 60.0
    part = cut_to_held(motion)
    assert part.clip.n_frames == 40 and part.held.all() and len(part.take.points) == 40
    assert np.array_equal(part.clip.root_m, found.root_m[:40]) and "3 of 60 frames" in part.warnings[-1]
