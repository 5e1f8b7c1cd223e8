"""A camera that streams by RTSP (IP cameras, phones), decoded by FFmpeg's libraries through PyAV.

FFmpeg's parser holds every image back until the next one begins. It is switched off, and images are joined here
(docs/decisions/0028): H.264 and H.265 come as NAL units. Which one is an image's last is certain only when the next image begins,
but encoders cut all images into the same number of slices, so the last is known by counting.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import av
import numpy as np

from capture.clock import now_ns
from capture.packets import Frame
from capture.sources.jpeg import MAX_PIXELS
from capture.sources.network.address import EXAMPLES, parse_network_address
from capture.sources.network.camera import SILENCE_S, NetworkCamera
from capture.sources.network.connection import describe_failure
from config.errors import SourceError
from config.units import NS_PER_S

log = logging.getLogger(__name__)

START = b"\0\0\1"
CONSTANT = 3  # images in a row with the same number of slices, before the number is relied on
MAX_BYTES = 16 * 1024 * 1024
CONNECT_S, OPEN_S = 4.0, 8.0
SPOILED_NS = NS_PER_S  # images after a damaged one are not shown until a key frame, or for so long
LOW_DELAY, SHOW_ALL = 1 << 19, 1 << 3  # flags of the decoder: output each image at once; also incomplete ones
OPTIONS = {
    "rtsp_transport": "tcp",  # over UDP images come damaged
    "allowed_media_types": "video",
    "fflags": "nobuffer+noparse+nofillin",
    "max_delay": "0",
    "probesize": "32",  # the stream's description suffices
    "analyzeduration": "0",
    "timeout": str(round(CONNECT_S * 1e6)),
}

# Whether a NAL unit holds pixels, by its first byte (ITU-T H.264, table 7-1; H.265, table 7-1).
IS_SLICE: dict[str, Callable[[int], bool]] = {
    "h264": lambda head: 1 <= head & 0x1F <= 5,
    "hevc": lambda head: head >> 1 & 0x3F < 32,
}

DecodedImage = tuple[int, Any, int, bytes | None]  # number, av.VideoFrame, time on our clock [ns], JPEG if it came as one


@dataclass(frozen=True, slots=True)
class AccessUnit:
    """A coded image. pts: its timestamp in the stream's unit or None; t_arrival_ns: of its first piece."""

    data: bytes
    pts: int | None
    t_arrival_ns: int


class AccessUnitJoiner:
    """Joins pieces with one timestamp. codec: FFmpeg's name; of any but H.264 and H.265 a piece is a whole image."""

    def __init__(self, codec: str) -> None:
        self._is_slice = IS_SLICE.get(codec)
        self._pieces: list[bytes] = []
        self._pts: int | None = None
        self._t_begun_ns = self._n_bytes = 0
        self._n_slices = 0  # of this image, also of what was returned already
        self._usual = self._n_same = 0

    def feed(self, data: bytes, pts: int | None, t_ns: int) -> list[AccessUnit]:
        """Take a piece of the stream; return the images that are complete now: the one before, this one, both or none.

        Args:
            data: the piece.
            pts: its timestamp in the stream's unit, or None.
            t_ns: when it came.
        """
        if self._is_slice is None:
            return [AccessUnit(data, pts, t_ns)]
        units = self._end_image() if pts != self._pts else []
        if not self._pieces:
            self._pts, self._t_begun_ns = pts, t_ns
        self._pieces.append(data)
        self._n_bytes += len(data)
        self._n_slices += sum(map(self._is_slice, _find_unit_heads(data)))
        by_count = self._n_same >= CONSTANT and self._n_slices == self._usual
        if by_count or pts is None or self._n_bytes > MAX_BYTES:
            units += self._join()
        return units

    def _end_image(self) -> list[AccessUnit]:
        """Learn the number of slices; return what of the image was not returned yet."""
        if self._n_slices:
            self._n_same = self._n_same + 1 if self._n_slices == self._usual else 1
            self._usual = self._n_slices
        self._n_slices = 0
        return self._join()

    def _join(self) -> list[AccessUnit]:
        """Return the pieces as one."""
        units = [AccessUnit(b"".join(self._pieces), self._pts, self._t_begun_ns)] if self._pieces else []
        self._pieces, self._n_bytes = [], 0
        return units


def _find_unit_heads(data: bytes) -> list[int]:
    """Return the first byte of every NAL unit, after its start code."""
    heads, at = [], data.find(START)
    while 0 <= at < len(data) - len(START):
        heads.append(data[at + len(START)])
        at = data.find(START, at + len(START))
    return heads


class Rtsp(NetworkCamera[DecodedImage]):
    """A `Source` of an RTSP camera, with the sender's timestamps on our clock; its facts have `codec`, too."""

    def __init__(self, url: str, camera: int, fps: float | None = None) -> None:
        """Open the stream and wait for its first image. Raises SourceError."""
        address = parse_network_address(url)
        super().__init__(address.shown, camera, "another player")
        self._spoiled_until_ns = 0
        container = _open_stream(url, self.name, address.user is not None)
        threading.Thread(target=self._receive, args=(container,), name="rtsp", daemon=True).start()
        self._begin(fps, OPEN_S)

    def _frame(self, received: DecodedImage) -> Frame | None:
        """Convert an image to BGR."""
        number, picture, t_ns, jpeg = received
        try:
            image = np.ascontiguousarray(picture.to_ndarray(format="bgr24"))
        except (av.error.FFmpegError, ValueError):
            return None
        return Frame(self._camera, number, t_ns, image, jpeg)

    def _receive(self, container: Any) -> None:
        """Receive images until the stream ends or the source is closed."""
        ending = "the camera ended the stream"
        try:
            stream = container.streams.video[0]
            decoder = stream.codec_context
            self.facts["codec"] = decoder.name
            units = AccessUnitJoiner(decoder.name)
            for packet in container.demux(stream):
                if self._images.closed:
                    break
                if packet.size:
                    for unit in units.feed(bytes(packet), packet.pts, now_ns()):
                        self._decode(decoder, unit, float(stream.time_base))
        except (TimeoutError, av.error.ExitError):
            ending = self._describe_silence(SILENCE_S)
        except (av.error.FFmpegError, OSError) as error:
            ending = f"the connection broke ({describe_failure(error)})"
        except Exception as error:
            log.debug("receiving from %s", self.name, exc_info=True)
            ending = f"receiving failed ({type(error).__name__})"
        self._images.fail(SourceError(f"{self.name}: {ending}"))
        container.close()

    def _decode(self, decoder: Any, unit: AccessUnit, tick_s: float) -> None:
        """Decode an image and pass it to the reader, unless it is damaged."""
        packet = av.Packet(unit.data)
        packet.pts = unit.pts
        try:
            pictures = decoder.decode(packet)
        except av.error.FFmpegError:
            self._spoil(unit.t_arrival_ns)
            return
        for picture in pictures:
            if picture.is_corrupt:
                self._spoil(unit.t_arrival_ns)
            if picture.key_frame and not picture.is_corrupt:
                self._spoiled_until_ns = 0
            index = self._count_received()
            if unit.t_arrival_ns < self._spoiled_until_ns:
                continue
            sender_ns = None if picture.pts is None else round(picture.pts * tick_s * NS_PER_S)
            t_ns = self._timestamp(sender_ns, unit.t_arrival_ns)
            self._times_ns.append(t_ns)
            jpeg = unit.data if decoder.name == "mjpeg" else None
            self._images.put((index, picture, t_ns, jpeg))

    def _spoil(self, t_ns: int) -> None:
        """Show nothing that depends on a damaged image."""
        self._n_cut += 1
        self._update_corrupt()
        self._spoiled_until_ns = self._spoiled_until_ns or t_ns + SPOILED_NS


def _open_stream(url: str, shown: str, has_name: bool) -> Any:
    """Connect and request the video. Raises SourceError."""
    began_s = time.monotonic()
    try:
        container = av.open(url, format="rtsp", options=OPTIONS, timeout=(CONNECT_S, SILENCE_S))
    except (av.error.HTTPUnauthorizedError, av.error.HTTPForbiddenError):
        how = "the name or the password was not accepted" if has_name else "it asks for a name and a password"
        raise SourceError(f"{shown}: {how}; write them into the address: rtsp://NAME:PASSWORD@HOST/...") from None
    except av.error.HTTPNotFoundError:
        raise SourceError(
            f"{shown}: there is nothing at this path (404); give the stream's own path, such as {EXAMPLES['rtsp']}"
        ) from None
    except (av.error.FFmpegError, OSError) as error:
        if time.monotonic() - began_s > 0.9 * CONNECT_S:  # FFmpeg does not always report a timeout
            raise SourceError(f"{shown}: no answer within {CONNECT_S:g} s; is it a camera's RTSP address?") from None
        raise SourceError(
            f"{shown}: cannot be opened ({describe_failure(error)}); is the camera on, its RTSP server started, "
            f"and the address right?"
        ) from None
    if not container.streams.video or container.streams.video[0].codec_context is None:
        container.close()
        raise SourceError(f"{shown}: streams no video that can be decoded; expected H.264, H.265 or MJPEG")
    decoder = container.streams.video[0].codec_context
    decoder.options = {"max_pixels": str(MAX_PIXELS)}
    decoder.thread_count = 1  # threads would each hold an image back
    decoder.flags = (decoder.flags | LOW_DELAY) & ~SHOW_ALL
    return container
