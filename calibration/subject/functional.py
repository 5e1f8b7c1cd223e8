"""A performer's skeleton and marker offsets from movement alone: markers known by label, no T-pose (functional calibration).

Frames that show most of the markers are posed with markers where people of the mean size wear them; of those that are posed well
the most different are adjusted together: one skeleton, one offset for each marker, a pose for each frame. Joints are where the
movement shows them; how a leg's bone is turned about itself, and which angle of a foot is zero, it does not show: that say the
places of markers on bones, and that people who stand have soles on the ground and toes ahead. A marker that stays far from where
everything else has it in a frame is left out there: its label is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.subject.adjust import (
    AdjustedSubject,
    MarkerPriors,
    PoseMarkers,
    SubjectProblem,
    SubjectState,
    adjust_without_outliers,
    measure_distances_m,
)
from calibration.subject.fit import compute_length_sigmas
from calibration.subject.model import PosedBody, SkeletonSpace, learn_skeleton_space, skeleton_from_vectors
from calibration.subject.motion import SIGMA_RAD, choose_spread_rows, rest_rotvec_from_charted
from calibration.subject.poses import MARKER_SIGMA_M, MarkerPoses, fit_poses_to_markers, make_relaxed_rotvec
from calibration.subject.subject import Subject
from config.arrays import Bools, Floats, Ints
from config.errors import CalibrationError
from config.joints import JOINTS
from config.markers import MarkerSet
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton

N_TRIED, N_FITTED = 48, 30  # frames that are posed alone, and of these together
WORTH = 20.0  # independent frames that these are worth: skin errs alike for long
MOST_SHOWN = 0.8  # frames with fewer markers than this share of the best are tried only where there are no others
WRONG_M = 0.10  # farther from its place a marker is another: skin moves by 2 to 4 cm (Leardini et al. 2005)
STEPS = (40, 10)  # with all markers, and without those that are wrong
LEGS, FEET = ([k for k, name in enumerate(JOINTS) if name.endswith(ends)] for ends in ("Leg", ("Foot", "Toes")))
TWIST = 1  # the axis along a leg


@dataclass(frozen=True, slots=True)
class WornMarkers(MarkerPriors):
    """Markers whose places on a body are roughly known: M labels, and which are of the torso, (M,)."""

    names: tuple[str, ...]
    torso: Bools

    def marker_set(self) -> MarkerSet:
        """Return them as a marker set."""
        none = np.zeros(len(self.names), bool)
        return MarkerSet(self.names, self.joint, self.torso, self.offset_m, np.zeros((len(self.names), 3)), none)


@dataclass(frozen=True, slots=True)
class FunctionalFit:
    """A subject fitted to movement.

    Attributes:
        subject: with its offsets, and in `residual_mm` the median distance of each marker.
        rows: frames that were used, (K,).
        poses: of these frames.
    """

    subject: Subject
    rows: Ints
    poses: MarkerPoses


def fit_subject_to_motion(
    name: str,
    worn: WornMarkers,
    skeletons: Sequence[Skeleton],
    point_m: Floats,
    valid: Bools,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> FunctionalFit:
    """Fit one performer to a movement.

    Args:
        name: of the performer.
        worn: the markers and where they are expected.
        skeletons: of other people.
        point_m: the markers, y up, (N, M, 3) [m].
        valid: which were seen, (N, M).
        progress: called with the frames posed and all.
    Raises: CalibrationError: no frame shows three markers of the torso, or the markers are not those of a person.
    """
    space = learn_skeleton_space(skeletons)
    mean = Subject(
        name, space.skeleton(np.zeros(space.n_parameters)), worn.marker_set(), worn.offset_m, np.zeros(len(worn.names))
    )
    tried = choose_shown_frames(valid, worn.torso)
    posed = []
    for k, row in enumerate(tried.tolist()):
        posed.append(fit_poses_to_markers(mean, point_m[row : row + 1], valid[row : row + 1]))
        progress(k + 1, len(tried))
    error_mm = np.array([float(pose.error_mm[0]) for pose in posed])
    good = np.flatnonzero(error_mm <= np.percentile(error_mm, 75))
    spread = good[choose_spread_rows(np.stack([posed[k].rotvec[0] for k in good]), N_FITTED)]
    rows, starts = tried[spread], [posed[k] for k in spread]
    rotvec = [rest_rotvec_from_charted(pose.rotvec[0]) for pose in starts]
    root_m = [pose.root_m[0] for pose in starts]
    weight = max(1.0, len(rows) / WORTH)
    expected = _expect_poses(np.stack(rotvec))
    takes = tuple(_make_take(*each, weight) for each in zip(point_m[rows], valid[rows], expected, root_m, strict=True))
    problem = SubjectProblem(space, worn, takes)
    start = SubjectState(np.zeros(space.n_parameters), worn.offset_m, tuple(rotvec), tuple(root_m))
    problem, adjusted = adjust_without_outliers(problem, start, _is_near, STEPS)
    return _build_fit(name, worn, space, problem, adjusted, rows)


def choose_shown_frames(valid: Bools, torso: Bools) -> Ints:
    """Return frames that show most of the markers, spread over the take. Raises CalibrationError: none shows the torso."""
    shown = np.where((valid & torso).sum(axis=1) >= 3, valid.sum(axis=1), 0)
    if not shown.any():
        raise CalibrationError("no frame shows three markers of the trunk; expected them in most")
    rows = np.flatnonzero(shown >= MOST_SHOWN * shown.max())
    return np.asarray(rows[np.unique(np.linspace(0, len(rows) - 1, N_TRIED).astype(int))])


def _expect_poses(rotvec: Floats) -> Floats:
    """Return the poses that are expected, from rest, (K, J, 3) [rad]: as they were found, but feet and twists of legs relaxed on
    the average. How far they move is as found: it tells where the joints are.

    rotvec: the poses with markers at usual places, (K, J, 3) [rad].
    """
    expected, shift = rotvec.copy(), make_relaxed_rotvec() - rotvec.mean(axis=0)
    expected[:, FEET] += shift[FEET]
    expected[:, LEGS, TWIST] += shift[LEGS, TWIST]
    return expected


def _make_take(point_m: Floats, valid: Bools, expected: Floats, root_m: Floats, weight: float) -> PoseMarkers:
    """Return the markers of a frame with the pose that is expected.

    Widely: what is expected must not bend joints less than they are, and write it into the offsets.

    Args:
        point_m: the markers, (M, 3) [m].
        valid: which were seen, (M,).
        expected: the pose, from rest, (J, 3) [rad].
        root_m: its root, (3,) [m].
        weight: how many such frames are worth one.
    """
    covariance = np.repeat(weight * MARKER_SIGMA_M**2 * np.eye(3)[None], len(point_m), axis=0)
    return PoseMarkers(point_m, valid, covariance, expected, np.sqrt(weight) * SIGMA_RAD, root_m)


def _is_near(take: PoseMarkers, body: PosedBody) -> Bools:
    """Return which markers of a take are so near their places that their labels may be right, (M,)."""
    return np.asarray(np.linalg.norm(body.marker_m - take.point_m, axis=1) < WRONG_M)


def _build_fit(
    name: str, worn: WornMarkers, space: SkeletonSpace, problem: SubjectProblem, adjusted: AdjustedSubject, rows: Ints
) -> FunctionalFit:
    """Return the fit of an adjusted problem."""
    skeleton = skeleton_from_vectors(space.vectors(adjusted.state.y)[0], name)
    residual_mm = np.nan_to_num(1e3 * measure_distances_m(problem.takes, adjusted.placed))
    sigma_m, _ = compute_length_sigmas(space, adjusted)
    subject = Subject(name, skeleton, worn.marker_set(), adjusted.state.offset_m.copy(), np.median(residual_mm, axis=0), sigma_m)
    from_rest = np.stack(adjusted.state.rotvec)
    poses = MarkerPoses(
        charted_from_local(matrix_from_rotvec(from_rest)), np.stack(adjusted.state.root_m), np.sqrt((residual_mm**2).mean(axis=1))
    )
    return FunctionalFit(subject, rows, poses)
