"""Limbs found by the shape of a hierarchy, where its names do not tell: alike branches, two at the hips, two at the chest.

The hips are where two branches of equal bones and one more leave, and the chest, on that third branch, where two more do. The two
longest bones in a row are thigh and shin, upper arm and forearm. Left and right are told by names of one side or the other,
else by the feet, which point forward, in the first frame.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from config.arrays import Floats
from database.files.source_motion import JointName, SourceMotion, compute_source_poses, list_path_from_root

ALIKE = 0.12  # limbs of a person differ less in the length of their bones
Pair = tuple[list[int], list[int]]
PARTS = {"leg": ("UpperLeg", "LowerLeg", "Foot", "Toes"), "arm": ("UpperArm", "LowerArm", "Hand")}


def match_limbs_by_shape(motion: SourceMotion, plain: Sequence[JointName], named: Mapping[str, int]) -> dict[str, int]:
    """Return our joints of limbs with the file's, nothing if it has not the shape of a person.

    Args:
        motion: of the file.
        plain: its names.
        named: joints that are known by their names.
    """
    chains = _list_chains(motion)
    for legs_at, legs in _find_pairs(motion, chains):
        for arms_at, arms in _find_pairs(motion, chains):
            above = list_path_from_root(motion.parents, arms_at)
            if legs_at in above and arms_at != legs_at and not any(chain[0] in above for chain in legs):
                legs, arms = _sort_sides(motion, plain, named, legs, arms)
                found = dict[str, int]()
                for kind, pair in (("leg", legs), ("arm", arms)):
                    for side, chain in zip(("left", "right"), pair, strict=True):
                        found |= _name_chain(motion, kind, side, chain)
                return found
    return {}


def _list_chains(motion: SourceMotion) -> dict[int, list[list[int]]]:
    """Return, for each joint, the longest chain of joints below each of its children."""
    children = [[c for c, parent in enumerate(motion.parents) if parent == k] for k in range(len(motion.parents))]
    length = [float(np.linalg.norm(offset)) for offset in motion.offsets]
    best: dict[int, list[int]] = {}
    for k in reversed(range(len(motion.parents))):
        below = max((best[c] for c in children[k]), key=lambda chain: sum(length[c] for c in chain), default=[])
        best[k] = [k, *below]
    return {k: [best[c] for c in children[k]] for k in range(len(motion.parents))}


def _find_pairs(motion: SourceMotion, chains: Mapping[int, list[list[int]]]) -> list[tuple[int, Pair]]:
    """Return the joints at which two chains of alike bones leave, and the chains, the longest first."""
    found = []
    for k, below in chains.items():
        limbs = [chain for chain in below if len(chain) >= 3]
        pairs = [(a, b) for n, a in enumerate(limbs) for b in limbs[n + 1 :] if _are_alike(motion, a, b)]
        if pairs:
            found.append((k, max(pairs, key=lambda pair: sum(_measure_bones(motion, pair[0])))))
    return sorted(found, key=lambda pair: -sum(_measure_bones(motion, pair[1][0])))


def _are_alike(motion: SourceMotion, first: list[int], second: list[int]) -> bool:
    """Return whether two chains begin with bones of the same lengths."""
    a, b = (np.array(_measure_bones(motion, chain)) for chain in (first, second))
    n = min(len(a), len(b), 3)
    return bool(np.all(np.abs(a[:n] - b[:n]) <= ALIKE * np.maximum(a[:n], b[:n]).max()))


def _measure_bones(motion: SourceMotion, chain: Sequence[int]) -> list[float]:
    """Return the lengths from the first joint of a chain on."""
    return [float(np.linalg.norm(motion.offsets[k])) for k in chain[1:]]


def _name_chain(motion: SourceMotion, kind: str, side: str, chain: list[int]) -> dict[str, int]:
    """Return our joints of a limb: its two longest bones in a row are the upper and the lower one."""
    bones = _measure_bones(motion, chain)
    first = max(range(max(len(bones) - 1, 1)), key=lambda n: min(bones[n : n + 2]))
    found = {side + part: k for part, k in zip(PARTS[kind], chain[first:], strict=False)}
    return found | ({f"{side}Shoulder": chain[first - 1]} if kind == "arm" and first else {})


def _sort_sides(
    motion: SourceMotion, plain: Sequence[JointName], named: Mapping[str, int], legs: Pair, arms: Pair
) -> tuple[Pair, Pair]:
    """Return legs and arms with the left one first: by names of a side, else by the feet, which point forward in the first frame.

    Args:
        motion: of the file.
        plain: its names.
        named: joints that are known by their names.
        legs, arms: two chains each.
    """
    place = _compute_first_positions(motion)
    side = place[legs[0][0]] - place[legs[1][0]]
    if (place[arms[0][-1]] - place[arms[1][-1]]) @ side < 0.0:
        arms = (arms[1], arms[0])
    sided = {k: name.side for k, name in enumerate(plain) if name.side}
    sided |= {
        k: "left" if name.startswith("left") else "right" for name, k in named.items() if name.startswith(("left", "right"))
    }
    votes = sum(
        {"left": 1, "right": -1}.get(sided.get(k, ""), 0) * sign
        for pair in (legs, arms)
        for chain, sign in zip(pair, (1, -1), strict=True)
        for k in chain
    )
    if not votes:
        up = place[arms[0][0]] + place[arms[1][0]] - place[legs[0][0]] - place[legs[1][0]]
        forward = sum((_find_foot(place, motion, chain) for chain in legs), np.zeros(3))
        votes = 1 if np.cross(side, up) @ forward >= 0.0 else -1
    return (legs, arms) if votes > 0 else ((legs[1], legs[0]), (arms[1], arms[0]))


def _compute_first_positions(motion: SourceMotion) -> list[Floats]:
    """Return the joints in the first frame, K of (3,)."""
    rotations = tuple(None if rotation is None else rotation[:1] for rotation in motion.rotations)
    first = replace(motion, rotations=rotations, root=motion.root[:1], moves={})
    return [position[0] for position in compute_source_poses(first, ()).positions]


def _find_foot(place: Sequence[Floats], motion: SourceMotion, chain: list[int]) -> Floats:
    """Return the direction from the ankle to the last joint of a leg."""
    bones = _measure_bones(motion, chain)
    ankle = chain[min(max(range(max(len(bones) - 1, 1)), key=lambda n: min(bones[n : n + 2])) + 2, len(chain) - 1)]
    return np.asarray(place[chain[-1]] - place[ankle])
