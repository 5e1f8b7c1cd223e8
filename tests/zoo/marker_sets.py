"""Marker sets as others wear them, from somebody who just stands there: each through `calibrate subject` and `replay`."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tomli_w

from capture.sources.simulated.scene import SimulatedScene
from config.joints import JOINTS
from config.markers import read_marker_set
from tests.tools.commands.walked import ended
from tests.zoo.specimen import Outcome, Specimen
from tools.simulate import simulate_recording

Place = tuple[str, tuple[float, float, float]]
WAIST: dict[str, Place] = {
    "waist_left": ("hips", (0.10, 0.0, 0.11)),
    "waist_right": ("hips", (-0.10, 0.0, 0.11)),
    "waist_front": ("hips", (0.0, 0.0, 0.14)),
}
TRUNK: dict[str, Place] = {
    "left_shoulder": ("leftShoulder", (0.16, 0.065, 0.04)),
    "right_shoulder": ("rightShoulder", (-0.16, 0.065, 0.04)),
    "chest": ("upperChest", (0.0, 0.05, 0.12)),
}
LEGS: dict[str, Place] = {
    f"{side}_{name}": (f"{side}{joint}", place)
    for side in ("left", "right")
    for name, joint, place in (
        ("knee", "LowerLeg", (0.0, 0.0, 0.06)),
        ("ankle", "Foot", (0.0, 0.0, 0.05)),
        ("toe", "Toes", (0.0, 0.02, 0.05)),
    )
}
HANDS: dict[str, Place] = {"left_hand": ("leftHand", (0.08, 0.04, 0.0)), "right_hand": ("rightHand", (-0.08, 0.04, 0.0))}
PROPS: dict[str, Place] = {
    "tail": ("hips", (0.45, -0.25, -0.25)),
    "tail_tip": ("hips", (0.65, 0.0, -0.25)),
    "hat": ("head", (0.0, 0.42, 0.0)),
    "staff": ("leftHand", (0.1, 0.0, 0.55)),
}
ARMS = ("UpperArm", "LowerArm", "Hand")


def write_set(file: Path, places: Mapping[str, Place], torso: Sequence[str] = (*WAIST, *TRUNK)) -> Path:
    """Write a markers.toml."""
    tables = {name: {"joint": joint, "offset_m": list(place), "torso": name in torso} for name, (joint, place) in places.items()}
    file.write_text(tomli_w.dumps(tables), encoding="utf-8")
    return file


def standing(folder: Path, places: Mapping[str, Place] | str, more: Mapping[str, Place] | None = None) -> Outcome:
    """Calibrate somebody who just stands there, then replay all of it.

    places: the set; more: worn as well, but not in the set. The error is the mean distance of the joints from the truth, but for
    arms where none are worn [mm].
    """
    markers = places if isinstance(places, str) else str(write_set(folder / "set.toml", places))
    worn = str(write_set(folder / "worn.toml", {**places, **more})) if more and not isinstance(places, str) else markers
    room = folder / "room"
    simulate_recording(
        SimulatedScene(
            "idle", markers=worn, fps=30.0, width_px=560, height_px=420, seconds=3.0, tpose_s=0.0, empty_s=1.0, seed=3
        ),
        room,
    )
    given = [room / "left.avi", room / "right.avi", "--rig", room / "rig.toml", "--timestamps", room / "timestamps.csv"]
    given += ["--background", "0:0.9"]
    told = ended(["calibrate", "subject", *given, "--markers", markers, "--from", 1.1, "--to", 2.2, "--out", folder / "a.toml"])
    if told.status:
        return Outcome(told.err.replace(str(folder), ""), refused=True)
    result = ended(["replay", *given, "--subject", folder / "a.toml", "--no-publish", "--out", folder / "a.csv"])
    assert result.status == 0, result.err
    lines = [line for line in told.out.splitlines() if "markers, " in line or line.startswith(("the arms", "verdict"))]
    has_arms = any(part in JOINTS[j] for j in read_marker_set(markers).joint for part in ARMS)
    return Outcome("; ".join(lines), _error_mm(folder / "a.csv", room / "truth.csv", has_arms))


def _error_mm(found: Path, truth: Path, arms: bool) -> float:
    """Return the mean distance of joints in two tables, of every frame in which somebody stands there; lost ones are infinite."""
    joints = [joint for joint in JOINTS if arms or not any(part in joint for part in ARMS)]
    tables = []
    for file in (found, truth):
        with file.open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if float(row["seconds"]) > 1.2]
        tables.append([[[float(row[f"{j}.{axis}"] or np.inf) for axis in "xyz"] for j in joints] for row in rows])
    a, b = (np.array(table) for table in tables)
    n = min(len(a), len(b))
    assert abs(len(a) - len(b)) <= 2
    return 1e3 * float(np.linalg.norm(a[:n] - b[:n], axis=2).mean())


def _two_torso(folder: Path) -> Outcome:
    """Read a set with two markers of the torso."""
    read_marker_set(write_set(folder / "set.toml", {**WAIST, **LEGS}, torso=("waist_left", "waist_right")))
    return Outcome("taken")


def _own_joint(folder: Path) -> Outcome:
    """Read a set with a joint that people have not."""
    read_marker_set(write_set(folder / "set.toml", {**WAIST, **LEGS, "tail_tip": ("tail", (0.0, 0.0, -0.3))}))
    return Outcome("taken")


NO_ARM = r"^(?!.*arm)"
SPECIMENS: tuple[Specimen, ...] = (
    Specimen("legs only", lambda f: standing(f, {**WAIST, **LEGS}), NO_ARM + ".*9 of 9 markers", 60.0, "mm", slow=True),
    Specimen("no arms", lambda f: standing(f, {**WAIST, **TRUNK, **LEGS}), NO_ARM + ".*12 of 12", 60.0, "mm", slow=True),
    Specimen("all around", lambda f: standing(f, "all_around"), "arms are taken to point 75", 60.0, "mm", slow=True),
    Specimen(
        "tail, hat and staff",
        lambda f: standing(f, {**WAIST, **TRUNK, **LEGS, **HANDS, **PROPS}),
        "18 of 18",
        60.0,
        "mm",
        slow=True,
    ),
    Specimen(
        "props that are in no set", lambda f: standing(f, {**WAIST, **TRUNK, **LEGS}, PROPS), "12 of 12", 60.0, "mm", slow=True
    ),
    Specimen("two markers on the torso", _two_torso, "2 markers have torso = true, at least 3", refused=True),
    Specimen("a joint that people have not", _own_joint, "tail_tip.*'tail'.*hips", refused=True),
)
