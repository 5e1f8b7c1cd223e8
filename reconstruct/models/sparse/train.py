"""Training a pose dictionary on any number of poses in bounded memory (Lai et al. 2012, sections 4.2 and 5).

The poses come in chunks. A sample of them gives limits, examples and the centres of clusters; every cluster's points are
collected in a file, a dictionary of its own is learned from them, and all are joined. What is done is kept in a folder beside the
result, so that a training that was interrupted goes on where it stopped.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.cluster.vq import kmeans2

from config.arrays import Floats, Ints, Singles
from config.files import write_atomically
from config.words import format_count
from database.geometry.skeleton import Skeleton
from reconstruct.models.sparse.body import BodyPoints, build_body_points
from reconstruct.models.sparse.coding import code_poses
from reconstruct.models.sparse.dictionary import Centring, Dictionary, compute_centring, join_dictionaries, learn_dictionary
from reconstruct.models.sparse.learn import DictionaryOptions, SparseError, compute_rms_error
from reconstruct.models.sparse.model import KIND, PoseDictionary, compute_up_directions

SAMPLE = 20_000  # poses from which limits, examples and centres come
EXAMPLES = 2_000
CLUSTER = 50_000  # poses of a cluster, about
LEARNED = 60_000  # poses of a cluster that are learned from, at most
RARE_PERCENT, MARGIN_SHARE = 0.05, 0.02  # of joint coordinates beyond their limits, and how far these are widened
MIN_POSES = 20
MIN_SIGMA = 0.05  # of a component of the up direction
Chunks = Callable[[], Iterable[Singles]]  # poses as rotation vectors, (n, J, 3) [rad], the same every time
Progress = Callable[[int, int, str], None]  # done, in all, what


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """How a dictionary is trained.

    Attributes:
        clusters: trained apart, 0: one for about 50,000 poses.
        learning: options of learning each dictionary.
    """

    clusters: int = 0
    learning: DictionaryOptions = field(default_factory=DictionaryOptions)


@dataclass(frozen=True, slots=True)
class PoseSample:
    """Poses drawn from all, (S, J, 3) [rad], in random order, and how many there are in all."""

    rotvec: Singles
    n_poses: int


def train_pose_dictionary(
    chunks: Chunks,
    skeleton: Skeleton,
    name: str,
    folder: Path,
    options: TrainOptions | None = None,
    progress: Progress | None = None,
) -> PoseDictionary:
    """Train a dictionary.

    Args:
        chunks: returns the poses, (n, J, 3) each, anew at each call.
        skeleton: the skeleton.
        name: name of the dictionary.
        folder: folder for unfinished training, removed at the end; that of another training is not used.
        options: None for the defaults.
        progress: called with the steps done and all, or None.
    Raises SparseError: too few poses, or values that are not finite.
    """
    options, tell = options or TrainOptions(), progress or (lambda done, total, what: None)
    sample = sample_poses(chunks(), options.learning.seed)
    if sample.n_poses < MIN_POSES:
        raise SparseError(
            f"{format_count(sample.n_poses, 'pose is', 'poses are')} too few to learn a dictionary from; expected "
            f"{MIN_POSES} or more"
        )
    if not np.isfinite(sample.rotvec).all():
        raise SparseError("the poses hold values that are no numbers; clean the motion before learning from it")
    body = build_body_points(skeleton)
    vectors = body.vectors(skeleton, sample.rotvec)
    n_clusters = options.clusters or max(1, round(sample.n_poses / CLUSTER))
    work = _Work(folder, body, skeleton, options, sample, compute_centring(vectors))
    dictionary = _train_clusters(chunks, work, vectors, min(n_clusters, len(vectors)), tell)
    shutil.rmtree(folder, ignore_errors=True)
    error_m = compute_rms_error(
        code_poses(dictionary.atoms, dictionary.centring.apply(vectors), dictionary.n_nonzero), vectors.shape[1]
    )
    return PoseDictionary(name, skeleton, dictionary, *_collect_pose_knowledge(sample.rotvec), error_m, sample.n_poses)


def sample_poses(chunks: Iterable[Singles], seed: int, size: int = SAMPLE) -> PoseSample:
    """Draw at most `size` poses, each with the same chance, in one pass.

    Args:
        chunks: poses, (n, D) each.
        seed: seed of the random numbers.
        size: number of poses at most.
    """
    rng, n, kept, keys = np.random.default_rng(seed), 0, None, np.zeros(0)
    for chunk in chunks:
        n += len(chunk)
        keys = np.concatenate([keys, rng.random(len(chunk))])
        kept = np.array(chunk, np.float32) if kept is None else np.concatenate([kept, np.asarray(chunk, np.float32)])
        best = np.argsort(keys, kind="stable")[:size]
        keys, kept = keys[best], kept[best]
    return PoseSample(np.zeros((0, 0, 3), np.float32) if kept is None else kept, n)


def _collect_pose_knowledge(rotvec: Singles) -> tuple[Singles, Floats, Floats, Floats, Floats]:
    """Return examples, limits of the joint coordinates, and the up direction's mean and deviation, of sampled poses."""
    angles = rotvec[:, 1:].reshape(len(rotvec), -1).astype(np.float64)
    low, high = np.percentile(angles, [RARE_PERCENT, 100.0 - RARE_PERCENT], axis=0)
    margin, up = MARGIN_SHARE * (high - low) + 0.03, compute_up_directions(rotvec)
    mean = up.mean(axis=0)
    sigma = np.maximum(np.sqrt(((up - mean) ** 2).mean(axis=0)), MIN_SIGMA)
    return rotvec[:EXAMPLES].copy(), low - margin, high + margin, mean, sigma


@dataclass(frozen=True, slots=True)
class _Work:
    """A training in progress."""

    folder: Path
    body: BodyPoints
    skeleton: Skeleton
    options: TrainOptions
    sample: PoseSample
    centring: Centring

    def recipe(self, n_clusters: int) -> str:
        """Return a hash of everything that the result depends on."""
        text = json.dumps([KIND.version, asdict(self.options), n_clusters, self.sample.n_poses], sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=12)
        for array in (self.sample.rotvec, self.skeleton.offsets_m, self.skeleton.tails_m):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def vectors(self, chunks: Chunks) -> Iterator[Singles]:
        """Return the points of all poses, chunk by chunk."""
        for chunk in chunks():
            yield self.body.vectors(self.skeleton, chunk).astype(np.float32)


def _train_clusters(chunks: Chunks, work: _Work, sampled: Floats, n_clusters: int, tell: Progress) -> Dictionary:
    """Return the dictionary of all clusters."""
    _begin_folder(work, n_clusters)
    centers, _ = kmeans2(sampled, n_clusters, seed=work.options.learning.seed, minit="++")
    counts = _collect_points(chunks, work, centers, tell)
    parts = [_train_cluster(work, k, counts, tell) for k in range(n_clusters) if counts[k] >= MIN_POSES]
    if not parts:
        raise SparseError(f"none of {n_clusters} clusters has {MIN_POSES} poses; train with fewer --clusters")
    return join_dictionaries(parts)


def _begin_folder(work: _Work, n_clusters: int) -> None:
    """Make the folder; empty one of another training."""
    stamp, recipe = work.folder / "recipe", work.recipe(n_clusters)
    if not stamp.is_file() or stamp.read_text("utf-8") != recipe:
        shutil.rmtree(work.folder, ignore_errors=True)
        work.folder.mkdir(parents=True)
        write_atomically(stamp, recipe.encode())


def _collect_points(chunks: Chunks, work: _Work, centers: Floats, tell: Progress) -> Ints:
    """Write every cluster's points to its file, unless that was done before; return how many each has, (C,)."""
    done = work.folder / "counts.json"
    if done.is_file():
        return np.array(json.loads(done.read_text("utf-8")), np.int64)
    counts, n, total = np.zeros(len(centers), np.int64), 0, work.sample.n_poses
    files = [(work.folder / f"cluster_{k}.f32").open("wb") for k in range(len(centers))]
    try:
        for vectors in work.vectors(chunks):
            finite = vectors[np.isfinite(vectors).all(axis=1)]
            owner = find_nearest_center(finite, centers)
            for k in np.unique(owner).tolist():
                files[k].write(np.ascontiguousarray(finite[owner == k]).tobytes())
            counts += np.bincount(owner, minlength=len(centers))
            n += len(vectors)
            tell(n, total, "poses sorted")
    finally:
        for file in files:
            file.close()
    write_atomically(done, json.dumps(counts.tolist()).encode())
    return counts


def find_nearest_center(vectors: Singles, centers: Floats) -> Ints:
    """Return the nearest of centres (C, D) for every row of vectors (N, D), (N,)."""
    c = centers.astype(np.float32)
    return np.asarray(np.argmin((c**2).sum(axis=1) - 2.0 * vectors @ c.T, axis=1), np.int64)


def _train_cluster(work: _Work, k: int, counts: Ints, tell: Progress) -> Dictionary:
    """Return the dictionary of one cluster, learned now or before."""
    kept = work.folder / f"cluster_{k}.npz"
    if kept.is_file():
        with np.load(kept, allow_pickle=False) as old:
            return Dictionary(old["atoms"], work.centring, work.options.learning.n_nonzero)
    options, shape = (
        _share_options(work.options.learning, int(counts[k]), int(counts.sum())),
        (int(counts[k]), 3 * len(work.body.joint)),
    )
    points = np.memmap(work.folder / f"cluster_{k}.f32", np.float32, "r", shape=shape)
    rows = np.arange(len(points))
    if len(points) > LEARNED:
        rows = np.sort(np.random.default_rng(options.seed + k).choice(len(points), LEARNED, replace=False))

    def show(done: int, total: int, error_m: float) -> None:
        what = f"cluster {k + 1} of {len(counts)}, {1e3 * error_m:.1f} mm"
        tell(len(counts) + k * total + done, len(counts) * (total + 1), what)

    learned = learn_dictionary(points[rows], options, show, work.centring)
    temporary = work.folder / f"cluster_{k}.tmp.npz"
    np.savez(temporary, atoms=learned.atoms)
    temporary.replace(kept)
    return learned


def _share_options(options: DictionaryOptions, count: int, total: int) -> DictionaryOptions:
    """Return the options of a cluster: of K atoms its share."""
    if options.n_atoms == 0:
        return options
    return replace(options, n_atoms=max(options.n_nonzero, round(options.n_atoms * count / total)))
