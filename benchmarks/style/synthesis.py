"""What a synthesis costs, cold and warm, at several sizes of the active set, and what scipy's L-BFGS needs for the same energy.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.style.synthesis --motion DIR [--poses N] [--active M...] [--learning] [--json F]

A style learned from walks is asked, by wrists and ankles, for poses of other walks. Cold: nothing is known but the four points.
Warm: frames at 30 Hz, each from the one before, without and with velocity and acceleration. The peer has the same energy in numpy
(`benchmarks/style/plain_energy.py`) and starts cold from the active pose that fits the points best, at the learned level alone;
warm at our pose of the frame before. Minima are compared by their energy. `--learning` also times learning, by both methods.
Times are processor time. The gradient of L_IK is compared with central differences; for that of L_GP see
`benchmarks.style.objective`.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.report import CLOCK_NS, parser_of, show, write_json
from benchmarks.style.plain_energy import PlainEnergy, Targets, state
from benchmarks.style.walks import HELD_OUT, gradient_errors, walking
from config.arrays import Floats
from database.clips import Clip
from database.files.resample import resample
from database.geometry.kinematics import forward
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import RATE_HZ, TrainingPoses, static_features
from reconstruct.models.style.learn.active_set import active_set
from reconstruct.models.style.learn.train import LearnOptions, learn
from reconstruct.models.style.model import Style, annealing_evaluators
from reconstruct.models.style.synthesis.arrays import LatentDerivatives, LikelihoodModel, StaticDerivatives
from reconstruct.models.style.synthesis.constraints import points
from reconstruct.models.style.synthesis.likelihood import ENERGY, _likelihood
from reconstruct.models.style.synthesis.problem import likelihood_model
from reconstruct.models.style.synthesis.synthesizer import PastFeatures, Synthesis, Synthesizer
from tools.evaluate.posing.cases import held_out_poses, pose_query, read_ranges
from tools.evaluate.posing.peers import place

KIND, SIGMA_M = "4 points", 0.01
SAME = 1e-2  # energies, in nats, that count as one minimum


def gradient_error(style: Style, poses: Floats) -> float:
    """Return the worst relative error of the kernel's gradients of L_IK by x and y, against central differences, at real
    poses.
    """
    worst, rng = 0.0, np.random.default_rng(1)
    for level in annealing_evaluators(style):
        model = likelihood_model(style, level, moving=False)
        for pose in poses:
            x, s = level.latent[rng.integers(len(level.latent))] + 0.1 * rng.normal(size=style.n_latent), static_features(pose)

            def value(z: Floats, q: int = style.n_latent, model: LikelihoodModel = model) -> tuple[float, Floats]:
                n_static, summary = len(z) - q, np.zeros(2)
                by_x = LatentDerivatives(np.zeros(q), np.zeros((q, q)), np.zeros(q))
                by_s = StaticDerivatives(np.zeros(n_static), np.zeros(n_static), np.zeros((n_static, q)))
                _likelihood(z[:q].copy(), z[q:].copy(), model, 1.0, by_x, by_s, summary)
                return float(summary[ENERGY]), np.concatenate([by_x.gradient, by_s.gradient])

            z = np.concatenate([x, s])
            gradient = value(z)[1]
            for _ in range(10):
                direction = rng.normal(size=len(z))
                direction *= rng.random(len(z)) < 0.3
                step = 1e-4
                ends = [value(z + k * step * direction)[0] for k in (-2, -1, 1, 2)]
                error = gradient_errors((ends[0], ends[1], ends[2], ends[3]), step, float(gradient @ direction))
                worst = max(worst, error / float(np.linalg.norm(gradient) * np.linalg.norm(direction)))
    return worst


def targets_of(joint_m: Floats) -> Targets:
    """Return the four points of a pose."""
    query = pose_query(KIND, joint_m)
    assert query.target_m is not None
    return Targets(query.joint, query.target_m, SIGMA_M)


def cold(synthesizer: Synthesizer, style: Style, skeleton: Skeleton, joint_m: Floats) -> dict[str, float]:
    """Pose everything without a start; the peer starts at the active pose that fits best."""
    plain = PlainEnergy(style, annealing_evaluators(style)[2], skeleton)
    rows = []
    for each in joint_m:
        targets = targets_of(each)
        constraints = points(targets.joint, np.zeros((len(targets.joint), 3)), targets.target_m, targets.sigma_m)
        begun = CLOCK_NS()
        found = synthesizer.synthesize(constraints)
        ours_ns, begun = CLOCK_NS() - begun, 0
        at = state(found.rotvec, found.root_m, found.latent[0])
        apart = abs(plain.value(at, targets)[0] - found.energy)
        placed = place(skeleton, style.rotvec[style.active], pose_query(KIND, each))
        row = int(placed.error_m.argmin())
        start = state(placed.rotvec[row], placed.root_m[row], style.latent[style.active[row]])
        begun = CLOCK_NS()
        _, energy = plain.minimum(start, targets)
        rows.append((ours_ns, CLOCK_NS() - begun, found.converged, found.reached, found.energy - energy, apart))
    return _figures(np.array(rows, float))


def warm(synthesizer: Synthesizer, style: Style, skeleton: Skeleton, clips: list[Clip], with_past: bool) -> dict[str, float]:
    """Pose the frames of walks, each from the one before; the peer starts there, too, where velocities do not count."""
    plain = PlainEnergy(style, annealing_evaluators(style)[2], skeleton)
    rows = []
    for clip in clips:
        even = resample(clip, RATE_HZ)
        joint_m = forward(skeleton, even.rotvec, even.root_m)[1]
        before: list[Synthesis] = []
        for each in joint_m:
            targets = targets_of(each)
            constraints = points(targets.joint, np.zeros((len(targets.joint), 3)), targets.target_m, targets.sigma_m)
            start = before[-1] if before else None
            s = [static_features(done.rotvec) for done in before[-2:]]
            past = PastFeatures(s[1], s[0]) if with_past and len(s) == 2 else None
            begun = CLOCK_NS()
            found = synthesizer.synthesize(constraints, start, past)
            ours_ns, peer_ns, lower, apart = CLOCK_NS() - begun, np.nan, np.nan, np.nan
            if start is not None and not with_past:
                apart = abs(plain.value(state(found.rotvec, found.root_m, found.latent[0]), targets)[0] - found.energy)
                begun = CLOCK_NS()
                _, energy = plain.minimum(state(start.rotvec, start.root_m, start.latent[0]), targets)
                peer_ns, lower = CLOCK_NS() - begun, found.energy - energy
            if len(before) > 1:
                rows.append((ours_ns, peer_ns, found.converged, found.reached, lower, apart))
            before.append(found)
    return _figures(np.array(rows, float))


def _figures(rows: Floats) -> dict[str, float]:
    """Return what is printed of syntheses: times [ns], whether converged and reached, energy less the peer's, errors of
    energy.
    """
    figures = {
        "syntheses": float(len(rows)),
        "ours_ms": 1e-6 * float(np.median(rows[:, 0])),
        "ours_a_second": 1e9 / float(np.mean(rows[:, 0])),
        "converged": float(rows[:, 2].mean()),
        "reached": float(rows[:, 3].mean()),
    }
    if np.isfinite(rows[:, 1]).all():
        figures |= {
            "plain_ms": 1e-6 * float(np.median(rows[:, 1])),
            "plain_a_second": 1e9 / float(np.mean(rows[:, 1])),
            "ratio": float(np.median(rows[:, 1] / rows[:, 0])),
            "ours_lower": float((rows[:, 4] < -SAME).mean()),
            "plain_lower": float((rows[:, 4] > SAME).mean()),
            "energies_differ_by": float(rows[:, 5].max()),
        }
    return figures


def learning(poses: TrainingPoses, skeleton: Skeleton) -> dict[str, float]:
    """Time learning with M = 100 by both methods."""
    found = {}
    methods: tuple[Literal["direct", "heuristic"], ...] = ("direct", "heuristic")
    for method in methods:
        begun = time.process_time()
        style = learn(poses, skeleton, method, LearnOptions(method=method))
        found[f"{method}_s"] = time.process_time() - begun
        found[f"{method}_L_GP"] = float(style.objective[-1])
    return found


def main(given: Sequence[str] | None = None) -> int:
    """Run all and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="unpacked CMU motions")
    parser.add_argument("--poses", type=int, default=60, help="poses asked for cold (default 60)")
    parser.add_argument("--active", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--learning", action="store_true", help="also time learning of 500 poses")
    options = parser.parse_args(given)
    skeleton, training = walking(options.motion, 500)
    clips = read_ranges(HELD_OUT, options.motion)
    true = held_out_poses(clips, options.poses)
    learned = learn(training, skeleton, "walking")
    found: dict[str, dict[str, float]] = {}

    def add(name: str, figures: dict[str, float]) -> None:
        found[name] = figures
        show(name, figures)

    add("gradient of L_IK", {"worst_relative_error": gradient_error(learned, true.rotvec[::6])})
    for m in options.active:
        style = replace(learned, active=active_set(learned.latent, learned.learned, m))
        synthesizer = Synthesizer([style])
        cold(synthesizer, style, skeleton, true.joint_m[:2])  # compiles
        name = f"M={len(style.active)}, Q={style.n_latent}"
        add(f"cold, {name}", cold(synthesizer, style, skeleton, true.joint_m))
        add(f"warm, {name}", warm(synthesizer, style, skeleton, clips, with_past=False))
        add(f"warm with the past, {name}", warm(synthesizer, style, skeleton, clips, with_past=True))
    if options.learning:
        add(f"learning, N={len(training)}, M=100", learning(training, skeleton))
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
