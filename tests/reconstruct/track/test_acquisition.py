"""Acquisition: labels from nothing, for random poses of a database, from any side, with clutter and gaps."""

import numpy as np
import pytest

from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from config.settings import Settings
from database.builtin import build_person_skeleton, make_builtin_clip
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.acquire.upright import compute_mirror_order
from reconstruct.body_state import BodyState
from reconstruct.search.examples import Examples, compute_examples
from reconstruct.track.acquisition import Acquirer, Acquisition, FrameOf
from reconstruct.track.estimator import Estimator
from tests.support.people import front_rig, marker_frame_of, person, t_pose, t_pose_clip, table_of, walk


@pytest.fixture(scope="module")
def worn() -> tuple[Subject, Examples]:
    """Return a performer and few examples: the tests run without the compiler too."""
    subject = person("dark_room")
    other = build_person_skeleton(1.8)
    clips = [
        walk(other),
        make_builtin_clip("squat", other, 60.0, 1),
        make_builtin_clip("wave", other, 60.0, 2),
        t_pose_clip(other),
    ]
    table = table_of(clips)
    thin = type(table)(np.ascontiguousarray(table.rotvec[::6]), 10.0, table.clip_start // 6, table.root_m[::6])
    return subject, compute_examples(subject, thin)


def acquirer_of(subject: Subject, examples: Examples, viewpoint_m: Floats | None = None) -> Acquirer:
    """Return an acquirer with an estimator of its own."""
    settings = Settings().solve
    found = Acquirer(subject, examples, Estimator(subject, examples, front_rig(), settings), settings)
    found.viewpoint_m = viewpoint_m
    return found


def frames_of(points: Floats) -> FrameOf:
    """Return what makes frames of points."""

    def frame(choice: np.ndarray) -> MarkerFrame:
        return marker_frame_of(points[choice], choice >= 0, 0.005)

    return frame


def sought(acquirer: Acquirer, points: Floats, t_ns: int = 0, last: BodyState | None = None) -> Acquisition | None:
    points = np.ascontiguousarray(points)
    return acquirer.acquire(points, frames_of(points), t_ns, last)


def in_world(subject: Subject, joints: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Turn a pose about the vertical, tilt it a little and put it somewhere: markers (M, 3), rotation, place."""
    R = matrix_from_rotvec([0.0, rng.uniform(-3.0, 3.0), 0.0]) @ matrix_from_rotvec([0.1, 0.0, -0.05])
    t = rng.uniform(-2.0, 2.0, 3)
    local = compute_local_markers(subject.skeleton, joints[None], subject.joint, subject.offset_m)[0]
    return local @ R.T + t, R, t


def pose_of(examples: Examples, index: int) -> Floats:
    """Return an example's joints, (J, 3)."""
    joints = np.zeros((23, 3))
    joints[1:] = examples.pose[index].reshape(-1, 3)
    return joints


@pytest.mark.parametrize("dropped", [0, 2])
def test_labels_of_poses_like_the_examples(worn: tuple[Subject, Examples], dropped: int) -> None:
    """Poses of the database, 5 mm noise, two points of clutter: 19 of 20 poses trusted at once, none labelled wrongly.

    A missing ankle may take the point of the toe beside it, 9 cm away.
    """
    subject, examples = worn
    acquirer = acquirer_of(subject, examples)
    rng = np.random.default_rng(5 + dropped)
    at_once = wrong = 0
    for n in range(20):
        markers, R, t = in_world(subject, pose_of(examples, int(rng.integers(len(examples)))), rng)
        gone = rng.choice(len(markers), dropped, replace=False)
        seen = np.setdiff1d(np.arange(len(markers)), gone)
        clutter = t + rng.uniform(-1.5, 1.5, (2, 3))
        points = np.concatenate([markers[seen] + rng.normal(0.0, 0.005, (len(seen), 3)), clutter])
        order = rng.permutation(len(points))
        found = sought(acquirer, points[order], n * 10**9)
        assert found is not None, n
        if not found.trusted:
            continue
        at_once += 1
        used = found.point_of_marker >= 0
        error_m = np.linalg.norm(points[order][found.point_of_marker] - markers, axis=1)[used]
        wrong += int((error_m > 0.13).sum())
        assert used.sum() >= len(seen) - 2, n
        assert compute_geodesic_rad(found.state.rotation, R) < 0.2 and np.linalg.norm(found.state.position_m - t) < 0.06
    assert at_once >= 19 and wrong == 0


def test_t_pose_is_an_example_even_if_the_database_has_none(worn: tuple[Subject, Examples]) -> None:
    subject, examples = worn
    markers, R, t = in_world(subject, t_pose(), np.random.default_rng(1))
    n = int((examples.clip < examples.clip.max()).sum())  # the last clip is the T-pose
    few = Examples(examples.pose[:n], examples.marker_m[:n], examples.clip[:n], examples.fps)
    found = sought(acquirer_of(subject, few), markers)
    # Joints keep to the limits of what the database holds: a marker or two may be left out for that, none is labelled wrongly.
    assert found is not None and found.trusted
    right, none = found.point_of_marker == np.arange(14), found.point_of_marker < 0
    assert (right | none).all() and right.sum() >= 12
    assert compute_geodesic_rad(found.state.rotation, R) < 0.05 and np.linalg.norm(found.state.position_m - t) < 0.02


def test_what_is_trusted() -> None:
    """9 a marker where all have a point; with one of ten missing and a point left over, 9 / (1 + 8 * 0.2) = 3.46."""
    moment = BodyState(0, t_pose(), np.eye(3), np.zeros(3))

    def trusted(energy: float, incomplete: float, margin: float, waited_s: float = 0.0) -> bool:
        return Acquisition(np.zeros(10, int), moment, energy, incomplete, margin, 5.0, waited_s).trusted

    assert trusted(8.9, 0.0, 5.1) and not trusted(9.1, 0.0, 5.1) and not trusted(8.9, 0.0, 4.9)
    assert trusted(3.4, 0.2, 5.1) and not trusted(3.5, 0.2, 5.1)
    assert trusted(9.9, 0.0, 4.1, 0.6) and not trusted(9.9, 0.0, 3.9, 0.6) and not trusted(10.1, 0.0, 4.1, 0.6)
    assert trusted(3.8, 0.2, 5.1, 0.6) and not trusted(3.8, 0.2, 4.9, 0.6), "a false point is as likely after waiting"


def test_too_few_points_or_no_body_give_nothing_to_go_by(worn: tuple[Subject, Examples]) -> None:
    subject, examples = worn
    acquirer = acquirer_of(subject, examples)
    assert sought(acquirer, np.zeros((0, 3))) is None
    for seed in range(5):
        few, far = (
            np.random.default_rng(seed).uniform(-1.0, 1.0, (7, 3)),
            np.random.default_rng(seed).uniform(-30.0, 30.0, (20, 3)),
        )
        assert sought(acquirer, few, 2 * seed * 10**9) is None
        found = sought(acquirer, far, (2 * seed + 1) * 10**9)
        assert found is None or not found.trusted


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_back_turned_to_the_cameras_is_found_if_it_fits_best(worn: tuple[Subject, Examples], side: float) -> None:
    subject, examples = worn
    markers, R, t = in_world(subject, t_pose(), np.random.default_rng(6))
    found = sought(acquirer_of(subject, examples, t + side * 4.0 * R[:, 2]), markers)
    assert (
        found is not None
        and found.point_of_marker.tolist() == list(range(14))
        and compute_geodesic_rad(found.state.rotation, R) < 0.05
    )


@pytest.mark.parametrize("by_cameras", [True, False])
def test_of_two_that_fit_alike_the_one_facing_the_cameras_or_as_just_before_is_taken(
    worn: tuple[Subject, Examples], by_cameras: bool
) -> None:
    """Markers half way between a T-pose and the same turned by 180 degrees, its sides exchanged.

    The cameras decide or, with none to ask, the last pose while it is young.
    """
    subject, examples = worn
    rest = compute_local_markers(subject.skeleton, t_pose()[None], subject.joint, subject.offset_m)[0]
    between = 0.5 * (rest + rest[compute_mirror_order(subject)] * [-1.0, 1.0, -1.0])
    for facing in (1.0, -1.0):
        viewpoint_m = np.array([0.0, 0.0, 4.0 * facing]) if by_cameras else None
        last = None if by_cameras else BodyState(0, t_pose(), np.diag([facing, 1.0, facing]), np.zeros(3))
        found = sought(acquirer_of(subject, examples, viewpoint_m), between, 0 if by_cameras else 10**8, last)
        assert found is not None and found.state.rotation[2, 2] * facing > 0.8
