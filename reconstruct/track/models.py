"""What a frame is solved from, before its markers: the registry of local models (`solve.model`)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from config.arrays import Floats
from config.errors import SettingsError
from config.settings import SolveSettings
from numerics.definite import compute_half_log_det
from reconstruct.history import BodyState
from reconstruct.models.local.gaussian import GaussianFitter
from reconstruct.models.local.model import DOFS, Neighbours
from reconstruct.models.local.pca import fit_local_pca
from reconstruct.search.examples import Examples
from reconstruct.solve.certainty import Minimum
from reconstruct.solve.root import RootPrior
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
VELOCITY_SHARE = 0.5  # weight of the newest difference in the velocity; the paper's own is 1, noisier


class FrameModel(Protocol):
    """Gives the prior of a frame before its markers, and the belief after.

    carries: whether the models span all joint coordinates and carry a covariance from frame to frame.
    """

    @property
    def carries(self) -> bool:
        """Whether the models span all joint coordinates and carry a covariance from frame to frame."""

    def begin(self, start: BodyState, neighbours: Neighbours) -> Prior:
        """Return the prior of the first frame."""

    def predict(self, belief: Belief, t_ns: int) -> Belief:
        """Return the belief predicted for a later time, before anything is seen of it."""

    def join(self, predicted: Belief, neighbours: Neighbours, tilt: Tilt | None, seconds: float) -> Prior:
        """Return the prior of a frame; tilt: the neighbours', where the root is not seen; seconds: since the frame before."""

    def conclude(self, prior: Prior, state: BodyState, minimum: Minimum) -> Belief:
        """Return the belief after the markers; state, minimum: the pose that was solved."""

    def surprise(self, prior: Prior, state: BodyState, minimum: Minimum) -> float:
        """Return -ln of the probability of the markers where they are."""


class GaussianModel:
    """The neighbours' Gaussians, joined with the belief that is carried."""

    carries = True

    def __init__(self, examples: Examples, covariance: Floats, settings: SolveSettings) -> None:
        self._fitter, self._settings = GaussianFitter(examples, covariance, settings), settings

    def begin(self, start: BodyState, neighbours: Neighbours) -> Prior:
        """Return the prior of the first frame: the neighbours' Gaussian."""
        gaussians = self._fitter.fit(neighbours, None)
        prior = join_neighbours(build_initial_belief(start, gaussians), gaussians, None, 0.0, self._settings)
        return replace(prior, predicted=replace(prior.predicted, near=neighbours))

    def predict(self, belief: Belief, t_ns: int) -> Belief:
        """Return the belief predicted for a later time, over a long step by how the neighbours went on as well."""
        predicted = predict(belief, t_ns, self._settings)
        if belief.near is None or (t_ns - belief.state.t_ns) * 1e-9 < LONG_STEP_S:
            return predicted
        found = self._fitter.fit_change(belief.near, (t_ns - belief.state.t_ns) * 1e-9)
        return predicted if found is None else predict_with_neighbours(belief, predicted, *found, self._settings)

    def join(self, predicted: Belief, neighbours: Neighbours, tilt: Tilt | None, seconds: float) -> Prior:
        """Return the prior of a frame."""
        gaussians = self._fitter.fit(neighbours, predicted.state.joints[1:].ravel())
        prior = join_neighbours(predicted, gaussians, tilt, seconds, self._settings)
        return replace(prior, predicted=replace(prior.predicted, near=neighbours))

    def conclude(self, prior: Prior, state: BodyState, minimum: Minimum) -> Belief:
        """Return the belief after the markers."""
        return update_belief(prior, state, minimum)

    def surprise(self, prior: Prior, state: BodyState, minimum: Minimum) -> float:
        """Return -ln of the probability of the markers where they are."""
        assert prior.told is not None and prior.carried is not None
        before, disagreement = update_by_pose(prior.carried, prior.told.pose, prior.certainty)
        return disagreement + compute_surprise(prior.predicted.state, before, state, minimum)


class PaperModel:
    """Chai & Hodgins 2005, eqs. 3 to 9: principal directions and smoothness; nothing is carried but pose and velocity."""

    carries = False

    def __init__(self, examples: Examples, covariance: Floats, settings: SolveSettings) -> None:
        self._gaussians, self._settings = GaussianFitter(examples, covariance, settings), settings
        self._deviation = np.repeat([PAPER_RAD, PAPER_ROOT_RAD, PAPER_ROOT_M], [DOFS, 3, 3])

    def begin(self, start: BodyState, neighbours: Neighbours) -> Prior:
        """Return the prior of the first frame, without smoothness."""
        gaussians = self._gaussians.fit(neighbours, None)
        believed = build_initial_belief(start, gaussians)
        return self._prior(replace(believed, state=start, velocity=np.zeros(N_POSE)), neighbours, None, 0.0)

    def join(self, predicted: Belief, neighbours: Neighbours, tilt: Tilt | None, seconds: float) -> Prior:
        """Return the prior of a frame."""
        return self._prior(predicted, neighbours, predicted.state.joints[1:].ravel(), seconds)

    def predict(self, belief: Belief, t_ns: int) -> Belief:
        """Return where constant velocity leads."""
        return predict(belief, t_ns, self._settings)

    def _prior(self, predicted: Belief, neighbours: Neighbours, joints: Floats | None, seconds: float) -> Prior:
        """Return the prior of a frame; joints: where constant velocity leads, (D,) [rad]."""
        s, state = self._settings, predicted.state
        inflation = min(max(seconds / FRAME_S, MIN_INFLATION), MAX_INFLATION) ** 1.5 if seconds > 0.0 else 1.0
        poses = neighbours.poses.astype(np.float64)
        model = fit_local_pca(
            poses,
            joints,
            dimensions=s.dimensions,
            smooth_sigma_rad=inflation * s.smooth_sigma_rad,
            prior_weight=s.prior_weight,
        )
        root = RootPrior(state.rotation, state.position_m, inflation * s.root_sigma_rad, inflation * s.root_sigma_m)
        return Prior(predicted, None, None, None, 0.0, model, root, seconds)

    def conclude(self, prior: Prior, state: BodyState, minimum: Minimum) -> Belief:
        """Return the solved pose and its velocity, as sure as ever."""
        before, share = prior.predicted, VELOCITY_SHARE if prior.seconds > 0.0 else 0.0
        gain = share / max(prior.seconds, FRAME_S)
        velocity = before.velocity + gain * compute_pose_change(before.state, state)
        deviation = np.append(self._deviation, np.full(N_POSE, PAPER_RATE))
        return replace(before, state=state, velocity=velocity, covariance=np.diag(deviation**2))

    def surprise(self, prior: Prior, state: BodyState, minimum: Minimum) -> float:
        """Return -ln of the probability of the markers where they are."""
        return minimum.energy + compute_half_log_det(minimum.hessian) - compute_half_log_det(minimum.terms.prior.precision)


# By `solve.model`: what makes a model from all examples and their covariance (D, D) [rad^2].
MODELS: dict[str, Callable[[Examples, Floats, SolveSettings], FrameModel]] = {"gaussian": GaussianModel, "paper": PaperModel}


def build_frame_model(settings: SolveSettings, examples: Examples, covariance: Floats) -> FrameModel:
    """Return the model that the settings name. Raises SettingsError: there is none of that name."""
    check_model(settings.model)
    return MODELS[settings.model](examples, covariance, settings)


def check_model(name: str) -> None:
    """Raise SettingsError unless there is a local model of this name."""
    if name not in MODELS:
        raise SettingsError(f"solve.model = {name!r}: no such local model; expected one of {', '.join(MODELS)}")
