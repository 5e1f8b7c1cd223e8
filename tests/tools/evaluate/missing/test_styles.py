"""What styles are learned from: other takes of the same person, and never the frames that are queried."""

from pathlib import Path

import numpy as np
import pytest

from config.joints import N_JOINTS
from database.builtin import build_person_skeleton
from database.clips import Clip, slice_clip
from reconstruct.models.style.features import TrainingPoses, build_training_poses
from tests.support.people import walk
from tools.evaluate.missing import styles
from tools.evaluate.missing.styles import GAP_S, TAKES, known_split, strangeness_deg, unknown_split
from tools.evaluate.protocol import MAIN, OTHERS, protocol_clip


def test_takes_to_learn_from_are_of_the_subject_and_no_queries() -> None:
    queries = {clip.stem for clip in (*MAIN, *OTHERS)}
    for stem, takes in TAKES.items():
        assert stem not in takes and not queries & set(takes)
        assert {take.partition("_")[0] for take in takes} == {stem.partition("_")[0]}


def numbered(stem: str, n: int) -> Clip:
    """Return a walk at 120 Hz whose root position is the number of the frame."""
    walked = walk(build_person_skeleton(1.74))
    rotvec = np.resize(walked.rotvec, (n, *walked.rotvec.shape[1:]))
    root_m = np.stack([np.arange(n), np.ones(n), np.zeros(n)], axis=1).astype(float)
    return Clip(stem, walked.skeleton, 120.0, rotvec, root_m)


@pytest.mark.parametrize(("stem", "begin"), [("14_02", 3000), ("09_12", 950)])
def test_a_style_never_learns_from_queried_frames(stem: str, begin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = numbered(stem, 4000 if stem == "14_02" else 1900)
    monkeypatch.setattr(styles, "read_take", lambda stem, motion: whole)
    monkeypatch.setattr(styles, "read_query", lambda which, motion: slice_clip(whole, which.start, whole.n_frames))
    known = known_split(protocol_clip(stem), Path())
    learned, queried = known.clips[0].root_m[:, 0], known.query.root_m[:, 0]
    assert queried[0] == begin and queried[-1] == whole.n_frames - 1
    seen = known.seen.root_m[:, 0]
    assert learned[-1] + 1 == seen[0] and seen[-1] < begin - GAP_S * 120.0 and len(learned) > 500 and len(seen) > 180
    assert known.source.startswith(
        f"frames {learned[0] + 1:.0f}-{seen[-1] + 1:.0f} of the take, the last {len(seen) / 120:.1f} s"
    )
    unknown = unknown_split(protocol_clip(stem), Path())
    np.testing.assert_array_equal(unknown.query.root_m, known.query.root_m)


def test_strangeness_is_the_angle_to_the_nearest_pose() -> None:
    clip = numbered("walk", 240)
    poses = build_training_poses([clip])
    assert strangeness_deg(poses, poses.rotvec[3:5]) == pytest.approx(0.0, abs=1e-4)
    turned = np.zeros((1, N_JOINTS, 3))
    turned[0, 5, 1] = np.radians(44.0)
    assert strangeness_deg(TrainingPoses(poses.features[:1], np.zeros((1, N_JOINTS, 3))), turned) == pytest.approx(2.0)
