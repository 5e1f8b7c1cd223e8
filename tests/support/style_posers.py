"""Styles nobody learned, and a stand-in for a Synthesizer: a T-pose, moved to where its handles are nearest to what is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from config.joints import N_JOINTS
from database.builtin.bodies import build_person_skeleton
from database.builtin.catalog import make_builtin_clip
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints
from reconstruct.models.style.features import N_FEATURES, build_training_poses
from reconstruct.models.style.model import Hyperparameters, Style
from reconstruct.models.style.synthesis.synthesizer import PastFeatures, Synthesis

T_POSE = charted_from_local(np.tile(np.eye(3), (N_JOINTS, 1, 1)))
LEARNED = Hyperparameters(1.0, 50.0, 1.0)


def plain_style(skeleton: Skeleton | None = None) -> Style:
    """Return a style of two T-poses, good for nothing but its shape."""
    two = np.zeros((2, N_FEATURES))
    two[:, : 3 * (N_JOINTS - 1)] = T_POSE[1:].ravel()
    one = Hyperparameters(1.0, 1.0, 1.0)
    modelled = np.arange(N_FEATURES) == 0
    return Style(
        "plain", skeleton or build_person_skeleton(),
        two, np.tile(T_POSE, (2, 1, 1)), modelled, two[0], np.ones(N_FEATURES), np.zeros((2, 2)),
        np.ones(1), np.arange(2), one, one, np.zeros(1),
    )  # fmt: skip


def style_of(motion: str, n_latent: int, n: int = 60) -> Style:
    """Return a style that is not learned: its latent space are the principal components of some poses of a motion."""
    clip = make_builtin_clip(motion, fps=60.0)
    poses = build_training_poses([clip])
    rows = np.linspace(0, len(poses) - 1, n).round().astype(np.int64)
    features = poses.features[rows]
    modelled = features.std(axis=0) > 1e-2
    U = np.linalg.svd((features - features.mean(axis=0))[:, modelled], full_matrices=False)[0]
    return Style(
        name=motion,
        skeleton=clip.skeleton,
        features=features,
        rotvec=poses.rotvec[rows],
        modelled=modelled,
        mean=features.mean(axis=0),
        spread=features.std(axis=0),
        latent=np.ascontiguousarray(U[:, :n_latent] * np.sqrt(n)),
        scale=np.ones(int(modelled.sum())),
        active=np.arange(0, n, 3),
        learned=LEARNED,
        annealed=Hyperparameters(1.0, 10.0, 0.5),
        objective=np.array([1.0]),
        times=poses.times.take(rows),
    )


@dataclass
class FakePoser:
    """Poses without bending a joint; remembers what it was asked."""

    styles: tuple[Style, ...] = field(default_factory=lambda: (plain_style(),))
    shares: tuple[float, ...] = (1.0,)
    calls: list[tuple[Synthesis | None, PastFeatures | None, tuple[float, ...]]] = field(default_factory=list)

    @property
    def skeleton(self) -> Skeleton:
        """Who is posed."""
        return self.styles[0].skeleton

    def with_shares(self, shares: Sequence[float]) -> Self:
        """Return the same with other shares; calls are remembered together."""
        return type(self)(self.styles, tuple(shares), self.calls)

    def synthesize(self, constraints: Constraints, start: Synthesis | None = None, past: PastFeatures | None = None) -> Synthesis:
        """Move the T-pose."""
        self.calls.append((start, past, self.shares))
        G, p = compute_forward_kinematics(self.skeleton, T_POSE, np.zeros(3))
        handles, seen = constraints.handles, constraints.observations
        at = p[handles.joint] + np.einsum("pij,pj->pi", G[handles.joint], handles.offset_m)
        asked = seen.root_info.any(axis=(1, 2))
        root_m = (seen.point_m - at)[asked].mean(axis=0) if asked.any() else constraints.root.position_m
        off_m = np.where(asked, np.linalg.norm(at + root_m - seen.point_m, axis=1), 0.0)
        reached = bool(np.all(off_m < 0.01))
        latent = tuple(np.zeros(2) for _ in self.styles)
        return Synthesis(T_POSE, root_m, latent, 0.0, 0.0, 0.2, off_m, np.zeros((2, len(asked))), reached, True)
