"""The estimator: labelled markers of one frame in, the most probable pose out (Chai & Hodgins 2005, sections 5 and 6)."""

from collections import deque
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibration.camera import Rig
from calibration.subject.props import find_props
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.geometry.kinematics import compute_local_markers
from database.geometry.rigid import RigidMotion
from numerics.definite import invert_definite
from reconstruct.history import BodyState
from reconstruct.labelling.upright import list_limb_exchanges
from reconstruct.missing.fill_in import FillIn
from reconstruct.models.local.model import LocalModel, Neighbours, weigh_neighbours
from reconstruct.observations import (
    Observations,
    compute_landmark_share,
    find_monocular_rays,
    find_single_view_markers,
    observations_from_markers,
    triangulate_landmarks,
)
from reconstruct.search.examples import Examples, thin_examples
from reconstruct.search.nearest import Query
from reconstruct.search.walk import PoseSearch
from reconstruct.solve.certainty import (
    MAX_ERROR_M,
    JointDeviations,
    Minimum,
    add_calibration_error,
    build_minimum,
    compute_frame_deviations,
    estimate_joint_error_m,
)
from reconstruct.solve.grips import build_grips
from reconstruct.solve.limits import NO_LIMITS, compute_limits
from reconstruct.solve.root import Root, RootPrior, fit_root_to_rays, fit_root_to_torso
from reconstruct.solve.solver import FrameProblem, Solution, solve_pose
from reconstruct.track.belief import Belief, Prior, compute_landmark_reliance, compute_reliance
from reconstruct.track.models import build_frame_model
from reconstruct.track.tilt import compute_tilt

N_MINIMA = 4
SAMPLE = 30_000  # examples that are enough for joint limits and held-out checks


@dataclass(frozen=True, slots=True)
class Estimate:
    """A solved pose and its markers in the world, (M, 3) [m].

    Attributes:
        near: neighbours of the pose.
        energy: energy at the minimum.
        anew: not from the belief.
        frame: markers that it was solved from.
        local_energy: energy at the minimum without a pose model.
        prior, solved: prior of the frame, and the problem with its solution.
        search: start of the next search.
        origin: the belief it goes on from, None where it was found anew.
        share: share of each marker's image points that counted, (M,), or None for all.
    """

    state: BodyState
    marker_m: Floats
    near: Neighbours
    energy: float
    anew: bool
    frame: MarkerFrame
    local_energy: float
    prior: Prior
    solved: tuple[FrameProblem, Solution]
    search: tuple[Ints | None, float]
    origin: Belief | None
    share: Floats | None = None


@dataclass(frozen=True, slots=True)
class EstimatorMemory:
    """State that an estimator continues from: the belief, and the last result of the search."""

    belief: Belief | None
    search: tuple[Ints | None, float]


class Estimator:
    """Solves frame after frame for one subject; keeps the belief of the last.

    filler: joins a pose model where markers are missing, or None; rig: in the world.
    """

    def __init__(
        self, subject: Subject, examples: Examples, rig: Rig, settings: SolveSettings, search: PoseSearch | None = None
    ) -> None:
        """Prepare; search: finds the nearest examples, exhaustively if None. Raises SettingsError: an unknown local model."""
        self.subject, self.examples = subject, examples
        self.belief: Belief | None = None
        self.filler: FillIn | None = None
        sample = thin_examples(examples, max(1, len(examples) // SAMPLE))
        covariance = np.cov(sample.pose[:].T.astype(np.float64), bias=True)
        self._model = build_frame_model(settings, examples, covariance)
        settings = self._model.settings
        self.rig, self._settings = rig, settings
        self._search = PoseSearch(examples, None, None) if search is None else search
        self._sample_search = PoseSearch(sample, None, None)
        self._predicted: tuple[Belief | None, int, Belief | None] = (None, 0, None)
        self._local: tuple[Floats | None, Floats] = (None, np.zeros((0, 3)))
        self._world: tuple[BodyState | None, Floats] = (None, np.zeros((0, 3)))
        self._minima: deque[tuple[Estimate, Minimum]] = deque(maxlen=N_MINIMA)  # of a frame's labellings, newest first
        self.joins_models = self._model.carries
        self._limits = compute_limits(sample.pose[:]) if settings.limits and self._model.carries else NO_LIMITS
        self._grips = build_grips(find_props(subject))
        self._solve = partial(solve_pose, max_iterations=settings.max_iterations)
        self._query_weight = np.full(3 * (N_JOINTS - 1), settings.query_pose_sigma_rad**-2.0)
        self.limb_orders = list_limb_exchanges(subject)
        self._marker_sigma_m = np.full(len(subject.markers), settings.marker_sigma_m)
        self._landmark = ~subject.markers.worn
        self._has_landmarks = bool(self._landmark.any())

    @property
    def last(self) -> BodyState | None:
        """The last pose."""
        return None if self.belief is None else self.belief.state

    def predict(self, t_ns: int) -> BodyState | None:
        """Return where the pose is expected at a time, None at the start; the same object while the belief is the same."""
        predicted = self.predict_belief(t_ns)
        return None if predicted is None else predicted.state

    def predict_belief(self, t_ns: int) -> Belief | None:
        """Return the belief predicted for a time, None at the start; the same object while the belief is the same."""
        belief, asked_ns, predicted = self._predicted
        if belief is not self.belief or asked_ns != t_ns:
            predicted = None if self.belief is None else self._model.predict(self.belief, t_ns)
            self._predicted = self.belief, t_ns, predicted
        return predicted

    def local(self, joints: Floats) -> Floats:
        """Return the markers of a pose relative to the root, (M, 3) [m]; those of the last pose asked for are remembered."""
        asked, marker_m = self._local
        if asked is not joints:
            marker_m = compute_local_markers(self.subject.skeleton, joints[None], self.subject.joint, self.subject.offset_m)[0]
            self._local = joints, marker_m
        return marker_m

    def world(self, state: BodyState) -> Floats:
        """Return the markers of a pose in the world, (M, 3) [m]; those of the last pose asked for are remembered."""
        asked, marker_m = self._world
        if asked is not state:
            marker_m = self.local(state.joints) @ state.rotation.T + state.position_m
            self._world = state, marker_m
        return marker_m

    def estimate(self, frame: MarkerFrame, start: BodyState | None = None, near: Neighbours | None = None) -> Estimate | None:
        """Solve for the pose of one frame; None where even the root cannot be fitted. The belief is as it was until `accept`.

        start: pose found by acquisition, in place of the belief; near: neighbours that are known already.
        """
        predicted = self.predict_belief(frame.t_capture_ns) if start is None else None
        reference = start if predicted is None else predicted.state
        if reference is None:
            return None
        placed = triangulate_landmarks(frame, self.rig, self._landmark) if self._has_landmarks else frame
        root = self._root(placed, reference)
        if root is None:
            return None
        if start is not None and near is None:
            self._search.forget()
        # Rays alone leave the depth of limbs open: an acquired pose is then a better query than none.
        hint = None if predicted is None and placed.any_valid else reference.joints[1:].ravel()
        neighbours = self._neighbours(self.query(placed, root, hint)) if near is None else near
        prior = self._prior(frame, predicted, (reference, root), neighbours)
        share = self._share(prior.seconds)
        observations = observations_from_markers(frame, self.rig, self._marker_sigma_m, self.world(reference), share)
        problem = self._problem(prior.model, prior.root, observations)
        solution = self._solve(
            problem, root if start is None else (prior.root.rotation, prior.root.position_m), start=prior.start
        )
        local_energy = float(solution.energies[-1])
        if near is None and predicted is not None and self.filler is not None and is_partly_seen(frame):
            filled = self.filler.fill(problem, solution, frame.t_capture_ns, self._settings.pose_rate * prior.seconds)
            if filled is not None:
                w, problem = (solution.joints - prior.model.mean)[1:].ravel(), filled
                solution = self._solve(problem, (solution.rotation, solution.position_m), start=w)
        state, origin = BodyState(frame.t_capture_ns, solution.joints, solution.rotation, solution.position_m), None
        if predicted is not None:
            origin = self.belief
        energies = (float(solution.energies[-1]), start is not None, frame, local_energy)
        return Estimate(
            state, self.world(state), neighbours, *energies, prior, (problem, solution), self._search.memory, origin, share
        )

    def compute_landmark_share(self, seconds: float) -> float:
        """Return the share of the image points of landmarks that counts, some time after the last: their errors last."""
        return compute_landmark_share(seconds, self._settings.landmark_lasts_s)

    def _share(self, seconds: float) -> Floats | None:
        """Return the share of every marker's image points that counts, (M,), None where all of them do."""
        return np.where(self._landmark, self.compute_landmark_share(seconds), 1.0) if self._has_landmarks else None

    def _prior(self, frame: MarkerFrame, predicted: Belief | None, at: tuple[BodyState, Root], neighbours: Neighbours) -> Prior:
        """Return what is known of a frame before its markers; at: the pose it is expected near, and its root."""
        reference, (rotation, position_m) = at
        if predicted is None or self.belief is None:
            return self._model.begin(replace(reference, rotation=rotation, position_m=position_m), neighbours)
        tilt, torso = None, self.subject.markers.torso
        if self.examples.up is not None and not frame.seen[:, torso].any(axis=0).all():
            tilt = compute_tilt(self.examples.up[neighbours.rows].astype(np.float64), neighbours.weights)
        seconds = (frame.t_capture_ns - self.belief.state.t_ns) * 1e-9
        return self._model.join(predicted, neighbours, tilt, seconds, (rotation, position_m))

    def error_m(self, estimate: Estimate) -> Floats | None:
        """Return how far from the truth the joints may be, (J,) [m], one standard deviation; None for models with fewer axes."""
        if not self._model.carries:
            return None
        sigma = self.compute_deviations(estimate)
        if sigma is None:
            return np.full(N_JOINTS, MAX_ERROR_M)
        error_m = estimate_joint_error_m(sigma)
        # That landmarks are off their places lasts, too, and is in it: where they alone tell of a body, nothing else is left.
        return add_calibration_error(error_m, self.subject) if self.subject.markers.worn.any() else error_m

    def compute_deviations(self, estimate: Estimate) -> JointDeviations | None:
        """Return the standard deviations of the joints that expected errors are made of; None where nothing holds the pose."""
        minimum, told = self._minimum_of(estimate), estimate.prior.told
        solved = invert_definite(minimum.hessian)
        if solved is None or told is None:
            return None
        reliance = compute_reliance(estimate.prior, solved)
        by_landmarks = compute_landmark_reliance(estimate.prior, solved, minimum.pull)
        lasting = reliance @ told.pose_covariance @ reliance.T
        return compute_frame_deviations(minimum, solved, lasting, by_landmarks @ by_landmarks.T)

    def log_evidence(self, estimate: Estimate) -> float:
        """Return ln of the probability of a frame's markers where they are, given its prior."""
        return -self._model.surprise(estimate.prior, estimate.state, self._minimum_of(estimate))

    def _minimum_of(self, estimate: Estimate) -> Minimum:
        """Return the minimum that an estimate is; those of the last are remembered."""
        for asked, minimum in self._minima:
            if asked is estimate:
                return minimum
        self._minima.appendleft((estimate, build_minimum(*estimate.solved)))
        return self._minima[0][1]

    def accept(self, estimate: Estimate) -> None:
        """Go on from an estimate, and have the pose models follow it."""
        self.conclude(estimate)
        self.teach(estimate)

    def conclude(self, estimate: Estimate) -> None:
        """Go on from an estimate, which may turn out wrong: the pose models do not follow it."""
        self.belief = self._model.conclude(estimate.prior, estimate.state, self._minimum_of(estimate))

    def teach(self, estimate: Estimate) -> None:
        """Have the pose models follow an estimate, and check them on hidden markers if it is time."""
        if self.filler is None:
            return
        if estimate.anew:
            self.filler.lose()
        self.filler.accept(estimate.state)
        hidden = self.filler.hidden(estimate.frame)
        if hidden is not None:
            self.filler.judge(*self._solved_without(self.filler, hidden, estimate), estimate.frame, hidden)

    @property
    def memory(self) -> EstimatorMemory:
        """State that the next frame is solved from; a pose model's memory is its own."""
        return EstimatorMemory(self.belief, self._search.memory)

    @memory.setter
    def memory(self, memory: EstimatorMemory) -> None:
        self.belief, self._search.memory = memory.belief, memory.search

    def forget(self) -> None:
        """Forget all frames."""
        self.belief = None
        if self.filler is not None:
            self.filler.forget()

    def move(self, motion: RigidMotion, rig: Rig) -> None:
        """Go on in a world that is moved, with the rig in it."""
        self.rig, self.belief = rig, None if self.belief is None else self.belief.moved(motion)

    def query(self, frame: MarkerFrame, root: Root, pose: Floats | None) -> Query:
        """Return the query of a frame (eq. 2): markers at the default root, rays of those that one camera alone sees."""
        R, t = root
        s, pose_weight = self._settings, self._query_weight
        weight = frame.valid / (frame.variance_m2 + s.query_marker_sigma_m**2)
        if frame.all_valid or not find_single_view_markers(frame).any():
            return Query((frame.point_m - t) @ R, weight, pose, pose_weight)
        rays = find_monocular_rays(frame, self.rig)
        distance = np.linalg.norm(rays.from_m - t, axis=1)
        across2 = (distance * rays.sigma_rad) ** 2 + s.query_marker_sigma_m**2
        point = np.where(rays.monocular[:, None], rays.from_m, frame.point_m)
        return Query((point - t) @ R, np.where(rays.monocular, 1.0 / across2, weight), pose, pose_weight, rays.direction @ R)

    def _root(self, frame: MarkerFrame, reference: BodyState) -> Root | None:
        """Fit the root to the torso's markers, or to their rays where one camera alone sees the torso."""
        torso, local_m = self.subject.markers.torso, self.local(reference.joints)
        root = fit_root_to_torso(frame, local_m, torso, (reference.rotation, reference.position_m))
        if root is None or np.count_nonzero(frame.valid & torso):
            return root
        sigmas = (self._settings.root_sigma_rad, self._settings.root_sigma_m)
        return fit_root_to_rays(find_monocular_rays(frame, self.rig), torso, local_m, root, sigmas)

    def _neighbours(self, query: Query) -> Neighbours:
        """Return the nearest examples."""
        rows, distances = self._search.nearest(query, self._settings.neighbours)
        found = weigh_neighbours(rows, self.examples.pose[rows], distances, self._settings.sharpness)
        n_seen = int(np.count_nonzero(query.marker_weight))
        return replace(found, informed=n_seen / (n_seen + 1.0))

    def _solved_without(self, filler: FillIn, hidden: Bools, estimate: Estimate) -> tuple[FrameProblem, Solution]:
        """Solve an estimated frame without some markers, (M,), for a held-out check.

        Without the past of their limb, too: markers that are really missing have been so for a while.
        """
        frame, state = estimate.frame, estimate.state
        left = replace(frame, valid=frame.valid & ~hidden, seen=frame.seen & ~hidden)
        root = (state.rotation, state.position_m)
        query = self.query(left, root, state.joints[1:].ravel())
        query = replace(query, pose_weight=np.where(filler.moved_by(hidden), 0.0, query.pose_weight))
        search = self._sample_search
        rows, distances = search.nearest(query, self._settings.neighbours)
        poses = search.examples.pose[rows]
        prior = self._model.begin(state, weigh_neighbours(rows, poses, distances, self._settings.sharpness))
        share = self._share(estimate.prior.seconds)
        observations = observations_from_markers(left, self.rig, self._marker_sigma_m, estimate.marker_m, share)
        problem = self._problem(prior.model, prior.root, observations)
        return problem, self._solve(problem, root)

    def _problem(self, model: LocalModel, root: RootPrior, observations: Observations) -> FrameProblem:
        """Return what a frame is solved from."""
        body, markers = self.subject.skeleton, (self.subject.joint, self.subject.offset_m)
        return FrameProblem(body, markers, model, root, observations, self._settings.robust_sigmas, self._limits, self._grips)


def is_partly_seen(frame: MarkerFrame) -> bool:
    """Return whether some marker is triangulated and some is not seen by any camera."""
    return frame.any_valid and not frame.shown.all()
