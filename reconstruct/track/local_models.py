"""What a frame is solved from, before its markers: the registry of local models (`solve.model`)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from config.arrays import Floats
from config.errors import SettingsError
from config.settings import SolveSettings
from numerics.definite import compute_half_log_det
from reconstruct.body_state import BodyState
from reconstruct.models.local.gaussian import GaussianFitter
from reconstruct.models.local.model import DOFS, Neighbours
from reconstruct.models.local.pca import fit_local_pca
from reconstruct.search.examples import Examples
from reconstruct.solve.certainty import Minimum
from reconstruct.solve.root import Root, RootPrior
from reconstruct.track.belief import (
    N_POSE,
    Belief,
    Prior,
    build_initial_belief,
    compute_pose_change,
    compute_surprise,
    join_neighbours,
    predict,
    predict_with_neighbours,
    update_belief,
    update_by_pose,
)
from reconstruct.track.tilt import Tilt

FRAME_S = 1.0 / 60.0
LONG_STEP_S = 0.03  # over a shorter step the velocity says all
MIN_INFLATION, MAX_INFLATION = 0.25, 10.0
PAPER_RAD, PAPER_ROOT_RAD, PAPER_ROOT_M = 0.1, 0.03, 0.02  # how sure a pose of the paper's model counts as
PAPER_RATE = 1.0  # and its velocity, a second
ALPHA, BETA = 0.8, 0.2  # weights of control and smoothness (Chai & Hodgins 2005, section 6)
MOST_NEIGHBOURS, MOST_DIMENSIONS = 200, 7  # among which K and B are chosen
SQUARED = 1e3  # standard deviations below which errors count squared: no marker is so far off
FOREVER_S = 1e6
SURE_RAD, SURE_M = 1e-4, 1e-4  # of the root, which is fitted to the torso and not solved for again


class GaussianModel:
    """The neighbours' Gaussians, joined with the belief that is carried.

    Attributes:
        settings: those that frames are solved by.
        carries: whether the models span all joint coordinates and carry a covariance from frame to frame.
    """

    carries = True

    def __init__(self, examples: Examples, covariance: Floats, settings: SolveSettings) -> None:
        self._fitter, self.settings = GaussianFitter(examples, covariance, settings), settings

    def begin(self, start: BodyState, neighbours: Neighbours) -> Prior:
        """Return the prior of the first frame: the neighbours' Gaussian."""
        gaussians = self._fitter.fit(neighbours, None)
        prior = join_neighbours(build_initial_belief(start, gaussians), gaussians, None, 0.0, self.settings)
        return replace(prior, predicted=replace(prior.predicted, near=neighbours))

    def predict(self, belief: Belief, t_ns: int) -> Belief:
        """Return the belief predicted for a later time, over a long step by how the neighbours went on as well."""
        predicted = predict(belief, t_ns, self.settings)
        if belief.near is None or (t_ns - belief.state.t_ns) * 1e-9 < LONG_STEP_S:
            return predicted
        found = self._fitter.fit_change(belief.near, (t_ns - belief.state.t_ns) * 1e-9)
        return predicted if found is None else predict_with_neighbours(belief, predicted, found[0], found[1], self.settings)

    def join(self, predicted: Belief, neighbours: Neighbours, tilt: Tilt | None, seconds: float, root: Root) -> Prior:
        """Return the prior of a frame.

        Args:
            predicted: belief predicted for its time.
            neighbours: poses nearest to it.
            tilt: the neighbours', where the root is not seen.
            seconds: since the frame before.
            root: fitted to the torso's markers; here it is predicted, and follows from its markers later.
        """
        gaussians = self._fitter.fit(neighbours, predicted.state.joints[1:].ravel())
        prior = join_neighbours(predicted, gaussians, tilt, seconds, self.settings)
        return replace(prior, predicted=replace(prior.predicted, near=neighbours))

    def conclude(self, prior: Prior, state: BodyState, minimum: Minimum) -> Belief:
        """Return the belief after the markers.

        Args:
            prior: of the frame.
            state: the pose that was solved.
            minimum: the same, as a minimum of the energy.
        """
        return update_belief(prior, state, minimum)

    def surprise(self, prior: Prior, state: BodyState, minimum: Minimum) -> float:
        """Return -ln of the probability of the markers where they are; arguments as of `conclude`."""
        assert prior.told is not None and prior.carried is not None
        before, disagreement = update_by_pose(prior.carried, prior.told.pose, prior.certainty)
        return disagreement + compute_surprise(prior.predicted.state, before, state, minimum)


@dataclass(frozen=True, slots=True)
class PaperUnits:
    """Units in which the paper's weights count: of markers [m] and of joint coordinates [rad]. It does not say which."""

    marker_m: float
    joint_rad: float


class PaperModel(GaussianModel):
    """The paper's own synthesis (Chai & Hodgins 2005, eqs. 2 to 9): squared errors, nothing carried but the last two poses.

        w' U' L^-1 U w + alpha |f(p + U w) - c|^2 + beta |p + U w - 2 q1 + q2|^2

    from the nearest example, with the root that fits the torso; K and B are those of the least leave-one-out error. In the query
    alpha weighs the markers and 1 - alpha the pose. Neighbours come from our search, which misses none.
    """

    carries = False

    def __init__(self, examples: Examples, covariance: Floats, settings: SolveSettings, units: PaperUnits) -> None:
        super().__init__(examples, covariance, settings)
        self.settings = replace(
            settings,
            neighbours=MOST_NEIGHBOURS,
            query_marker_sigma_m=units.marker_m * ALPHA**-0.5,
            query_pose_sigma_rad=units.joint_rad * (1.0 - ALPHA) ** -0.5,
            marker_sigma_m=units.marker_m * ALPHA**-0.5,
            robust_sigmas=SQUARED,
            joint_velocity_s=FOREVER_S,
            root_velocity_s=FOREVER_S,
        )
        self._smooth_rad = units.joint_rad * BETA**-0.5
        self._deviation = np.repeat([PAPER_RAD, PAPER_ROOT_RAD, PAPER_ROOT_M], [DOFS, 3, 3])

    def begin(self, start: BodyState, neighbours: Neighbours) -> Prior:
        """Return the prior of the first frame, without smoothness."""
        believed = build_initial_belief(start, self._fitter.fit(neighbours, None))
        still = replace(believed, state=start, velocity=np.zeros(N_POSE), acceleration=np.zeros(N_POSE))
        return self._prior(still, neighbours, None, 0.0, (start.rotation, start.position_m))

    def join(self, predicted: Belief, neighbours: Neighbours, tilt: Tilt | None, seconds: float, root: Root) -> Prior:
        """Return the prior of a frame."""
        return self._prior(predicted, neighbours, predicted.state.joints[1:].ravel(), seconds, root)

    def predict(self, belief: Belief, t_ns: int) -> Belief:
        """Return where constant velocity leads (eq. 8)."""
        return predict(belief, t_ns, self.settings)

    def _prior(self, predicted: Belief, near: Neighbours, joints: Floats | None, seconds: float, root: Root) -> Prior:
        """Return the prior of a frame; joints: where constant velocity leads, (D,) [rad]."""
        inflation = min(max(seconds / FRAME_S, MIN_INFLATION), MAX_INFLATION) ** 1.5 if seconds > 0.0 else 1.0
        poses = near.poses.astype(np.float64)
        model = fit_local_pca(poses, joints, dimensions=MOST_DIMENSIONS, smooth_sigma_rad=inflation * self._smooth_rad)
        nearest = np.einsum("jab,ja->b", model.directions[1:], poses[0].reshape(-1, 3) - model.mean[1:])
        fitted = RootPrior(root[0], root[1], SURE_RAD, SURE_M)
        return Prior(predicted, None, None, None, 0.0, model, fitted, seconds, nearest)

    def conclude(self, prior: Prior, state: BodyState, minimum: Minimum) -> Belief:
        """Return the solved pose and its velocity, as sure as ever."""
        before = prior.predicted
        gain = 1.0 / prior.seconds if prior.seconds > 0.0 else 0.0
        velocity = before.velocity + gain * compute_pose_change(before.state, state)
        deviation = np.append(self._deviation, np.full(N_POSE, PAPER_RATE))
        return replace(before, state=state, velocity=velocity, covariance=np.diag(deviation**2))

    def surprise(self, prior: Prior, state: BodyState, minimum: Minimum) -> float:
        """Return -ln of the probability of the markers where they are."""
        return minimum.energy + compute_half_log_det(minimum.hessian) - compute_half_log_det(minimum.terms.prior.precision)


# By `solve.model`: what makes a model from all examples and their covariance (D, D) [rad^2].
MODELS: dict[str, Callable[[Examples, Floats, SolveSettings], GaussianModel]] = {
    "gaussian": GaussianModel,
    "paper": partial(PaperModel, units=PaperUnits(0.01, math.radians(1.0))),  # centimetres and degrees
    "paper-si": partial(PaperModel, units=PaperUnits(1.0, 1.0)),
}


def build_frame_model(settings: SolveSettings, examples: Examples, covariance: Floats) -> GaussianModel:
    """Return the model that the settings name. Raises SettingsError: there is none of that name."""
    check_model(settings.model)
    return MODELS[settings.model](examples, covariance, settings)


def check_model(name: str) -> None:
    """Raise SettingsError unless there is a local model of this name."""
    if name not in MODELS:
        raise SettingsError(f"solve.model = {name!r}: no such local model; expected one of {', '.join(MODELS)}")
