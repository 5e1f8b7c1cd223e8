"""The skeleton and the marker offsets from one T-pose or several (Chai & Hodgins 2005, section 4).

The skeleton interpolates the database's skeletons (`model`), conditioned on the markers: lengths, offsets and small
deviations from the T-pose are sought together (`adjust`), each trusted as far as people differ in it. What is left over
becomes the offset of each marker in its inboard joint's frame. The covariance of the result says how well each length is known.

Several T-poses of one performer: whether each is of the same body with the same markers, and the fit to those that are.

A take agrees if what the others tell of lengths and offsets predicts its markers: the fit to the others, with its covariance,
is all that is expected of lengths and offsets when the take is fitted alone. The cost of that is chi-square distributed, three
a marker less six for the root.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.subject.adjust import AdjustedSubject, HeightPrior, MarkerPriors, PoseMarkers, SubjectProblem, adjust_subject
from calibration.subject.model import SkeletonSpace, learn_skeleton_space, make_fixed_space, skeleton_from_vectors
from calibration.subject.subject import Subject
from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from config.markers import MarkerSet
from database.geometry.rigid import fit_rigid_motion
from database.geometry.rotations import rotvec_from_matrix
from database.geometry.skeleton import Skeleton

MOST_OFF_M = 0.20
SWAY_M = 0.002  # of skin and stance, beside what the cameras say of a marker
HEIGHT_SIGMA = 0.025  # of what people say of their height, and of what their bones say of it
MEASURED = 0.75  # of the spread among people of that size: a length known better than so was measured

# How far a marker may be from its nominal place, standard deviation by axis [m].
OFFSET_SIGMA_M = {"hips": 0.025, "upperChest": 0.025, "Shoulder": 0.020, "head": 0.025, "neck": 0.020, "Toes": 0.012}
OFFSET_SIGMA_ELSE_M = 0.015

# How far a joint may be from the T-pose, standard deviation by axis [rad]: x forward bend, y twist, z sideways.
DEVIATION_RAD = {
    "UpperLeg": (0.08, 0.05, 0.10),
    "LowerLeg": (0.08, 0.02, 0.02),
    "Foot": (0.10, 0.20, 0.05),
    "Shoulder": (0.05, 0.10, 0.12),
    "UpperArm": (0.10, 0.20, 0.25),
    "LowerArm": (0.05, 0.15, 0.15),
    "Hand": (0.15, 0.10, 0.12),
    "spine": (0.05, 0.03, 0.03),
    "chest": (0.05, 0.03, 0.03),
    "upperChest": (0.05, 0.03, 0.03),
    "neck": (0.08, 0.05, 0.05),
    "head": (0.10, 0.05, 0.05),
}


def find_joint_entry(name: str, table: dict[str, tuple[float, float, float]]) -> tuple[float, float, float]:
    """Return a joint's entry of a table, by its name or its name without the side; zero where it has none."""
    return table.get(name, table.get(name.removeprefix("left").removeprefix("right"), (0.0, 0.0, 0.0)))


SIGMA_RAD = np.array([find_joint_entry(name, DEVIATION_RAD) for name in JOINTS])


@dataclass(frozen=True, slots=True)
class TPose:
    """Labelled markers of the T-pose: point_m (M, 3) world, valid (M,), covariance_m2 (M, 3, 3), scatter_m (M,), frames used.

    slope_deg: by how much the arms point above level in the pose that was taken for it, 0 in a T-pose.
    """

    point_m: Floats
    valid: np.ndarray
    covariance_m2: Floats
    scatter_m: Floats
    n_frames: int
    slope_deg: float = 0.0


@dataclass(frozen=True, slots=True)
class SubjectFit:
    """A subject with what it came from.

    adjusted: the state found; problem: what was asked; measured: which lengths the markers tell rather than the sizes of other
    people, (2, J) for offsets and tails; seen: markers seen in some take, (M,).
    """

    subject: Subject
    adjusted: AdjustedSubject
    problem: SubjectProblem
    measured: NDArray[np.bool_]
    seen: NDArray[np.bool_]

    @property
    def pose(self) -> tuple[Floats, Floats]:
        """Orientations (J, 3, 3) and places (J, 3) [m] of the joints in the first take."""
        return self.adjusted.placed[0].G, self.adjusted.placed[0].p


@dataclass(frozen=True, slots=True)
class BodyPrior:
    """What is known of a performer before the T-poses.

    skeletons: of other people; standing: how legs and trunk are held, rotation vectors from the rest pose, (J, 3) [rad], None:
    straight; height_m: shoes off, or None; old: their subject of earlier, whose skeleton is kept and whose marker offsets only
    are found anew, or None.
    """

    skeletons: Sequence[Skeleton]
    standing: Floats | None = None
    height_m: float | None = None
    old: Subject | None = None


def fit_body(name: str, markers: MarkerSet, tposes: Sequence[TPose], body: BodyPrior) -> SubjectFit:
    """Fit one performer to T-poses: one skeleton, one offset for each marker, a root and a pose for each take.

    Args:
        name: of the performer.
        markers: the marker set that is worn.
        tposes: the T-poses that were taken.
        body: what is known of the performer.
    Raises: CalibrationError: too few markers, or the fit leaves a marker implausibly far from its joint.
    """
    old, stature = body.old, None
    if body.height_m is not None and old is None:
        stature = HeightPrior(body.height_m, HEIGHT_SIGMA * body.height_m)
    space = learn_skeleton_space(body.skeletons) if old is None else make_fixed_space(old.skeleton)
    problem = build_subject_problem(space, markers, tposes, body.standing, stature)
    adjusted = _adjust_from_torso(problem, markers)
    sigma_m: Floats | None
    if old is None:
        skeleton = skeleton_from_vectors(space.vectors(adjusted.state.y)[0], name)
        sigma_m, measured = compute_length_sigmas(space, adjusted)
    else:
        skeleton, sigma_m, measured = replace(old.skeleton, name=name), old.length_sigma_m, np.zeros((2, N_JOINTS), bool)
    offset, seen = compute_seen_offsets(problem, adjusted)
    # Errors of landmarks last: where one was seen in the pose says less of its place than the fit, which knows other people's.
    offset = np.where(markers.worn[:, None], offset, adjusted.state.offset_m)
    _check_offsets(markers, seen, offset)
    scatter = np.array([np.where(t.valid, t.scatter_m, 0.0) for t in tposes]).sum(axis=0)
    residual_mm = 1e3 * scatter / np.maximum(np.sum([t.valid for t in tposes], axis=0), 1)
    return SubjectFit(Subject(name, skeleton, markers, offset, residual_mm, sigma_m), adjusted, problem, measured, seen)


def _adjust_from_torso(problem: SubjectProblem, markers: MarkerSet) -> AdjustedSubject:
    """Adjust to the torso's markers first, then to all: from a far start a whole body ends in a wrong minimum."""
    torso = tuple(replace(take, valid=take.valid & markers.torso) for take in problem.takes)
    return adjust_subject(problem, adjust_subject(replace(problem, takes=torso), max_steps=15).state)


def build_subject_problem(
    space: SkeletonSpace,
    markers: MarkerSet,
    tposes: Sequence[TPose],
    standing: Floats | None = None,
    stature: HeightPrior | None = None,
) -> SubjectProblem:
    """Return the problem of a body that wears the markers, each T-pose a take.

    Args:
        space: the skeletons that are possible.
        markers: the marker set that is worn.
        tposes: the T-poses that were taken.
        standing: how legs and trunk are held, (J, 3) [rad]; None: straight.
        stature: the height, if it is known.
    Raises: CalibrationError: fewer than three torso markers.
    """
    names = [JOINTS[j].removeprefix("left").removeprefix("right") for j in markers.joint]
    sigma_m = np.array([OFFSET_SIGMA_M.get(name, OFFSET_SIGMA_ELSE_M) for name in names])
    worn = MarkerPriors(markers.joint, markers.offset_m, sigma_m)
    return SubjectProblem(space, worn, tuple(_make_take(space, markers, tpose, standing) for tpose in tposes), stature)


def _make_take(space: SkeletonSpace, markers: MarkerSet, tpose: TPose, standing: Floats | None) -> PoseMarkers:
    """Return a take in which a T-pose is expected, the mean body laid on the torso's markers."""
    torso = tpose.valid & markers.torso
    if int(torso.sum()) < 3:
        missing = ", ".join(n for n, on, ok in zip(markers.names, markers.torso, tpose.valid, strict=True) if on and not ok)
        raise CalibrationError(
            f"{int(torso.sum())} of {int(markers.torso.sum())} torso markers were seen at rest by both cameras (not {missing}), "
            "and 3 are needed to place the body: choose seconds in which the performer faces both cameras and stands"
        )
    expected = np.zeros((N_JOINTS, 3)) if standing is None else standing.copy()
    rest = space.skeleton(np.zeros(space.n_parameters)).rest_positions_m()
    R, t = fit_rigid_motion((rest[markers.joint] + markers.offset_m)[torso], tpose.point_m[torso])
    expected[0] = rotvec_from_matrix(R)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        expected[JOINT_INDEX[side + "UpperArm"], 2] += sign * np.radians(tpose.slope_deg)
    covariance = tpose.covariance_m2 + SWAY_M**2 * np.eye(3)
    return PoseMarkers(tpose.point_m, tpose.valid, covariance, expected, SIGMA_RAD, t)


def compute_length_sigmas(space: SkeletonSpace, adjusted: AdjustedSubject) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the standard deviations of the lengths, (2, J) [m] for offsets and tails, and which were measured, (2, J).

    Left and right differ in people, in the fitted skeleton they do not: that is part of it.
    """
    n = space.n_parameters
    D = space.directions
    told = np.einsum("rp,pq,rq->r", D, adjusted.covariance[:n, :n], D) * adjusted.misfit**2
    variance = np.minimum(told, (D**2).sum(axis=1)) + space.asymmetry**2
    size = D.mean(axis=0)
    of_that_size = (D**2).sum(axis=1) - (D @ size) ** 2 / max(float(size @ size), 1e-12) + space.asymmetry**2
    length = np.linalg.norm(space.vectors(adjusted.state.y)[0], axis=1)
    measured = np.sqrt(variance) < MEASURED * np.sqrt(np.maximum(of_that_size, 0.0))
    return np.reshape(length * np.sqrt(variance), (2, N_JOINTS)), np.reshape(measured, (2, N_JOINTS))


def compute_seen_offsets(problem: SubjectProblem, adjusted: AdjustedSubject) -> tuple[Floats, NDArray[np.bool_]]:
    """Return where the markers were seen in their joints' frames, mean over the takes, (M, 3) [m], and which were seen, (M,)."""
    joint = problem.markers.joint
    total, count = np.zeros((len(joint), 3)), np.zeros(len(joint))
    for take, body in zip(problem.takes, adjusted.placed, strict=True):
        local = np.einsum("mji,mj->mi", body.G[joint], take.point_m - body.p[joint])
        total += np.where(take.valid[:, None], local, 0.0)
        count += take.valid
    seen = count > 0
    return np.where(seen[:, None], total / np.maximum(count, 1)[:, None], problem.markers.offset_m), seen


def _check_offsets(markers: MarkerSet, seen: NDArray[np.bool_], offset: Floats) -> None:
    """Raise CalibrationError where a marker is absurdly far from where the marker set says it sits."""
    moved = np.where(seen, np.linalg.norm(offset - markers.offset_m, axis=1), 0.0)
    worst = int(np.argmax(moved))
    if moved[worst] > MOST_OFF_M:
        raise CalibrationError(
            f"no T-pose fits: marker {markers.names[worst]} came out {moved[worst] * 100:.0f} cm from its nominal place "
            f"(at most {MOST_OFF_M * 100:.0f} cm); check that it is worn there, that the pose was held, and markers.toml"
        )


ODD = 3.0  # standard deviations of chi-square beyond the other takes: all of them are off alike where people hold a pose well
USUAL = -1.0  # where there are only two, none of which can tell what is usual


@dataclass(frozen=True, slots=True)
class TakesFit:
    """The fit and which takes it used; oddity: of each take, in standard deviations from what the others predict; NaN of one."""

    fit: SubjectFit
    used: tuple[int, ...]
    oddity: Floats

    @property
    def left_out(self) -> tuple[int, ...]:
        """The takes that were not used."""
        return tuple(k for k in range(len(self.oddity)) if k not in self.used)


def fit_agreeing_takes(name: str, markers: MarkerSet, tposes: Sequence[TPose], body: BodyPrior) -> TakesFit:
    """Fit a performer to the takes that agree, leaving out the oddest while three or more are there.

    Of two that do not agree nobody can tell which is wrong: both are used.

    Args:
        name: of the performer.
        markers: the marker set that is worn.
        tposes: the T-poses that were taken.
        body: what is known of the performer.
    Raises: CalibrationError: as `fit_body`.
    """
    used = list(range(len(tposes)))
    oddity = np.full(len(tposes), np.nan)
    while len(used) > 1:
        alone = np.array([_measure_surprise(k, [tposes[i] for i in used], markers, body) for k in range(len(used))])
        usual = [np.median(np.delete(alone, k)) if len(used) > 2 else USUAL for k in range(len(used))]
        found = alone - usual
        oddity[used] = found
        worst = int(np.argmax(found))
        if len(used) == 2 or found[worst] < ODD:
            break
        del used[worst]
    return TakesFit(fit_body(name, markers, [tposes[k] for k in used], body), tuple(used), oddity)


def _measure_surprise(index: int, tposes: Sequence[TPose], markers: MarkerSet, body: BodyPrior) -> float:
    """Return by how many standard deviations a take costs more than the others predict.

    Args:
        index: of the take.
        tposes: the T-poses that were taken.
        markers: the marker set that is worn.
        body: what is known of the performer.
    """
    others = [tpose for k, tpose in enumerate(tposes) if k != index]
    fit = fit_body("", markers, others, body)
    asked = build_subject_problem(fit.problem.space, markers, [tposes[index]], body.standing)
    mean = np.concatenate([fit.adjusted.state.y, fit.adjusted.state.offset_m.ravel()])
    root = np.linalg.cholesky(np.linalg.inv(fit.adjusted.covariance)).T
    alone = adjust_subject(replace(asked, earlier=(mean, root)))
    freedom = max(3 * int(tposes[index].valid.sum()) - 6, 1)
    return float((alone.cost - freedom) / np.sqrt(2.0 * freedom))
