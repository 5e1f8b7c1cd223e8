"""FBX by Blender: a GLB is opened in it without a window and exported for engines (Y up, facing +Z, one action, no simplifying).

Blender is the module `bpy` of this Python, or the program `blender`; none of it is loaded into this process.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from capture.rate import estimate_frame_period_s
from config.errors import DuocapError
from config.files import write_atomically
from database.files.avatar import Avatar
from stream.export.avatar import encode_avatar
from stream.export.glb import encode_glb
from stream.take.resampling import resample_evenly
from stream.take.take import Take

TIMEOUT_S = 600.0  # an hour of motion takes minutes
WINDOWS = Path(os.environ.get("PROGRAMFILES", "C:/Program Files"), "Blender Foundation")
PLACES = (
    "/Applications/Blender.app/Contents/MacOS/Blender",
    *(str(WINDOWS / f"Blender {version}" / "blender.exe") for version in ("5.0", "4.5", "4.2")),
)
SCRIPT = """
import sys
import bpy

source, target, fps, frames = sys.argv[-4:]
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps = max(round(float(fps)), 1)
scene.render.fps_base = scene.render.fps / float(fps)
bpy.ops.import_scene.gltf(filepath=source, bone_heuristic="BLENDER", import_pack_images=True)
for extra in [each for each in bpy.data.objects if each.name.startswith("Icosphere")]:  # the shape of bones in Blender's views
    bpy.data.objects.remove(extra)
scene.frame_start, scene.frame_end = 0, int(frames) - 1
bpy.ops.export_scene.fbx(
    filepath=target,
    object_types={"ARMATURE", "MESH", "EMPTY"},
    apply_scale_options="FBX_SCALE_ALL",
    add_leaf_bones=False,
    bake_anim_use_nla_strips=False,
    bake_anim_use_all_actions=False,
    bake_anim_simplify_factor=0.0,
    path_mode="COPY",
    embed_textures=True,
)
"""


def write_fbx(file: Path, take: Take, avatar: Avatar | None = None) -> None:
    """Write a take as FBX, at one rate, on the performer's body or on an avatar.

    Args:
        file: to write.
        take: the motion.
        avatar: body that it moves.
    Raises: DuocapError: Blender is not there, or fails; every frame is lost.
    """
    blender = find_blender()
    even = resample_evenly(take)
    content = encode_glb(even) if avatar is None else encode_avatar(even, avatar)
    fps = 1.0 / estimate_frame_period_s(even.seconds) if len(even) > 1 else 30.0
    with tempfile.TemporaryDirectory(prefix="duocap-fbx-") as folder:
        source, target, script = (Path(folder, name) for name in ("take.glb", "take.fbx", "export.py"))
        source.write_bytes(content)
        script.write_text(SCRIPT, encoding="utf-8")
        _run_blender(blender, script, [str(source), str(target), f"{fps:.9g}", str(len(even))])
        if not target.exists():
            raise DuocapError(f"{file}: Blender wrote no FBX; write .glb instead and import that, or say what Blender is with -v")
        write_atomically(file, target.read_bytes())


def find_blender() -> list[str]:
    """Return the words of a command that runs a script in Blender. Raises DuocapError: it is not installed."""
    if importlib.util.find_spec("bpy") is not None:
        return [sys.executable]
    program = shutil.which("blender") or next((place for place in PLACES if Path(place).exists()), None)
    if program is None:
        raise DuocapError(
            "FBX is written by Blender, which was not found; `pip install bpy` (Python 3.11), or install Blender so that "
            "`blender` is on the PATH; or write .glb, which Unreal, Godot, Blender and by an add-on Unity import, too"
        )
    return [program, "--background", "--factory-startup", "--python-exit-code", "1", "--python"]


def _run_blender(blender: Sequence[str], script: Path, arguments: Sequence[str]) -> None:
    """Run a script in Blender. Raises DuocapError: it fails."""
    words = [*blender, str(script), *(["--"] if len(blender) > 1 else []), *arguments]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DuocapError(f"Blender could not write the FBX ({type(error).__name__}: {error}); write .glb instead") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        raise DuocapError(f"Blender could not write the FBX ({last}); expected Blender 4.2 or newer; write .glb instead")
