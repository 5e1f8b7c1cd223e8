# A judge: receives VMC by UDP, hangs the bones into a Skeleton as they come, and prints their places at the end of each frame,
# brought back from Unity's axes to Godot's. --parents: JSON, bone -> parent.
extends SceneTree

var _socket = PacketPeerUDP.new()
var _skeleton = Skeleton.new()
var _n_frames = 1
var _n_printed = 0


func _init():
	var port = 0
	for argument in OS.get_cmdline_args():
		if argument.begins_with("--port="):
			port = int(argument.substr(7))
		elif argument.begins_with("--frames="):
			_n_frames = int(argument.substr(9))
		elif argument.begins_with("--parents="):
			_build(JSON.parse(argument.substr(10)).result)
	root.add_child(_skeleton)
	if _socket.listen(port, "127.0.0.1") != OK:
		quit()
	print("listening")


func _build(parents):
	_skeleton.add_bone("Hips")
	for bone in parents:
		_skeleton.add_bone(bone)
	for bone in parents:
		_skeleton.set_bone_parent(_skeleton.find_bone(bone), _skeleton.find_bone(parents[bone]))


func _idle(_delta):
	while _socket.get_available_packet_count() > 0 and _n_printed < _n_frames:
		var packet = StreamPeerBuffer.new()
		packet.data_array = _socket.get_packet()
		packet.big_endian = true
		if _text(packet) == "#bundle":
			packet.get_64()
			while packet.get_position() < packet.get_size():
				packet.get_32()
				_take(packet)


func _text(packet):
	var text = ""
	while true:
		var part = packet.get_data(4)[1]
		text += part.get_string_from_ascii()
		if part[3] == 0:
			return text
	return text


func _take(packet):
	var address = _text(packet)
	var values = []
	for kind in _text(packet).substr(1):
		match kind:
			"s":
				values.append(_text(packet))
			"f":
				values.append(packet.get_float())
			"i":
				values.append(packet.get_32())
	if address == "/VMC/Ext/Bone/Pos":
		var turn = Quat(values[4], -values[5], -values[6], values[7]).normalized()
		var local = Transform(Basis(turn), Vector3(-values[1], values[2], values[3]))
		_skeleton.set_bone_pose(_skeleton.find_bone(values[0]), local)
	elif address == "/VMC/Ext/T":
		_print(values[0])


func _print(time):
	var places = {}
	for bone in range(_skeleton.get_bone_count()):
		var place = _skeleton.get_bone_global_pose(bone).origin
		places[_skeleton.get_bone_name(bone)] = [place.x, place.y, place.z]
	print(JSON.print({"time": time, "places": places}))
	_n_printed += 1
	if _n_printed == _n_frames:
		quit()
