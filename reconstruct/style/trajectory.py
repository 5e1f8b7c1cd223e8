"""Motion from the paths of a few points: the likeliest poses of a style in sequence (Grochow et al. 2004, section 7.2).

Sought is the least of the sum over the frames of L_IK(x_n, y_n), with the velocities and accelerations in y_n, under the
constraints of each. Frame by frame from the first this goes astray: what one pose lacks the next ones take for movement. Hence
two steps over the whole motion:

1. Every frame is posed on its own, and going on from its neighbours. Of these candidates the path is taken with the least
   energies and the least movement from frame to frame (Viterbi).
2. Sweeps forwards and backwards pose each frame again, with velocity and acceleration from the frames before, and drawn to where
   those of the frames after want it (`trajectory_pull`): coordinate descent on the sum.

Frames are features.STEP_S apart; `trajectory_rate` gives the motion at other rates.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, Self

import numpy as np

from config.joints import N_JOINTS
from database.kinematics import forward
from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.style.constraints import Constraints, FixedJoints
from reconstruct.style.features import static_features
from reconstruct.style.model import Style
from reconstruct.style.synthesis import Past, Synthesis
from reconstruct.style.synthesis_misses import misses, others_met
from reconstruct.style.synthesis_problem import asked_of
from reconstruct.style.trajectory_path import best_path
from reconstruct.style.trajectory_pull import Expectations, Expected, pull, root_pull

SWEEPS = 4


class Poser(Protocol):
    """What finds single poses: a Synthesizer."""

    styles: tuple[Style, ...]
    shares: tuple[float, ...]
    skeleton: Skeleton
    up: Floats

    def synthesize(self, constraints: Constraints, start: Synthesis | None = None, past: Past | None = None) -> Synthesis:
        """Find the pose."""
        ...

    def with_shares(self, shares: Sequence[float]) -> Self:
        """Give the same with other shares of the styles."""
        ...


def follow(
    poser: Poser,
    asked: Sequence[Constraints],
    shares: Floats | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Synthesis, ...]:
    """Find the motion that does what is asked of each of N frames, STEP_S apart.

    shares: of the styles in each frame, (N, S), scaled to a sum of 1; None: the poser's own.
    """
    work = _Work(poser, asked, shares, progress)
    poses = best_path(work.candidates(), poser.styles, [each.shares for each in work.posers])
    for number in range(SWEEPS):
        poses = work.swept(poses, backwards=number % 2 == 1)
    return tuple(_judged(poser.skeleton, pose, constraints) for pose, constraints in zip(poses, asked, strict=True))


class _Work:
    """The frames of a motion, who poses each, and how much is done."""

    def __init__(
        self, poser: Poser, asked: Sequence[Constraints], shares: Floats | None, progress: Callable[[int, int], None] | None
    ) -> None:
        self.asked, self.up, self.progress = asked, poser.up, progress
        self.posers = [poser] * len(asked) if shares is None else _with_shares(poser, shares)
        self.expectations = Expectations(poser.styles)
        self.done, self.total = 0, (3 + SWEEPS) * len(asked) - 2

    def candidates(self) -> list[list[Synthesis]]:
        """Give for every frame its pose on its own, and those that go on from its neighbours'."""
        alone = [self._pose(n, self.asked[n]) for n in range(len(self.asked))]
        found = [[pose] for pose in alone]
        for n in range(1, len(alone)):
            found[n].append(self._pose(n, self.asked[n], alone[n - 1]))
            found[n - 1].append(self._pose(n - 1, self.asked[n - 1], alone[n]))
        return found

    def swept(self, poses: Sequence[Synthesis], backwards: bool) -> list[Synthesis]:
        """Pose every frame again, given the others."""
        result = list(poses)
        static = static_features(np.array([pose.rotvec for pose in result]).reshape(-1, N_JOINTS, 3), self.up)
        expected = [self._expected(n, pose) for n, pose in enumerate(result)]
        for n in reversed(range(len(result))) if backwards else range(len(result)):
            past = Past(static[n - 1], static[n - 2]) if n >= 2 else None
            result[n] = self._pose(n, self._drawn(n, result, static, expected), result[n], past)
            static[n] = static_features(result[n].rotvec, self.up)
            expected[n] = self._expected(n, result[n])
        return result

    def _drawn(self, n: int, poses: Sequence[Synthesis], static: Floats, expected: Sequence[Expected]) -> Constraints:
        """Give what is asked of a frame with what its neighbours say of it."""
        asked, own = self.asked[n], self.asked[n].fixed
        drawn = pull(n, static, expected, own.joint)
        fixed = FixedJoints(
            np.concatenate([own.joint, drawn.joint]),
            np.concatenate([own.rotvec, drawn.rotvec]),
            np.concatenate([own.sigma_rad, drawn.sigma_rad]),
        )
        return replace(asked, fixed=fixed, root=root_pull(n, poses, asked.root))

    def _expected(self, n: int, pose: Synthesis) -> Expected:
        """Give the velocity and acceleration that go with a pose's place in the latent space."""
        return self.expectations.at(pose.latent, self.posers[n].shares)

    def _pose(self, n: int, constraints: Constraints, start: Synthesis | None = None, past: Past | None = None) -> Synthesis:
        """Pose one frame."""
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)
        return self.posers[n].synthesize(constraints, start, past)


def _judged(skeleton: Skeleton, pose: Synthesis, constraints: Constraints) -> Synthesis:
    """Say of a pose how well it does what was asked, without what its neighbours said."""
    asked = asked_of(constraints)
    G, p = forward(skeleton, pose.rotvec, pose.root_m)
    joint, offset_m = asked[0][:2]
    off_m, off_px, met = misses(p[joint] + np.einsum("pij,pj->pi", G[joint], offset_m), asked[0])
    met = met and others_met(G, pose.rotvec, constraints, asked)
    return replace(pose, off_m=off_m, off_px=off_px, reached=met)


def _with_shares(poser: Poser, shares: Floats) -> list[Poser]:
    """Give the poser of every frame; neighbours with the same shares have the same."""
    posers: list[Poser] = []
    for n, row in enumerate(shares):
        same = n > 0 and np.array_equal(row, shares[n - 1])
        posers.append(posers[-1] if same else poser.with_shares(tuple(row.tolist())))
    return posers
