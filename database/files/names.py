"""The joints of a motion file matched to ours: by what the user or the file says, by names, by the shape of the tree.

A name is cut into words (`mixamorig9:LeftUpLeg` -> mixamorig, 9, left, up, leg); words that all joints have in common at the
beginning or end, numbers and the side are taken off, and what is left is looked up in SLOTS. One word often stands for two joints
(a `Hip` above a `Thigh`, or the thigh itself), so a limb is matched as a whole, from the trunk outwards. Hips, spine and neck
follow from where the limbs are attached, since `Spine` means three different joints in three conventions.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS
from database.files.shapes import match_limbs_by_shape
from database.files.source_motion import JointName, SourceMotion, find_common_ancestor, list_path_from_root

# What a joint of a limb is called without its side, from the trunk outwards. HipBone, above the thigh, is none of ours.
SLOTS: dict[str, dict[str, str]] = {
    "leg": {
        "HipBone": "hip hipjoint buttock glute pelvis hipbone",
        "UpperLeg": "upperleg upleg thigh femur hip leg 足 太もも upperlegbone legupper",
        "LowerLeg": "lowerleg lowleg leg knee shin calf tibia crus ひざ 膝 脛 leglower",
        "Foot": "foot ankle talus 足首 足",
        "Toes": "toes toe toebase ball foot つま先 足先ex toetip forefoot",
    },
    "arm": {
        "Shoulder": "shoulder collar clavicle collarbone scapula shoulderblade 肩",
        "UpperArm": "upperarm uparm arm humerus bicep shoulder shldr 腕 armupper",
        "LowerArm": "lowerarm lowarm forearm fore elbow radius ulna ひじ 肘 armlower arm",
        "Hand": "hand wrist palm 手首 手",
    },
}
HEAD = {"head", "頭", "skull", "cranium"}
NECK = {"neck", "首", "lowerneck", "upperneck", "cervical", "headneck"}
SIDES = {"l": "left", "left": "left", "左": "left", "r": "right", "right": "right", "右": "right"}
WORD = re.compile(r"[左右]|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z左右]+")
NEEDED = ("hips", *(side + part for side in ("left", "right") for part in ("UpperLeg", "LowerLeg", "UpperArm", "LowerArm")))
COMMON_SHARE = 0.8  # of the joints that have a word in common: the root is often called otherwise


class JointMatch(NamedTuple):
    """source: the file's joint for each of ours, (J,), -1 for one it does not have; by_shape: limbs were not told by names."""

    source: tuple[int, ...]
    by_shape: bool


def match_joints(where: str, motion: SourceMotion, given: Mapping[str, str] | None = None) -> JointMatch:
    """Return the file's joints as ours.

    Args:
        where: the file, for messages.
        motion: of the file.
        given: our joint -> the file's name, as the user says it.
    Raises: FileFormatError: hips, arms or legs are not recognised, or a joint that is given is not there.
    """
    sure = dict(motion.known) | _find_given_joints(where, motion, given or {})
    found = dict(sure)
    plain = split_joint_names(motion.names)
    for name, k in found.items():
        if k >= 0 and name.startswith(("left", "right")):
            side = "left" if name.startswith("left") else "right"
            plain[k] = JointName(side, name.removeprefix(side).lower())
    for target, source in _match_limbs(plain, motion.parents).items():
        if source not in found.values():
            found.setdefault(target, source)
    shaped = match_limbs_by_shape(motion, plain, found) if any(name not in found for name in NEEDED[1:]) else {}
    if shaped:
        found = {name: joint for name, joint in found.items() if name in sure} | {
            n: k for n, k in shaped.items() if n not in sure
        }
    missing = [name for name in NEEDED[1:] if found.get(name, -1) < 0]
    if missing:
        known = ", ".join(motion.names[:12])
        raise FileFormatError(
            f"{where}: no joint is recognised as {', '.join(missing)}; name them by --names map.toml, "
            f'such as {missing[0]} = "{motion.names[-1]}"; its joints are {known}{", ..." if len(motion.names) > 12 else ""}'
        )
    _match_trunk(found, plain, motion.parents)
    return JointMatch(tuple(found.get(name, -1) for name in JOINTS), bool(shaped))


def _find_given_joints(where: str, motion: SourceMotion, given: Mapping[str, str]) -> dict[str, int]:
    """Return the joints that the user named. Raises FileFormatError: ours or the file's is unknown."""
    for ours, theirs in given.items():
        if ours not in JOINT_INDEX:
            raise FileFormatError(f"--names: {ours!r} is no joint of ours; expected one of {', '.join(JOINTS)}")
        if theirs and theirs not in motion.names:
            raise FileFormatError(f"{where}: no joint {theirs!r}, as --names wants for {ours}; it has {', '.join(motion.names)}")
    return {ours: motion.names.index(theirs) if theirs else -1 for ours, theirs in given.items()}


def split_joint_names(names: Sequence[str]) -> list[JointName]:
    """Return side and part of all names."""
    words = [[word.lower() for word in WORD.findall(name.rpartition(":")[2])] for name in names]
    common = _find_common_words(words)
    last = _find_common_words([list(reversed(each)) for each in words])
    return [_name_from_words(_strip_words(each, common, last)) for each in words]


def _find_common_words(words: Sequence[Sequence[str]]) -> list[str]:
    """Return the words with which nearly all names begin, if something is left of most of them."""
    common = list[str]()
    while len(words) > 2:
        nth = [each[len(common)] for each in words if list(each[: len(common)]) == common and len(each) > len(common) + 1]
        best = max(set(nth), key=nth.count, default="")
        if not best or best in SIDES or nth.count(best) < COMMON_SHARE * len(words):
            break
        common.append(best)
    return common


def _strip_words(words: Sequence[str], first: Sequence[str], last: Sequence[str]) -> list[str]:
    """Return words without those common to all; `last` is in reverse order."""
    if first and list(words[: len(first)]) == list(first):
        words = words[len(first) :] or words
    if last and list(reversed(words[-len(last) :])) == list(last):
        words = words[: -len(last)] or words
    return list(words)


def _name_from_words(words: list[str]) -> JointName:
    """Return side and part of the words of a name."""
    words = [word for word in words if not word.isdigit()]
    sides = [n for n, word in enumerate(words) if word in SIDES]
    if sides:
        rest = [word for n, word in enumerate(words) if n != sides[0]]
        whole = ["".join(rest[n:]) for n in range(len(rest))] or [""]  # without what stands before, if only so it is known
        return JointName(SIDES[words[sides[0]]], next((part for part in whole if _is_limb_name(part)), whole[0]))
    part = "".join(words)
    for mark, side in (("left", "left"), ("right", "right"), ("l", "left"), ("r", "right")):
        for bare in (part.removeprefix(mark), part.removesuffix(mark)):
            if bare != part and _is_limb_name(bare):
                return JointName(side, bare)
    return JointName("", "".join(word for word in words if word != "c") or part)


def _is_limb_name(part: str) -> bool:
    """Return whether a word stands for a joint of a limb."""
    return any(part in known.split() for slots in SLOTS.values() for known in slots.values())


def _match_limbs(plain: Sequence[JointName], parents: Sequence[int]) -> dict[str, int]:
    """Return our limb joints with the file's, each limb matched along the path that fits best."""
    found = dict[str, int]()
    for slots in SLOTS.values():
        known = {slot: parts.split() for slot, parts in slots.items()}
        for side in ("left", "right"):
            named = [k for k, name in enumerate(plain) if name.side == side and any(name.part in each for each in known.values())]
            best, best_score = dict[str, int](), 0.0
            for last in named:
                path = [k for k in list_path_from_root(parents, last) if k in named]
                score, chosen = _match_path(path, list(known), {k: plain[k].part for k in path}, known)
                if score > best_score + 1e-9:
                    best, best_score = chosen, score
            found |= {side + slot: k for slot, k in best.items() if slot != "HipBone"}
    return found


def _match_path(
    path: Sequence[int], slots: Sequence[str], parts: Mapping[int, str], known: Mapping[str, Sequence[str]]
) -> tuple[float, dict[str, int]]:
    """Return score and assignment of the slots to joints of a path, both in order from the trunk outwards."""
    if not slots or not path:
        return 0.0, {}
    score, best = _match_path(path, slots[1:], parts, known)  # without this slot
    for n, k in enumerate(path):
        if parts[k] not in known[slots[0]]:
            continue
        # Limbs proper count most; of several joints the first counts, of its names the first in the table.
        worth = {"HipBone": 0.4, "Shoulder": 0.6, "Toes": 0.6, "Foot": 0.9, "Hand": 0.9}.get(slots[0], 1.0)
        worth -= 1e-4 * known[slots[0]].index(parts[k]) + 1e-3 * n
        below, chosen = _match_path(path[n + 1 :], slots[1:], parts, known)
        if worth + below > score:
            score, best = worth + below, {slots[0]: k, **chosen}
    return score, best


def _match_trunk(found: dict[str, int], plain: Sequence[JointName], parents: Sequence[int]) -> None:
    """Fill in hips, spine, chest, upper chest, neck, upper neck and head from where limbs and head are attached."""
    arms = [found["leftUpperArm"], found["rightUpperArm"]]
    arms += [found[name] for name in ("leftShoulder", "rightShoulder") if found.get(name, -1) >= 0]
    found.setdefault("hips", max(find_common_ancestor(parents, [found["leftUpperLeg"], found["rightUpperLeg"]]), 0))
    hips = found["hips"]
    # Bipeds hang the collars on the neck; the joint below it is the chest then.
    to_arms = _list_path_between(parents, hips, find_common_ancestor(parents, arms))
    spine = [k for k in to_arms if plain[k].part not in NECK | HEAD and k not in arms] or to_arms[:1]
    head = found.get("head", _find_head(plain, parents, spine[-1] if spine else hips, set(found.values()) | set(spine)))
    neck = [k for k in _list_path_between(parents, spine[-1] if spine else hips, head) if k not in spine and k != head]
    if head >= 0:
        found["head"] = head
    for targets, joints in ((("spine", "chest", "upperChest"), spine), (("neck", "upperNeck"), neck)):
        if not any(name in found for name in targets):
            found |= dict(_spread_joints(targets, joints))


def _spread_joints(targets: Sequence[str], joints: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Return our joints of a chain with the file's: the first ones; of the trunk the first, middle and last, with the arms."""
    if targets[-1] == "upperChest" and len(joints) == 2:
        targets = (targets[0], targets[-1])
    yield from zip(targets, joints, strict=False)
    if targets[-1] == "upperChest" and len(joints) > len(targets):
        yield targets[1], joints[(len(joints) - 1) // 2]
        yield targets[-1], joints[-1]


def _list_path_between(parents: Sequence[int], top: int, joint: int) -> list[int]:
    """Return the joints on the way down to `joint` from the lowest that is above it and `top`, without that and `top`."""
    if joint < 0:
        return []
    above = list_path_from_root(parents, top)
    return [k for k in list_path_from_root(parents, joint) if k not in above]


def _find_head(plain: Sequence[JointName], parents: Sequence[int], chest: int, taken: set[int]) -> int:
    """Return the head: by its name, else the last joint of a chain without branches that leaves the chest; -1 for none."""
    named = [k for k, name in enumerate(plain) if not name.side and name.part in HEAD]
    if named:
        return named[0]
    chain = next((k for k, parent in enumerate(parents) if parent == chest and k not in taken and not plain[k].side), -1)
    while chain >= 0 and len(children := [k for k, parent in enumerate(parents) if parent == chain]) == 1:
        chain = children[0]
    return chain


def check_names_given(where: str, table: Mapping[str, object]) -> dict[str, str]:
    """Return a table of names as it is read from TOML. Raises FileFormatError: it is not joint = name."""
    odd = [key for key, value in table.items() if not isinstance(value, str) or key not in JOINT_INDEX]
    if odd:
        raise FileFormatError(
            f'{where}: {odd[0]} = {table[odd[0]]!r}; expected our joint = "the file\'s", ours: {", ".join(JOINTS)}'
        )
    return {key: str(value) for key, value in table.items()}
