# Hears a ZeroMQ publisher over plain TCP: ZMTP 3.0, mechanism NULL, socket type SUB (rfc.zeromq.org/spec/23).
# Call poll() often; it never waits. Connections that end, or fall silent, are made again.
extends RefCounted

const MAX_FRAME_BYTES = 1 << 24
const RETRY_MSEC = 500
const SILENT_MSEC = 5000
const GREETING_BYTES = 64
const MORE = 1
const LONG = 2
const COMMAND = 4

enum { CLOSED, CONNECTING, GREETING, HANDSHAKE, OPEN }

var fault = ""  # why the last connection ended, in words
var _host = ""
var _port = 0
var _topics = []
var _peer = null
var _stage = CLOSED
var _due_msec = 0
var _heard_msec = 0
var _buffer = PackedByteArray()
var _in_parts = false


func _init(host, port, topics):
	_host = host
	_port = port
	_topics = topics


func is_open():
	return _stage == OPEN


# Give the messages that have come, each as a PackedByteArray.
func poll():
	var now = Time.get_ticks_msec()
	if _stage == CLOSED:
		if now >= _due_msec:
			_begin(now)
		return []
	_peer.poll()
	var status = _peer.get_status()
	if status == StreamPeerTCP.STATUS_CONNECTED:
		if _stage == CONNECTING:
			_peer.put_data(_greeting())
			_stage = GREETING
		_read(now)
	elif status != StreamPeerTCP.STATUS_CONNECTING:
		close("the publisher is not there")
	if _stage == GREETING and _buffer.size() >= GREETING_BYTES:
		_shake_hands()
	var messages = _taken_messages() if _stage >= HANDSHAKE else []
	if _stage != CLOSED and now - _heard_msec > SILENT_MSEC:
		close("nothing came for %d s" % (SILENT_MSEC / 1000))
	return messages


func close(why = ""):
	fault = why
	_stage = CLOSED
	_due_msec = Time.get_ticks_msec() + RETRY_MSEC
	_buffer = PackedByteArray()
	if _peer != null:
		_peer.disconnect_from_host()
		_peer = null


func _begin(now):
	_peer = StreamPeerTCP.new()
	_heard_msec = now
	_in_parts = false
	if _peer.connect_to_host(_host, _port) == OK:
		_stage = CONNECTING
	else:
		close("%s cannot be found" % _host)


func _read(now):
	var n_bytes = _peer.get_available_bytes()
	if n_bytes > 0:
		_heard_msec = now
		_buffer.append_array(_peer.get_partial_data(n_bytes)[1])


# Signature, version 3.0, mechanism NULL, not a server, padding.
func _greeting():
	var bytes = PackedByteArray([0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 0])
	bytes.append_array("NULL".to_ascii_buffer())
	for _i in range(GREETING_BYTES - bytes.size()):
		bytes.append(0)
	return bytes


func _shake_hands():
	if _buffer[0] != 0xFF or _buffer[9] != 0x7F or _buffer[10] < 3:
		close("this is no ZeroMQ publisher")
		return
	if _buffer.slice(12, 17) != PackedByteArray([0x4E, 0x55, 0x4C, 0x4C, 0]):
		close("the publisher asks for keys, which this client does not have")
		return
	_drop(GREETING_BYTES)
	_stage = HANDSHAKE
	var ready = _with_length("READY")
	ready.append_array(_with_length("Socket-Type"))
	ready.append_array(PackedByteArray([0, 0, 0, 3]))
	ready.append_array("SUB".to_ascii_buffer())
	_put_frame(COMMAND, ready)


func _obey(command):
	var n_letters = command[0]
	if n_letters == 0 or command.size() <= n_letters:
		return
	var name = command.slice(1, 1 + n_letters).get_string_from_ascii()
	if name == "READY" and _stage == HANDSHAKE:
		for topic in _topics:
			var request = PackedByteArray([1])
			request.append_array(topic.to_ascii_buffer())
			_put_frame(0, request)
		_stage = OPEN
	elif name == "PING" and command.size() >= 7:
		var pong = _with_length("PONG")
		if command.size() > 7:
			pong.append_array(command.slice(7))
		_put_frame(COMMAND, pong)
	elif name == "ERROR":
		close("the publisher refused this client")


# Take all whole frames from what was read; messages of several parts are none of ours.
func _taken_messages():
	var messages = []
	var start = 0
	while _stage != CLOSED:
		var left = _buffer.size() - start
		if left < 2:
			break
		var flags = _buffer[start]
		var head = 9 if flags & LONG else 2
		if left < head:
			break
		var size = 0
		for i in range(1, head):
			size = (size << 8) | _buffer[start + i]
		if size < 0 or size > MAX_FRAME_BYTES:
			close("a frame of %d bytes came" % size)
			break
		if left < head + size:
			break
		var body = _buffer.slice(start + head, start + head + size)
		start += head + size
		if flags & COMMAND:
			if size > 0:
				_obey(body)
		else:
			if not (_in_parts or flags & MORE):
				messages.append(body)
			_in_parts = flags & MORE != 0
	_drop(start)
	return messages


func _drop(n_bytes):
	if n_bytes >= _buffer.size():
		_buffer = PackedByteArray()
	elif n_bytes > 0:
		_buffer = _buffer.slice(n_bytes)


func _put_frame(flags, body):
	var frame = PackedByteArray([flags, body.size()])
	frame.append_array(body)
	_peer.put_data(frame)


func _with_length(name):
	var bytes = PackedByteArray([name.length()])
	bytes.append_array(name.to_ascii_buffer())
	return bytes
