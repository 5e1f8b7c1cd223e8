"""The estimator: labelled markers of one frame in, the most probable pose out (Chai & Hodgins 2005, sections 5 and 6)."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from calibration.camera import Rig
from calibration.subject.props import find_props
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.geometry.kinematics import compute_local_markers
from database.geometry.rigid import RigidMotion
from numerics.definite import invert_definite
from reconstruct.acquire.upright import list_limb_exchanges
from reconstruct.body_state import BodyState
from reconstruct.missing.fill_in import FillIn, HeldOutCheck
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
from reconstruct.search.exhaustive import Query
from reconstruct.search.graph_search import PoseSearch, SearchMemory
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
from reconstruct.track.belief import Belief, Prior, compute_reliance
from reconstruct.track.local_models import build_frame_model
from reconstruct.track.tilt import compute_tilt

SAMPLE = 30_000  # examples that are enough for joint limits and held-out checks


@dataclass(frozen=True)
class Estimate:
    """A solved pose and its markers in the world, (M, 3) [m].

    Attributes:
        frame: markers that it was solved from.
        near: neighbours of the pose.
        prior, problem, solution: prior of the frame, and what was solved.
        local_energy: energy at the minimum without a pose model.
        search: start of the next search.
        origin: the belief it goes on from, None where it was found anew.
        share: share of each marker's image points that counted, (M,), or None for all.
    """

    state: BodyState
    marker_m: Floats
    frame: MarkerFrame
    near: Neighbours
    prior: Prior
    problem: FrameProblem
    solution: Solution
    local_energy: float
    search: SearchMemory
    origin: Belief | None
    share: Floats | None = None

    @property
    def energy(self) -> float:
        """The energy at the minimum."""
        return float(self.solution.energies[-1])

    @cached_property
    def minimum(self) -> Minimum:
        """The minimum with its derivatives."""
        return build_minimum(self.problem, self.solution)


@dataclass(frozen=True, slots=True)
class EstimatorMemory:
    """State that an estimator continues from: the belief, and the last result of the search."""

    belief: Belief | None = None
    search: SearchMemory = field(default_factory=SearchMemory)


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
        self.joins_models = self._model.carries
        self._limits = compute_limits(sample.pose[:]) if settings.limits and self._model.carries else NO_LIMITS
        self._grips = build_grips(find_props(subject))
        self._query_weight = np.full(3 * (N_JOINTS - 1), settings.query_pose_sigma_rad**-2.0)
        self.limb_orders = list_limb_exchanges(subject)
        self._marker_sigma_m = np.full(len(subject.markers), settings.marker_sigma_m)
        self._landmark = ~subject.markers.worn

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
        """Return the markers of a pose relative to the root, (M, 3) [m]."""
        body = self.subject
        return np.asarray(compute_local_markers(body.skeleton, joints[None], body.joint, body.offset_m)[0])

    def world(self, state: BodyState) -> Floats:
        """Return the markers of a pose in the world, (M, 3) [m]."""
        return place_markers(self.local(state.joints), state)

    def estimate(self, frame: MarkerFrame, start: BodyState | None = None, near: Neighbours | None = None) -> Estimate | None:
        """Solve for the pose of one frame; None where even the root cannot be fitted. The belief is as it was until `accept`.

        start: pose found by acquisition, in place of the belief; near: neighbours that are known already.
        """
        predicted = self.predict_belief(frame.t_capture_ns) if start is None else None
        reference = start if predicted is None else predicted.state
        if reference is None:
            return None
        placed = triangulate_landmarks(frame, self.rig, self._landmark)
        local_m = self.local(reference.joints)
        root = self._root(placed, reference, local_m)
        if root is None:
            return None
        if start is not None and near is None:
            self._search.forget()
        # Rays alone leave the depth of limbs open: an acquired pose is then a better query than none.
        hint = None if predicted is None and placed.any_valid else reference.joints[1:].ravel()
        neighbours = self._neighbours(self.query(placed, root, hint)) if near is None else near
        prior = self._prior(frame, predicted, (reference, root), neighbours)
        share, iterations = self._share(prior.seconds), self._settings.max_iterations
        expected_m = place_markers(local_m, reference)
        observations = observations_from_markers(frame, self.rig, self._marker_sigma_m, expected_m, share)
        problem = self._problem(prior.model, prior.root, observations)
        begin = root if start is None else (prior.root.rotation, prior.root.position_m)
        solution = solve_pose(problem, begin, start=prior.start, max_iterations=iterations)
        local_energy = float(solution.energies[-1])
        if near is None and predicted is not None and self.filler is not None and is_partly_seen(frame):
            filled = self.filler.fill(problem, solution, frame.t_capture_ns, self._settings.pose_rate * prior.seconds)
            if filled is not None:
                w, problem = (solution.joints - prior.model.mean)[1:].ravel(), filled
                solution = solve_pose(problem, (solution.rotation, solution.position_m), start=w, max_iterations=iterations)
        state = BodyState(frame.t_capture_ns, solution.joints, solution.rotation, solution.position_m)
        return Estimate(
            state=state,
            marker_m=self.world(state),
            frame=frame,
            near=neighbours,
            prior=prior,
            problem=problem,
            solution=solution,
            local_energy=local_energy,
            search=self._search.memory,
            origin=None if predicted is None else self.belief,
            share=share,
        )

    def compute_landmark_share(self, seconds: float) -> float:
        """Return the share of the image points of landmarks that counts, some time after the last: their errors last."""
        return compute_landmark_share(seconds, self._settings.landmark_lasts_s)

    def _share(self, seconds: float) -> Floats | None:
        """Return the share of every marker's image points that counts, (M,), None where all of them do."""
        return np.where(self._landmark, self.compute_landmark_share(seconds), 1.0) if self._landmark.any() else None

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
        return add_calibration_error(estimate_joint_error_m(sigma), self.subject)

    def compute_deviations(self, estimate: Estimate) -> JointDeviations | None:
        """Return the standard deviations of the joints that expected errors are made of; None where nothing holds the pose."""
        minimum, told = estimate.minimum, estimate.prior.told
        solved = invert_definite(minimum.hessian)
        if solved is None or told is None:
            return None
        reliance = compute_reliance(estimate.prior, solved)
        return compute_frame_deviations(minimum, solved, reliance @ told.pose_covariance @ reliance.T)

    def log_evidence(self, estimate: Estimate) -> float:
        """Return ln of the probability of a frame's markers where they are, given its prior."""
        return -self._model.surprise(estimate.prior, estimate.state, estimate.minimum)

    def accept(self, estimate: Estimate) -> None:
        """Go on from an estimate, and have the pose models follow it."""
        self.belief = self.conclude(estimate)
        self.teach(estimate)

    def conclude(self, estimate: Estimate) -> Belief:
        """Return the belief after an estimate."""
        return self._model.conclude(estimate.prior, estimate.state, estimate.minimum)

    def teach(self, estimate: Estimate) -> None:
        """Have the pose models follow an estimate, and check them on hidden markers if it is time."""
        if self.filler is None:
            return
        if estimate.origin is None:
            self.filler.lose()
        self.filler.accept(estimate.state)
        hidden = self.filler.hidden(estimate.frame)
        if hidden is not None:
            self.filler.pending = self._solved_without(self.filler, hidden, estimate)

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

    def _root(self, frame: MarkerFrame, reference: BodyState, local_m: Floats) -> Root | None:
        """Fit the root to the torso's markers, or to their rays where one camera alone sees the torso."""
        torso = self.subject.markers.torso
        root = fit_root_to_torso(frame, local_m, torso, (reference.rotation, reference.position_m))
        if root is None or np.count_nonzero(frame.valid & torso):
            return root
        sigmas = (self._settings.root_sigma_rad, self._settings.root_sigma_m)
        return fit_root_to_rays(find_monocular_rays(frame, self.rig), torso, local_m, root, sigmas)

    def _find_neighbours(self, search: PoseSearch, query: Query) -> Neighbours:
        """Return the nearest of the examples that are searched."""
        rows, distances = search.nearest(query, self._settings.neighbours)
        return weigh_neighbours(rows, search.examples.pose[rows], distances, self._settings.sharpness)

    def _neighbours(self, query: Query) -> Neighbours:
        """Return the nearest examples, and how much the query was told by markers."""
        n_seen = int(np.count_nonzero(query.marker_weight))
        return replace(self._find_neighbours(self._search, query), informed=n_seen / (n_seen + 1.0))

    def _solved_without(self, filler: FillIn, hidden: Bools, estimate: Estimate) -> HeldOutCheck:
        """Solve an estimated frame without some markers, (M,), for a held-out check.

        Without the past of their limb, too: markers that are really missing have been so for a while.
        """
        frame, state = estimate.frame, estimate.state
        left = replace(frame, valid=frame.valid & ~hidden, seen=frame.seen & ~hidden)
        root = (state.rotation, state.position_m)
        query = self.query(left, root, state.joints[1:].ravel())
        query = replace(query, pose_weight=np.where(filler.moved_by(hidden), 0.0, query.pose_weight))
        prior = self._model.begin(state, self._find_neighbours(self._sample_search, query))
        share = self._share(estimate.prior.seconds)
        observations = observations_from_markers(left, self.rig, self._marker_sigma_m, estimate.marker_m, share)
        problem = self._problem(prior.model, prior.root, observations)
        solution = solve_pose(problem, root, max_iterations=self._settings.max_iterations)
        return HeldOutCheck(problem, solution, frame, hidden)

    def _problem(self, model: LocalModel, root: RootPrior, observations: Observations) -> FrameProblem:
        """Return what a frame is solved from."""
        body, markers = self.subject.skeleton, (self.subject.joint, self.subject.offset_m)
        return FrameProblem(body, markers, model, root, observations, self._settings.robust_sigmas, self._limits, self._grips)


def place_markers(local_m: Floats, state: BodyState) -> Floats:
    """Return markers relative to the root, (M, 3) [m], in the world, (M, 3) [m]."""
    return np.asarray(local_m @ state.rotation.T + state.position_m)


def is_partly_seen(frame: MarkerFrame) -> bool:
    """Return whether some marker is triangulated and some is not seen by any camera."""
    return frame.any_valid and not frame.shown.all()
