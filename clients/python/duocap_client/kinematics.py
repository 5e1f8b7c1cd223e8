"""Forward kinematics in plain Python: from local rotations to places and orientations in the world."""

from __future__ import annotations

from collections.abc import Sequence

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]  # x, y, z, w


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the rotation b followed by a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def rotated(q: Quaternion, v: Vector) -> Vector:
    """Turn a vector: v + 2 w (u x v) + 2 u x (u x v), u the vector part of q."""
    x, y, z, w = q
    tx, ty, tz = 2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])
    return (
        v[0] + w * tx + y * tz - z * ty,
        v[1] + w * ty + z * tx - x * tz,
        v[2] + w * tz + x * ty - y * tx,
    )


def global_transforms(
    parents: Sequence[int], offsets_m: Sequence[Vector], root_m: Vector, rotations_xyzw: Sequence[Quaternion]
) -> list[tuple[Vector, Quaternion]]:
    """Return place [m] and orientation of every joint: G_j = G_parent L_j, p_j = p_parent + G_parent offset_j."""
    if len(rotations_xyzw) != len(parents):
        raise ValueError(f"{len(rotations_xyzw)} rotations for {len(parents)} joints")
    placed: list[tuple[Vector, Quaternion]] = []
    for parent, offset, local in zip(parents, offsets_m, rotations_xyzw, strict=True):
        if parent < 0:
            placed.append((root_m, local))
            continue
        place, turn = placed[parent]
        step = rotated(turn, offset)
        placed.append(((place[0] + step[0], place[1] + step[1], place[2] + step[2]), product(turn, local)))
    return placed
