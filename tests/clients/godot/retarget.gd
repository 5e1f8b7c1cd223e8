# A judge: moves a skeleton of any rest pose by the client's duocap_body.gd and prints where its bones are, from a file of JSON.
extends SceneTree

const Body = preload("res://duocap_body.gd")


func _init():
	var file = File.new()
	for argument in OS.get_cmdline_args():
		if argument.begins_with("--case="):
			file.open(argument.substr(7), File.READ)
	var case = JSON.parse(file.get_as_text()).result
	for key in ["offsets"]:
		for joint in range(case["source"][key].size()):
			case["source"][key][joint] = _vector(case["source"][key][joint])
	var skeleton = Skeleton.new()
	for bone in case["target"]:
		skeleton.add_bone(bone["name"])
		skeleton.set_bone_parent(skeleton.get_bone_count() - 1, bone["parent"])
		skeleton.set_bone_rest(skeleton.get_bone_count() - 1, Transform(Basis(_quat(bone["rotation"])), _vector(bone["place"])))
	root.add_child(skeleton)
	var body = Body.new(case["source"], skeleton, case["bone_names"])
	var rotations = []
	for rotation in case["rotations"]:
		rotations.append(_quat(rotation))
	body.apply({"root": _vector(case["root"]), "rotations": rotations})
	var found = {}
	for bone in range(skeleton.get_bone_count()):
		var transform = skeleton.get_bone_global_pose(bone)
		var q = transform.basis.get_rotation_quat()
		found[skeleton.get_bone_name(bone)] = [
			transform.origin.x, transform.origin.y, transform.origin.z, q.x, q.y, q.z, q.w
		]
	print(JSON.print(found))
	quit()


func _vector(v):
	return Vector3(v[0], v[1], v[2])


func _quat(q):
	return Quat(q[0], q[1], q[2], q[3]).normalized()
