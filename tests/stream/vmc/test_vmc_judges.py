"""oscdump, an independent OSC decoder in C, reads what is sent by VMC."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stream.vmc.output import VmcOutput
from stream.vmc.sender import VmcTarget
from tests.support.judges import program
from tests.support.ports import free_port
from tests.support.stream_messages import POSE, SKELETON

pytestmark = [pytest.mark.judge, pytest.mark.skipif(os.name == "nt", reason="liblo is not packaged for Windows")]

LINE = re.compile(r"^(?:[0-9a-f]+\.[0-9a-f]+ )?(/\S+) (\w+) (.*)$")


class Dump:
    """A running oscdump, which writes to a file."""

    def __init__(self, folder: Path) -> None:
        self.port, self._file = free_port(socket.SOCK_DGRAM), folder / "dump.txt"
        command = [program("oscdump"), "-L", str(self.port)]
        with self._file.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out)
        ready = f":{self.port:04X} "  # as the system lists who listens
        deadline = time.monotonic() + 10
        while not any(ready in Path(table).read_text() for table in ("/proc/net/udp", "/proc/net/udp6")):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def ended(self) -> list[tuple[str, str, list[str]]]:
        """End it; give address, types and arguments of every message. Fails on a line that is none."""
        time.sleep(0.3)
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(10)
        lines = self._file.read_text(encoding="utf-8").splitlines()
        matches = [LINE.match(line) for line in lines]
        assert all(matches), [line for line, match in zip(lines, matches, strict=True) if match is None][:3]
        return [(match[1], match[2], match[3].split()) for match in matches if match is not None]


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="who listens is read from /proc")


@linux
def test_oscdump_reads_the_numbers_that_were_sent(tmp_path: Path) -> None:
    dump = Dump(tmp_path)
    output = VmcOutput(VmcTarget(port=dump.port))
    output.write(SKELETON, b"", 0)
    output.write(POSE, b"", 0)
    output.close()
    messages = dump.ended()
    assert [(address, types) for address, types, _ in messages] == [
        ("/VMC/Ext/Root/Pos", "sfffffff"),
        *[("/VMC/Ext/Bone/Pos", "sfffffff")] * 3,
        ("/VMC/Ext/OK", "iiii"),
        ("/VMC/Ext/T", "f"),
    ]
    values = messages[3][2]
    assert values[0] == '"LeftUpperLeg"'
    assert [float(value) for value in values[1:]] == pytest.approx([-0.09, -0.05, 0, 0, -0.6, 0, -0.8], abs=1e-6)
    assert messages[4][2] == ["1", "3", "0", "1"]
