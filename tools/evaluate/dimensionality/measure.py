"""Measure how many dimensions human poses need, on three databases of real motion (Chai & Hodgins 2005, Figure 5); the table.

Each database holds clips of the protocol's database. Reconstructed are poses of its own, as in the paper it seems, and poses of
the protocol's queries, which it lacks: the harder test. Every method is given the whole pose: what is measured is the model,
not the search for a pose. The local model of a pose of the database is made without that pose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Floats, Ints
from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import SolveSettings
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_local_markers
from database.geometry.skeleton import Skeleton
from database.store import PoseDatabase, open_database
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.dimensionality.curves import ErrorCurve, best_mixture, curve, global_pca, local_model
from tools.evaluate.dimensionality.gplvm import learn, reconstructed
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import MAIN, OTHERS, ProtocolClip, protocol_clip, read_query
from tools.evaluate.scores import moving_angles

COUNTS = (20, 50, 100, 150, 200)  # candidates for K
GLOBAL_DIMENSIONS, LOCAL_DIMENSIONS, LATENT = 50, 40, (1, 2, 3, 4, 6)
N_TESTS, N_QUICK = 420, 84
MARKERS = "boxing"
GLOBAL, MIXTURE, LOCAL, GP = "global PCA", "mixture of local linear models", "local model", "GPLVM"


@dataclass(frozen=True, slots=True)
class DimensionalityCase:
    """One database.

    clips: of the protocol's database that it holds, None: all; tests: clips whose poses are reconstructed; clusters: numbers
    tried for the mixture; latent: whether it is small enough for a GPLVM; paper: dimensions for less than a degree in the
    paper.
    """

    name: str
    clips: tuple[str, ...] | None
    tests: tuple[ProtocolClip, ...]
    clusters: tuple[int, ...]
    latent: bool
    paper: dict[str, int]


CASES = (
    DimensionalityCase(
        "walking",
        ("07_01", "07_02", "07_03", "07_07"),
        (protocol_clip("07_08"),),
        (2, 4, 8, 16, 32),
        True,
        {GLOBAL: 14, MIXTURE: 6, LOCAL: 4},
    ),
    DimensionalityCase(
        "boxing", ("14_02",), (protocol_clip("14_02"),), (2, 4, 8, 16, 32), False, {GLOBAL: 27, MIXTURE: 18, LOCAL: 6}
    ),
    DimensionalityCase("all", None, (*MAIN, *OTHERS), (16, 64, 256, 512), False, {GLOBAL: 38, MIXTURE: 27, LOCAL: 5}),
)


@dataclass(frozen=True, slots=True)
class TestPoses:
    """Poses to be reconstructed. kind: own or unseen; poses: (T, D) [rad]; near: nearest rows of the database, (T, K)."""

    kind: str
    poses: Floats
    near: Ints


@dataclass(frozen=True, slots=True)
class FigurePanel:
    """The curves of one database and kind of tests. n_angles: joint angles that move."""

    case: DimensionalityCase
    kind: str
    n_poses: int
    n_tests: int
    n_angles: int
    curves: tuple[ErrorCurve, ...]

    def as_json(self) -> dict[str, object]:
        """Return the panel as JSON's own types."""
        curves = [
            {
                "method": c.method,
                "note": c.note,
                "dimensions": c.dimensions.tolist(),
                "mean_deg": c.mean_deg.round(4).tolist(),
                "rms_deg": c.rms_deg.round(4).tolist(),
                "dimensions_under_1_deg": c.dimensions_under(),
                "paper": self.case.paper.get(c.method),
            }
            for c in self.curves
        ]
        counts = {"poses": self.n_poses, "tests": self.n_tests, "angles": self.n_angles}
        return {"database": self.case.name, "kind": self.kind, **counts, "curves": curves}


def measure_dimensionality(
    motion: Path,
    database: Path,
    settings: SolveSettings,
    *,
    clips: Sequence[str] = (),
    quick: bool = False,
    workers: WorkerPlan = ALONE,
) -> list[FigurePanel]:
    """Measure every database whose tests are wanted. Raises DuocapError.

    clips: tests, none for all; quick: a fifth of the test poses, and every other pose for the GPLVM.
    """
    known = [clip.stem for clip in (*MAIN, *OTHERS)]
    unknown = [stem for stem in clips if stem not in known]
    if unknown:
        raise DatabaseError(f"{', '.join(unknown)}: no such clip among the tests; take {', '.join(known)}")
    wanted = [(case, [test for test in case.tests if not clips or test.stem in clips]) for case in CASES]
    tasks = [partial(_case_panels, case, tests, motion, database, settings, quick) for case, tests in wanted if tests]
    return [panel for panels in run_tasks(tasks, workers, "dimensionality") for panel in panels]


def _case_panels(
    case: DimensionalityCase, tests: list[ProtocolClip], motion: Path, database: Path, settings: SolveSettings, quick: bool
) -> list[FigurePanel]:
    """Measure one database with clips as tests. Raises DuocapError."""
    poses = open_database(database)
    queries = [resample_clip(read_query(test, motion), poses.fps) for test in tests]
    return panels_of(case, poses, queries, settings, quick)


def panels_of(
    case: DimensionalityCase, database: PoseDatabase, queries: list[Clip], settings: SolveSettings, quick: bool
) -> list[FigurePanel]:
    """Measure all methods on one database, on its own poses and on the queries'. Raises DatabaseError: it lacks the clips."""
    rotvec = _rotvec_of(case, database)
    poses = _flat(rotvec.astype(np.float64))
    count = N_QUICK if quick else N_TESTS
    own = _evenly(len(poses), count)
    near = _neighbours(queries[0].skeleton, rotvec[own].astype(np.float64), rotvec, settings)
    others = np.array([row[row != itself][: near.shape[1] - 1] for row, itself in zip(near, own, strict=True)])
    shown = [clip.rotvec[_evenly(clip.n_frames, count // len(queries))] for clip in queries]
    near = np.concatenate([_neighbours(clip.skeleton, part, rotvec, settings) for clip, part in zip(queries, shown, strict=True)])
    sets = [TestPoses("own", poses[own], others), TestPoses("unseen", _flat(np.concatenate(shown)), near)]
    moves = moving_angles(rotvec.astype(np.float64)).ravel()
    curves = [_linear(case, poses, tests, moves) for tests in sets]
    if case.latent:
        for found, each in zip(curves, _gplvm(poses, sets, moves, quick), strict=True):
            found.append(each)
    return [
        FigurePanel(case, tests.kind, len(poses), len(tests.poses), int(moves.sum()), tuple(found))
        for tests, found in zip(sets, curves, strict=True)
    ]


def _linear(case: DimensionalityCase, poses: Floats, tests: TestPoses, moves: Bools) -> list[ErrorCurve]:
    """Measure the three linear methods."""
    width = min(GLOBAL_DIMENSIONS, poses.shape[1])
    return [
        global_pca(poses, tests.poses, width, moves),
        best_mixture(poses, tests.poses, width, case.clusters, moves),
        local_model(poses, tests.poses, tests.near, COUNTS, LOCAL_DIMENSIONS, moves),
    ]


def _rotvec_of(case: DimensionalityCase, database: PoseDatabase) -> NDArray[np.float32]:
    """Return the poses of a case's clips, (N, J, 3) [rad]."""
    if case.clips is None:
        return np.asarray(database.rotvec)
    spans = zip(database.clip_names, database.clip_start[:-1], database.clip_start[1:], strict=True)
    parts = [database.rotvec[first:last] for name, first, last in spans if name.partition("+")[0] in case.clips]
    if not parts:
        raise DatabaseError(f"the database holds none of {', '.join(case.clips)}; let it be built from --motion")
    return np.concatenate(parts)


def _evenly(n: int, count: int) -> Ints:
    """Return `count` of n frames, at even distances."""
    return np.unique(np.linspace(0, n - 1, min(max(count, 1), n)).astype(np.int64))


def _flat(rotvec: Floats) -> Floats:
    """Return joint coordinates without the root, (N, J, 3) -> (N, D)."""
    return np.ascontiguousarray(rotvec[:, 1:]).reshape(len(rotvec), 3 * (N_JOINTS - 1))


def _neighbours(skeleton: Skeleton, tests: Floats, rotvec: NDArray[np.float32], settings: SolveSettings) -> Ints:
    """Return the nearest rows to each test by eq. 2, with the test itself as the predicted pose, (T, K)."""
    markers = read_marker_set(MARKERS)

    def features(poses: Floats) -> NDArray[np.float32]:
        marker_m = compute_local_markers(skeleton, poses, markers.joint, markers.offset_m).reshape(len(poses), -1)
        both = (marker_m / settings.query_marker_sigma_m, _flat(poses) / settings.query_pose_sigma_rad)
        return np.concatenate(both, axis=1).astype(np.float32)

    chunks = [features(rotvec[first : first + 20_000].astype(np.float64)) for first in range(0, len(rotvec), 20_000)]
    known = np.concatenate(chunks)
    norm = np.einsum("ij,ij->i", known, known)
    count = min(max(COUNTS), len(known))
    rows = np.empty((len(tests), count), np.int64)
    for t, query in enumerate(features(tests)):
        distance = norm - 2.0 * (known @ query)
        chosen = np.argpartition(distance, count - 1)[:count]
        rows[t] = chosen[np.argsort(distance[chosen], kind="stable")]
    return rows


def _gplvm(poses: Floats, sets: Sequence[TestPoses], moves: Bools, quick: bool) -> list[ErrorCurve]:
    """Learn a GPLVM for every number of dimensions and reconstruct the tests; constant angles are left out of it."""
    used = poses.std(axis=0) > 1e-6
    dimensions = LATENT[:3] if quick else LATENT
    stride = 2 if quick else 1
    residuals = [np.zeros((len(dimensions), *tests.poses.shape)) for tests in sets]
    for row, width in enumerate(dimensions):
        model = learn(poses[::stride, used], width)
        for left, tests in zip(residuals, sets, strict=True):
            left[row] = tests.poses - poses.mean(axis=0)
            left[row][:, used] = tests.poses[:, used] - np.array([reconstructed(model, pose) for pose in tests.poses[:, used]])
    note = f"{len(poses[::stride])} poses"
    return [curve(GP, np.array(dimensions), left, moves, note) for left in residuals]


def table(panels: Sequence[FigurePanel]) -> list[str]:
    """Return the lines of the table."""
    lines = [
        "poses after B dimensions and back, degrees per joint angle: mean of absolute errors; RMS where said and after the slash",
        f"{'database':<10}{'poses':>8}{'tests':>13}  {'method':<32}{'B < 1 deg':>10}{'paper':>7}{'RMS < 1':>9}"
        f"{'B = 2':>14}{'B = 5':>14}{'B = 7':>14}{'B = 20':>14}  ",
    ]
    for each in panels:
        for c in each.curves:
            needed = (
                str(c.dimensions_under() or "-"),
                str(each.case.paper.get(c.method, "-")),
                str(c.dimensions_under(rms=True) or "-"),
            )
            errors = "".join(_error(c, b).rjust(14) for b in (2, 5, 7, 20))
            tests = f"{each.n_tests} {each.kind}"
            lines.append(
                f"{each.case.name:<10}{each.n_poses:>8}{tests:>13}  {c.method:<32}{needed[0]:>10}{needed[1]:>7}{needed[2]:>9}"
                f"{errors}  {c.note}"
            )
    lines.append("paper: 700, 71,597 and 433,622 poses at 120 Hz; its GPLVM has 2.7 degrees in two dimensions on walking")
    return lines


def _error(c: ErrorCurve, dimensions: int) -> str:
    """Return both errors at a number of dimensions, a dash where it was not measured."""
    at = np.flatnonzero(c.dimensions == dimensions)
    return f"{c.mean_deg[at[0]]:.2f} / {c.rms_deg[at[0]]:.2f}" if len(at) else "-"
