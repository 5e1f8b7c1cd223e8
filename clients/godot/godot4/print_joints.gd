# Without a window: print the places of all joints of the next poses, one line of JSON a pose.
#     godot --headless --path clients/godot/godot4 -s print_joints.gd -- --port=5570 --poses=10
extends SceneTree

const Client = preload("duocap_client.gd")
const Body = preload("duocap_body.gd")

var _client = null
var _body = null
var _n_poses = 10
var _n_printed = 0


func _initialize():
	_client = Client.new()
	for argument in OS.get_cmdline_user_args():
		if argument.begins_with("--host="):
			_client.host = argument.substr(7)
		elif argument.begins_with("--port="):
			_client.port = int(argument.substr(7))
		elif argument.begins_with("--poses="):
			_n_poses = int(argument.substr(8))
	_client.skeleton_came.connect(_on_skeleton)
	_client.pose_came.connect(_on_pose)
	root.add_child(_client)


func _on_skeleton(skeleton):
	if _body != null:
		_body.target.queue_free()
	_body = Body.new(skeleton, Body.built(skeleton))
	root.add_child(_body.target)


func _on_pose(pose):
	if _n_printed >= _n_poses:
		return
	_body.apply(pose)
	var joints = {}
	for joint in range(_client.skeleton.names.size()):
		var place = _body.target.get_bone_global_pose(joint).origin
		joints[_client.skeleton.names[joint]] = [place.x, place.y, place.z]
	print(JSON.stringify({"seq": pose.seq, "state": pose.state, "missed": _client.n_missed, "joints": joints}))
	_n_printed += 1
	if _n_printed == _n_poses:
		quit()
