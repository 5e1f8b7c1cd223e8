# The newest pose of a running duocap. Put this node into a scene, or call poll() yourself.
# `skeleton`: names, parents (-1: root), offsets (Vector3, from the parent), humanoid (name -> VRM bone), hash.
# `pose`: seq, state ("tracking", "coasting", "lost"), root (Vector3), rotations (Quaternion, local), raw (all fields as they came).
extends Node

signal skeleton_came(skeleton)
signal pose_came(pose)

const Zmtp = preload("zmtp_subscriber.gd")
const Msgpack = preload("msgpack.gd")

@export var host = "127.0.0.1"
@export var port = 5570

var skeleton = null
var pose = null
var n_poses = 0
var n_missed = 0  # poses that were published and did not come
var n_malformed = 0
var _subscriber = null
var _msgpack = Msgpack.new()
var _n_overtaken = 0


func _process(_delta):
	poll()


# Take what came; true if there is a new pose. Older ones that came with it are dropped: a picture shows the present.
func poll():
	if _subscriber == null:
		_subscriber = Zmtp.new(host, port, ["skeleton ", "pose "])
	var newest = null
	for message in _subscriber.poll():
		if message.size() > 5 and message[4] == 0x20:  # "pose "
			_n_overtaken += 0 if newest == null else 1
			newest = message.slice(5)
		elif message.size() > 9 and message[8] == 0x20:  # "skeleton "
			_take_skeleton(_msgpack.decoded(message.slice(9)))
		else:
			n_malformed += 1
	return newest != null and _take_pose(_msgpack.decoded(newest))


func is_connected_to_stream():
	return _subscriber != null and _subscriber.is_open()


func fault():
	return "" if _subscriber == null else _subscriber.fault


func _take_skeleton(content):
	if not _is_skeleton(content):
		n_malformed += 1
		return
	if skeleton != null and skeleton["hash"] == content["hash"]:
		return
	var offsets = []
	for row in content["offsets_m"]:
		offsets.append(Vector3(row[0], row[1], row[2]))
	skeleton = {
		"hash": content["hash"],
		"names": content["names"],
		"parents": content["parents"],
		"offsets": offsets,
		"humanoid": content["humanoid"],
	}
	skeleton_came.emit(skeleton)


func _is_skeleton(content):
	if not _has_types(content, {"schema": TYPE_INT, "hash": TYPE_STRING, "humanoid": TYPE_DICTIONARY}):
		return false
	if not _has_types(content, {"names": TYPE_ARRAY, "parents": TYPE_ARRAY, "offsets_m": TYPE_ARRAY}):
		return false
	var n_joints = content["names"].size()
	if content["schema"] != 1 or content["parents"].size() != n_joints or content["offsets_m"].size() != n_joints:
		return false
	for joint in range(n_joints):
		var parent = content["parents"][joint]
		if typeof(content["names"][joint]) != TYPE_STRING or typeof(parent) != TYPE_INT:
			return false
		if parent < -1 or parent >= joint or not _is_numbers(content["offsets_m"][joint], 3):
			return false
	return n_joints > 0


func _take_pose(content):
	if skeleton == null:
		return false
	if not _is_pose(content):
		n_malformed += 1
		return false
	if content["hash"] != skeleton["hash"]:
		return false
	if pose != null and pose.raw["session"] == content["session"] and content["seq"] > pose.seq:
		n_missed += content["seq"] - pose.seq - 1 - _n_overtaken
	_n_overtaken = 0
	n_poses += 1
	var root = content["root_m"]
	pose = {
		"seq": content["seq"],
		"state": content["state"],
		"root": Vector3(root[0], root[1], root[2]),
		"rotations": _rotations(content["rotations_xyzw"]),
		"raw": content,
	}
	pose_came.emit(pose)
	return true


func _is_pose(content):
	if not _has_types(content, {"schema": TYPE_INT, "seq": TYPE_INT, "session": TYPE_STRING, "hash": TYPE_STRING}):
		return false
	if not _has_types(content, {"state": TYPE_STRING, "rotations_xyzw": TYPE_PACKED_BYTE_ARRAY}):
		return false
	if content["schema"] != 1 or not _is_numbers(content.get("root_m"), 3):
		return false
	return content["hash"] != skeleton["hash"] or content["rotations_xyzw"].size() == 16 * skeleton.names.size()


func _has_types(content, types):
	if typeof(content) != TYPE_DICTIONARY:
		return false
	for key in types:
		if typeof(content.get(key)) != types[key]:
			return false
	return true


func _is_numbers(values, n):
	if typeof(values) != TYPE_ARRAY or values.size() != n:
		return false
	for value in values:
		if typeof(value) != TYPE_FLOAT and typeof(value) != TYPE_INT:
			return false
	return true


# Little-endian float32, x y z w a joint.
func _rotations(bytes):
	var stream = StreamPeerBuffer.new()
	stream.data_array = bytes
	var rotations = []
	for _joint in range(0, bytes.size(), 16):
		var x = stream.get_float()
		var y = stream.get_float()
		var z = stream.get_float()
		rotations.append(Quaternion(x, y, z, stream.get_float()).normalized())
	return rotations
