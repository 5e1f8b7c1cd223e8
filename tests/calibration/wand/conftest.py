"""One wand of two markers and one of a single marker, waved before the same rig, followed and solved once."""

from dataclasses import dataclass

import pytest

from calibration.camera import Rig
from calibration.wand.solve import solve_wand
from calibration.wand.tracks import WandSolution, WandTrack, find_wand_tracks
from tests.calibration.wand.scenes import Wave, both_sightings, wand_rig

SECONDS = 25.0


@dataclass(frozen=True)
class Waved:
    """A wand, the cameras it was waved before, what they followed, and the rig found from it."""

    truth: Rig
    path: Wave
    tracks: tuple[WandTrack, WandTrack]
    solution: WandSolution


def waved(path: Wave) -> Waved:
    truth = wand_rig()
    tracks = find_wand_tracks(both_sightings(truth, path, SECONDS), path.n_markers)
    known = {"length_m": path.length_m} if path.n_markers == 2 else {"distance_m": truth.baseline_m}
    return Waved(truth, path, tracks, solve_wand(tracks, truth.cameras, **known))


@pytest.fixture(scope="session")
def two() -> Waved:
    return waved(Wave(seed=3))


@pytest.fixture(scope="session")
def one() -> Waved:
    return waved(Wave(n_markers=1, seed=4))
