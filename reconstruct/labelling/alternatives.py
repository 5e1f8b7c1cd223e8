"""Other labels for a solved frame: those that leave less energy, or that the examples agree with, replace the first.

Each frame tries the rivals of markers that are seen again, where the energy is high, and one pair of markers exchanged.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from capture.packets import MarkerFrame
from config.arrays import Floats, Ints
from reconstruct.estimator import Estimate, Estimator
from reconstruct.labelling.labeller import SECOND_OPINION, Estimating, Labeller, relabel_by_energy
from reconstruct.labelling.proposals import exchange_labels
from reconstruct.observations import monocular_rays

NEAREST_ROWS = 16  # neighbours that bound how likely these labels are
# Labels are exchanged where the nearest example is so much nearer, as a share and in squared sigmas.
LIKELIER_SHARE, LIKELIER_GAIN = 0.4, 20.0

Solved = tuple[MarkerFrame, Estimate]
MayBeExchanged = Callable[[int, int, int], bool]


class Alternatives:
    """Tries other labels on frames of one subject; estimate: solves a frame, None where its fit is implausible."""

    def __init__(self, labeller: Labeller, estimator: Estimator, estimate: Estimating, may_be_exchanged: MayBeExchanged) -> None:
        self._labeller, self._estimator, self._estimate = labeller, estimator, estimate
        self._may_be_exchanged = may_be_exchanged

    def best(self, frame: MarkerFrame, estimate: Estimate) -> tuple[MarkerFrame, Estimate, Solved | None]:
        """Return the frame with the labels of least energy, its estimate, and others that the examples are nearer to, if any.

        Those may be what the performer seldom does: the next frames have to agree.
        """
        rivals = self._labeller.rivals(frame)
        frame, estimate = relabel_by_energy(frame, estimate, rivals, self._estimate)
        pair = self._suspects(frame, estimate)
        if pair is None:
            return frame, estimate, None
        gains, asked = self._may_gain(estimate, pair), self._may_be_exchanged(frame.t_capture_ns, *pair)
        if not gains and not asked:
            return frame, estimate, None
        other_frame = exchange_labels(frame, *pair)
        other = self._estimate(other_frame, None, estimate.near) if gains else None
        if other is None or other.energy >= estimate.energy - SECOND_OPINION:
            other = self._restarted(frame, other_frame, estimate, pair) if asked else None
            return frame, estimate, None if other is None else (other_frame, other)
        self._labeller.carry_m[list(pair)] = 0.0
        return other_frame, other, None

    def _may_gain(self, estimate: Estimate, pair: tuple[int, int]) -> bool:
        """Return whether other labels of a pair may leave so much less energy: in most frames not even none would."""
        if estimate.energy <= SECOND_OPINION:  # no energy is less than 0
            return False
        return self._estimator.saved_without(estimate, np.array(pair)) > SECOND_OPINION

    def _suspects(self, frame: MarkerFrame, estimate: Estimate) -> tuple[int, int] | None:
        """Return two markers whose labels may be exchanged; for one camera all that lie at one depth count as near each other."""
        if frame.any_valid:
            return self._labeller.suspects(frame.valid, frame.point_m)
        rays = monocular_rays(frame, self._estimator.rig)
        distance = np.linalg.norm(estimate.state.position_m - rays.from_m, axis=1, keepdims=True)
        return self._labeller.suspects(rays.monocular, rays.from_m + distance * rays.direction)

    def _restarted(self, frame: MarkerFrame, other: MarkerFrame, estimate: Estimate, pair: tuple[int, int]) -> Estimate | None:
        """Solve other labels from the nearest example if that is much nearer than any to these: the past may be wrong too."""
        root = (estimate.state.rotation, estimate.state.position_m)
        if frame.any_valid and not self._may_be_likelier(frame, other, root, estimate.near.rows[:NEAREST_ROWS], pair):
            return None
        joints = self._likelier(frame, other, root)
        return None if joints is None else self._estimate(other, replace(estimate.state, joints=joints), None)

    def _may_be_likelier(
        self, frame: MarkerFrame, other: MarkerFrame, root: tuple[Floats, Floats], rows: Ints, pair: tuple[int, int]
    ) -> bool:
        """Return whether `_likelier` may find a pose, by bounds: in nearly all frames it need not be asked.

        rows: examples near these labels, (K,); pair: the two markers whose labels differ.
        """
        here = self._estimator.likeness.at_most(self._estimator.query(frame, root, None), rows)
        limit = min(LIKELIER_SHARE * here, here - LIKELIER_GAIN)
        return limit > 0.0 and self._estimator.likeness.any_within(self._estimator.query(other, root, None), limit, pair)

    def _likelier(self, frame: MarkerFrame, other: MarkerFrame, root: tuple[Floats, Floats]) -> Floats | None:
        """Return the joints (J, 3) of the example nearest to other labels if it is much nearer than any to these, else None."""
        here, _ = self._estimator.likeness.nearest(self._estimator.query(frame, root, None))
        there, pose = self._estimator.likeness.nearest(self._estimator.query(other, root, None))
        if there > LIKELIER_SHARE * here or here - there < LIKELIER_GAIN:
            return None
        return np.concatenate([np.zeros((1, 3)), pose.reshape(-1, 3)])

    def warm(self, frame: MarkerFrame, estimate: Estimate) -> None:
        """Compile the kernels of the likelihood of labels."""
        if self._labeller.shape is not None:
            self._labeller.shape.warm()
        root = (estimate.state.rotation, estimate.state.position_m)
        unlike = replace(frame, point_m=frame.point_m[::-1])
        self._may_be_likelier(unlike, frame, root, estimate.near.rows, (0, 1))
        self._likelier(frame, frame, root)
