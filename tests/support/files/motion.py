"""Motion files written by the tests, of a small asymmetric person, and forward kinematics done slowly and plainly."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from config.joints import JOINTS

# name, parent, direction, length, axis [degrees, XYZ], degrees of freedom. Left and right differ; legs stand 20 degrees out.
BONES = [
    ("lhipjoint", "root", (0.64, -0.72, 0.27), 2.5, (0, 0, 0), ""),
    ("lfemur", "lhipjoint", (0.342, -0.94, 0), 7.5, (0, 0, 20), "rx ry rz"),
    ("ltibia", "lfemur", (0.342, -0.94, 0), 7.3, (0, 0, 20), "rx"),
    ("lfoot", "ltibia", (0.105, -0.29, 0.951), 2.2, (-90, 0, 20), "rx rz"),
    ("ltoes", "lfoot", (0, 0, 1), 1.1, (-90, 0, 20), "rx"),
    ("rhipjoint", "root", (-0.6, -0.74, 0.28), 2.4, (0, 0, 0), ""),
    ("rfemur", "rhipjoint", (-0.342, -0.94, 0), 7.7, (0, 0, -20), "rx ry rz"),
    ("rtibia", "rfemur", (-0.342, -0.94, 0), 7.4, (0, 0, -20), "rx"),
    ("rfoot", "rtibia", (-0.104, -0.285, 0.953), 2.3, (-90, 0, -20), "rx rz"),
    ("rtoes", "rfoot", (0, 0, 1), 1.2, (-90, 0, -20), "rx"),
    ("lowerback", "root", (-0.01, 0.997, -0.08), 2.1, (0, 0, 0), "rx ry rz"),
    ("upperback", "lowerback", (0.02, 1, -0.015), 2.1, (0, 0, 0), "rx ry rz"),
    ("thorax", "upperback", (0.03, 1, 0.023), 2.1, (0, 0, 0), "rx ry rz"),
    ("lowerneck", "thorax", (-0.065, 0.98, 0.19), 1.6, (0, 0, 0), "rx ry rz"),
    ("upperneck", "lowerneck", (0.05, 0.98, -0.18), 1.7, (0, 0, 0), "rx ry rz"),
    ("head", "upperneck", (0.02, 0.996, -0.08), 1.7, (0, 0, 0), "rx ry rz"),
    ("lclavicle", "thorax", (0.968, 0.2, -0.15), 3.6, (0, 0, 0), "ry rz"),
    ("lhumerus", "lclavicle", (1, 0, 0), 5.3, (180, -30, -90), "rx ry rz"),
    ("lradius", "lhumerus", (1, 0, 0), 3.5, (180, -30, -90), "rx"),
    ("lwrist", "lradius", (1, 0, 0), 1.7, (0, 90, 90), "ry"),
    ("lhand", "lwrist", (1, 0, 0), 0.6, (0, 90, 90), "rx rz"),
    ("lfingers", "lhand", (1, 0, 0), 0.5, (0, 90, 90), "rx"),
    ("rclavicle", "thorax", (-0.964, 0.264, -0.03), 3.5, (0, 0, 0), "ry rz"),
    ("rhumerus", "rclavicle", (-1, 0, 0), 5.4, (180, 30, 90), "rx ry rz"),
    ("rradius", "rhumerus", (-1, 0, 0), 3.6, (180, 30, 90), "rx"),
    ("rwrist", "rradius", (-1, 0, 0), 1.8, (0, -90, -90), "ry"),
    ("rhand", "rwrist", (-1, 0, 0), 0.7, (0, -90, -90), "rx rz"),
]
# CMU's bone for each of our joints, in our order.
CMU_NAMES = (
    "root lfemur ltibia lfoot ltoes rfemur rtibia rfoot rtoes lowerback upperback thorax lowerneck upperneck head "
    "lclavicle lhumerus lradius lwrist rclavicle rhumerus rradius rwrist"
)
CMU_BONE = dict(zip(JOINTS, CMU_NAMES.split(), strict=True))
METRES = 0.0254 / 0.45


def asf_text(root_order: str = "TX TY TZ RX RY RZ", root_axis: str = "XYZ", angle: str = "deg") -> str:
    """Return the skeleton as a file."""
    scale = 1.0 if angle == "deg" else np.pi / 180
    lines = [
        "# made by a test",
        ":version 1.10",
        ":name TEST",
        ":units",
        "  mass 1.0",
        "  length 0.45",
        f"  angle {angle}",
        ":root",
    ]
    lines += [f"  order {root_order}", f"  axis {root_axis}", "  position 0 0 0", "  orientation 0 0 0", ":bonedata"]
    for number, (name, _, direction, length, axis, dofs) in enumerate(BONES, start=1):
        unit = np.array(direction) / np.linalg.norm(direction)
        lines += ["  begin", f"    id {number}", f"    name {name}", "    direction " + " ".join(f"{v:.17g}" for v in unit)]
        lines += [f"    length {length}", "    axis " + " ".join(f"{v * scale:.17g}" for v in axis) + " XYZ"]
        lines += ([f"    dof {dofs}", "    limits (-10 20)", "           (-5.0 7)"] if dofs else []) + ["  end"]
    lines += [":hierarchy", "  begin"]
    for parent in dict.fromkeys(bone[1] for bone in BONES):
        lines.append("    " + " ".join([parent, *(bone[0] for bone in BONES if bone[1] == parent)]))
    return "\n".join([*lines, "  end", ""])


def random_values(rng: np.random.Generator, n_frames: int) -> list[dict[str, list[float]]]:
    """Return frames of degrees, bone -> values; the root's are TX TY TZ RX RY RZ."""
    frames = []
    for _ in range(n_frames):
        frame = {"root": [*rng.uniform(-20, 20, 3), *rng.uniform(-170, 170, 3)]}
        frame |= {name: list(rng.uniform(-60, 60, len(dofs.split()))) for name, _, _, _, _, dofs in BONES if dofs}
        frames.append(frame)
    return frames


def amc_text(
    frames: list[dict[str, list[float]]], unit: str = ":DEGREES", root_order: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
) -> str:
    """Return frames as a file; root_order: which of TX TY TZ RX RY RZ stands where."""
    lines = ["#!OML:ASF made by a test", ":FULLY-SPECIFIED", unit]
    for number, frame in enumerate(frames, start=1):
        lines.append(str(number))
        for name, values in frame.items():
            ordered = [values[k] for k in root_order] if name == "root" else values
            lines.append(" ".join([name, *(f"{v:.17g}" for v in ordered)]))
    return "\n".join([*lines, ""])


def write_amc(folder: Path, frames: list[dict[str, list[float]]], stem: str = "77_01") -> Path:
    """Write skeleton and motion into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "77.asf").write_text(asf_text(), encoding="utf-8")
    path = folder / f"{stem}.amc"
    path.write_text(amc_text(frames), encoding="utf-8")
    return path


def bone_starts_m(frame: dict[str, list[float]], root_axis: str = "xyz") -> dict[str, np.ndarray]:
    """Return where each bone begins, bone by bone: x' = C E C^-1, first axis applied first (lower case: fixed axes in scipy)."""
    values = frame["root"]
    order = ["xyz".index(c) for c in root_axis]
    turn = {"root": Rotation.from_euler(root_axis, [values[3 + k] for k in order], degrees=True)}
    end = {"root": np.array(values[:3])}
    start = {"root": end["root"]}
    for name, parent, direction, length, axis, dofs in BONES:
        C = Rotation.from_euler("xyz", axis, degrees=True)
        E = (
            Rotation.from_euler("".join(d[1] for d in dofs.split()), frame[name], degrees=True)
            if dofs and name in frame
            else None
        )
        turn[name] = turn[parent] * C * E * C.inv() if E is not None else turn[parent]
        start[name] = end[parent]
        end[name] = start[name] + turn[name].apply(np.array(direction) / np.linalg.norm(direction) * length)
    return {name: place * METRES for name, place in start.items()}
