"""A take on an avatar: its file as it was with one motion more, in which its joints go where the retargeted take has them."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from config.joints import JOINTS
from database.files.avatar import read_avatar
from stream.export.avatar import encode_avatar, write_avatar
from stream.take.retarget import retarget_take
from tests.stream.export.test_glb import THREE, dance
from tests.support.files.avatars import AvatarKind, write_test_avatar
from tests.support.files.gltf import parsed
from tests.support.judges import node_modules, program

KIND = AvatarKind(vrm0=True, turned=True, lowered_deg=40.0, odd_axes=True)
CENTIMETRES = replace(KIND, armature_scale=0.01)
FRAMES = [0, 11, 33]
EXACT = [name for name in JOINTS if name not in ("head", *KIND.without)]  # its neck is one bone, so its head is off by a bend


def test_the_file_is_kept_and_its_joints_are_where_the_retargeted_take_has_them(tmp_path: Path) -> None:
    take, file = dance(40), write_test_avatar(tmp_path / "her.vrm", KIND)
    avatar, before = read_avatar(file), parsed(file.read_bytes())
    after = parsed(encode_avatar(take, avatar))
    assert len(after.tree["animations"]) == 1 and "animations" not in before.tree
    for key in ("nodes", "scenes", "meshes", "skins", "materials", "extensions", "extensionsUsed"):
        assert after.tree[key] == before.tree[key], key
    for number in range(len(before.tree["accessors"])):
        np.testing.assert_array_equal(after.array(number), before.array(number))
    position_m = retarget_take(take, avatar.skeleton).positions_m()
    for frame in FRAMES:
        world = after.world(float(np.float32(take.seconds[frame])))
        for name in EXACT:
            np.testing.assert_allclose(world[name][0], position_m[frame, JOINTS.index(name)], atol=1e-5, err_msg=name)


@pytest.mark.judge
def test_three_js_moves_an_avatar_in_centimetres_as_we_do(tmp_path: Path) -> None:
    folder = node_modules("three").parent
    take, avatar = dance(40), read_avatar(write_test_avatar(tmp_path / "her.vrm", CENTIMETRES))
    write_avatar(tmp_path / "walk.glb", take, avatar)
    times = json.dumps([float(np.float32(take.seconds[frame])) for frame in FRAMES])
    words = ["--input-type=module", "-e", THREE, str(tmp_path / "walk.glb"), times, "7"]
    out = subprocess.run([program("node"), *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
    position_m = retarget_take(take, avatar.skeleton).positions_m()
    for frame, seen in zip(FRAMES, json.loads(out), strict=True):
        for name in EXACT:
            np.testing.assert_allclose(seen["joints"][name], position_m[frame, JOINTS.index(name)], atol=1e-5, err_msg=name)


def test_pictures_in_files_of_their_own_are_refused(tmp_path: Path) -> None:
    avatar = read_avatar(write_test_avatar(tmp_path / "her.vrm"))
    with pytest.raises(DuocapError, match=r"export it as \.glb or \.vrm"):
        encode_avatar(dance(40), replace(avatar, tree={**avatar.tree, "images": [{"uri": "skin.png"}]}))
