"""From the stream's skeleton to a Blender armature, and from a pose to its bones.

Blender's axes are (x, -z, y) of ours, so a quaternion (x, y, z, w) is (w, x, -z, y) in Blender's order. Retargeting, rest pose to
rest pose: the joints of our rest pose are parallel to the world, so a bone with the rest orientation R turns by R^-1 L R
within its own rest frame, L being the joint's local rotation. It holds for every armature whose rest pose is the T-pose.
"""

import bpy
from duocap_client import Pose, Skeleton
from mathutils import Quaternion, Vector

LEAF_M = 0.12
MIN_BONE_M = 0.01


def to_blender(place: tuple[float, float, float]) -> Vector:
    """Return a place or an offset in Blender's axes [m]."""
    x, y, z = place
    return Vector((x, -z, y))


def rotation_to_blender(xyzw: tuple[float, float, float, float]) -> Quaternion:
    """Return a rotation in Blender's axes and order."""
    x, y, z, w = xyzw
    return Quaternion((w, x, -z, y))


def rest_places(skeleton: Skeleton) -> list[Vector]:
    """Return where the joints are in the T-pose, the hips at their offset from the origin."""
    places: list[Vector] = []
    for parent, offset in zip(skeleton.parents, skeleton.offsets_m, strict=True):
        origin = places[parent] if parent >= 0 else Vector((0, 0, 0))
        places.append(origin + to_blender(offset))
    return places


def bone_tail(skeleton: Skeleton, joint: int, places: list[Vector]) -> Vector:
    """Return where a bone ends: at its only or first child, or straight on from its parent."""
    children = [child for child, parent in enumerate(skeleton.parents) if parent == joint]
    tail = places[children[0]] if children else places[joint]
    if (tail - places[joint]).length >= MIN_BONE_M:
        return tail
    before = places[joint] - places[max(0, skeleton.parents[joint])]
    return places[joint] + (before.normalized() if before.length > MIN_BONE_M else Vector((0, 0, 1))) * LEAF_M


def make_armature(skeleton: Skeleton) -> bpy.types.Object:
    """Build an armature in the T-pose with a bone a joint, named as on the stream."""
    data = bpy.data.armatures.new(f"duocap {skeleton.subject}")
    armature = bpy.data.objects.new(data.name, data)
    bpy.context.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    places = rest_places(skeleton)
    for joint, name in enumerate(skeleton.names):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = places[joint], bone_tail(skeleton, joint, places)
        if skeleton.parents[joint] >= 0:
            bone.parent = data.edit_bones[skeleton.names[skeleton.parents[joint]]]
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return armature


def bone_of(armature: bpy.types.Object, skeleton: Skeleton, joint: int) -> bpy.types.PoseBone | None:
    """Return the bone of a joint: by its own name or its VRM name, in any spelling of upper and lower case."""
    wanted = {skeleton.names[joint].lower(), skeleton.humanoid.get(skeleton.names[joint], "").lower()} - {""}
    return next((bone for bone in armature.pose.bones if bone.name.lower() in wanted), None)


def apply_pose(armature: bpy.types.Object, skeleton: Skeleton, pose: Pose) -> None:
    """Put an armature in T-pose rest into a pose; a joint it has no bone for hands its rotation on to those below.

    The hips' travel is scaled by the ratio of the hips' heights, so that short characters take short steps.
    """
    bones = [bone_of(armature, skeleton, joint) for joint in range(len(skeleton.names))]
    pending = [Quaternion()] * len(bones)
    for joint, bone in enumerate(bones):
        parent = skeleton.parents[joint]
        above = pending[parent] if parent >= 0 and bones[parent] is None else Quaternion()
        local = above @ rotation_to_blender(pose.rotations_xyzw[joint])
        pending[joint] = local
        if bone is None:
            continue
        rest = bone.bone.matrix_local.to_quaternion()
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = rest.inverted() @ local @ rest
        if parent < 0:
            bone.location = rest.inverted() @ (to_blender(pose.root_m) * hips_ratio(armature, skeleton) - bone.bone.head_local)


def hips_ratio(armature: bpy.types.Object, skeleton: Skeleton) -> float:
    """Return how high the armature's hips are above its left foot, relative to the performer's."""
    named = {bone: joint for joint, bone in enumerate(skeleton.names)}
    hips, foot = bone_of(armature, skeleton, 0), bone_of(armature, skeleton, named.get("leftFoot", 0))
    if hips is None or foot is None:
        return 1.0
    places = rest_places(skeleton)
    ours = places[0].z - places[named.get("leftFoot", 0)].z
    theirs = hips.bone.head_local.z - foot.bone.head_local.z
    return theirs / ours if ours > MIN_BONE_M and theirs > MIN_BONE_M else 1.0


def keyframe(armature: bpy.types.Object, frame: float) -> None:
    """Keep the present pose as keyframes."""
    for bone in armature.pose.bones:
        bone.keyframe_insert("rotation_quaternion", frame=frame)
        if bone.parent is None:
            bone.keyframe_insert("location", frame=frame)
