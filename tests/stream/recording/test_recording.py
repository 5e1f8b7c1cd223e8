"""Recordings: what was published comes back byte for byte, from whole, torn and damaged files; hostile ones are refused."""

import io
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.records import Chunk
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer

from capture.packets import Blobs, Landmarks
from capture.sockets.wire import SentBlobs, encode_blobs
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import matrix_from_rotvec
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.messages import PoseMessage
from stream.recording.recorder import Recorder, RecordingError
from stream.recording.recording import Recording, open_recording
from stream.recording.worlds import move_pose, move_rig_message
from tests.support.kept import Kept
from tests.support.stream_messages import EVENT, POSE, RIG, SKELETON, STATUS, same
from tests.support.waiting import wait_until

T0 = 5_000_000_000
PERIOD = 16_666_667
HEAD = [(T0, encode_message(SKELETON)), (T0 + 1, encode_message(RIG))]


def pose(k: int) -> PoseMessage:
    """Return the k-th of poses that differ in every part that moves."""
    turn = np.array([np.sin(0.01 * k), 0.0, 0.0, np.cos(0.01 * k)], np.float32)
    rotations = np.array([turn, [0, 0, 0, 1], [0, 0.6, 0, -0.8]], np.float32)
    t = T0 + k * PERIOD
    return replace(
        POSE, seq=k, t_capture_ns=t, t_publish_ns=t + 8_000_000 + k, root_m=(k * 0.01, 1.0, -2.5), rotations_xyzw=rotations
    )


def published(n: int) -> list[tuple[int, bytes]]:
    """Return what a run of n poses publishes, a status and an event among them."""
    sent = [*HEAD, *((pose(k).t_publish_ns, encode_message(pose(k))) for k in range(n))]
    status, event = replace(STATUS, t_ns=T0 + 7), replace(EVENT, t_ns=T0 + 9)
    return [*sent[:3], (status.t_ns, encode_message(status)), (event.t_ns, encode_message(event)), *sent[3:]]


def recorded(file: Path, sent: list[tuple[int, bytes]], n_chunk: int | None = None) -> Path:
    """Record payloads; n_chunk: wait for the file after as many."""
    recorder = Recorder(file, {"subject": "Änne", "session": "s1"})
    for n, (t_ns, payload) in enumerate(sent):
        recorder.write(payload, t_ns, n)
        if n_chunk is not None and n % n_chunk == n_chunk - 1:
            wait_until(lambda n=n: recorder.n_recorded > n)  # type: ignore[misc]
    recorder.close()
    assert (recorder.fault, recorder.n_lost, recorder.n_recorded) == ("", 0, len(sent))
    return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of three chunks."""
    return recorded(tmp_path_factory.mktemp("recordings") / "whole.mcap", published(21), n_chunk=9)


def from_bytes(data: bytes, folder: Path) -> Recording:
    (folder / "changed.mcap").write_bytes(data)
    return open_recording(folder / "changed.mcap")


def chunk_records(data: bytes) -> list[tuple[int, int]]:
    """Return where the chunk records of a file begin and end."""
    found, place = [], 8
    while place < len(data) - 8:
        opcode, length = struct.unpack_from("<BQ", data, place)
        if opcode == 6:
            found.append((place, place + 9 + length))
        place += 9 + length
    return found


def test_what_was_published_comes_back_byte_for_byte(whole: Path) -> None:
    recording = open_recording(whole)
    assert list(recording.payloads()) == published(21)
    assert recording.notes == () and recording.n_lost == 0
    assert recording.metadata == {"format_version": "1", "subject": "Änne", "session": "s1"}
    assert same(recording.skeleton, SKELETON) and same(recording.rig, RIG)
    assert len(recording.poses) == 21 and same(recording.poses[-1], pose(20)) and same(recording.poses[3:5], (pose(3), pose(4)))
    assert same(recording.events, (replace(EVENT, t_ns=T0 + 9),)) and recording.statuses[0].rates_hz == {"pose": 59.9}
    assert recording.t_publish_ns.tolist() == [pose(k).t_publish_ns for k in range(21)]
    assert recording.duration_s == pytest.approx((20 * PERIOD + 20) * 1e-9)
    with pytest.raises(IndexError):
        recording.poses[21]


def test_the_mcap_library_reads_it_too(whole: Path) -> None:
    with whole.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_header().profile == "duocap"
        messages = list(reader.iter_messages(log_time_order=False))
        summary = reader.get_summary()
        file.seek(0)
        chunks = [record for record in StreamReader(file, emit_chunks=True).records if isinstance(record, Chunk)]
    sent = published(21)
    assert summary is not None and summary.statistics is not None and summary.statistics.message_count == len(sent)
    assert summary.statistics.chunk_count == 3 and [chunk.compression for chunk in chunks] == ["zstd"] * 3
    for n, ((schema, channel, message), (t_ns, payload)) in enumerate(zip(messages, sent, strict=True)):
        assert schema is not None and schema.name == f"duocap.{channel.topic}" and channel.message_encoding == "msgpack"
        assert channel.topic.encode() + b" " + message.data == payload
        assert (message.log_time, message.publish_time, message.sequence) == (t_ns, t_ns, n)


@given(st.integers(0, 10**9))
def test_a_file_torn_anywhere_is_read_or_refused(whole: Path, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    data = whole.read_bytes()
    cut = seed % len(data)
    try:
        recording = from_bytes(data[:cut], tmp_path_factory.mktemp("torn"))
    except RecordingError as error:
        assert cut < chunk_records(data)[0][1] and "\n" not in str(error)
    else:
        n = len(list(recording.payloads()))
        assert recording.notes and list(recording.payloads()) == published(21)[:n]
        ends = [end for _, end in chunk_records(data)]
        assert n == (0, 9, 18, len(published(21)))[sum(cut >= end for end in ends)]


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=4))
def test_flipped_bytes_never_give_anything_else(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[float, int]]
) -> None:
    data = bytearray(whole.read_bytes())
    for share, mask in flips:
        data[int(share * len(data))] ^= mask
    try:
        recording = from_bytes(bytes(data), tmp_path_factory.mktemp("flipped"))
    except RecordingError as error:
        assert "\n" not in str(error)
    else:
        sent = published(21)
        kept = list(recording.payloads())
        assert all(item in sent for item in kept)
        assert len(kept) == len(sent) or recording.notes


@pytest.mark.parametrize("chunk", [1, 2])
@pytest.mark.parametrize("offset", [1, 3, 60])  # the length of the record made huge, or wrong; the content changed
def test_damage_in_the_middle_costs_one_chunk(whole: Path, tmp_path: Path, chunk: int, offset: int) -> None:
    data = bytearray(whole.read_bytes())
    begin, _ = chunk_records(bytes(data))[chunk]
    data[begin + offset] ^= 0xFF
    recording = from_bytes(bytes(data), tmp_path)
    sent = published(21)
    expected = sent[:9] + sent[18:] if chunk == 1 else sent[:18]
    assert list(recording.payloads()) == expected and recording.notes


def refused(data: bytes, folder: Path, words: str) -> None:
    with pytest.raises(RecordingError, match=words) as caught:
        from_bytes(data, folder)
    assert "\n" not in str(caught.value) and "changed.mcap" in str(caught.value)


def written(profile: str = "duocap", schema: str = "duocap.pose", version: str = "1", topic: str = "pose") -> bytes:
    """Return a file of the MCAP library's own making."""
    stream = io.BytesIO()
    writer = Writer(stream, compression=CompressionType.LZ4)
    writer.start(profile=profile)
    if profile == "duocap":
        writer.add_metadata("duocap", {"format_version": version})
    skeleton = writer.register_channel("skeleton", "msgpack", writer.register_schema("duocap.skeleton", "text", b"?"))
    channel = writer.register_channel(topic, "msgpack", writer.register_schema(schema, "text", b"?"))
    writer.add_message(skeleton, 1, encode_message(SKELETON)[9:], 1)
    writer.add_message(channel, 2, encode_message(POSE)[5:], 2)
    writer.finish()
    return stream.getvalue()


def test_files_repacked_with_lz4_are_read(tmp_path: Path) -> None:
    recording = from_bytes(written(), tmp_path)
    assert same(recording.poses[0], POSE) and recording.notes == ()


def test_what_is_no_recording_is_refused_in_one_line(whole: Path, tmp_path: Path, kept: Kept) -> None:
    refused(b"", tmp_path, "is empty")
    refused(b"HIERARCHY\nROOT Hips\n", tmp_path, "not an MCAP file")
    refused(written(profile="ros2"), tmp_path, "no recording of duocap .profile 'ros2'")
    refused(written(schema="foxglove.PoseInFrame"), tmp_path, "schema 'foxglove.PoseInFrame'")
    refused(written(version="2"), tmp_path, "format 2 of a newer duocap")
    refused(written(topic="other"), tmp_path, "holds no pose")
    refused(whole.read_bytes()[:60], tmp_path, "no recording of duocap|breaks off before the first skeleton")
    with pytest.raises(RecordingError, match="no such file"):
        open_recording(tmp_path / "absent.mcap")
    newer = encode_message(POSE)[5:].replace(b"\xa6schema\x01", b"\xa6schema\x02")
    assert newer != encode_message(POSE)[5:]
    file = tmp_path / "newer.mcap"
    recorder = kept(Recorder(file, {}))
    recorder.write(encode_message(SKELETON), 1)
    recorder.write(b"pose " + newer, 2)
    recorder.close()
    with pytest.raises(RecordingError, match="schema 2 of a newer duocap"):
        open_recording(file)


def chunk_of(content: bytes, claimed: int, packed: bytes) -> bytes:
    """Return a chunk's record."""
    body = struct.pack("<QQQI", 0, 0, claimed, zlib.crc32(content)) + struct.pack("<I", 4) + b"zstd"
    body += struct.pack("<Q", len(packed)) + packed
    return struct.pack("<BQ", 6, len(body)) + body


def test_chunks_that_grow_when_opened_are_not_opened(whole: Path, tmp_path: Path) -> None:
    data = whole.read_bytes()
    first = chunk_records(data)[0][0]
    bomb = zstandard.ZstdCompressor(level=1).compress(bytes(64 << 20))
    for claimed in (1000, 10 << 20, 64 << 20):  # a lie, and the truth
        recording = from_bytes(data[:first] + chunk_of(b"", claimed, bomb) + data[first:], tmp_path)
        assert list(recording.payloads()) == published(21) and "damaged and left out" in recording.notes[0]
    many = chunk_of(b"", 15 << 20, zstandard.compress(bytes(15 << 20)))
    refused(data[:first] + many * 40, tmp_path, "grow beyond all measure")


def test_a_recording_never_replaces_a_file(whole: Path, tmp_path: Path) -> None:
    before = whole.read_bytes()
    with pytest.raises(RecordingError, match="exists already"):
        Recorder(whole, {})
    assert whole.read_bytes() == before
    with pytest.raises(RecordingError, match="cannot be written"):
        Recorder(tmp_path / "no" / "such" / "folder.mcap", {})


def test_half_a_second_is_on_disk_without_closing(tmp_path: Path, kept: Kept) -> None:
    recorder = kept(Recorder(tmp_path / "open.mcap", {}))
    for t_ns, payload in published(3):
        recorder.write(payload, t_ns)
    wait_until(lambda: recorder.n_recorded >= 7)
    assert list(open_recording(recorder.file).payloads()) == published(3)


class Disk(io.RawIOBase):
    """A file on a disk with little room, or one that answers slowly."""

    def __init__(self, file: Path, room: int) -> None:
        self._file, self._room = file.open("xb", buffering=0), room

    def write(self, data: bytes) -> int:  # type: ignore[override]
        taken = min(len(data), self._room)
        if data and not taken:
            raise OSError(28, os.strerror(28))
        self._room -= taken
        return self._file.write(data[:taken])

    def truncate(self, size: int | None = None) -> int:
        return self._file.truncate(size)

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


@pytest.mark.parametrize("room", [100, 3000, 4500])
def test_a_full_disk_is_told_and_what_was_recorded_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, kept: Kept
) -> None:
    monkeypatch.setattr("stream.recording.recorder._create_file", lambda file: Disk(file, room))
    recorder = kept(Recorder(tmp_path / "full.mcap", {}))
    sent = published(400)
    for n, (t_ns, payload) in enumerate(sent):
        recorder.write(payload, t_ns)
        if n == 7:
            wait_until(lambda: recorder.n_recorded >= 8 or recorder.fault)
    recorder.close()
    assert "no space left" in recorder.fault and "full.mcap" in recorder.fault
    assert recorder.n_recorded + recorder.n_lost == len(sent)
    if room == 100:
        with pytest.raises(RecordingError):
            open_recording(recorder.file)
    else:
        kept = list(open_recording(recorder.file).payloads())
        assert kept == sent[: recorder.n_recorded] and len(kept) >= 8


def test_a_slow_disk_loses_nothing_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept) -> None:
    monkeypatch.setattr("stream.recording.recorder.MAX_QUEUED", 10)
    recorder = kept(Recorder(tmp_path / "slow.mcap", {}))
    sent = published(2000)
    for t_ns, payload in sent:
        recorder.write(payload, t_ns)
    recorder.close()
    assert recorder.n_lost > 0 and recorder.n_recorded + recorder.n_lost == len(sent)
    recording = open_recording(recorder.file)
    assert recording.n_lost == recorder.n_lost and f"{recorder.n_lost} messages were not recorded" in recording.notes[-1]
    assert set(recording.payloads()) <= set(sent)


def test_landmarks_are_found_by_camera_and_time_of_their_picture(tmp_path: Path) -> None:
    recorder, none = Recorder(tmp_path / "take.mcap", {}), np.zeros(0)
    for k, camera in ((0, 0), (0, 1), (1, 1), (1, 0), (2, 0)):
        found = Landmarks(np.full((33, 2), 10.0 * k + camera), np.ones(33), 1.0) if k < 2 else None
        t_ns = T0 + k * PERIOD
        blobs = Blobs(camera, k, t_ns, none.reshape(0, 2), none, none.reshape(0, 3), none, landmarks=found)
        recorder.write(b"blobs " + encode_blobs(SentBlobs(blobs, t_ns, t_ns)), t_ns + 40_000_000)
    for t_ns, payload in published(3):
        recorder.write(payload, t_ns)
    recorder.close()
    recording = open_recording(tmp_path / "take.mcap")
    for k, camera in ((1, 0), (0, 1)):
        found = recording.find_landmarks(camera, T0 + k * PERIOD)
        assert found is not None and (found.image_px == 10.0 * k + camera).all()
    assert recording.find_landmarks(0, T0 + 2 * PERIOD) is None and recording.find_landmarks(1, T0 + 2 * PERIOD) is None


def test_poses_of_a_world_that_was_moved_are_in_the_last_one(tmp_path: Path) -> None:
    """The stream said in between where the cameras are now, as when the performer is made the origin."""
    motion = RigidMotion(matrix_from_rotvec(np.array([0.0, 0.7, 0.0])), np.array([1.0, 0.0, -2.0]))
    moved_rig, moved = move_rig_message(RIG, motion), move_pose(pose(1), motion)
    late = (T0 + 9 * PERIOD, encode_message(moved_rig)), (T0 + 9 * PERIOD + 1, encode_message(replace(moved, seq=2)))
    sent = [*HEAD, (pose(1).t_publish_ns, encode_message(pose(1))), *late]
    opened = open_recording(recorded(tmp_path / "moved.mcap", sent))
    assert opened.rig is not None
    np.testing.assert_allclose(opened.rig.cameras[0].translation, moved_rig.cameras[0].translation, atol=1e-12)
    first, second = opened.poses
    np.testing.assert_allclose(first.root_m, second.root_m, atol=1e-9)
    np.testing.assert_allclose(first.rotations_xyzw, second.rotations_xyzw, atol=1e-6)
    np.testing.assert_allclose(first.markers[0].xyz, second.markers[0].xyz, atol=1e-9)
    assert opened.published[0].root_m == pose(1).root_m
    payloads = [decode_message(payload) for _, payload in opened.payloads()]
    assert [type(message).__name__ for message in payloads] == [type(decode_message(payload)).__name__ for _, payload in sent]
    np.testing.assert_allclose(payloads[2].root_m, second.root_m, atol=1e-9)  # type: ignore[union-attr]
