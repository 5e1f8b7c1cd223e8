"""A network camera on loopback that speaks RTSP: H.264 in RTP (RFC 6184), interleaved with the requests in one TCP connection."""

import base64
import contextlib
import random
import socket
import struct
import threading
from fractions import Fraction
from functools import cache

import av
import cv2
import numpy as np

from tests.support.cameras.base import NAME, PASSWORD, CameraServer, Faults, read_request
from tests.support.cameras.mjpeg import special_pictures

CLOCK_HZ = 90000
PAYLOAD_BYTES = 1400
SPS, PPS, IDR, FRAGMENT = 7, 8, 5, 28  # kinds of NAL units


@cache
def h264_pictures(jpegs: tuple[bytes, ...], fps: float, gop: int = 10, slices: int = 1) -> tuple[tuple[bytes, ...], ...]:
    """Return each picture as its NAL units, without start codes; every `gop`-th can be decoded alone, parameter sets before
    it.
    """
    images = [cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR) for jpeg in jpegs]
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = images[0].shape[1], images[0].shape[0], "yuv420p"
    encoder.framerate, encoder.time_base = Fraction(round(fps)), Fraction(1, round(fps))
    options = f"keyint={gop}:min-keyint={gop}:scenecut=0:repeat-headers=1:sliced-threads=0:threads=1:slices={slices}"
    encoder.options = {"preset": "veryfast", "tune": "zerolatency", "crf": "20", "x264-params": options}
    pictures = []
    for number, image in enumerate(images):
        frame = av.VideoFrame.from_ndarray(image, "bgr24").reformat(format="yuv420p")
        frame.pts = number
        pictures += [_units(bytes(packet)) for packet in encoder.encode(frame)]
    return tuple(pictures)


def _units(stream: bytes) -> tuple[bytes, ...]:
    """Split a byte stream at its start codes."""
    return tuple(unit.rstrip(b"\0") for unit in stream.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1") if unit)


class RtspServer(CameraServer):
    """A camera that streams H.264 by RTSP. A picture that is dropped spoils those after it, up to the next key picture."""

    scheme = "rtsp"
    gop, slices = 10, 1

    def _prepare(self) -> None:
        """Encode what is played."""
        jpegs = tuple(self.play.jpegs)
        self._h264 = h264_pictures(jpegs, self.play.fps, self.gop, self.slices)
        special = {name: jpeg for name, jpeg in special_pictures(jpegs[0]).items() if name != "resized"}
        self._special_h264 = {name: h264_pictures((jpeg,), self.play.fps, 1)[0] for name, jpeg in special.items()}

    def _talk(self, client: socket.socket, chance: random.Random) -> None:
        """Answer requests until the client leaves; play meanwhile."""
        sending = threading.Lock()
        while True:
            request = read_request(client).decode("latin-1")
            if self.faults.reply == "silence":
                self._stop.wait()
                return
            answer, play = self._answer(request)
            with sending:
                client.sendall(answer)
            if play:
                threading.Thread(target=self._play_to, args=(client, sending, chance), daemon=True).start()
            if request.startswith("TEARDOWN") or self.faults.reply == "html":
                return

    def _answer(self, request: str) -> tuple[bytes, bool]:
        """Return the answer to a request, and whether to begin to play."""
        lines = request.split("\r\n")
        method, headers = lines[0].split(" ")[0], {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        number, reply = headers.get("cseq", "0"), self.faults.reply
        token = base64.b64encode(f"{NAME}:{PASSWORD}".encode()).decode()
        if reply == "html":
            return b"HTTP/1.0 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<h1>no</h1>", False
        if method == "OPTIONS":
            return _rtsp(number, "200 OK", "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN"), False
        if reply == "401" or (self.faults.password and f"Basic {token}" not in headers.get("authorization", "")):
            return _rtsp(number, "401 Unauthorized", 'WWW-Authenticate: Basic realm="camera"'), False
        if reply == "404":
            return _rtsp(number, "404 Not Found"), False
        if method == "DESCRIBE":
            more = f"Content-Base: {self.url}/\r\nContent-Type: application/sdp"
            return _rtsp(number, "200 OK", more, self._description()), False
        if method == "SETUP" and "TCP" not in headers.get("transport", ""):
            return _rtsp(number, "461 Unsupported Transport"), False
        if method == "SETUP":
            return _rtsp(number, "200 OK", "Session: 7\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1"), False
        return _rtsp(number, "200 OK", "Session: 7\r\nRange: npt=0.000-"), method == "PLAY"

    def _description(self) -> str:
        """Describe the stream (SDP), with the parameter sets."""
        sets = [base64.b64encode(unit).decode() for unit in self._h264[0] if unit[0] & 31 in (SPS, PPS)]
        profile = next(unit for unit in self._h264[0] if unit[0] & 31 == SPS)[1:4].hex()
        return (
            "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=camera\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\n"
            f"a=rtpmap:96 H264/{CLOCK_HZ}\r\na=control:track1\r\na=framerate:{self.play.fps:g}\r\n"
            f"a=fmtp:96 packetization-mode=1;profile-level-id={profile};sprop-parameter-sets={','.join(sets)}\r\n"
        )

    def _play_to(self, client: socket.socket, sending: threading.Lock, chance: random.Random) -> None:
        """Send pictures, from a key picture on."""
        sequence, waiting_for_key = 0, True
        with contextlib.suppress(OSError):
            for index, faults in self._pictures(chance):
                units = self._picture(index, faults)
                waiting_for_key = waiting_for_key and all(unit[0] & 31 != IDR for unit in units)
                if waiting_for_key:
                    continue
                packets = self._packets(units, index, faults, sequence)
                sequence += len(packets)
                if chance.random() < faults.corrupt:
                    packets = [packet[:20] + bytes(chance.randrange(256) for _ in packet[20:]) for packet in packets]
                with sending:
                    client.sendall(b"".join(b"$\0" + struct.pack(">H", len(packet)) + packet for packet in packets))

    def _picture(self, index: int, faults: Faults) -> tuple[bytes, ...]:
        """Return the NAL units of a picture."""
        for name in ("black", "overexposed"):
            if getattr(faults, name):
                return self._special_h264[name]
        return self._h264[0 if faults.frozen else index % len(self._h264)]

    def _packets(self, units: tuple[bytes, ...], index: int, faults: Faults, sequence: int) -> list[bytes]:
        """Return a picture as RTP packets; the last one is marked."""
        stamp = round(self._stamp_s(index, faults) * CLOCK_HZ) & 0xFFFFFFFF
        payloads = [payload for unit in units for payload in _fragments(unit)]
        packets = []
        for k, payload in enumerate(payloads):
            marker = 0x80 if k == len(payloads) - 1 else 0
            packets.append(struct.pack(">BBHII", 0x80, 96 | marker, (sequence + k) & 0xFFFF, stamp, 0x1234) + payload)
        return packets


def _fragments(unit: bytes) -> list[bytes]:
    """Cut a NAL unit into payloads: itself where it is small, FU-A where not."""
    if len(unit) <= PAYLOAD_BYTES:
        return [unit]
    pieces = [unit[at : at + PAYLOAD_BYTES] for at in range(1, len(unit), PAYLOAD_BYTES)]
    first, last = 0x80, 0x40
    heads = [(first if k == 0 else 0) | (last if k == len(pieces) - 1 else 0) | unit[0] & 31 for k in range(len(pieces))]
    return [bytes((unit[0] & 0xE0 | FRAGMENT, head)) + piece for head, piece in zip(heads, pieces, strict=True)]


def _rtsp(number: str, status: str, more: str = "", body: str = "") -> bytes:
    """Return an answer."""
    lines = [
        f"RTSP/1.0 {status}",
        f"CSeq: {number}",
        *([more] if more else []),
        *([f"Content-Length: {len(body)}"] if body else []),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()
