# Decodes msgpack (msgpack.org): maps, arrays, text, binary, numbers, true, false and nil.
# `failed` tells that the bytes were no msgpack, or more nested than anything of duocap.
extends RefCounted

const MAX_DEPTH = 16

var failed = false
var _stream = StreamPeerBuffer.new()
var _size = 0


# Give the value of some bytes; null, and `failed` set, if they are none.
func decoded(bytes):
	_stream.data_array = bytes
	_stream.big_endian = true
	_stream.seek(0)
	_size = bytes.size()
	failed = false
	var value = _value(0)
	if _stream.get_position() != _size:
		failed = true
	return null if failed else value


func _value(depth):
	if depth > MAX_DEPTH or not _has(1):
		failed = true
		return null
	var kind = _stream.get_u8()
	if kind < 0x80:
		return kind
	if kind < 0x90:
		return _map(kind & 0x0F, depth)
	if kind < 0xA0:
		return _array(kind & 0x0F, depth)
	if kind < 0xC0:
		return _text(kind & 0x1F)
	if kind >= 0xE0:
		return kind - 0x100
	match kind:
		0xC0:
			return null
		0xC2:
			return false
		0xC3:
			return true
		0xC4, 0xC5, 0xC6:
			return _binary(_length(1 << (kind - 0xC4)))
		0xCA:
			return _stream.get_float() if _has(4) else null
		0xCB:
			return _stream.get_double() if _has(8) else null
		0xCC:
			return _stream.get_u8() if _has(1) else null
		0xCD:
			return _stream.get_u16() if _has(2) else null
		0xCE:
			return _stream.get_u32() if _has(4) else null
		0xCF, 0xD3:
			return _stream.get_64() if _has(8) else null
		0xD0:
			return _stream.get_8() if _has(1) else null
		0xD1:
			return _stream.get_16() if _has(2) else null
		0xD2:
			return _stream.get_32() if _has(4) else null
		0xD9, 0xDA, 0xDB:
			return _text(_length(1 << (kind - 0xD9)))
		0xDC, 0xDD:
			return _array(_length(2 << (kind - 0xDC)), depth)
		0xDE, 0xDF:
			return _map(_length(2 << (kind - 0xDE)), depth)
	failed = true  # extensions, which duocap does not use
	return null


func _has(n_bytes):
	if n_bytes > _size - _stream.get_position():
		failed = true
	return not failed


func _length(n_bytes):
	if not _has(n_bytes):
		return 0
	if n_bytes == 1:
		return _stream.get_u8()
	return _stream.get_u16() if n_bytes == 2 else _stream.get_u32()


func _text(n_bytes):
	return _stream.get_utf8_string(n_bytes) if n_bytes > 0 and _has(n_bytes) else ""


func _binary(n_bytes):
	return _stream.get_data(n_bytes)[1] if n_bytes > 0 and _has(n_bytes) else PackedByteArray()


func _array(n, depth):
	var values = []
	for _i in range(n if _has(n) else 0):
		values.append(_value(depth + 1))
		if failed:
			break
	return values


func _map(n, depth):
	var values = {}
	for _i in range(n if _has(n) else 0):
		var key = _value(depth + 1)
		if failed or typeof(key) != TYPE_STRING:
			failed = true
			break
		values[key] = _value(depth + 1)
	return values
