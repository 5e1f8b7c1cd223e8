"""The body mesh: closed, outward, human in size, and bending as a body does."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial.transform import Rotation

from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.builtin import build_person_skeleton
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from stream.export.mesh.mesh import BodyMesh, build_body_mesh, compute_rest_positions_m

MAN = build_person_skeleton(1.75)


def mesh_of(skeleton: Skeleton) -> BodyMesh:
    return build_body_mesh(JOINTS, PARENTS, skeleton.offsets_m)


def edges_of(mesh: BodyMesh) -> np.ndarray:
    """Return the three edges of all faces in the faces' direction, (3 F, 2)."""
    return np.concatenate([mesh.faces[:, [0, 1]], mesh.faces[:, [1, 2]], mesh.faces[:, [2, 0]]])


def volume_m3(vertices_m: np.ndarray, faces: np.ndarray) -> float:
    """Return the enclosed volume, positive if faces are counter-clockwise from outside."""
    a, b, c = (vertices_m[faces[:, n]] for n in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def posed(skeleton: Skeleton, **degrees: tuple[float, float, float]) -> np.ndarray:
    """Return the vertices with some joints turned from the T-pose, by Euler angles about x, y, z in that order of product."""
    local = np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)).copy()
    for name, angles in degrees.items():
        local[JOINT_INDEX[name]] = Rotation.from_euler("XYZ", angles, degrees=True).as_matrix()
    G, p = compute_forward_kinematics(skeleton, charted_from_local(local), np.zeros(3))
    return mesh_of(skeleton).posed(G, p, skeleton.rest_positions_m())


def check_closed(mesh: BodyMesh) -> None:
    """Every edge is passed once in each direction, around every vertex there is one fan of faces, all faces are used."""
    count = len(mesh.vertices_m)
    edges = edges_of(mesh).astype(np.int64)
    codes = np.sort(edges @ [count, 1])
    assert np.all(np.diff(codes) > 0)
    np.testing.assert_array_equal(codes, np.sort(edges @ [1, count]))
    assert len(np.unique(mesh.faces)) == count
    # The faces around a vertex follow one another in one ring: corners joined to the next one around make one piece a vertex.
    corner, following = mesh.faces.ravel().astype(np.int64), np.roll(mesh.faces, -1, axis=1).ravel()
    last = np.roll(mesh.faces, -2, axis=1).ravel()
    starting = np.argsort(corner * count + following)
    around = starting[np.searchsorted((corner * count + following)[starting], corner * count + last)]
    links = coo_matrix((np.ones(len(corner)), (np.arange(len(corner)), around)), shape=(len(corner),) * 2)
    n_rings, _ = connected_components(links, directed=False)
    assert n_rings == count


def check_skin(mesh: BodyMesh, n_joints: int) -> None:
    """Weights sum to 1, strongest first, of joints that exist."""
    assert mesh.weights.dtype == np.float32 and mesh.joints.dtype == np.uint8 and mesh.faces.dtype == np.int32
    np.testing.assert_allclose(mesh.weights.sum(axis=1), 1.0, atol=2e-7)
    assert mesh.weights.min() >= 0.0 and mesh.joints.max() < n_joints
    assert np.all(np.diff(mesh.weights, axis=1) <= 1e-6)
    assert np.all(mesh.joints[mesh.weights == 0.0] == 0)


def test_the_skin_is_one_closed_outward_surface_without_handles() -> None:
    mesh = mesh_of(MAN)
    check_closed(mesh)
    check_skin(mesh, N_JOINTS)
    # Euler: V - E + F = 2 of a sphere; each face has three half edges.
    assert len(mesh.vertices_m) - len(mesh.faces) * 3 // 2 + len(mesh.faces) == 2
    assert 3000 < len(mesh.vertices_m) < 9000
    corners = mesh.vertices_m[mesh.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.all((across * mesh.normals[mesh.faces].sum(axis=1)).sum(axis=1) > 0.0)
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-9)


def test_it_has_the_size_of_a_person() -> None:
    mesh = mesh_of(MAN)
    low, high = mesh.vertices_m.min(axis=0), mesh.vertices_m.max(axis=0)
    assert high[1] - low[1] == pytest.approx(1.75, rel=0.035)
    assert high[0] - low[0] == pytest.approx(1.09 * 1.75, rel=0.05)  # the skeleton's arms, finger to finger
    assert 55 < 1000.0 * volume_m3(mesh.vertices_m, mesh.faces) < 80  # about a litre a kilogram


def test_left_and_right_are_alike_and_toes_nose_and_thumbs_point_ahead() -> None:
    v = mesh_of(MAN).vertices_m
    assert v[:, 0].max() == pytest.approx(-v[:, 0].min(), abs=0.004)
    rest = MAN.rest_positions_m()
    feet = v[v[:, 1] < rest[JOINT_INDEX["leftFoot"]][1]]
    assert feet[:, 2].max() > 0.17 > -0.1 > -0.11 < feet[:, 2].min()
    face = v[v[:, 1] > rest[JOINT_INDEX["head"]][1]]
    assert abs(face[np.argmax(face[:, 2]), 0]) < 0.02  # the tip of the nose is in the middle
    for side, sign in (("left", 1.0), ("right", -1.0)):
        wrist = rest[JOINT_INDEX[side + "Hand"]]
        hand = v[sign * v[:, 0] > sign * wrist[0]] - wrist
        thumb = hand[np.argmax(hand[:, 2])]
        assert thumb[2] > 0.06 and 0.06 < sign * thumb[0] < 0.13 and thumb[1] < -0.005  # ahead and a little to the palm's side
        assert -hand[:, 2].min() < 0.05


def test_far_from_joints_skin_follows_one_bone_alone() -> None:
    mesh = mesh_of(MAN)
    full = np.zeros((len(mesh.vertices_m), N_JOINTS))
    np.add.at(full, (np.arange(len(full))[:, None], mesh.joints), mesh.weights)
    rest = MAN.rest_positions_m()
    for bone, end in (("leftUpperArm", "leftLowerArm"), ("rightLowerLeg", "rightFoot"), ("leftLowerArm", "leftHand")):
        a, b = rest[JOINT_INDEX[bone]], rest[JOINT_INDEX[end]]
        axis = int(np.argmax(np.abs(b - a)))
        t = (mesh.vertices_m[:, axis] - a[axis]) / (b[axis] - a[axis])
        other = np.delete(mesh.vertices_m - a, axis, axis=1)
        middle = (np.abs(t - 0.5) < 0.06) & (np.linalg.norm(other, axis=1) < 0.09)
        assert middle.sum() > 15
        assert np.all(full[middle, JOINT_INDEX[bone]] > 0.97)
        around = np.abs(t - 1.0) < 0.02
        around &= np.linalg.norm(other, axis=1) < 0.09
        assert np.all(full[around, JOINT_INDEX[bone]] > 0.15) and np.all(full[around, JOINT_INDEX[end]] > 0.15)
    crown = mesh.vertices_m[:, 1] > rest[JOINT_INDEX["head"]][1] + 0.1
    assert np.all(full[crown, JOINT_INDEX["head"]] == 1.0)


def test_legs_do_not_pull_at_each_other() -> None:
    mesh = mesh_of(MAN)
    moved = posed(MAN, leftUpperLeg=(0.0, 0.0, 35.0))  # the left leg to the left
    right_leg = (mesh.vertices_m[:, 0] < -0.02) & (mesh.vertices_m[:, 1] < -0.3)
    assert np.abs(moved - mesh.vertices_m)[right_leg].max() < 1e-5


BENDS = {
    "elbow": {"leftLowerArm": (0.0, -120.0, 0.0)},
    "raised arm": {"leftUpperArm": (0.0, 0.0, 80.0)},
    "hanging arm": {"leftUpperArm": (0.0, 0.0, -80.0)},
    "sitting": {side + "UpperLeg": (-90.0, 0.0, 0.0) for side in ("left", "right")}
    | {side + "LowerLeg": (90.0, 0.0, 0.0) for side in ("left", "right")},
    "squat": {side + "UpperLeg": (-125.0, 0.0, 0.0) for side in ("left", "right")}
    | {side + "LowerLeg": (135.0, 0.0, 0.0) for side in ("left", "right")},
    "twist": {"spine": (0.0, 25.0, 0.0), "chest": (0.0, 25.0, 0.0), "upperChest": (0.0, 25.0, 0.0), "leftHand": (70.0, 0.0, 0.0)},
}


@pytest.mark.parametrize("bend", BENDS)
def test_bending_keeps_the_flesh(bend: str) -> None:
    # Linear blending loses volume at a bend: w (1 - w) per turn; a body whose skin collapsed would lose much more.
    mesh = mesh_of(MAN)
    before, after = volume_m3(mesh.vertices_m, mesh.faces), volume_m3(posed(MAN, **BENDS[bend]), mesh.faces)
    assert after > (0.87 if bend == "squat" else 0.94) * before


def test_it_is_computed_once_and_read_only() -> None:
    first = mesh_of(MAN)
    assert build_body_mesh(list(JOINTS), list(PARENTS), MAN.offsets_m.tolist()) is first
    for name in ("vertices_m", "normals", "faces", "joints", "weights"):
        assert not getattr(first, name).flags.writeable


def test_a_humanoid_without_the_bones_that_vrm_leaves_open_gets_a_body() -> None:
    optional = {"chest", "upperChest", "neck", "upperNeck", "leftShoulder", "rightShoulder", "leftToes", "rightToes"}
    kept = [joint for joint, name in enumerate(JOINTS) if name not in optional]
    rest, parents = MAN.rest_positions_m(), []
    for joint in kept:
        above = PARENTS[joint]
        while above >= 0 and above not in kept:
            above = PARENTS[above]
        parents.append(kept.index(above) if above >= 0 else -1)
    offsets = np.array([rest[j] - (rest[kept[p]] if p >= 0 else 0.0) for j, p in zip(kept, parents, strict=True)])
    mesh = build_body_mesh([JOINTS[joint] for joint in kept], parents, offsets)
    check_closed(mesh)
    check_skin(mesh, len(kept))
    full = mesh_of(MAN)
    np.testing.assert_allclose(mesh.vertices_m.min(axis=0), full.vertices_m.min(axis=0), atol=0.02)
    np.testing.assert_allclose(mesh.vertices_m.max(axis=0), full.vertices_m.max(axis=0), atol=0.02)


def test_other_skeletons_get_a_stick_along_each_bone() -> None:
    offsets = np.array([[0, 0, 0], [0.5, 0, 0], [0.4, 0.2, 0], [0, 0, 0.6], [0, -0.3, 0.1]])
    parents = [-1, 0, 1, 0, 3]
    mesh = build_body_mesh(["base", "boom", "hook", "arm", "tip"], parents, offsets)
    check_closed(mesh)
    check_skin(mesh, 5)
    for place in compute_rest_positions_m(parents, offsets):
        assert np.linalg.norm(mesh.vertices_m - place, axis=1).min() < 0.06
    boom = np.linalg.norm(mesh.vertices_m - [0.25, 0.0, 0.0], axis=1) < 0.05
    assert boom.sum() > 5 and np.all(mesh.joints[boom, 0] == 0)  # what lies between base and boom turns with the base


def test_bodies_of_optical_systems_have_shoulders_without_horns_and_two_legs() -> None:
    """Their neck joint is far below the shoulders, as CMU's, and their hips are narrow, as one of HDM05."""
    rest_m = {name: at.copy() for name, at in zip(JOINTS, MAN.rest_positions_m(), strict=True)}
    for name in ("neck", "leftShoulder", "rightShoulder"):
        rest_m[name] = np.array([0.0, 0.35, -0.01])
    for joint in ("UpperLeg", "LowerLeg", "Foot", "Toes"):
        rest_m["left" + joint][0], rest_m["right" + joint][0] = 0.057, -0.057
    offsets = np.array(
        [rest_m[name] - (rest_m[JOINTS[up]] if up >= 0 else 0.0) for name, up in zip(JOINTS, PARENTS, strict=True)]
    )
    mesh = build_body_mesh(JOINTS, PARENTS, offsets)

    def top_m(x: float) -> float:
        return float(mesh.vertices_m[np.abs(mesh.vertices_m[:, 0] - x) < 0.015, 1].max())

    shoulder = float(rest_m["leftUpperArm"][0])
    assert top_m(0.6 * shoulder) > top_m(shoulder) - 0.005  # no hollow between neck and shoulder
    knees = np.abs(mesh.vertices_m[:, 1] - rest_m["leftLowerLeg"][1]) < 0.1
    assert np.abs(mesh.vertices_m[knees, 0]).min() > 0.002


@pytest.mark.slow
def test_any_skeleton_gets_a_closed_skin() -> None:
    offsets = np.random.default_rng(417).uniform(-0.4, 0.4, (N_JOINTS, 3))
    mesh = build_body_mesh(JOINTS, PARENTS, offsets)
    check_closed(mesh)
    check_skin(mesh, N_JOINTS)
    assert volume_m3(mesh.vertices_m, mesh.faces) > 0.0
