# Moves the bones of a Skeleton3D as the performer moves: rest pose to rest pose (docs/conventions.md, Retargeting).
# Every bone keeps its length; it turns in the world by as much as the performer's joint has turned from the T-pose.
extends RefCounted

var target = null
var _source = {}
var _order = []  # bones of the target, parents first
var _joint_of = {}  # bone -> joint of the source, where there is one
var _rest_turn = {}  # bone -> its orientation in the rest pose, in the skeleton's own frame
var _scale = 1.0


# source: the client's skeleton; bone_names: VRM bone -> the target's own name, where that is neither leftHand nor LeftHand.
func _init(source, skeleton, bone_names = {}):
	target = skeleton
	_source = source
	var places = {}
	for bone in range(target.get_bone_count()):
		_add_in_order(bone)
	for bone in _order:
		var rest = target.get_bone_rest(bone)
		var parent = target.get_bone_parent(bone)
		_rest_turn[bone] = rest.basis.get_rotation_quaternion()
		places[bone] = rest.origin
		if parent >= 0:
			_rest_turn[bone] = _rest_turn[parent] * _rest_turn[bone]
			places[bone] = places[parent] + _rest_turn[parent] * rest.origin
	var bone_of = {}
	for joint in range(source.names.size()):
		var vrm_bone = source.humanoid.get(source.names[joint], source.names[joint])
		var bone = _found_bone(vrm_bone, bone_names)
		if bone >= 0:
			_joint_of[bone] = joint
			bone_of[vrm_bone] = bone
	if "hips" in bone_of and "leftFoot" in bone_of:
		var height = places[bone_of["hips"]].y - places[bone_of["leftFoot"]].y
		_scale = height / _source_hip_height()


# Move the target's bones. The hips follow the performer's, in the skeleton's own frame, as far as the legs are longer or shorter.
func apply(pose):
	var joint_turn = []
	for joint in range(_source.names.size()):
		var parent = _source.parents[joint]
		joint_turn.append(pose.rotations[joint] if parent < 0 else joint_turn[parent] * pose.rotations[joint])
	var turn = {}
	var place = {}
	for bone in _order:
		var rest = target.get_bone_rest(bone)
		var parent = target.get_bone_parent(bone)
		var above = Quaternion() if parent < 0 else turn[parent]
		var above_place = Vector3() if parent < 0 else place[parent]
		turn[bone] = above * rest.basis.get_rotation_quaternion()
		place[bone] = above_place + above * rest.origin
		if bone in _joint_of:
			turn[bone] = joint_turn[_joint_of[bone]] * _rest_turn[bone]
			if _joint_of[bone] == 0:
				place[bone] = _scale * pose.root
		target.set_bone_pose_rotation(bone, above.inverse() * turn[bone])
		target.set_bone_pose_position(bone, above.inverse() * (place[bone] - above_place))


# Give a Skeleton3D with the performer's own bones.
static func built(source):
	var skeleton = Skeleton3D.new()
	for joint in range(source.names.size()):
		skeleton.add_bone(source.names[joint])
		skeleton.set_bone_parent(joint, source.parents[joint])
		skeleton.set_bone_rest(joint, Transform3D(Basis(), source.offsets[joint]))
	return skeleton


func _add_in_order(bone):
	if bone in _order:
		return
	var parent = target.get_bone_parent(bone)
	if parent >= 0:
		_add_in_order(parent)
	_order.append(bone)


func _found_bone(vrm_bone, bone_names):
	for name in [bone_names.get(vrm_bone, ""), vrm_bone, vrm_bone.left(1).to_upper() + vrm_bone.substr(1)]:
		var bone = target.find_bone(name)
		if bone >= 0:
			return bone
	return -1


# How high the hips are above the left ankle in the T-pose.
func _source_hip_height():
	var height = 0.0
	var joint = _source.names.find("leftFoot")
	while joint > 0:
		height -= _source.offsets[joint].y
		joint = _source.parents[joint]
	return height
