"""Landmarks that a detector found in rendered pictures of people, recorded with the truth.

Each file (.npz) is of a clip after a T-pose, with `FILE.rig.toml` beside it: `Recording` says what is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml
from calibration.triangulate import triangulate_views
from capture.packets import Landmarks, Views, make_empty_blobs
from config.arrays import Bools, Floats, Ints
from config.landmarks import SOURCES
from config.markers import MarkerSet
from database.geometry.skeleton import Skeleton

SETTLED_S = 0.3  # after which a T-pose is held
USUAL_M = 0.03  # of a landmark, to tell whether it is exchanged
EXCHANGED = 3.0  # -ln of the probability of an exchange, likewise
TRIANGULATED = ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")


@dataclass(frozen=True, slots=True)
class Recording:
    """Landmarks of a clip, (F, V, 33, 2) [px], with scores, (F, V, 33), and the truth.

    skeleton: the true one; joint_m: (F, J, 3) [m]; rotation: of the joints in the world, (F, J, 3, 3); rotvec: (F, J, 3) [rad];
    begin_s: end of the T-pose [s].
    """

    stem: str
    rig: Rig
    skeleton: Skeleton
    seconds: Floats
    image_px: Floats
    score: Floats
    found: Bools
    joint_m: Floats
    rotation: Floats
    rotvec: Floats
    begin_s: float

    @property
    def held(self) -> Bools:
        """The moments in which the T-pose is held, (F,)."""
        return np.asarray((self.seconds > SETTLED_S) & (self.seconds < self.begin_s - SETTLED_S))

    def select_rig(self, cameras: Sequence[int]) -> Rig:
        """Return some of the cameras."""
        return replace(self.rig, cameras=tuple(self.rig.cameras[c] for c in cameras))

    def thinned(self, rate: float) -> "Recording":
        """Return the recording at a lower rate, every n-th frame."""
        every = max(1, round(1.0 / (rate * float(np.median(np.diff(self.seconds)))))) if rate else 1
        names = ("seconds", "image_px", "score", "found", "joint_m", "rotation", "rotvec")
        return replace(self, **{name: getattr(self, name)[::every] for name in names})

    def views(self, cameras: Sequence[int], states: Ints | None = None) -> list[Views]:
        """Return what cameras see; states: exchanges that are undone, (F, V)."""
        found = []
        for n, t_s in enumerate(self.seconds):
            blobs = []
            for k, c in enumerate(cameras):
                source = SOURCES[0 if states is None else states[n, c]]
                each = Landmarks(self.image_px[n, c, source], self.score[n, c, source], 1.0) if self.found[n, c] else None
                blobs.append(replace(make_empty_blobs(k, n, round(1e9 * t_s)), landmarks=each))
            found.append(Views(tuple(blobs)))
        return found


def read_recording(path: Path) -> Recording:
    """Read a recording."""
    with np.load(path) as file:
        rig = read_rig_toml(path.with_suffix(".rig.toml"))
        return Recording(
            str(file["stem"]),
            rig,
            Skeleton(str(file["stem"]), file["offsets_m"], file["tails_m"]),
            seconds=file["times_s"],
            image_px=file["landmarks_px"],
            score=file["score"],
            found=file["found"],
            joint_m=file["joint_m"],
            rotation=file["joint_rotation"],
            rotvec=file["rotvec"],
            begin_s=float(file["tpose_s"][1]),
        )


def measure_errors(recording: Recording, camera: int, joint: int, offset_m: Floats, landmark: int | Ints) -> Floats:
    """Return how far a landmark of the picture, one or of each frame another, is from a place on the body, (F, 2) [m].

    Across the line of sight.
    """
    at_m = recording.joint_m[:, joint] + recording.rotation[:, joint] @ offset_m
    own = recording.rig.cameras[camera]
    apart = recording.image_px[np.arange(len(at_m)), camera, landmark] - own.project(at_m)
    return np.asarray(apart * (own.to_camera(at_m)[:, 2] / own.focal_px)[:, None])


def compare_exchanges(recording: Recording, camera: int, markers: MarkerSet) -> Floats:
    """Return how badly each state of exchange fits the landmarks of a view, by the truth, (E, F)."""
    cost = np.zeros((len(SOURCES), len(recording.seconds)))
    for m, joint in enumerate(markers.joint):
        for state in range(len(SOURCES)):
            landmark = SOURCES[state, markers.landmark[m]]
            e = measure_errors(recording, camera, int(joint), markers.offset_m[m], landmark)
            far2 = np.nan_to_num((e**2).sum(axis=1)) / USUAL_M**2
            cost[state] += 9.0 * (np.sqrt(1.0 + far2 / 9.0) - 1.0)
    return cost


def find_exchanges(recording: Recording, markers: MarkerSet) -> Ints:
    """Return what each view has exchanged in each frame, by the truth, (F, V)."""
    priced = np.where(np.arange(len(SOURCES)) > 0, EXCHANGED, 0.0)[:, None]
    costs = [compare_exchanges(recording, c, markers) + priced for c in range(len(recording.rig))]
    return np.array([cost.argmin(axis=0) for cost in costs]).T


def select_joint_rows(markers: MarkerSet) -> Ints:
    """Return which markers are landmarks of the twelve joints."""
    return np.array([m for m, name in enumerate(markers.names) if any(part in name for part in TRIANGULATED)])


def triangulate_joints(views: Views, rig: Rig, markers: MarkerSet) -> Floats | None:
    """Return the landmarks of the twelve joints, triangulated, (12, 3) [m]; None where fewer than two cameras see the body."""
    rows = select_joint_rows(markers)
    px, seen = np.zeros((len(rig), len(rows), 2)), np.zeros((len(rig), len(rows)), bool)
    for c, blobs in enumerate(views.blobs):
        if blobs is not None and blobs.landmarks is not None:
            px[c], seen[c] = blobs.landmarks.image_px[markers.landmark[rows]], True
    return triangulate_views(rig, px, seen)[0] if np.count_nonzero(seen[:, 0]) >= 2 else None
