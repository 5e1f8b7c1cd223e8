"""Speed of sparse coding and of K-SVD against scikit-learn, SPAMS and the package ksvd; training on many poses.

    OMP_NUM_THREADS=1 python -m benchmarks.reconstruct.sparse [--rounds 3] [--train N ...] [--motion DIR] [--json F]

Coding: random poses of 60 numbers, 2,000 atoms, 10 of them a pose; what is not installed is left out (`pip install scikit-learn
spams-bin ksvd`). Methods take turns; each counts with the least of its times. K-SVD: 2,000 poses, 200 atoms, 6 a pose. With
--train: poses of a motion folder, mirrored and repeated at other rates until there are N, with time and the most memory in use.
"""

import importlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.report import CLOCK_NS, build_parser, run_main, write_json
from config.arrays import Singles
from reconstruct.models.sparse.coding import code_poses, decode_poses
from reconstruct.models.sparse.dictionary import RestoreOptions, restore_poses
from reconstruct.models.sparse.learn import DictionaryOptions, learn_atoms
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary

D, K, T = 60, 2000, 10
N_CODED = 4000
WORST = 2.0  # times our error, from which on a call does not count
Coder = Callable[[Singles, Singles], Singles]  # atoms (K, D) and poses (N, D) to decoded poses (N, D)


def code_with_ours(atoms: Singles, poses: Singles) -> Singles:
    """Code and decode by this package."""
    return decode_poses(atoms, code_poses(atoms, poses, T))


def code_with_sklearn(atoms: Singles, poses: Singles) -> Singles:
    """Code and decode by scikit-learn, with the atoms' inner products computed beforehand."""
    linear_model = importlib.import_module("sklearn.linear_model")
    weights = linear_model.orthogonal_mp(atoms.T.astype(float), poses.T.astype(float), n_nonzero_coefs=T, precompute=True)
    return np.asarray((atoms.T @ weights).T, np.float32)


def code_with_spams(atoms: Singles, poses: Singles) -> Singles:
    """Code and decode by SPAMS, in one thread."""
    module = importlib.import_module("spams")
    weights = module.omp(
        np.asfortranarray(poses.T), np.asfortranarray(atoms.T), L=T, eps=0.0, numThreads=1
    )  # without eps it reads memory that is not set
    return np.asarray((weights.T @ atoms), np.float32)


CODERS: dict[str, Coder] = {"ours": code_with_ours, "sklearn": code_with_sklearn, "spams": code_with_spams}


def measure_coding(rounds: int) -> dict[str, dict[str, float]]:
    """Return poses a second and the squared error of every coder that is installed."""
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(K, D)).astype(np.float32)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    poses = rng.normal(size=(N_CODED, D)).astype(np.float32)
    found: dict[str, dict[str, float]] = {}
    for turn in range(rounds + 1):  # the first compiles
        for name, coder in CODERS.items():
            some = poses if name != "sklearn" else poses[: N_CODED // 8]
            begun = CLOCK_NS()
            try:
                out = coder(atoms, some)
            except ImportError:
                continue
            rate = len(some) / (1e-9 * (CLOCK_NS() - begun))
            error = float(((some - out) ** 2).sum(axis=1).mean())
            if turn and error < WORST * found.get("ours", {}).get("error2", np.inf):
                found[name] = {"poses_s": max(rate, found.get(name, {}).get("poses_s", 0.0)), "error2": error}
    return found


def measure_k_svd() -> dict[str, dict[str, float]]:
    """Return seconds an iteration and the error after 10 of K-SVD, ours and the package's."""
    rng = np.random.default_rng(0)
    poses = (rng.normal(size=(2000, 12)) @ rng.normal(size=(12, D)) + 0.1 * rng.normal(size=(2000, D))).astype(np.float32)
    learn_atoms(poses[:300], DictionaryOptions(20, 6, iterations=1))
    begun = CLOCK_NS()
    error = learn_atoms(poses, DictionaryOptions(200, 6, iterations=10)).error[-1]
    found = {"ours": {"s": 1e-10 * (CLOCK_NS() - begun), "error": float(error)}}
    try:
        package = importlib.import_module("ksvd")
    except ImportError:
        return found
    begun = CLOCK_NS()
    learner = package.ApproximateKSVD(n_components=200, max_iter=10, transform_n_nonzero_coefs=6, tol=0.0)
    atoms = learner.fit(poses.astype(float)).components_
    seconds = 1e-10 * (CLOCK_NS() - begun)
    off = poses - learner.transform(poses.astype(float)) @ atoms
    return found | {"ksvd": {"s": seconds, "error": float(np.sqrt((off**2).mean()))}}


def load_poses(motion: Path, n: int) -> Iterator[Singles]:
    """Return n poses of a motion folder, mirrored, and again at other rates."""
    from database.files.read import read_clip
    from database.files.resample import mirror_clip, resample_clip

    left = n
    for fps in (120.0, 97.0, 83.0, 71.0, 61.0, 53.0, 47.0, 43.0):
        for file in sorted(motion.rglob("*.amc")):
            clip = resample_clip(read_clip(file), fps)
            for one in (clip, mirror_clip(clip)):
                part = one.rotvec[:left].astype(np.float32)
                left -= len(part)
                if len(part):
                    yield part
        if left <= 0:
            return


def measure_training(motion: Path, n: int) -> dict[str, float]:
    """Train on n poses; return what it took."""
    import resource

    from database.files.read import read_clip

    skeleton = read_clip(next(iter(sorted(motion.rglob("*.amc"))))).skeleton
    with tempfile.TemporaryDirectory() as folder:
        begun = CLOCK_NS()
        model = train_pose_dictionary(
            lambda: load_poses(motion, n),
            skeleton,
            "many",
            Path(folder) / "part",
            TrainOptions(0, DictionaryOptions(target=0.008)),
        )
        seconds = 1e-9 * (CLOCK_NS() - begun)
    poses = model.points.vectors(skeleton, model.examples)
    weight = np.where(np.arange(poses.shape[1]) % 9 < 3, 1.0, 0.0)
    begun = CLOCK_NS()
    restore_poses(model.dictionary, poses, weight, RestoreOptions())
    rate = len(poses) / (1e-9 * (CLOCK_NS() - begun))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {
        **{"poses": model.n_poses, "seconds": seconds, "memory_mb": memory, "atoms": len(model.dictionary)},
        **{"error_mm": 1e3 * model.error_m, "completed_s": rate},
    }


def main() -> None:
    """Print the figures."""
    parser = build_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--train", type=int, nargs="*", default=[])
    parser.add_argument("--motion", type=Path)
    options = parser.parse_args()
    found: dict[str, object] = {}
    found["coding"] = coded = measure_coding(options.rounds)
    for name, row in coded.items():
        ratio = coded["ours"]["poses_s"] / row["poses_s"]
        print(
            f"coding  {name:<8} {row['poses_s']:>9.0f} poses/s, squared error {row['error2']:.3f}; ours {ratio:.2f} times as fast"
        )
    found["k_svd"] = learned = measure_k_svd()
    for name, row in learned.items():
        ratio = row["s"] / learned["ours"]["s"]
        print(
            f"K-SVD   {name:<8} {1e3 * row['s']:>9.1f} ms an iteration, error {row['error']:.4f}; ours {ratio:.1f} times as fast"
        )
    for n in options.train:
        found[f"train {n}"] = row = measure_training(options.motion, n)
        print("train   " + ", ".join(f"{key} {value:.0f}" if value > 50 else f"{key} {value:.2f}" for key, value in row.items()))
    write_json(options.json, found)


if __name__ == "__main__":
    run_main(main)
