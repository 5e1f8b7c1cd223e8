"""The estimator: labelled markers of one frame in, the most probable pose out (Chai & Hodgins 2005, sections 5 and 6)."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, partial

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints, read_only
from config.joints import CHAINS, JOINT_INDEX, N_JOINTS
from config.markers import unmarked_chains
from config.settings import SolveSettings
from database.geometry.kinematics import local_markers
from database.geometry.rigid import RigidMotion
from reconstruct.history import BodyState, MotionHistory
from reconstruct.missing.fill_in import FillIn
from reconstruct.models.local.model import MotionContext
from reconstruct.models.local.neighbourhood import Neighbourhood, fitter_for, neighbourhood, neighbours_of
from reconstruct.observations import Observations, alone, monocular_rays, observations_from_markers
from reconstruct.search.examples import Examples
from reconstruct.search.nearest import Likeness, Query
from reconstruct.search.remembered import RememberedRows
from reconstruct.search.walk import PoseSearch
from reconstruct.solve.certainty import Minimum, joint_error_m, log_volume, minimum_of, saved_without, with_calibration
from reconstruct.solve.limits import limits_of
from reconstruct.solve.root import Root, RootPrior, root_from_rays, root_from_torso, with_tilt
from reconstruct.solve.solver import FrameProblem, Solution, solve

N_MINIMA = 4
SAMPLE = 30_000  # examples that are enough for joint limits, held-out checks and the likelihood of labels
MIN_INFLATION, MAX_INFLATION = 0.25, 10.0


class Visibility(Enum):
    """What is seen of the markers of a frame: all of them, some, or none by both cameras."""

    ALL = "all"
    SOME = "some"
    MONOCULAR = "monocular"


# The settings that take another's value where less is seen.
OVERRIDES: Mapping[Visibility, Mapping[str, str]] = {
    Visibility.ALL: {},
    Visibility.SOME: {
        "neighbour_motion": "missing_neighbour_motion",
        "query_pose_sigma_rad": "missing_query_pose_sigma_rad",
    },
    Visibility.MONOCULAR: {
        "torso_sigma_m": "view_marker_sigma_m",
        "limb_sigma_m": "view_marker_sigma_m",
        "root_sigma_m": "view_root_sigma_m",
        "background": "view_background",
        "query_pose_sigma_rad": "view_query_pose_sigma_rad",
    },
}


def visibility(frame: MarkerFrame) -> Visibility:
    """Return what is seen of a frame."""
    if frame.all_valid:
        return Visibility.ALL
    if not frame.any_valid:
        return Visibility.MONOCULAR
    return Visibility.ALL if frame.shown.all() else Visibility.SOME


@lru_cache(maxsize=16)
def settings_for(settings: SolveSettings, seen: Visibility) -> SolveSettings:
    """Return the settings with what is overridden where less is seen."""
    return replace(settings, **{name: getattr(settings, other) for name, other in OVERRIDES[seen].items()})


@dataclass(frozen=True, slots=True)
class Estimate:
    """A solved pose and its markers in the world, (M, 3) [m].

    near: what it was solved in; energy: at the minimum; anew: not from the history; frame: what it was solved from; local_energy:
    at the minimum without a pose model; solved: the problem and its solution.
    """

    state: BodyState
    marker_m: Floats
    near: Neighbourhood
    energy: float
    anew: bool
    frame: MarkerFrame | None = None
    local_energy: float = 0.0
    solved: tuple[FrameProblem, Solution] | None = None


@dataclass(frozen=True, slots=True)
class EstimatorMemory:
    """What an estimator goes on from: the last poses, what the search found last, and which markers were seen last, (M,)."""

    history: MotionHistory
    search: tuple[Ints | None, float]
    seen: Bools | None


class Estimator:
    """Solves frame after frame for one subject; keeps the last two poses.

    likeness: distances to a sample of the examples; filler: joins a pose model where markers are missing, or None; rig: in the
    world.
    """

    def __init__(
        self, subject: Subject, examples: Examples, rig: Rig, settings: SolveSettings, search: PoseSearch | None = None
    ) -> None:
        """Prepare; search: finds the nearest examples, exhaustively if None. Raises SettingsError: an unknown local model."""
        self.subject, self.examples = subject, examples
        self.history = MotionHistory()
        self._seen: Bools | None = None
        self.filler: FillIn | None = None
        self.likeness = Likeness(examples, SAMPLE)
        sample = self.likeness.examples
        self.rig, self._settings = rig, settings
        self._search = PoseSearch(examples, None, None) if search is None else search
        self._sample_search = PoseSearch(sample, None, None)
        self._predicted: tuple[MotionHistory | None, int, BodyState | None] = (None, 0, None)
        self._local: tuple[Floats | None, Floats] = (None, np.zeros((0, 3)))
        self._world: tuple[BodyState | None, Floats] = (None, np.zeros((0, 3)))
        self._minima: deque[tuple[Estimate, Minimum]] = deque(maxlen=N_MINIMA)  # of a frame's labellings, newest first
        self._placed = list[str](), RememberedRows(0, partial(self._places_m, np.zeros(0, np.int64)))
        covariance = np.cov(sample.pose[:].T.astype(np.float64), bias=True)
        self._fitter = fitter_for(settings, examples, covariance)
        self.joins_models = self._fitter.free
        limits = limits_of(sample.pose[:]) if settings.limits and self._fitter.free else None
        self._solve = partial(solve, limits=limits, max_iterations=settings.max_iterations)
        self.background = settings.background * covariance

    def predict(self, t_ns: int) -> BodyState | None:
        """Return where the pose is expected at a time, None at the start; the same object while the history is the same."""
        history, asked_ns, predicted = self._predicted
        if history is not self.history or asked_ns != t_ns:
            predicted = self.history.predict(t_ns, self._settings.velocity_gain)
            self._predicted = self.history, t_ns, predicted
        return predicted

    def local(self, joints: Floats) -> Floats:
        """Return the markers of a pose relative to the root, (M, 3) [m]; those of the last pose asked for are remembered."""
        asked, marker_m = self._local
        if asked is not joints:
            marker_m = local_markers(self.subject.skeleton, joints[None], self.subject.joint, self.subject.offset_m)[0]
            self._local = joints, marker_m
        return marker_m

    def world(self, state: BodyState) -> Floats:
        """Return the markers of a pose in the world, (M, 3) [m]; those of the last pose asked for are remembered."""
        asked, marker_m = self._world
        if asked is not state:
            marker_m = self.local(state.joints) @ state.rotation.T + state.position_m
            self._world = state, marker_m
        return marker_m

    def estimate(self, frame: MarkerFrame, start: BodyState | None = None, near: Neighbourhood | None = None) -> Estimate | None:
        """Solve for the pose of one frame; None where even the root cannot be fitted. The history is as it was until `accept`.

        start: where acquisition found the performer, in place of the history; near: an earlier neighbourhood to use again, as
        when the same frame is tried with other labels.
        """
        predicted = self.predict(frame.t_capture_ns) if start is None else None
        reference = start if predicted is None else predicted
        if reference is None:
            return None
        s = settings_for(self._settings, visibility(frame))
        root = self._root(frame, reference, s)
        if root is None:
            return None
        if start is not None and near is None:
            self._search.forget()
        # Rays alone leave the depth of limbs open: an acquired pose is then a better query than none.
        hint = reference if predicted is None and not frame.any_valid else predicted
        context, expected = self._expected(frame.t_capture_ns, reference, predicted, s)
        observations = observations_from_markers(frame, self.rig, self._marker_sigma_m(s), self.world(reference))
        for _ in range(s.passes):  # a better root makes a better query
            used = self._neighbourhood(self.query(frame, root, _joint_angles(hint)), context, s) if near is None else near
            prior = expected if predicted is None else self._with_tilt(frame, expected, used)
            problem = self._problem(used, prior, observations)
            solution = self._solve(problem, root)
            root = (solution.rotation, solution.position_m)
        local_energy = float(solution.energies[-1])
        if near is None and predicted is not None and self.filler is not None and visibility(frame) is Visibility.SOME:
            problem, solution, used = self._filled(self.filler, frame.t_capture_ns, problem, solution, used)
        state = BodyState(frame.t_capture_ns, solution.joints, solution.rotation, solution.position_m)
        energies = (float(solution.energies[-1]), start is not None, frame, local_energy)
        return Estimate(state, self.world(state), used, *energies, (problem, solution))

    def error_m(self, estimate: Estimate) -> Floats | None:
        """Return how far from the truth the joints may be, (J,) [m], one standard deviation; None for models with fewer axes."""
        minimum = self._minimum_of(estimate)
        if minimum is None or not self._fitter.free:
            return None
        nearest = self.examples.pose[estimate.near.rows[0]] - estimate.state.joints[1:].ravel()
        error_m = joint_error_m(minimum, float(np.sqrt(nearest @ nearest / len(nearest))))
        frame = estimate.frame
        chains = unmarked_chains(self.subject.joint if frame is None else self.subject.joint[frame.shown])
        if chains:
            unseen = np.array([JOINT_INDEX[joint] for first in chains for joint in CHAINS[first]])
            error_m[unseen] = np.hypot(error_m[unseen], self._spread_m(estimate.near, chains, unseen))
        return with_calibration(error_m, self.subject)

    def _spread_m(self, near: Neighbourhood, chains: list[str], joints: Ints) -> Floats:
        """Return how far the joints of chains, (N,), are from their mean in the neighbours, root mean square, (N,) [m]."""
        if chains != self._placed[0]:
            self._placed = chains, RememberedRows(3 * len(joints), partial(self._places_m, joints))
        place_m = self._placed[1].of(near.rows)
        share = near.weights / near.weights.sum()
        variance = share @ place_m**2 - (share @ place_m) ** 2
        return np.asarray(np.sqrt(np.maximum(variance.reshape(-1, 3).sum(axis=1), 0.0)))

    def _places_m(self, joints: Ints, rows: Ints) -> Floats:
        """Return where some joints, (N,), of examples, (K,), are relative to the root, (K, 3 N) [m]."""
        poses = np.zeros((len(rows), N_JOINTS, 3))
        poses[:, 1:] = self.examples.pose[rows].reshape(len(rows), -1, 3)
        return local_markers(self.subject.skeleton, poses, joints, np.zeros((len(joints), 3))).reshape(len(rows), -1)

    def saved_without(self, estimate: Estimate, markers: Ints) -> float:
        """Return by how much the energy would be less at most were some markers, (K,), labelled otherwise."""
        minimum = self._minimum_of(estimate)
        return np.inf if minimum is None else saved_without(minimum, markers)

    def log_volume(self, estimate: Estimate) -> float:
        """Return the natural logarithm of the volume expected over that left by the markers, 0 where it was not solved for."""
        minimum = self._minimum_of(estimate)
        return 0.0 if minimum is None else log_volume(minimum)

    def _minimum_of(self, estimate: Estimate) -> Minimum | None:
        """Return the minimum that an estimate is, None for one that was not solved for; those of the last are remembered."""
        for asked, minimum in self._minima:
            if asked is estimate:
                return minimum
        if estimate.solved is None:
            return None
        self._minima.appendleft((estimate, minimum_of(*estimate.solved)))
        return self._minima[0][1]

    def accept(self, estimate: Estimate) -> None:
        """Append an estimate to the history, and check the pose model on hidden markers if it is time."""
        history = MotionHistory() if estimate.anew else self.history
        self.history = history.then(estimate.state, 0.0 if self._returned(estimate.frame) else self._settings.velocity_share)
        if self.filler is None:
            return
        if estimate.anew:
            self.filler.lose()
        self.filler.accept(estimate.state)
        hidden = None if estimate.frame is None else self.filler.hidden(estimate.frame)
        if estimate.frame is not None and hidden is not None:
            self.filler.judge(*self._solved_without(self.filler, hidden, estimate.frame, estimate), estimate.frame, hidden)

    def _returned(self, frame: MarkerFrame | None) -> bool:
        """Return whether a marker is seen again: its limb has jumped to it, which is no velocity."""
        before, self._seen = self._seen, None if frame is None else frame.shown
        return before is not None and self._seen is not None and bool(np.count_nonzero(self._seen & ~before))

    @property
    def memory(self) -> EstimatorMemory:
        """What the next frame is solved from; a pose model's memory is its own."""
        return EstimatorMemory(self.history, self._search.memory, self._seen)

    @memory.setter
    def memory(self, memory: EstimatorMemory) -> None:
        self.history, self._search.memory, self._seen = memory.history, memory.search, memory.seen

    def forget(self) -> None:
        """Forget all frames."""
        self.history, self._seen = MotionHistory(), None
        if self.filler is not None:
            self.filler.forget()

    def move(self, motion: RigidMotion, rig: Rig) -> None:
        """Go on in a world that is moved, with the rig in it."""
        self.rig, self.history = rig, self.history.moved(motion)

    def query(self, frame: MarkerFrame, root: Root, pose: Floats | None) -> Query:
        """Return the query of a frame (eq. 2): markers at the default root, rays of those that one camera alone sees."""
        R, t = root
        s = settings_for(self._settings, visibility(frame))
        weight = frame.valid / (frame.variance_m2 + s.query_marker_sigma_m**2)
        pose_weight = _pose_weight(s.query_pose_sigma_rad)
        if frame.all_valid or not alone(frame).any():
            return Query((frame.point_m - t) @ R, weight, pose, pose_weight)
        rays = monocular_rays(frame, self.rig)
        distance = np.linalg.norm(rays.from_m - t, axis=1)
        across2 = (distance * rays.sigma_rad) ** 2 + s.query_marker_sigma_m**2
        point = np.where(rays.monocular[:, None], rays.from_m, frame.point_m)
        return Query((point - t) @ R, np.where(rays.monocular, 1.0 / across2, weight), pose, pose_weight, rays.direction @ R)

    def _root(self, frame: MarkerFrame, reference: BodyState, s: SolveSettings) -> Root | None:
        """Fit the root to the torso's markers, or to their rays where one camera alone sees the torso."""
        torso, local_m = self.subject.markers.torso, self.local(reference.joints)
        root = root_from_torso(frame, local_m, torso, (reference.rotation, reference.position_m))
        if root is None or np.count_nonzero(frame.valid & torso):
            return root
        inflation = self._inflation(frame.t_capture_ns)
        sigmas = (inflation * s.root_sigma_rad, inflation * s.root_sigma_m)
        return root_from_rays(monocular_rays(frame, self.rig), torso, local_m, root, sigmas)

    def _expected(
        self, t_ns: int, reference: BodyState, predicted: BodyState | None, s: SolveSettings
    ) -> tuple[MotionContext, RootPrior]:
        """Return what the last poses say of the joints and of the root."""
        inflation = self._inflation(t_ns)
        root = RootPrior(reference.rotation, reference.position_m, inflation * s.root_sigma_rad, inflation * s.root_sigma_m)
        return MotionContext(_joint_angles(predicted), self.history.last, t_ns, inflation), root

    def _neighbourhood(self, query: Query, context: MotionContext, s: SolveSettings) -> Neighbourhood:
        """Search, and fit the local model."""
        rows, distances = self._search.nearest(query, s.neighbours)
        neighbours = neighbours_of(self.examples, rows, distances, s.sharpness)
        return neighbourhood(self._fitter, neighbours, context, s)

    def _with_tilt(self, frame: MarkerFrame, prior: RootPrior, near: Neighbourhood) -> RootPrior:
        """Expect the root to be tilted as the neighbours' where markers of the torso are missing from both views."""
        if self.examples.up is None or frame.all_valid or not frame.any_valid:
            return prior
        if frame.seen[:, self.subject.markers.torso].any(axis=0).all():
            return prior
        return with_tilt(prior, self.examples.up[near.rows].astype(np.float64), near.weights)

    def _filled(
        self, filler: FillIn, t_ns: int, problem: FrameProblem, solution: Solution, near: Neighbourhood
    ) -> tuple[FrameProblem, Solution, Neighbourhood]:
        """Solve again with the pose model joined with the local model; return the problem as well."""
        filled = filler.fill(problem, solution, t_ns)
        if filled is None:
            return problem, solution, near
        root, problem = (solution.rotation, solution.position_m), replace(problem, model=filled.model)
        solution = self._solve(problem, root, start=filled.start)
        return problem, solution, replace(near, model=filled.model, sigma_m=filled.sigma_m)

    def _solved_without(
        self, filler: FillIn, hidden: Bools, frame: MarkerFrame, estimate: Estimate
    ) -> tuple[FrameProblem, Solution]:
        """Solve an estimated frame without some markers, (M,), for a held-out check.

        Without the past of their limb, too: markers that are really missing have been so for a while.
        """
        s, state = self._settings, estimate.state
        left = replace(frame, valid=frame.valid & ~hidden, seen=frame.seen & ~hidden)
        root = (state.rotation, state.position_m)
        query = self.query(left, root, state.joints[1:].ravel())
        query = replace(query, pose_weight=np.where(filler.moved_by(hidden), 0.0, query.pose_weight))
        rows, distances = self._sample_search.nearest(query, s.neighbours)
        neighbours = neighbours_of(self._sample_search.examples, rows, distances, s.sharpness)
        context = MotionContext(None, self.history.last, frame.t_capture_ns, self._inflation(frame.t_capture_ns))
        used = neighbourhood(self._fitter, neighbours, context, s)
        observations = observations_from_markers(left, self.rig, self._marker_sigma_m(s), estimate.marker_m)
        problem = self._problem(used, RootPrior(*root, s.root_sigma_rad, s.root_sigma_m), observations)
        return problem, self._solve(problem, root)

    def _problem(self, near: Neighbourhood, prior: RootPrior, observations: Observations) -> FrameProblem:
        """Return what a frame is solved from."""
        markers = (self.subject.joint, self.subject.offset_m)
        return FrameProblem(self.subject.skeleton, markers, near.model, prior, observations, self._settings.robust_sigmas)

    def _marker_sigma_m(self, s: SolveSettings) -> Floats:
        """Return how far each marker may sit from where skeleton and offset put it, (M,) [m]."""
        return _by_torso(self.subject.markers.torso.tobytes(), s.torso_sigma_m, s.limb_sigma_m)

    def _inflation(self, t_ns: int) -> float:
        """Return a prediction's standard deviation over that of one 1/60 s ahead: of random accelerations it grows as t^1.5."""
        if self.history.last is None:
            return 1.0
        frames = (t_ns - self.history.last.t_ns) * 60e-9
        return float(min(max(frames, MIN_INFLATION), MAX_INFLATION) ** 1.5)


@lru_cache(maxsize=16)
def _by_torso(torso: bytes, of_torso: float, of_limbs: float) -> Floats:
    """Return one value for markers on the torso, bool (M,), another for the others, (M,)."""
    return read_only(np.where(np.frombuffer(torso, bool), of_torso, of_limbs))


@lru_cache(maxsize=16)
def _pose_weight(sigma_rad: float) -> Floats:
    """Return a query's weights of joint coordinates, (D,) [1/rad^2]."""
    return np.full(3 * (N_JOINTS - 1), sigma_rad**-2.0)


def _joint_angles(state: BodyState | None) -> Floats | None:
    """Return the joint coordinates of a pose, (D,) [rad]."""
    return None if state is None else state.joints[1:].ravel()
