"""Belief: a Gaussian over pose and velocity, carried from frame to frame by an iterated extended Kalman filter.

With pose z = (joints q, root rotation, root position) and velocity v, between two frames

    dz = v dt,    dv = (a - v / tau) dt + dw,    Cov(dw) = W dt,

a and W being how the motion of the neighbours bends, tau how long a velocity lasts that nothing supports. A frame then tells

    q   as the neighbours' poses,       counted POSE_RATE times a second: their errors last for many frames,
    dz  as the neighbours' steps,       VELOCITY_RATE times a second,
    the root's tilt as the neighbours', TILT_RATE times a second,
    z   as its markers, by Levenberg-Marquardt (`reconstruct/solve`), of which the first three are the prior.

A limb that is not seen is so led by the neighbours' steps, relaxes to their spread, and is expected with a covariance that says
how far it may be. The velocity is part of the state: without its covariance a limb is led astray within half a second.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from config.arrays import Floats, Ints, make_read_only
from config.jit import kernel
from config.settings import SolveSettings
from database.geometry.kinematics import _pack_chain
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import matrix_from_rotvec, rotvec_between
from database.geometry.skeleton import Skeleton
from numerics.definite import (
    compute_half_log_det,
    factor_definite,
    invert_definite,
    mirror_triangle,
    solve_factored,
    solve_triangle,
)
from reconstruct.body_state import BodyState
from reconstruct.models.local.gaussian import NeighbourGaussians
from reconstruct.models.local.model import DOFS, FULL, FULL_SPAN, LocalModel, Neighbours, Quadratic, build_local_model
from reconstruct.solve.certainty import Minimum
from reconstruct.solve.linearise import MarkerBody, PoseSpace, _derive_markers_by_pose
from reconstruct.solve.root import RootPrior
from reconstruct.track.tilt import Tilt, compute_tilt_error

N_POSE = DOFS + 6
MOST_COUNTED = 3.0  # as how many the neighbours of one frame count, however long after the frame before
LEAST_COUNTED = 1e-12  # as which what does not count at all is taken
POSE, VELOCITY, BOTH = slice(0, N_POSE), slice(N_POSE, 2 * N_POSE), slice(0, 2 * N_POSE)
MOST_ROOT_RAD, MOST_ROOT_M = 0.3, 0.2  # how surely acquisition knows the root


@dataclass(frozen=True, slots=True)
class Belief:
    """The Gaussian over pose and velocity at one time.

    Attributes:
        state: mean pose.
        velocity: mean velocity of the joints [rad/s], of the root's rotation vector about the world's axes [rad/s] and of its
            position [m/s], (V,).
        covariance: covariance of the pose, in the same coordinates, and of the velocity, (2 V, 2 V).
        acceleration, noise: as of `NeighbourGaussians`, in the same coordinates.
        near: neighbours that these two are of, if they tell how poses go on.
        reliance: how far the mean pose moves where all that neighbours said of the joints until now does, (V, D): 1 in a joint
            that no marker has told anything of, 0 in one that markers tell all of.
    """

    state: BodyState
    velocity: Floats
    covariance: Floats
    acceleration: Floats
    noise: Floats
    near: Neighbours | None = None
    reliance: Floats = field(default_factory=lambda: np.zeros((N_POSE, DOFS)))

    def moved(self, motion: RigidMotion) -> "Belief":
        """Return the belief in a world that is moved."""
        turn = np.eye(2 * N_POSE)
        for first in (DOFS, DOFS + 3, N_POSE + DOFS, N_POSE + DOFS + 3):
            turn[first : first + 3, first : first + 3] = motion.rotation
        T, state, covariance = turn[POSE, POSE], self.state.moved(motion), turn @ self.covariance @ turn.T
        acceleration, noise = T @ self.acceleration, T @ self.noise @ T.T
        return Belief(state, T @ self.velocity, covariance, acceleration, noise, self.near, T @ self.reliance)


@dataclass(frozen=True, slots=True)
class NeighbourTerms:
    """The neighbours' Gaussians for a frame, as changes from its prediction.

    pose: quadratic over joints and root, (V,) and (V, V); velocity: change of the velocity, (V,), and spread, its covariance,
    (V, V); counted: number of neighbours whose velocities it counts as; pose_covariance: of the joints, (D, D).
    """

    pose: Quadratic
    pose_covariance: Floats
    velocity: Floats
    spread: Floats
    counted: float


@dataclass(frozen=True, slots=True)
class VelocityUpdate:
    """A prediction updated by a share of the neighbours' velocity.

    factor: Cholesky factor of the covariance of the difference of the two velocities, (V, V); change: change of the mean of pose
    and velocity, (2 V,); covariance: covariance afterwards, of the pose, (V, V), or of both, (2 V, 2 V); precision: precision of
    the pose alone, (V, V); disagreement: energy of both velocities at its minimum.
    """

    factor: Floats
    change: Floats
    covariance: Floats
    precision: Floats
    disagreement: float


@dataclass(frozen=True, slots=True)
class Prior:
    """The prior of a frame before its markers are used: a prediction joined with the neighbours.

    Neighbours of one frame know no more than those of the frame before: all of their velocity leads the mean, but only a share
    makes the covariance that is carried on smaller.

    Attributes:
        predicted, told: predicted belief, and terms of the neighbours.
        led: predicted pose, updated by all of the neighbours' velocity.
        carried: pose and velocity, updated by the share `certainty` of it; like `told` and `led` None for models without.
        certainty: share of the neighbours' information that makes the belief more certain.
        model, root: prior of the pose alone, as the solver takes it.
        seconds: time since the frame before [s].
        start: coordinates of the pose that the solver begins with, (B,), None: the model's centre.
    """

    predicted: Belief
    told: NeighbourTerms | None
    led: VelocityUpdate | None
    carried: VelocityUpdate | None
    certainty: float
    model: LocalModel
    root: RootPrior
    seconds: float
    start: Floats | None = None


def build_initial_belief(start: BodyState, n: NeighbourGaussians) -> Belief:
    """Return the belief about a performer who was just found, from root and neighbours, before any marker is used."""
    joints = start.joints.copy()
    joints[1:] = n.pose.reshape(-1, 3)
    covariance = np.zeros((2 * N_POSE, 2 * N_POSE))
    covariance[:DOFS, :DOFS] = n.pose_covariance
    covariance[range(DOFS, N_POSE), range(DOFS, N_POSE)] = np.repeat([MOST_ROOT_RAD, MOST_ROOT_M], 3) ** 2
    n = turn_to_world(n, start.rotation)
    covariance[VELOCITY, VELOCITY] = n.velocity_covariance
    reliance = np.eye(N_POSE, DOFS)
    return Belief(replace(start, joints=joints), n.velocity, covariance, n.acceleration, n.noise, reliance=reliance)


def turn_to_world(n: NeighbourGaussians, rotation: Floats) -> NeighbourGaussians:
    """Return the neighbours' Gaussians with the root's velocity about the world's axes, for a root with a rotation, (3, 3)."""
    velocity, acceleration, noise, spread = n.velocity.copy(), n.acceleration.copy(), n.noise.copy(), n.velocity_covariance.copy()
    turn, root = np.zeros((6, 6)), slice(DOFS, N_POSE)
    turn[:3, :3] = turn[3:, 3:] = rotation
    for line in (velocity, acceleration):
        line[root] = turn @ line[root]
    for square in (noise, spread):
        square[root] = turn @ square[root]
        square[:, root] = square[:, root] @ turn.T
    return replace(n, velocity=velocity, velocity_covariance=spread, acceleration=acceleration, noise=noise)


def predict(belief: Belief, t_ns: int, s: SolveSettings) -> Belief:
    """Return the belief predicted for a later time, before anything is seen of it."""
    seconds = max((t_ns - belief.state.t_ns) * 1e-9, 0.0)
    kept, ahead = compute_kept_velocity(seconds, s)
    velocity = kept * belief.velocity + ahead * belief.acceleration
    step = ahead * belief.velocity + 0.5 * ahead**2 * belief.acceleration
    covariance = np.empty_like(belief.covariance)
    _write_predicted(make_read_only(belief.covariance), make_read_only(belief.noise), seconds, kept, ahead, covariance)
    return replace(belief, state=apply_pose_change(belief.state, step, t_ns), velocity=velocity, covariance=covariance)


@kernel
def _write_predicted(P: Floats, W: Floats, seconds: float, kept: Floats, ahead: Floats, out: Floats) -> None:
    """Write F P F' + Q, (2 V, 2 V), with F = (1, ahead; 0, kept) and Q what noise W, (V, V), adds in some seconds."""
    n, far, middle = len(kept), seconds**3 / 3.0, 0.5 * seconds**2
    for i in range(n):
        for j in range(n):
            pose, across, turned, velocity, noise = P[i, j], P[i, n + j], P[n + i, j], P[n + i, n + j], W[i, j]
            out[i, j] = pose + across * ahead[j] + ahead[i] * turned + ahead[i] * ahead[j] * velocity + far * noise
            out[i, n + j] = (across + ahead[i] * velocity) * kept[j] + middle * noise
            out[n + i, j] = kept[i] * (turned + velocity * ahead[j]) + middle * noise
            out[n + i, n + j] = kept[i] * kept[j] * velocity + seconds * noise


def predict_with_neighbours(before: Belief, predicted: Belief, change: Floats, spread: Floats, s: SolveSettings) -> Belief:
    """Return a prediction joined with how neighbours went on in the same time.

    Args:
        before, predicted: the belief, and its prediction by its velocity alone.
        change: change of the neighbours' poses, the root in the axes of before, (V,).
        spread: covariance of that change, (V, V).
    """
    seconds = (predicted.state.t_ns - before.state.t_ns) * 1e-9
    kept, ahead = compute_kept_velocity(seconds, s)
    P, W, turn = before.covariance, before.noise, np.eye(N_POSE)
    for first in (DOFS, DOFS + 3):
        turn[first : first + 3, first : first + 3] = before.state.rotation
    across, of_velocity = P[POSE, VELOCITY], P[VELOCITY, VELOCITY]
    moved = (ahead[:, None] * ahead) * of_velocity + (seconds**3 / 3.0) * W  # covariance of the change itself
    with_change = np.concatenate([across * ahead + moved, kept[:, None] * of_velocity * ahead + (0.5 * seconds**2) * W])
    gain = with_change @ _invert_definite(moved + turn @ spread @ turn.T)
    step = gain @ (turn @ change - compute_pose_change(before.state, predicted.state))
    covariance = predicted.covariance - gain @ with_change.T
    state = apply_pose_change(predicted.state, step[POSE], predicted.state.t_ns)
    return replace(
        predicted, state=state, velocity=predicted.velocity + step[VELOCITY], covariance=0.5 * (covariance + covariance.T)
    )


def compute_kept_velocity(seconds: float, s: SolveSettings) -> tuple[Floats, Floats]:
    """Return the share of a velocity that is left after some time, (V,), and for how long of it the velocity counts, (V,) [s]."""
    fade = np.repeat([s.joint_velocity_s, s.root_velocity_s], [DOFS, 6])
    kept = np.exp(-seconds / fade)
    return kept, fade * (1.0 - kept)


def apply_pose_change(state: BodyState, step: Floats, t_ns: int) -> BodyState:
    """Return a pose after a change of joints, rotation vector about the world's axes and position, (V,)."""
    joints = state.joints.copy()
    joints[1:] += step[:DOFS].reshape(-1, 3)
    turned = matrix_from_rotvec(step[DOFS : DOFS + 3]) @ state.rotation
    return BodyState(t_ns, joints, turned, state.position_m + step[DOFS + 3 :])


def compute_pose_change(before: BodyState, after: BodyState) -> Floats:
    """Return the change of joints, rotation vector about the world's axes and position from one pose to another, (V,)."""
    turn = rotvec_between(before.rotation, after.rotation)
    return np.concatenate([(after.joints - before.joints)[1:].ravel(), turn, after.position_m - before.position_m])


def join_neighbours(predicted: Belief, n: NeighbourGaussians, tilt: Tilt | None, seconds: float, s: SolveSettings) -> Prior:
    """Return the prior of a frame: its prediction joined with the distributions of the neighbours.

    Args:
        predicted: the belief predicted for the frame.
        n: Gaussians of the neighbours' poses and velocities.
        tilt: the neighbours' vertical, if the root is not seen; None otherwise.
        seconds: time since the frame before [s].
        s: settings of the solver.
    Raises: LinAlgError: a covariance is not definite.
    """
    n = turn_to_world(n, predicted.state.rotation)
    told = weigh_neighbour_terms(predicted, n, tilt, seconds, s)
    led = update_by_velocity(predicted.covariance, told, 1.0, POSE)
    carried = update_by_velocity(predicted.covariance, told, n.certainty, BOTH)
    pose, _ = update_by_pose(led, told.pose, 1.0)
    model = build_local_model(predicted.state.joints[1:].ravel(), FULL, Quadratic(pose.center[:DOFS], pose.precision))
    expected = apply_pose_change(predicted.state, pose.center, predicted.state.t_ns)
    root = RootPrior(expected.rotation, expected.position_m, np.nan, np.nan)
    return Prior(
        replace(predicted, acceleration=n.acceleration, noise=n.noise), told, led, carried, n.certainty, model, root, seconds
    )


def weigh_neighbour_terms(
    predicted: Belief, n: NeighbourGaussians, tilt: Tilt | None, seconds: float, s: SolveSettings
) -> NeighbourTerms:
    """Return the neighbours' terms for a frame, weighted; arguments as of `join_neighbours`, in the world."""
    precision, apart = np.zeros((N_POSE, N_POSE)), np.zeros(N_POSE)
    apart[:DOFS] = n.pose - predicted.state.joints[1:].ravel()
    if (share := min(s.pose_rate * seconds, MOST_COUNTED)) > 0.0:
        precision[:DOFS, :DOFS] = share * _invert_definite(n.pose_covariance)
    if tilt is not None and (share := min(s.tilt_rate * seconds, MOST_COUNTED)) > 0.0:
        apart[DOFS : DOFS + 3] = compute_tilt_error(predicted.state.rotation, tilt.up)
        precision[[DOFS, DOFS + 2], [DOFS, DOFS + 2]] = share / tilt.variance
    counted = min(s.velocity_rate * seconds, MOST_COUNTED)
    return NeighbourTerms(
        Quadratic(apart, precision), n.pose_covariance, n.velocity - predicted.velocity, n.velocity_covariance, counted
    )


def update_by_velocity(covariance: Floats, told: NeighbourTerms, certainty: float, of: slice) -> VelocityUpdate:
    """Return a prediction led by a share of the neighbours' velocity.

    Args:
        covariance: covariance of pose and velocity as predicted, (2 V, 2 V).
        told: terms of the neighbours.
        certainty: the share.
        of: part that the covariance is asked for: the pose, or pose and velocity.
    """
    spread = covariance[VELOCITY, VELOCITY]
    L = _factor_definite(spread + told.spread / max(certainty * told.counted, LEAST_COUNTED))
    half, pulled = solve_triangle(L, covariance[VELOCITY, of].T), solve_factored(L, told.velocity)
    left = covariance[of, of] - half @ half.T
    change = covariance[:, VELOCITY] @ pulled
    return VelocityUpdate(L, change, left, _invert_definite(left[POSE, POSE]), 0.5 * float(told.velocity @ pulled))


def update_by_pose(led: VelocityUpdate, told: Quadratic, certainty: float) -> tuple[Quadratic, float]:
    """Return the pose of a led prediction joined with a share of the neighbours' pose, and their energy at its minimum."""
    precision = led.precision + certainty * told.precision
    apart = told.center - led.change[POSE]
    pull = certainty * (told.precision @ apart)
    step = solve_factored(_factor_definite(precision), pull)
    return Quadratic(led.change[POSE] + step, precision), led.disagreement + 0.5 * float(pull @ (apart - step))


def update_belief(prior: Prior, state: BodyState, minimum: Minimum) -> Belief:
    """Return the belief after the markers of a frame.

    Args:
        prior: prior of the frame.
        state, minimum: the pose that was solved, from what a pose model says as well, if one was asked; of that, too, only the
            prior's share makes the pose more certain.
    """
    predicted, told, led, carried = prior.predicted, prior.told, prior.led, prior.carried
    assert told is not None and led is not None and carried is not None
    solved = minimum.terms.prior.precision
    added = minimum.hessian - solved + prior.certainty * (solved - prior.model.precision + told.pose.precision)
    pulled = led.precision @ (compute_pose_change(predicted.state, state) - led.change[POSE])
    across, spread = predicted.covariance[VELOCITY, POSE] @ pulled, predicted.covariance[VELOCITY, VELOCITY]
    velocity = predicted.velocity + led.change[VELOCITY] + across - spread @ solve_factored(led.factor, across)
    covariance = carry_covariance(carried, added)
    reliance = compute_reliance(prior, _invert_definite(minimum.hessian))
    return Belief(state, velocity, covariance, predicted.acceleration, predicted.noise, predicted.near, reliance)


def compute_reliance(prior: Prior, solved: Floats) -> Floats:
    """Return how far a solved pose moves where all that neighbours said does, (V, D); solved: its covariance, (V, V).

    Their errors are nearly the same in all frames: the belief grows surer by every one, its truth does not (Schmidt 1966).
    """
    assert prior.told is not None and prior.led is not None
    return np.asarray(solved @ (prior.led.precision @ prior.predicted.reliance + prior.told.pose.precision[:, :DOFS]))


def carry_covariance(carried: VelocityUpdate, added: Floats) -> Floats:
    """Return the covariance of pose and velocity after a frame, (2 V, 2 V).

    Args:
        carried: update of pose and velocity that is known before.
        added: lower triangle of the information of the pose that is added, (V, V).
    """
    before, pose = carried.covariance, _invert_definite(carried.precision + added)
    by_pose = before[VELOCITY, POSE] @ carried.precision
    after, across = np.empty_like(before), by_pose @ pose
    after[POSE, POSE], after[VELOCITY, POSE], after[POSE, VELOCITY] = pose, across, across.T
    after[VELOCITY, VELOCITY] = before[VELOCITY, VELOCITY] - (before[VELOCITY, POSE] - across) @ by_pose.T
    return after


def compute_surprise(predicted: BodyState, before: Quadratic, state: BodyState, minimum: Minimum) -> float:
    """Return -ln of the probability of a frame's markers where they are, by Laplace's approximation (MacKay 1992).

    Args:
        predicted: the pose that changes count from.
        before: prior of the pose, as certain as it is carried: neighbours lead the solution more than they are certain.
        state, minimum: the pose that was solved.
    """
    solved = minimum.terms.prior
    pulled = solved.precision @ (minimum.x - solved.center)
    markers = minimum.energy - 0.5 * float((minimum.x - solved.center) @ pulled)
    hessian = mirror_triangle(minimum.hessian) - solved.precision + before.precision
    moved = compute_pose_change(predicted, state) - before.center
    held = before.precision @ moved
    gradient = minimum.gradient - pulled + held
    L = _factor_definite(hessian)
    gained = 0.5 * float(gradient @ solve_factored(L, gradient))  # by a step to where the energy is least
    volume = float(np.log(L.diagonal()).sum()) - compute_half_log_det(before.precision)
    return markers + 0.5 * float(moved @ held) - gained + volume


def predict_points(belief: Belief, skeleton: Skeleton, joint: Ints, offset_m: Floats) -> tuple[Floats, Floats]:
    """Return where points of the body are, (N, 3) [m], and their covariance, (N, 3, N, 3) [m^2]; joint (N,), offset_m (N, 3)."""
    state, n = belief.state, len(joint)
    space = PoseSpace(state.joints.copy(), FULL, FULL_SPAN, np.ascontiguousarray(state.rotation))
    chain = _pack_chain(skeleton)
    body = MarkerBody(chain.parents, chain.offsets_m, chain.reference, make_read_only(joint), make_read_only(offset_m))
    point_m, J = np.empty((n, 3)), np.empty((3 * n, N_POSE))
    _derive_markers_by_pose(np.concatenate([np.zeros(N_POSE - 3), state.position_m]), space, body, point_m, J)
    covariance = J @ belief.covariance[POSE, POSE] @ J.T
    return point_m, covariance.reshape(n, 3, n, 3)


def _invert_definite(A: Floats) -> Floats:
    """Return the inverse of a covariance or information. Raises LinAlgError: it is not positive definite."""
    inverse = invert_definite(A)
    if inverse is None:
        raise np.linalg.LinAlgError("a covariance of the belief is not positive definite")
    return inverse


def _factor_definite(A: Floats) -> Floats:
    """Return the Cholesky factor of an information. Raises LinAlgError: it is not positive definite."""
    L = factor_definite(A)
    if L is None:
        raise np.linalg.LinAlgError("an information of the belief is not positive definite")
    return L
