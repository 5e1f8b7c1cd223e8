"""Motion files of other programs: names, text, rates, units, axes and trees of joints; what comes in is held against the truth.

The truth is plain forward kinematics of the same person (`tests/support/files/bvh.py`): the error is the worst joint in mm, the
text has the worst rotation in degrees.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from config.joints import JOINT_INDEX
from database.files.asf_amc import read_amc
from database.files.read import read_imported_motion
from database.files.retarget import NO_HINTS, ImportedMotion, ImportHints
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import compute_geodesic_rad
from tests.support.files.bvh import END, LEG, MIXAMO, OURS, Bvh, Tree, along_bones, renamed, small
from tests.support.files.motion import amc_text, asf_text, random_values
from tests.zoo.specimen import Outcome, Specimen

Change = Callable[[str], str | bytes]
STRAIGHT: Tree = [(n, p, (o[0], o[1], 0.0) if n.endswith("Foot") else o) for n, p, o in MIXAMO]  # so that its rest is ours
TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")
ARM = ("Shoulder", "Arm", "ForeArm", "Hand")


class Scheme(NamedTuple):
    """What a program calls joints: left and right, where < stands; before and after all names; -: it has none."""

    left: str
    right: str
    trunk: str = "Hips Spine Spine1 Spine2 Neck Head"
    arm: str = "<Shoulder <Arm <ForeArm <Hand"
    leg: str = "<UpLeg <Leg <Foot <ToeBase"
    before: str = ""
    after: str = ""

    def name_joints(self) -> dict[str, str]:
        """Return the name of each joint of ours as Mixamo calls it, empty for those that it does not have."""
        names = dict(zip(TRUNK, self.trunk.split(), strict=True))
        for side, mark in (("Left", self.left), ("Right", self.right)):
            for parts, words in ((ARM, self.arm), (LEG, self.leg)):
                names |= {side + part: word.replace("<", mark) for part, word in zip(parts, words.split(), strict=True)}
        return {joint: "" if name == "-" else f"{self.before}{name}{self.after}" for joint, name in names.items()}


ELBOWS, KNEES = "<Collar <Shoulder <Elbow <Wrist", "<Hip <Knee <Ankle <Foot"
SCHEMES: dict[str, Scheme] = {
    "Mixamo with a number": Scheme("Left", "Right", before="mixamorig9:"),
    "Mixamo without a colon": Scheme("Left", "Right", before="mixamorig"),
    "MotionBuilder": Scheme("Left", "Right", before="Character1_"),
    "Biped": Scheme(
        "L_",
        "R_",
        "Pelvis Spine Spine1 Spine2 Neck Head",
        "<Clavicle <UpperArm <Forearm <Hand",
        "<Thigh <Calf <Foot <Toe0",
        "Bip001_",
    ),
    "Unreal": Scheme(
        "_l",
        "_r",
        "pelvis spine_01 spine_02 spine_03 neck_01 head",
        "clavicle< upperarm< lowerarm< hand<",
        "thigh< calf< foot< ball<",
    ),
    "Rigify": Scheme(
        ".L",
        ".R",
        "spine spine.001 spine.002 spine.003 spine.004 spine.006",
        "shoulder< upper_arm< forearm< hand<",
        "thigh< shin< foot< toe<",
        "DEF-",
    ),
    "Daz and Poser": Scheme(
        "l", "r", "hip abdomen - chest neck head", "<Collar <Shldr <ForeArm <Hand", "<Thigh <Shin <Foot <Toe"
    ),
    "DeepMotion": Scheme(
        "l_",
        "r_",
        "hips spine spine1 spine2 neck head",
        "<shoulder <arm <forearm <hand",
        "<upleg <leg <foot <toebase",
        after="_JNT",
    ),
    "letters at the end": Scheme(
        "L",
        "R",
        "Hips Spine Chest UpperChest Neck Head",
        "Shoulder< UpperArm< LowerArm< Hand<",
        "UpperLeg< LowerLeg< Foot< Toes<",
    ),
    "Biovision": Scheme("Left", "Right", "Hips - - Chest Neck Head", "<Collar <UpArm <LowArm <Hand", "<UpLeg <LowLeg <Foot -"),
    "SMPL": Scheme("L_", "R_", "Pelvis Spine1 Spine2 Spine3 Neck Head", ELBOWS, KNEES),
    "Xsens": Scheme("Left", "Right", "Hips Chest Chest2 Chest3 Neck Head", ELBOWS, "<Hip <Knee <Ankle <Toe"),
    "Kinect": Scheme(
        "Left", "Right", "SpineBase - SpineMid SpineShoulder Neck Head", "- Shoulder< Elbow< Wrist<", "Hip< Knee< Ankle< Foot<"
    ),
    "Azure Kinect": Scheme(
        "_LEFT",
        "_RIGHT",
        "PELVIS - SPINE_NAVEL SPINE_CHEST NECK HEAD",
        "CLAVICLE< SHOULDER< ELBOW< WRIST<",
        "HIP< KNEE< ANKLE< FOOT<",
    ),
    "MikuMikuDance": Scheme("左", "右", "センター 下半身 上半身 上半身2 首 頭", "<肩 <腕 <ひじ <手首", "<足 <ひざ <足首 <つま先"),
    "no names": Scheme("a", "b", "n0 n1 n2 n3 n4 n5", "<6 <7 <8 <9", "<1 <2 <3 <4"),
}


def _leave_out(gone: set[str], tree: Tree) -> Tree:
    """Return a tree without some joints, whose children hang on the joint above, where they were."""
    for name in gone:
        parent, offset = next((parent, offset) for joint, parent, offset in tree if joint == name)
        below = [(j, parent, tuple(np.add(offset, o))) if p == name else (j, p, o) for j, p, o in tree if j != name]
        tree = [joint for joint in below if not (joint[0] == END and joint[1] == parent)]
    return tree


def _judge(imported: ImportedMotion, bvh: Bvh, theirs: dict[str, str]) -> Outcome:
    """Return how far joints and rotations are from those of the file. theirs: our joint -> the file's."""
    clip = imported.clip
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[:2]
    worst_mm = worst_deg = 0.0
    for n in range(min(clip.n_frames, len(bvh.root))):
        place, turn = bvh.pose(n)
        for ours, name in theirs.items():
            j = JOINT_INDEX[ours]
            worst_mm = max(worst_mm, 1e3 * float(np.linalg.norm(p[n, j] - 0.01 * place[name])))
            worst_deg = max(worst_deg, float(np.rad2deg(compute_geodesic_rad(G[n, j], turn[name].as_matrix()))))
    words = [f"{len(theirs)} joints, rotations within {worst_deg:.1f} degrees", *imported.lines()]
    return Outcome("; ".join(words), worst_mm)


def _read(folder: Path, content: str | bytes, hints: ImportHints = NO_HINTS) -> ImportedMotion:
    """Write a BVH and import it."""
    file = folder / "dance.bvh"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_imported_motion(file, hints)


def _scheme(name: str) -> Callable[[Path], Outcome]:
    """Return what imports a person with the names of a program."""

    def make(folder: Path) -> Outcome:
        names = SCHEMES[name].name_joints()
        bvh = small(renamed(names, _leave_out({joint for joint, theirs in names.items() if not theirs}, STRAIGHT)), 5)
        theirs = {ours: names[joint] for ours, joint in OURS.items() if names[joint]}
        if not names["Spine1"] or not names["Spine"]:  # the last of the spine carries the arms
            theirs.pop("chest", None)
            kept = [names[joint] for joint in ("Spine", "Spine1", "Spine2") if names[joint]]
            theirs |= {"spine": kept[0]} if len(kept) > 1 else {}
        if sum(bool(names[joint]) for joint in ("Spine", "Spine1", "Spine2")) == 1:
            theirs["spine"] = theirs.pop("upperChest")
        return _judge(_read(folder, bvh.text()), bvh, theirs)

    return make


def _text(change: Change) -> Callable[[Path], Outcome]:
    """Return what imports the text of a person's file, changed."""

    def make(folder: Path) -> Outcome:
        bvh = small(STRAIGHT, 6)
        text = bvh.text().replace("0.0083333", "0.0333333")
        return _judge(_read(folder, change(text)), bvh, OURS)

    return make


def _along_bones(folder: Path) -> Outcome:
    """Axes along the bones, mirrored on the right."""
    bvh = small(STRAIGHT, 7)
    return _judge(_read(folder, along_bones(bvh)), bvh, {k: v for k, v in OURS.items() if not k.endswith("Shoulder")})


def _z_up(folder: Path) -> Outcome:
    """A world with Z up and millimetres."""
    bvh = small(STRAIGHT, 8)
    x, y, z = np.array([10.0, 0, 0]), np.array([0, 0, 10.0]), np.array([0, -10.0, 0])
    turned = Bvh([(n, p, tuple(o[0] * x + o[1] * y + o[2] * z)) for n, p, o in bvh.tree], 0)
    turned.root, turned.order = bvh.root @ np.stack([x, y, z]), "YZX"
    # R' = W R W^T: about x as before, y becomes z, z becomes -y; the channels ZXY become -Y X Z.
    turned.order = "YXZ"
    turned.degrees = {name: degrees * [-1.0, 1.0, 1.0] for name, degrees in bvh.degrees.items()}
    return _judge(_read(folder, turned.text()), bvh, OURS)


def _hips_below(folder: Path) -> Outcome:
    """Hips with position channels below a root that stays; without the root, the same person."""
    bvh = small(STRAIGHT, 9)
    lines = bvh.text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("MOTION"))
    head = ["HIERARCHY", "ROOT Reference", "{", "OFFSET 0 0 0", "CHANNELS 3 Zrotation Xrotation Yrotation"]
    body = [*head, lines[1].replace("ROOT", "JOINT"), *lines[2:start], "}", *lines[start : start + 3]]
    return _judge(_read(folder, "\n".join([*body, *(f"0 0 0 {line}" for line in lines[start + 3 :])])), bvh, OURS)


def _more_joints(above: str, below: str, extra: int, given_way: tuple[str, ...]) -> Callable[[Path], Outcome]:
    """Return what imports a spine or neck with more bending joints than ours: all but those between stay where they were.

    Args:
        above, below: joints between which there are more.
        extra: how many.
        given_way: our joints that are between, or whose bone is turned.
    """

    def make(folder: Path) -> Outcome:
        names = [f"Extra{n}" for n in range(extra)]
        tree = [(n, names[-1] if n == below else p, o) for n, p, o in STRAIGHT]
        at = next(n for n, joint in enumerate(tree) if joint[0] == below)
        for n, name in enumerate(names):
            tree.insert(at + n, (name, names[n - 1] if n else above, (0, 7, 0)))
        bvh = small(tree, 10, degrees=15.0)
        return _judge(_read(folder, bvh.text()), bvh, {k: v for k, v in OURS.items() if k not in given_way})

    return make


def _given_names(folder: Path) -> Outcome:
    """Names that say the wrong thing, put right by --names."""
    wrong = {"LeftArm": "LeftLeg", "LeftLeg": "LeftArm"}
    bvh = small(renamed(wrong, STRAIGHT), 11)
    names = {"leftUpperArm": "LeftLeg", "leftLowerLeg": "LeftArm"}
    return _judge(_read(folder, bvh.text(), ImportHints(names=names)), bvh, {k: wrong.get(v, v) for k, v in OURS.items()})


def _amc(line: str, start: bytes = b"") -> Callable[[Path], Outcome]:
    """Return what reads an AMC with a line in its header, and bytes before it."""

    def make(folder: Path) -> Outcome:
        (folder / "77.asf").write_bytes(start + asf_text().encode())
        text = amc_text(random_values(np.random.default_rng(1), 3)).replace(":DEGREES", f":DEGREES{line}")
        (folder / "77_01.amc").write_bytes(start + text.encode())
        motion = read_amc(folder / "77_01.amc")
        return Outcome(f"{len(motion.root)} frames at {motion.fps:g} Hz")

    return make


def _with_end_channels(text: str) -> str:
    """Give an End Site channels, with values that are nothing to anybody."""
    first = text.index("End Site")
    before = text[:first].count("rotation") + 3
    at = text.index("\n", text.index("OFFSET", first))
    text = text[:at] + "\nCHANNELS 3 Zrotation Xrotation Yrotation" + text[at:]
    head, rows = text.split("Frame Time: 0.0333333\n")
    return f"{head}Frame Time: 0.0333333\n" + "\n".join(
        " ".join([*row.split()[:before], "70 80 90", *row.split()[before:]]) for row in rows.splitlines() if row
    )


def _no_legs(folder: Path) -> Outcome:
    """A body without legs."""
    legs = {name for name, _, _ in STRAIGHT if name.endswith(LEG)}
    bvh = small([joint for joint in STRAIGHT if not {joint[0], joint[1]} & legs], 12)
    return _judge(_read(folder, bvh.text()), bvh, OURS)


def _rate(printed: str) -> Change:
    return lambda text: text.replace("0.0333333", printed)


GOOD = "22 joints, rotations within 0.0 degrees.* 30 Hz.*taken as centimetres, Y up"
SPECIMENS: tuple[Specimen, ...] = (
    *(Specimen(f"names: {name}", _scheme(name), "rotations within 0.0 degrees", 0.001, "mm") for name in SCHEMES),
    Specimen("names that say the wrong thing, with --names", _given_names, "rotations within 0.0 degrees", 0.001, "mm"),
    Specimen("axes along the bones, mirrored", _along_bones, "within [0-9.]{3} degrees.*no person", 0.001, "mm"),
    Specimen("millimetres, Z up", _z_up, "taken as millimetres, Z up", 0.001, "mm"),
    Specimen("hips that move below a root", _hips_below, "within 0.0 degrees", 0.001, "mm"),
    Specimen("a spine of four", _more_joints("Spine1", "Spine2", 1, ("spine", "chest")), r"mm \(chest\)", 0.001, "mm"),
    Specimen("a spine of five", _more_joints("Spine1", "Spine2", 2, ("spine", "chest")), r"mm \(chest\)", 0.001, "mm"),
    Specimen("a neck of three", _more_joints("Neck", "Head", 2, ("neck", "upperNeck")), r"mm \(upperNeck\)", 0.001, "mm"),
    Specimen("byte order mark", _text(lambda text: b"\xef\xbb\xbf" + text.encode()), GOOD, 0.001, "mm"),
    Specimen("Ctrl-Z at the end", _text(lambda text: text + "\x1a"), GOOD, 0.001, "mm"),
    Specimen("line ends of old Macs", _text(lambda text: text.replace("\n", "\r")), GOOD, 0.001, "mm"),
    Specimen("a comment", _text(lambda text: "# exported\n" + text), GOOD, 0.001, "mm"),
    Specimen("EndSite in one word", _text(lambda text: text.replace("End Site", "EndSite")), GOOD, 0.001, "mm"),
    Specimen("channels of an End Site", _text(_with_end_channels), GOOD, 0.001, "mm"),
    Specimen("decimal commas", _text(lambda text: text.replace(".", ",")), GOOD + ".*commas", 0.001, "mm"),
    Specimen("one frame too few", _text(lambda t: t.replace("Frames: 24", "Frames: 23")), GOOD + ".*24 found", 0.001, "mm"),
    Specimen("one frame too many", _text(lambda t: t.replace("Frames: 24", "Frames: 25")), GOOD + ".*24 found", 0.001, "mm"),
    Specimen("a last row cut short", _text(lambda t: t[:-300] + "1 -"), GOOD + ".*23 frames remain", 0.001, "mm"),
    Specimen("MOTION and Frames in a line", _text(lambda t: t.replace("MOTION\nF", "MOTION F")), GOOD, 0.001, "mm"),
    Specimen("frame time in milliseconds", _text(_rate("33.3333")), GOOD + ".*taken as milliseconds", 0.001, "mm"),
    Specimen("a rate for a frame time", _text(_rate("30")), GOOD + ".*taken as the rate", 0.001, "mm"),
    Specimen("a frame time of 10 microseconds", _text(_rate("0.00001")), GOOD + ".*taken as 30 Hz", 0.001, "mm"),
    Specimen("AMC that says its rate", _amc("\n:SAMPLES-PER-SECOND 60"), "3 frames at 60 Hz"),
    Specimen("AMC with byte order marks", _amc("", b"\xef\xbb\xbf"), "3 frames at 120 Hz"),
    Specimen(
        "a column too many",
        _text(lambda t: re.sub(r"(?m)^(-?[0-9.].*)$", r"\1 0", t)),
        "expected 75 numbers, one a channel, found 76",
        refused=True,
    ),
    Specimen(
        "a number that is none",
        _text(lambda t: t.replace("\n0 95", "\n0 -1.#IND", 1)),
        r"line \d+, column 2: .*-1\.#IND",
        refused=True,
    ),
    Specimen("cut in half", _text(lambda t: t[: t.index("MOTION") + 3000]), "cut short", refused=True),
    Specimen("no person", _no_legs, "no joint is recognised as leftUpperLeg, leftLowerLeg.*--names", refused=True),
)
