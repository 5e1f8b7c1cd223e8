"""States and expected errors of poses beside the truth: how often a pose that is called good is not, and the other way round."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from config.arrays import Bools, Floats
from database.clips import find_runs
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.pose import Pose, TrackingState

FAR_MM = (50.0, 100.0, 200.0)  # mean errors of all joints that are counted
GOOD_MM, EPISODE_MM = 50.0, 100.0  # of a good pose; of one that must not be called `tracking`


@dataclass(frozen=True, slots=True)
class JudgedPoses:
    """N consecutive poses beside the truth.

    Attributes:
        states: tracking state of each pose.
        error_m: errors of the joints, (N, J) [m].
        expected_m: error that the poses expect, NaN where they expect none, (N, J) [m].
        fps: poses a second.
    """

    states: tuple[TrackingState, ...]
    error_m: Floats
    expected_m: Floats
    fps: float

    @property
    def tracking(self) -> Bools:
        """Which poses are called good, (N,)."""
        return np.array([state is TrackingState.TRACKING for state in self.states], bool)

    @property
    def mean_mm(self) -> Floats:
        """The mean error of all joints, (N,) [mm]."""
        return np.asarray(1e3 * self.error_m.mean(axis=1))

    @property
    def ratio(self) -> Floats:
        """Errors over the expected ones where there are any, (K, J)."""
        return np.asarray((self.error_m / self.expected_m)[np.isfinite(self.expected_m).all(axis=1)])

    def as_json(self) -> dict[str, Any]:
        """Return state and errors of every frame, and the figures of all."""
        expected_mm = 1e3 * self.expected_m.mean(axis=1)
        frames = {"states": list(self.states), "mean_mm": self.mean_mm.round(1), "expected_mm": expected_mm.round(1)}
        return frames | count_states([self]).as_json()


def compute_pose_joints(skeleton: Skeleton, poses: Sequence[Pose]) -> Floats:
    """Return the joints of poses, (N, J, 3) [m]."""
    rotvec, root_m = np.array([pose.rotvec for pose in poses]), np.array([pose.root_m for pose in poses])
    return compute_forward_kinematics(skeleton, rotvec, root_m)[1]


def judge_poses(skeleton: Skeleton, poses: Sequence[Pose], true_m: Floats, fps: float) -> JudgedPoses:
    """Return published poses beside the truth: true_m are the places of the joints, (N, J, 3) [m]."""
    error_m = np.linalg.norm(compute_pose_joints(skeleton, poses) - true_m, axis=2)
    expected_m = np.stack([pose.error_m if len(pose.error_m) else np.full(error_m.shape[1], np.nan) for pose in poses])
    return JudgedPoses(tuple(pose.state for pose in poses), error_m, expected_m, fps)


@dataclass(frozen=True, slots=True)
class StateFigures:
    """Figures that judge states and expected errors, over all frames of some runs.

    Shares are NaN of nothing.

    Attributes:
        tracking: share of the frames that are called good.
        far: share of those with a mean error above each of FAR_MM.
        refused: share of the good frames (GOOD_MM) that are not called tracking.
        within: share of the joints within one and two expected errors.
        episodes: spans of frames called good above EPISODE_MM.
        longest_s: the longest of them.
    """

    frames: int
    tracking: float
    far: tuple[float, ...]
    refused: float
    within: tuple[float, float]
    episodes: int
    longest_s: float

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        far = {f"tracking_over_{limit:g}_mm": share for limit, share in zip(FAR_MM, self.far, strict=True)}
        shares = {"tracking": self.tracking, "good_not_tracking": self.refused}
        within = {"within_1": self.within[0], "within_2": self.within[1]}
        return {**shares, **far, **within, "episodes": self.episodes, "longest_episode_s": self.longest_s}


def count_states(runs: Sequence[JudgedPoses]) -> StateFigures:
    """Return the figures of some runs together."""
    tracking = np.concatenate([run.tracking for run in runs])
    mean_mm = np.concatenate([run.mean_mm for run in runs])
    far = tuple(_share(mean_mm[tracking] > limit) for limit in FAR_MM)
    lasting_s = [(end - k) / run.fps for run in runs for k, end in find_runs(run.tracking & (run.mean_mm > EPISODE_MM))]
    ratio = np.concatenate([run.ratio for run in runs])
    shares = (_share(tracking), far, _share(~tracking[mean_mm < GOOD_MM]), (_share(ratio <= 1.0), _share(ratio <= 2.0)))
    return StateFigures(len(tracking), *shares, len(lasting_s), max(lasting_s, default=0.0))


def share_within(ratios: Sequence[Floats], sigmas: float) -> float:
    """Return the percentage of joints within so many expected errors, every clip counting alike; ratios: (N, J) of each."""
    return 100.0 * float(np.mean([(ratio <= sigmas).mean() for ratio in ratios]))


def states_table(parts: Iterable[tuple[str, Sequence[JudgedPoses]]]) -> list[str]:
    """Return the lines of a table of states, one for each part with its title; shares in percent."""
    over = "".join(f"{f'>{limit:g} mm':>9}" for limit in FAR_MM)
    within = f"{'in 1':>7}{'in 2':>7}"
    lines = [f"{'states':<32}{'frames':>8}{'tracking':>10}{over}{'refused':>9}{within}{'episodes':>10}{'longest':>9}"]
    for title, runs in parts:
        found = count_states(runs)
        far = "".join(f"{100.0 * share:>9.2f}" for share in found.far)
        within = "".join(f"{100.0 * share:>7.1f}" for share in found.within)
        shares = f"{100.0 * found.tracking:>10.1f}{far}{100.0 * found.refused:>9.2f}{within}"
        lines.append(f"{title:<32}{found.frames:>8}{shares}{found.episodes:>10}{found.longest_s:>8.2f}s")
    return lines


STATES_LEGEND = (
    "percent. > mm: of the frames called tracking, with a mean error of all joints above it; refused: of the good frames\n"
    f"(under {GOOD_MM:g} mm), those not called so; in 1, in 2: joints within one and two expected errors, 68 and 95 of\n"
    f"perfect ones; episodes: spans of tracking above {EPISODE_MM:g} mm"
)


def _share(flags: Bools) -> float:
    """Return the share that is true, NaN of nothing."""
    return float(flags.mean()) if flags.size else float("nan")
