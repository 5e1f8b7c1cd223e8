"""How many dimensions human poses need: error of poses projected to B dimensions and back, by four models, on three databases.

Reconstructed are poses of a database itself, as in the paper it seems, and poses of the protocol's queries, which it lacks: the
harder test. Every model is given the whole pose: what is measured is the model, not the search for a pose. The local model of a
pose of the database is made without that pose.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from benchmarks.papers.frame import Chart, PaperTable, Request
from benchmarks.report import Column, Row, number_columns, text_columns
from config.arrays import Bools, Floats, Ints, Singles
from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import SolveSettings
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_local_markers
from database.geometry.skeleton import Skeleton
from database.store import PoseDatabase, open_database
from reconstruct.models.local.pca import LocalPca, compute_left_out_errors2, compute_pca
from reconstruct.models.style.learn.objective import compute_objective
from reconstruct.models.style.model import Hyperparameters, build_evaluator_at
from tools.evaluate.protocol import MAIN, OTHERS, protocol_clip, protocol_database, read_query
from tools.evaluate.scores import moving_angles

COUNTS = (20, 50, 100, 150, 200)  # candidates for K
GLOBAL_DIMENSIONS, LOCAL_DIMENSIONS, LATENT = 50, 40, (1, 2, 3, 4, 6)
N_TESTS, N_QUICK = 420, 42
N_SAMPLE = 30_000  # poses that place the centres of clusters; all poses are then assigned
GPLVM_STEPS, GPLVM_STARTS = 150, 3
UNDER_DEG = 1.0  # as in the paper
SHOWN = (2, 5, 7, 20)


@dataclass(frozen=True, slots=True)
class DimensionalityCase:
    """One database.

    clips: of the protocol's database that it holds, none: all; tests: clips whose poses are reconstructed; clusters: numbers
    tried for the mixture; latent: whether it is small enough for a GPLVM; paper: dimensions for less than a degree there.
    """

    name: str
    clips: tuple[str, ...]
    tests: tuple[str, ...]
    clusters: tuple[int, ...]
    latent: bool
    paper: dict[str, int]


CASES = {
    case.name: case
    for case in (
        DimensionalityCase(
            "walking",
            ("07_01", "07_02", "07_03", "07_07"),
            ("07_08",),
            (2, 4, 8, 16, 32),
            True,
            {"global PCA": 14, "mixture": 6, "local": 4},
        ),
        DimensionalityCase(
            "boxing", ("14_02",), ("14_02",), (2, 4, 8, 16, 32), False, {"global PCA": 27, "mixture": 18, "local": 6}
        ),
        DimensionalityCase(
            "all",
            (),
            tuple(clip.stem for clip in (*MAIN, *OTHERS)),
            (16, 64, 256, 512),
            False,
            {"global PCA": 38, "mixture": 27, "local": 5},
        ),
    )
}


@dataclass(frozen=True, slots=True)
class ReconstructedPoses:
    """Poses to be reconstructed. kind: own or unseen; poses: (T, D) [rad]; near: nearest rows of the database, (T, K)."""

    kind: str
    poses: Floats
    near: Ints


def project_poses(error: Floats, directions: Floats, max_dimensions: int) -> Floats:
    """Return the residuals of centred poses, (T, D), outside the first 1 to B of some directions, (r, D): (B, T, D)."""
    left, rest = np.empty((max_dimensions, *error.shape)), error
    for b in range(max_dimensions):
        if b < len(directions):
            rest = rest - np.outer(rest @ directions[b], directions[b])
        left[b] = rest
    return left


def project_globally(poses: Floats, tests: Floats, max_dimensions: int) -> Floats:
    """Return residuals, (B, T, D), outside the principal directions of poses, (N, D)."""
    fit = PCA(min(max_dimensions, *poses.shape)).fit(poses)
    return project_poses(tests - fit.mean_, fit.components_, max_dimensions)


def sample_poses(poses: Floats, seed: int) -> Floats:
    """Return poses, (N, D), or a random part of many."""
    many = len(poses) > N_SAMPLE
    return poses[np.random.default_rng(seed).choice(len(poses), N_SAMPLE, replace=False)] if many else poses


def cluster_poses(poses: Floats, count: int, seed: int = 0) -> KMeans:
    """Fit k-means to poses, (N, D), or to a random part of many."""
    return KMeans(count, n_init=1, max_iter=25, random_state=seed).fit(sample_poses(poses, seed))


def project_in_clusters(poses: Floats, tests: Floats, max_dimensions: int, count: int) -> Floats:
    """Return residuals, (B, T, D), outside the principal directions of the nearest cluster (Fukunaga & Olsen 1971)."""
    fit = cluster_poses(poses, count)
    member, nearest = fit.predict(poses), fit.predict(tests)
    residuals = np.empty((max_dimensions, *tests.shape))
    for k in np.unique(nearest):
        inside, mine = poses[member == k], nearest == k
        residuals[:, mine] = project_globally(inside, tests[mine], max_dimensions)
    return residuals


def project_best_mixture(poses: Floats, tests: Floats, max_dimensions: int, counts: Sequence[int], moves: Bools) -> Floats:
    """Return the residuals of the mixture whose number of clusters needs the fewest dimensions for less than a degree.

    The number is chosen by the tests themselves, which favours the mixture: the comparison does not depend on a poor choice.
    """
    found = [project_in_clusters(poses, tests, max_dimensions, count) for count in counts if count < len(poses)]

    def rank(residuals: Floats) -> tuple[int, float]:
        mean_deg = np.degrees(np.abs(residuals[:, :, moves])).mean(axis=(1, 2))
        return count_dimensions(np.arange(1, len(mean_deg) + 1), mean_deg) or len(mean_deg) + 1, float(mean_deg.mean())

    return min(found, key=rank)


def project_locally(poses: Floats, tests: ReconstructedPoses, max_dimensions: int) -> Floats:
    """Return residuals, (B, T, D), of the PCA of each pose's nearest examples, K cross-validated for each pose and B (eq. 3)."""
    residuals = np.empty((max_dimensions, *tests.poses.shape))
    for t, test in enumerate(tests.poses):
        near = poses[tests.near[t]]
        models = [compute_pca(near[:count]) for count in sorted({min(count, len(near)) for count in COUNTS})]
        each = [project_poses((test - model.mean)[None], model.directions.T, max_dimensions)[:, 0] for model in models]
        for b, row in enumerate(choose_models(models, max_dimensions)):
            residuals[b, t] = each[row][b]
    return residuals


def choose_models(models: Sequence[LocalPca], max_dimensions: int) -> Ints:
    """Return the model of the smallest leave-one-out error in each dimension, all judged on the nearest examples, (B,)."""
    judged = min(len(model.scores) for model in models)
    if judged < 2:
        return np.full(max_dimensions, len(models) - 1)
    return np.asarray(
        np.argmin([compute_left_out_errors2(model, judged, max_dimensions).mean(axis=0) for model in models], axis=0)
    )


@dataclass(frozen=True, slots=True)
class Gplvm:
    """A Gaussian process latent variable model (Lawrence 2004): the objective of styles with all scales 1.

    latent: X, (N, Q); mean, (D,), and scale of the poses [rad]; coefficients: K^-1 Y, (N, D); poses: Y, scaled; a, g: of
    k(x, x') = a exp(-g/2 |x - x'|^2).
    """

    latent: Floats
    mean: Floats
    scale: float
    coefficients: Floats
    poses: Floats
    a: float
    g: float

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the scaled mean pose f(x) = Y' K^-1 k(x), (D,), and its derivative, (D, Q)."""
        difference = self.latent - x
        k = self.a * np.exp(-0.5 * self.g * np.einsum("ij,ij->i", difference, difference))
        return k @ self.coefficients, self.coefficients.T @ (self.g * k[:, None] * difference)

    def reconstruct(self, pose: Floats) -> Floats:
        """Return the pose f(x) nearest to a pose, (D,) [rad], sought from latent points of near poses of different rank."""
        y = (pose - self.mean) / self.scale

        def error(x: Floats) -> tuple[float, Floats]:
            f, J = self.predict(x)
            return float((f - y) @ (f - y)), 2.0 * (f - y) @ J

        order = np.argsort(np.sum((self.poses - y) ** 2, axis=1))
        rows = order[np.linspace(0, min(30, len(order) - 1), GPLVM_STARTS).astype(int)]
        found = [minimize(error, self.latent[row], jac=True, method="L-BFGS-B") for row in rows]
        return np.asarray(self.mean + self.scale * self.predict(min(found, key=lambda one: float(one.fun)).x)[0])


def learn_gplvm(poses: Floats, width: int, steps: int = GPLVM_STEPS) -> Gplvm:
    """Learn a model with `width` latent dimensions of poses, (N, D) [rad], by L-BFGS from X by PCA."""
    fit = PCA(width, whiten=True).fit(poses)
    scale = float((poses - fit.mean_).std()) or 1.0
    Y, start = (poses - fit.mean_) / scale, fit.transform(poses)

    def value(x: Floats) -> tuple[float, Floats]:
        L, dX, d_ln, _ = compute_objective(x[:-3].reshape(start.shape), x[-3:], np.zeros(Y.shape[1]), Y)
        return L, np.concatenate([dX.ravel(), d_ln])

    first = np.concatenate([start.ravel(), [0.0, np.log(100.0), 0.0]])
    bounds = [(None, None)] * start.size + [(-8.0, 8.0)] * 3  # of ln a, ln b, ln g
    x = minimize(value, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}).x
    X, (a, b, g) = x[:-3].reshape(start.shape), np.exp(x[-3:])
    level = build_evaluator_at(X, Y, np.zeros(Y.shape[1]), np.ones(Y.shape[1]), Hyperparameters(a, b, g))
    return Gplvm(X, fit.mean_, scale, level.coefficients, Y, float(a), float(g))


def project_gplvm(poses: Floats, tests: Floats, quick: bool) -> tuple[Ints, Floats]:
    """Return latent dimensions and residuals, (n, T, D), with a GPLVM for each; constant angles are left out of it."""
    used = poses.std(axis=0) > 1e-6
    dimensions = LATENT[:3] if quick else LATENT
    residuals = np.tile(tests - poses.mean(axis=0), (len(dimensions), 1, 1))
    for row, width in enumerate(dimensions):
        model = learn_gplvm(poses[:: 2 if quick else 1, used], width)
        residuals[row][:, used] = tests[:, used] - np.array([model.reconstruct(pose) for pose in tests[:, used]])
    return np.array(dimensions), residuals


def count_dimensions(dimensions: Ints, errors_deg: Floats) -> int | None:
    """Return the fewest dimensions whose error is under a degree, None where none is."""
    under = np.flatnonzero(errors_deg < UNDER_DEG)
    return int(dimensions[under[0]]) if len(under) else None


def make_row(method: str, dimensions: Ints, residuals: Floats, moves: Bools) -> Row:
    """Return the figures of residuals, (n, T, D) [rad], over the joint angles that move, (D,)."""
    degrees = np.degrees(np.abs(residuals[:, :, moves]))
    mean_deg, rms_deg = degrees.mean(axis=(1, 2)), np.sqrt((degrees**2).mean(axis=(1, 2)))
    at = {int(d): float(error) for d, error in zip(dimensions, mean_deg, strict=True)}
    needed = {"B < 1 deg": count_dimensions(dimensions, mean_deg), "RMS < 1": count_dimensions(dimensions, rms_deg)}
    curve = {"dimensions": dimensions.tolist(), "mean_deg": mean_deg, "rms_deg": rms_deg}
    return {"method": method, **needed, **{f"B = {b}": at.get(b) for b in SHOWN}, **curve}


def measure_case(case: DimensionalityCase, database: PoseDatabase, queries: list[Clip], request: Request) -> list[Row]:
    """Return the rows of all models on one database, on its own poses and on the queries'. Raises DatabaseError: no clips."""
    rotvec, settings, count = _read_case(case, database), request.settings.solve, N_QUICK if request.quick else N_TESTS
    poses, own = _flatten(rotvec.astype(np.float64)), _spread_evenly(len(rotvec), count)
    near = find_neighbours(queries[0].skeleton, rotvec[own].astype(np.float64), rotvec, settings)
    others = np.array([row[row != itself][: near.shape[1] - 1] for row, itself in zip(near, own, strict=True)])
    shown = [clip.rotvec[_spread_evenly(clip.n_frames, count // len(queries))] for clip in queries]
    near = np.concatenate(
        [find_neighbours(clip.skeleton, part, rotvec, settings) for clip, part in zip(queries, shown, strict=True)]
    )
    moves, width = moving_angles(rotvec.astype(np.float64)).ravel(), min(GLOBAL_DIMENSIONS, poses.shape[1])
    rows = list[Row]()
    for tests in (
        ReconstructedPoses("own", poses[own], others),
        ReconstructedPoses("unseen", _flatten(np.concatenate(shown)), near),
    ):
        found = {
            "global PCA": (np.arange(1, width + 1), project_globally(poses, tests.poses, width)),
            "mixture": (np.arange(1, width + 1), project_best_mixture(poses, tests.poses, width, case.clusters, moves)),
            "local": (np.arange(1, LOCAL_DIMENSIONS + 1), project_locally(poses, tests, LOCAL_DIMENSIONS)),
        }
        if case.latent:
            found["GPLVM"] = project_gplvm(poses, tests.poses, request.quick)
        about: Row = {"database": case.name, "poses": len(poses), "tests": tests.kind}
        rows += [about | {"paper": case.paper.get(name)} | make_row(name, *each, moves) for name, each in found.items()]
    return rows


def find_neighbours(skeleton: Skeleton, tests: Floats, rotvec: Singles, settings: SolveSettings) -> Ints:
    """Return the nearest rows to each test by eq. 2, with the test itself as the predicted pose, (T, K)."""
    markers = read_marker_set("boxing")

    def scale(poses: Floats) -> Singles:
        marker_m = compute_local_markers(skeleton, poses, markers.joint, markers.offset_m).reshape(len(poses), -1)
        both = (marker_m / settings.query_marker_sigma_m, _flatten(poses) / settings.query_pose_sigma_rad)
        return np.concatenate(both, axis=1).astype(np.float32)

    known = np.concatenate([scale(rotvec[first : first + 20_000].astype(float)) for first in range(0, len(rotvec), 20_000)])
    search = NearestNeighbors(n_neighbors=min(max(COUNTS), len(known)), algorithm="brute").fit(known)
    return np.asarray(search.kneighbors(scale(tests), return_distance=False), np.int64)


def _read_case(case: DimensionalityCase, database: PoseDatabase) -> Singles:
    """Return the poses of a case's clips, (N, J, 3) [rad]."""
    if not case.clips:
        return np.asarray(database.rotvec)
    spans = zip(database.clip_names, database.clip_start[:-1], database.clip_start[1:], strict=True)
    parts = [database.rotvec[first:last] for name, first, last in spans if name.partition("+")[0] in case.clips]
    if not parts:
        raise DatabaseError(f"the database holds none of {', '.join(case.clips)}; let it be built from --motion")
    return np.concatenate(parts)


def _spread_evenly(n: int, count: int) -> Ints:
    """Return `count` of n frames, at even distances."""
    return np.unique(np.linspace(0, n - 1, min(max(count, 1), n)).astype(np.int64))


def _flatten(rotvec: Floats) -> Floats:
    """Return joint coordinates without the root, (N, J, 3) -> (N, D)."""
    return np.ascontiguousarray(rotvec[:, 1:]).reshape(len(rotvec), 3 * (N_JOINTS - 1))


def _measure_by_path(case: DimensionalityCase, request: Request, path: Path) -> list[Row]:
    """Measure one database in a worker. Raises DuocapError."""
    database = open_database(path)
    queries = [resample_clip(read_query(protocol_clip(stem), request.motion), database.fps) for stem in case.tests]
    return measure_case(case, database, queries, request)


def compute_dimensionality(request: Request) -> Iterator[Row]:
    """Yield a row for each database, kind of tests and model. Raises DuocapError."""
    path = protocol_database(request.motion, request.database)
    tasks = [partial(_measure_by_path, CASES[name], request, path) for name in request.choose(tuple(CASES))]
    return request.run(tasks, "dimensionality")


TABLE = PaperTable(
    "dimensionality",
    "Chai & Hodgins 2005, Figure 5",
    "degrees per joint angle of poses after B dimensions and back; paper: of 700, 71,597 and 433,622 poses at 120 Hz",
    (
        *text_columns("database"),
        Column("poses", 0),
        *text_columns("tests", "method"),
        *number_columns(0, "B < 1 deg", "paper", "RMS < 1"),
        *number_columns(2, *(f"B = {b}" for b in SHOWN)),
    ),
    compute_dimensionality,
    choices=tuple(CASES),
    chart=Chart("dimensions", "mean_deg", "method", panel=("database", "tests")),
)
