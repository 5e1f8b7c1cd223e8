"""The estimator: labelled markers of one frame in, the most probable pose out (Chai & Hodgins 2005, sections 5 and 6)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from calibration.subject import Subject
from capture.packets import MarkerFrame
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.kinematics import local_markers
from database.rotations import Floats
from reconstruct.certainty import Problem
from reconstruct.examples import Examples
from reconstruct.fill_in import Filler
from reconstruct.history import History, Moment
from reconstruct.likeness import Likeness
from reconstruct.limits import held, limits_of
from reconstruct.local_model import LocalModel
from reconstruct.nearest import Query
from reconstruct.neighbourhood import Course, Neighbourhood, NeighbourhoodLearner
from reconstruct.observations import Observations, observations_from_markers
from reconstruct.root import root_from_torso
from reconstruct.search import Search
from reconstruct.sight import lines_of_sight, root_in_sight
from reconstruct.solve import RootPrior, Solution, solve
from reconstruct.tilt import with_tilt

LIMIT_ROUNDS = 3  # a frame is solved at most, to keep all joints within their limits
SOME = 30_000  # examples that are enough to tell whether labels make sense
# Labels are exchanged where the nearest example is so much nearer, as a share and in squared sigmas.
LIKELIER_SHARE, LIKELIER_GAIN = 0.4, 20.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A solved pose and its markers in the world, (M, 3) [m].

    near: what was solved in; energy: what is left at the minimum; anew: not from the history; frame: what it was made of.
    """

    moment: Moment
    marker_m: Floats
    near: Neighbourhood
    energy: float
    anew: bool
    frame: MarkerFrame | None = None


class Estimator:
    """Solves frame after frame for one subject; keeps the last two poses.

    background: what the database's poses have in common, (D, D) [rad^2], in the share that is added to every local model; filler:
    guesses what is not seen, or None: then the local model alone does; level: the world's Y is up.
    """

    def __init__(
        self, subject: Subject, examples: Examples, rig: Rig, settings: SolveSettings, search: Search | None = None
    ) -> None:
        """Prepare; search: finds the nearest examples from frame to frame, exhaustively if None."""
        self.subject = subject
        self.examples = examples
        self.history = History()
        self.filler: Filler | None = None
        self.level = True
        self._search = Search(examples, None, None) if search is None else search
        self._likeness = Likeness(examples, SOME)
        some = self._likeness.examples
        self._some = (some, Search(some, None, None))
        self._limits = limits_of(some.pose)
        everything = np.cov(some.pose.T.astype(np.float64), bias=True)
        self._learner = NeighbourhoodLearner(examples, everything, settings)
        self.background = settings.background * everything
        self._view_background = settings.view_background * everything
        self._rig = rig
        self._settings = settings
        self._missing_settings = replace(
            settings,
            neighbour_motion=settings.missing_neighbour_motion,
            query_pose_sigma_rad=settings.missing_query_pose_sigma_rad,
        )
        self._view_settings = replace(
            settings,
            torso_sigma_m=settings.view_marker_sigma_m,
            limb_sigma_m=settings.view_marker_sigma_m,
            root_sigma_m=settings.view_root_sigma_m,
            background=settings.view_background,
            query_pose_sigma_rad=settings.view_query_pose_sigma_rad,
        )

    def predict(self, t_ns: int) -> Moment | None:
        """Give where the pose is expected at a time, None at the start."""
        return self.history.predict(t_ns, self._settings.velocity_gain)

    def local(self, joints: Floats) -> Floats:
        """Give the markers of a pose relative to the root, (M, 3) [m]."""
        markers = local_markers(self.subject.skeleton, joints[None], self.subject.joint, self.subject.offset_m)
        return np.asarray(markers[0])

    def world(self, moment: Moment) -> Floats:
        """Give the markers of a pose in the world, (M, 3) [m]."""
        return self.local(moment.joints) @ moment.rotation.T + moment.position_m

    def estimate(self, frame: MarkerFrame, start: Moment | None = None, near: Neighbourhood | None = None) -> Estimate | None:
        """Solve for the pose of one frame; None where even the root cannot be placed. The history is as it was until `accept`.

        start: where acquisition found the performer, in place of the history; near: an earlier neighbourhood to use again, as
        when the same frame is tried with other labels.
        """
        predicted = self.predict(frame.t_capture_ns) if start is None else None
        reference = start if predicted is None else predicted
        if reference is None:
            return None
        expected_root = (reference.rotation, reference.position_m)
        root = root_from_torso(frame, self.local(reference.joints), self.subject.markers.torso, expected_root)
        if root is None:
            return None
        root = self._root_in_sight(frame, root, reference)
        if start is not None and near is None:
            self._search.forget()
        solution, near = self._refined(frame, root, reference, predicted, near)
        moment = Moment(frame.t_capture_ns, solution.joints, solution.rotation, solution.position_m)
        return Estimate(moment, self.world(moment), near, float(solution.energies[-1]), start is not None, frame)

    def accept(self, estimate: Estimate) -> None:
        """Take an estimate into the history."""
        history = History() if estimate.anew else self.history
        self.history = history.then(estimate.moment, self._settings.velocity_share)
        if self.filler is not None:
            if estimate.anew:
                self.filler.lose()
            self.filler.accept(estimate.moment)
            self._rehearse(self.filler, estimate)

    def forget(self) -> None:
        """Start anew, as with the first frame."""
        self.history = History()
        if self.filler is not None:
            self.filler.forget()

    def _suited(self, frame: MarkerFrame) -> SolveSettings:
        """Give the settings for what is seen of a frame: all markers, not all of them, or lines of sight alone."""
        if not frame.valid.any():
            return self._view_settings
        return self._settings if frame.seen.any(axis=0).all() else self._missing_settings

    def _root_in_sight(self, frame: MarkerFrame, root: tuple[Floats, Floats], reference: Moment) -> tuple[Floats, Floats]:
        """Fit the root to the lines of sight of the torso where one camera alone sees it; else leave it as it is."""
        torso = self.subject.markers.torso
        if (frame.valid & torso).any():
            return root
        s, looser = self._suited(frame), self._looser(frame.t_capture_ns)
        sigmas = (looser * s.root_sigma_rad, looser * s.root_sigma_m)
        return root_in_sight(lines_of_sight(frame, self._rig), torso, self.local(reference.joints), root, sigmas)

    def _refined(
        self,
        frame: MarkerFrame,
        root: tuple[Floats, Floats],
        reference: Moment,
        predicted: Moment | None,
        known: Neighbourhood | None,
    ) -> tuple[Solution, Neighbourhood]:
        """Search, model and solve, more than once if the settings say so: a better root makes a better query."""
        s = self._suited(frame)
        pose = None if predicted is None else predicted.joints[1:].ravel()
        # Lines of sight alone leave the depth of limbs open: an acquired pose is then a better guess than none.
        hint = reference.joints[1:].ravel() if pose is None and not frame.valid.any() else pose
        model_sigma_m = np.where(self.subject.markers.torso, s.torso_sigma_m, s.limb_sigma_m)
        observations = observations_from_markers(frame, self._rig, model_sigma_m, self.world(reference))
        looser = self._looser(frame.t_capture_ns)
        sigmas = (looser * s.root_sigma_rad, looser * s.root_sigma_m)
        predicted_root = RootPrior(reference.rotation, reference.position_m, *sigmas)
        for _ in range(s.passes):
            near = self._neighbourhood(s, self._query(frame, root, hint), pose, frame.t_capture_ns) if known is None else known
            prior = predicted_root if predicted is None else self._upright(frame, predicted_root, near)
            solution = self._within_limits(near.model, root, prior, observations)
            root = (solution.rotation, solution.position_m)
        # Where one camera alone sees the performer, energies tell whether a pose is believed: they are left as they are.
        missing = frame.valid.any() and not frame.seen.any(axis=0).all()
        if known is None and predicted is not None and self.filler is not None and missing:
            return self._filled(self.filler, frame.t_capture_ns, solution, near, prior, observations)
        return solution, near

    def _upright(self, frame: MarkerFrame, prior: RootPrior, near: Neighbourhood) -> RootPrior:
        """Expect the root to be tilted as the neighbours' where markers of the torso are missing from both views."""
        lacking = frame.valid.any() and not frame.seen[:, self.subject.markers.torso].any(axis=0).all()
        if self.examples.up is None or not self.level or not lacking:
            return prior
        return with_tilt(prior, self.examples.up[near.rows].astype(np.float64), near.weights)

    def _filled(
        self,
        filler: Filler,
        t_ns: int,
        solution: Solution,
        near: Neighbourhood,
        prior: RootPrior,
        observations: Observations,
    ) -> tuple[Solution, Neighbourhood]:
        """Solve again with the guess of what is missing in the local model."""
        filled = filler.fill(self._problem(near.model, prior, observations), solution, t_ns)
        if filled is None:
            return solution, near
        root = (solution.rotation, solution.position_m)
        solution = self._within_limits(filled.model, root, prior, observations, filled.start)
        return solution, replace(near, model=filled.model, sigma_m=filled.sigma_m)

    def _rehearse(self, filler: Filler, estimate: Estimate) -> None:
        """Hide markers that are seen, if it is time, and let the filler be judged by them.

        Without the past of their limb: markers that are really missing have been so for a while.
        """
        frame = estimate.frame
        hidden = None if frame is None else filler.rehearsed(frame)
        if frame is None or hidden is None:
            return
        s, moment = self._settings, estimate.moment
        frame_left = replace(frame, valid=frame.valid & ~hidden, seen=frame.seen & ~hidden)
        root = (moment.rotation, moment.position_m)
        query = self._query(frame_left, root, moment.joints[1:].ravel())
        query = replace(query, pose_weight=np.where(filler.moved_by(hidden), 0.0, query.pose_weight))
        near = self._neighbourhood(s, query, None, frame.t_capture_ns, self._some)
        sigma_m = np.where(self.subject.markers.torso, s.torso_sigma_m, s.limb_sigma_m)
        observations = observations_from_markers(frame_left, self._rig, sigma_m, estimate.marker_m)
        prior = RootPrior(*root, s.root_sigma_rad, s.root_sigma_m)
        solution = self._within_limits(near.model, root, prior, observations)
        filler.judge(self._problem(near.model, prior, observations), solution, frame, hidden)

    def _problem(self, model: LocalModel, prior: RootPrior, observations: Observations) -> Problem:
        """Put together what a frame is solved with."""
        markers = (self.subject.joint, self.subject.offset_m)
        return Problem(self.subject.skeleton, markers, model, prior, observations, self._settings.robust_sigmas)

    def _within_limits(
        self,
        model: LocalModel,
        root: tuple[Floats, Floats],
        prior: RootPrior,
        observations: Observations,
        start: Floats | None = None,
    ) -> Solution:
        """Solve, and again with the joints held that went where the database's never go."""
        s = self._settings
        markers = (self.subject.joint, self.subject.offset_m)
        for _ in range(LIMIT_ROUNDS):
            solution = solve(
                self.subject.skeleton,
                markers,
                model,
                root,
                prior,
                observations,
                start=start,
                robust_sigmas=s.robust_sigmas,
                max_iterations=s.max_iterations,
            )
            stiffer = held(model, solution.joints, self._limits) if s.limits and s.model != "paper" else None
            if stiffer is None:
                break
            # The minimum with some joints held is near the one without.
            model, root = stiffer, (solution.rotation, solution.position_m)
            start = (solution.joints - model.mean)[1:].ravel()
        return solution

    def may_be_likelier(
        self,
        frame: MarkerFrame,
        other: MarkerFrame,
        root: tuple[Floats, Floats],
        rows: NDArray[np.int64],
        exchanged: tuple[int, int],
    ) -> bool:
        """Tell whether `likelier` may find other labels likelier, the quick way: in nearly all frames it need not be asked.

        rows: examples near these labels, (K,); exchanged: the two markers whose labels differ.
        """
        here = self._likeness.at_most(self._query(frame, root, None), rows)
        limit = min(LIKELIER_SHARE * here, here - LIKELIER_GAIN)
        return limit > 0.0 and self._likeness.any_within(self._query(other, root, None), limit, exchanged)

    def likelier(self, frame: MarkerFrame, other: MarkerFrame, root: tuple[Floats, Floats]) -> Floats | None:
        """Give the joints (J, 3) of the example nearest to other labels if it is much nearer than any to these, else None."""
        here, _ = self._likeness.nearest(self._query(frame, root, None))
        there, pose = self._likeness.nearest(self._query(other, root, None))
        if there > LIKELIER_SHARE * here or here - there < LIKELIER_GAIN:
            return None
        return np.concatenate([np.zeros((1, 3)), pose.reshape(-1, 3)])

    def _query(self, frame: MarkerFrame, root: tuple[Floats, Floats], pose: Floats | None) -> Query:
        """Give the query of a frame (eq. 2): markers at the default root, lines of sight of those that one camera alone sees."""
        R, t = root
        sigma2 = np.trace(frame.covariance_m2, axis1=1, axis2=2) / 3.0 + self._settings.query_marker_sigma_m**2
        weight = np.where(frame.valid, 1.0 / sigma2, 0.0)
        pose_weight = np.full(3 * (N_JOINTS - 1), self._suited(frame).query_pose_sigma_rad ** -2.0)
        sight = lines_of_sight(frame, self._rig)
        if not sight.alone.any():
            return Query((frame.point_m - t) @ R, weight, pose, pose_weight)
        far = np.linalg.norm(sight.from_m - t, axis=1)
        across2 = (far * sight.sigma_rad) ** 2 + self._settings.query_marker_sigma_m**2
        point = np.where(sight.alone[:, None], sight.from_m, frame.point_m)
        return Query((point - t) @ R, np.where(sight.alone, 1.0 / across2, weight), pose, pose_weight, sight.direction @ R)

    def _looser(self, t_ns: int) -> float:
        """Give how much less a prediction says than one 1/60 s ahead: errors of a random acceleration grow with time^1.5."""
        if self.history.last is None:
            return 1.0
        return float(np.clip((t_ns - self.history.last.t_ns) * 60e-9, 0.25, 10.0) ** 1.5)

    def _neighbourhood(
        self, s: SolveSettings, query: Query, carried: Floats | None, t_ns: int, among: tuple[Examples, Search] | None = None
    ) -> Neighbourhood:
        """Learn the local model from the nearest examples; carried: as in `Course`; among: other examples and their search."""
        table, search = (self.examples, self._search) if among is None else among
        background = self._view_background if s is self._view_settings else self.background
        course = Course(carried, self.history.last, t_ns, self._looser(t_ns), s.neighbour_motion)
        return self._learner.learned(table, search.nearest(query, s.neighbours), course, background)
