"""A pose dictionary as a pose model: what it predicts of joints that nothing is seen of."""

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton, make_builtin_clip
from reconstruct.body_state import BodyState
from reconstruct.missing.fill_in import LIMB, LIMBS
from reconstruct.missing.pose_model import PartialFrame
from reconstruct.missing.sparse import SparsePoseModel
from reconstruct.models.sparse.learn import DictionaryOptions
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
from reconstruct.observations import Observations

SKELETON = build_person_skeleton()
CLIP = make_builtin_clip("walk", SKELETON, 30.0)
LEG = LIMBS.index("leftUpperLeg") == LIMB
NOTHING = Observations(*(np.zeros(shape) for shape in ((0, 3), (0, 3, 3), (2, 0, 2), (2, 0), (2, 3, 3), (2, 3), (2,))))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SparsePoseModel:
    """Learn the built-in walk."""
    options = TrainOptions(1, DictionaryOptions(n_atoms=100, n_nonzero=6, iterations=5))
    folder = tmp_path_factory.mktemp("w") / "part"
    return SparsePoseModel(
        train_pose_dictionary(lambda: [CLIP.rotvec.astype(np.float32)], SKELETON, "walk", folder, options), SKELETON
    )


def frame_of(joints: np.ndarray, unknown: np.ndarray) -> PartialFrame:
    """Return a frame whose joints are known to 0.02 rad but for some, (J,)."""
    sigma = np.repeat(np.where(unknown, 1.0, 0.02)[1:], 3)
    return PartialFrame(NOTHING, BodyState(0, joints, np.eye(3), np.zeros(3)), sigma**2)


def test_an_unseen_leg_is_predicted_from_the_others(model: SparsePoseModel) -> None:
    off = []
    for n in range(5, 60, 6):
        wrong = CLIP.rotvec[n].copy()
        wrong[LEG] = CLIP.rotvec[(n + 15) % 60, LEG]
        prediction = model.predict(frame_of(wrong, LEG))
        assert prediction is not None and prediction.is_finite
        found = prediction.expected.reshape(-1, 3)[LEG[1:]]
        off.append([np.linalg.norm(found - CLIP.rotvec[n, LEG]), np.linalg.norm(wrong[LEG] - CLIP.rotvec[n, LEG])])
        assert np.linalg.eigvalsh(prediction.precision).min() > -1e-6
    found_rad, wrong_rad = np.mean(off, axis=0)
    assert found_rad < 0.5 * wrong_rad


def test_poses_that_the_dictionary_does_not_know_surprise_it(model: SparsePoseModel) -> None:
    nobody = np.zeros(LEG.shape, bool)
    known = model.predict(frame_of(CLIP.rotvec[20], nobody))
    strange = CLIP.rotvec[20].copy()
    strange[JOINT_INDEX["leftUpperArm"]] += [1.5, 0.0, 0.5]
    unknown = model.predict(frame_of(strange, nobody))
    assert known is not None and unknown is not None and unknown.surprise > 5.0 * known.surprise
