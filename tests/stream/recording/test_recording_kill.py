"""A recording process that is killed at any moment leaves all but the last second."""

import multiprocessing
import time
from dataclasses import replace
from pathlib import Path

import pytest

from capture.clock import now_ns
from stream.protocol.codec import encode_message
from stream.publish.fanout import OutputFanout
from stream.publish.publisher import Publisher
from stream.recording.recording import open_recording
from tests.support.stream_messages import POSE, SKELETON

PERIOD_S = 0.002


def publish_forever(file: Path) -> None:
    """Publish and record a pose every PERIOD_S; the body of the process that is killed."""
    outlet = OutputFanout(Publisher("tcp://127.0.0.1:0"), "s1")
    outlet.publish(SKELETON)
    outlet.record(file)
    for seq in range(1_000_000):
        outlet.publish(replace(POSE, seq=seq, t_publish_ns=now_ns()))
        time.sleep(PERIOD_S)


@pytest.mark.slow
def test_after_a_kill_at_most_the_last_second_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "killed.mcap"
    process = multiprocessing.get_context("spawn").Process(target=publish_forever, args=(file,), daemon=True)
    process.start()
    while not file.exists() or file.stat().st_size < 800:  # the first chunk is there
        assert process.is_alive()
        time.sleep(0.01)
    time.sleep(0.9)
    t_kill_ns = now_ns()
    process.kill()
    process.join()
    recording = open_recording(file)
    assert recording.poses[-1].t_publish_ns > t_kill_ns - 1_000_000_000
    assert [pose.seq for pose in recording.poses] == list(range(len(recording.poses))) and recording.notes
    expected = [encode_message(replace(POSE, seq=pose.seq, t_publish_ns=pose.t_publish_ns)) for pose in recording.poses]
    assert [payload for _, payload in recording.payloads()][1:] == expected
