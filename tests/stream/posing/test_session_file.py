"""A file of a posing session is read as it was written, or refused in one line."""

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.placement import DISTORTIONS, intrinsics_from_fov, make_camera_looking_at
from config.joints import JOINT_INDEX
from database.builtin.bodies import build_person_skeleton
from stream.posing.document import (
    PictureView,
    PosingError,
    create_document,
    set_key,
)
from stream.posing.picture import decode_picture, pack_picture_file, shrink_picture, unpack_picture
from stream.posing.session import PosingSession
from stream.posing.session_file import format_posing_session, posing_session_from_bytes, read_posing_session, write_posing_session


def test_a_session_is_read_as_it_was_written(session: PosingSession, tmp_path: Path) -> None:
    session.drag("leftHand", session.joints_m()[JOINT_INDEX["leftHand"]] + 0.1)
    session.release()
    session.set_key(0.0)
    session.set_key(1.25)
    document, file = session.document, tmp_path / "a.json"
    write_posing_session(file, document, session.skeleton)
    back = read_posing_session(file)
    assert (
        format_posing_session(back, session.skeleton) == file.read_text() and len(back.keys) == 2 and back.pins == document.pins
    )


def test_a_picture_is_kept_with_its_camera(session: PosingSession, tmp_path: Path) -> None:
    rng, file = np.random.default_rng(1), tmp_path / "a.json"
    small, large = rng.integers(0, 255, (48, 64, 3), np.uint8), rng.integers(0, 255, (1200, 2000, 3), np.uint8)
    contents = [cv2.imencode(".png", image)[1].tobytes() for image in (small, large)]
    camera = make_camera_looking_at(
        "rig", (64, 48), intrinsics_from_fov((64, 48), 60.0), (1.0, 1.6, 2.5), (0.0, 0.9, 0.0), DISTORTIONS[0]
    )
    session.set_picture(PictureView((64, 48), 60.0, camera, pack_picture_file(contents[0], "a.png", small)))
    session.click("head", (30.0, 10.0))
    write_posing_session(file, session.document, session.skeleton)
    back = read_posing_session(file).picture
    assert back is not None and back.file is not None and back.file.content == contents[0] and back.camera is not None
    np.testing.assert_allclose(back.camera.project((0.1, 0.5, 0.2)), camera.project((0.1, 0.5, 0.2)), atol=1e-4)
    assert np.array_equal(unpack_picture(back), small[..., ::-1])
    shown = shrink_picture(large)
    kept = pack_picture_file(contents[1], "b.png", shown)
    assert len(kept.content) < 2_000_000 < len(contents[1]) and decode_picture(kept.content, "b.png").shape == shown.shape
    text = file.read_text()
    for old, new in (
        ('"crc32": ', '"crc32": 1'),
        ('"size": [\n   64', '"size": [\n   65'),
        ('"base64": "iVBO', '"base64": "iVBA'),
    ):
        assert old in text
        with pytest.raises(PosingError, match="damaged"):
            posing_session_from_bytes(text.replace(old, new).encode(), "a.json")


def test_a_damaged_session_is_refused_in_one_line(tmp_path: Path) -> None:
    skeleton = build_person_skeleton()
    document = set_key(replace(create_document(skeleton), model="style"), 0.0)
    text = format_posing_session(document, skeleton)
    content = json.loads(text)
    damaged = {
        "damaged or not": [text[: len(text) // 2], text.replace('"pins"', '"pose"'), text.replace("1.0", "NaN", 1), "[" * 9999],
        "expected schema": ["{}", "[]", text.replace("duocap-posing-1", "duocap-posing-7")],
        "damaged: ": [
            json.dumps(content | part)
            for part in (
                {"pins": {"tail": [0, 0, 0]}}, {"pins": {"head": [0, 0]}}, {"pose": {"rotvec": [], "root_m": [0, 0, 0]}},
                {"keys": [content["keys"][0]] * 2}, {"keys": 3}, {"shares": [-1]}, {"picture": {"size": [0, 0], "fov_deg": 50}},
                {"joints": ["hips"]}, {"image_points": {"head": [1, 1]}}, {"pose": None},
            )
        ],
    }  # fmt: skip
    for words, texts in damaged.items():
        for each in texts:
            with pytest.raises(PosingError, match=words) as error:
                posing_session_from_bytes(each.encode(), "a.json")
            assert "\n" not in str(error.value) and str(error.value).startswith("a.json: ")
    with pytest.raises(PosingError, match="no such file"):
        read_posing_session(tmp_path / "none.json")
