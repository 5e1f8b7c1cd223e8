"""A camera that streams by RTSP (IP cameras, phones), decoded by FFmpeg's libraries through PyAV.

FFmpeg's own way holds every picture back until the next one begins; here its parser is switched off and pictures are put together
by `access_units` (docs/decisions/0028).
"""

import logging
import threading
import time
from typing import Any

import av
import numpy as np

from capture.access_units import AccessUnit, AccessUnits
from capture.clock import now_ns
from capture.network_address import EXAMPLES, network_address
from capture.network_camera import SILENCE_S, NetworkCamera
from capture.packets import Floats, Frame
from capture.sender_clock import NS, SenderClock
from capture.sources import Source, Stamp
from capture.webcam_jpeg import MAX_PIXELS
from config.errors import SourceError

log = logging.getLogger(__name__)

CONNECT_S, OPEN_S = 4.0, 8.0
SPOILED_NS = NS  # pictures after a damaged one are not shown until one stands alone, or for so long
LOW_DELAY, SHOW_ALL = 1 << 19, 1 << 3  # flags of the decoder: give each picture at once; also one that is not whole
OPTIONS = {
    "rtsp_transport": "tcp",  # over UDP pictures come damaged
    "allowed_media_types": "video",
    "fflags": "nobuffer+noparse+nofillin",
    "max_delay": "0",
    "probesize": "32",  # the stream's description tells what it is
    "analyzeduration": "0",
    "timeout": str(round(CONNECT_S * 1e6)),
}

Picture = tuple[int, Any, int, bytes | None]  # number, av.VideoFrame, stamp on our clock [ns], JPEG if it came as one


class Rtsp(NetworkCamera[Picture]):
    """A `Source` of an RTSP camera's pictures, stamped by the sender's time stamps on our clock; its facts have `codec`, too."""

    def __init__(self, url: str, camera: int, fps: float | None = None) -> None:
        """Open the stream and wait for its first picture. Raises SourceError."""
        address = network_address(url)
        super().__init__(address.shown, camera, Stamp.SENDER, "another player")
        self._clock = SenderClock()
        self._spoiled_until_ns = 0
        container = _opened(url, self.name, address.user is not None)
        threading.Thread(target=self._receive, args=(container,), name="rtsp", daemon=True).start()
        self._begin(fps, OPEN_S)

    def _frame(self, taken: Picture) -> Frame | None:
        """Bring a picture to BGR."""
        number, picture, t_ns, jpeg = taken
        try:
            image = np.ascontiguousarray(picture.to_ndarray(format="bgr24"))
        except (av.error.FFmpegError, ValueError):
            return None
        return Frame(self._camera, number, t_ns, image, jpeg)

    def _receive(self, container: Any) -> None:
        """Take pictures off the line until it ends or we are closed."""
        ending = "the camera ended the stream"
        try:
            stream = container.streams.video[0]
            decoder = stream.codec_context
            self.facts["codec"] = decoder.name
            units = AccessUnits(decoder.name)
            for packet in container.demux(stream):
                if self._pictures.closed:
                    break
                if packet.size:
                    for unit in units.feed(bytes(packet), packet.pts, now_ns()):
                        self._decode(decoder, unit, float(stream.time_base))
        except (TimeoutError, av.error.ExitError):
            ending = self._what_is_missing(SILENCE_S)
        except (av.error.FFmpegError, OSError) as error:
            ending = f"the connection broke ({_reason(error)})"
        except Exception as error:
            log.debug("receiving from %s", self.name, exc_info=True)
            ending = f"receiving failed ({type(error).__name__})"
        self._pictures.fail(SourceError(f"{self.name}: {ending}"))
        container.close()

    def _decode(self, decoder: Any, unit: AccessUnit, tick_s: float) -> None:
        """Decode a picture and hand it on, unless it is damaged."""
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
            self._n_received += 1
            self.facts["received"] = self._n_received
            if unit.t_arrival_ns < self._spoiled_until_ns:
                continue
            t_ns = self._stamped_ns(picture.pts, tick_s, unit.t_arrival_ns)
            self._times_ns.append(t_ns)
            jpeg = unit.data if decoder.name == "mjpeg" else None
            self._pictures.put((self._n_received - 1, picture, t_ns, jpeg))

    def _spoil(self, t_ns: int) -> None:
        """Show nothing that follows from a damaged picture."""
        self._n_cut += 1
        self._tell_corrupt()
        self._spoiled_until_ns = self._spoiled_until_ns or t_ns + SPOILED_NS

    def _stamped_ns(self, pts: int | None, tick_s: float, t_arrival_ns: int) -> int:
        """Give a picture's time on our clock: by the sender's stamp while that is plausible, else its arrival."""
        ours_ns = t_arrival_ns
        if pts is not None:
            mapped_ns = self._clock.ours_ns(round(pts * tick_s * NS), t_arrival_ns)
            self.facts["stamp_jumps"] = self._clock.jumps
            ours_ns = mapped_ns if self._clock.trusted else t_arrival_ns
        self.stamp = Stamp.SENDER if pts is not None and self._clock.trusted else Stamp.READ
        self._t_last_ns = max(ours_ns, self._t_last_ns + 1)
        return self._t_last_ns


def open_rtsp(spec: str, camera: int, fps: float | None, seconds: Floats | None) -> Source:
    """Open as `open_source` asks a registered kind to; there is no use for a list of times. Raises SourceError."""
    return Rtsp(spec, camera, fps)


def _opened(url: str, shown: str, has_name: bool) -> Any:
    """Connect and ask for the video. Raises SourceError."""
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
        if time.monotonic() - began_s > 0.9 * CONNECT_S:  # FFmpeg does not always say that it waited in vain
            raise SourceError(f"{shown}: no answer within {CONNECT_S:g} s; is it a camera's RTSP address?") from None
        raise SourceError(
            f"{shown}: cannot be opened ({_reason(error)}); is the camera on, its RTSP server started, and the address right?"
        ) from None
    if not container.streams.video or container.streams.video[0].codec_context is None:
        container.close()
        raise SourceError(f"{shown}: streams no video that can be decoded; expected H.264, H.265 or MJPEG")
    decoder = container.streams.video[0].codec_context
    decoder.options = {"max_pixels": str(MAX_PIXELS)}
    decoder.thread_count = 1  # threads would each hold a picture back
    decoder.flags = (decoder.flags | LOW_DELAY) & ~SHOW_ALL
    return container


def _reason(error: Exception) -> str:
    """Give an error's reason in a few words; the address, which FFmpeg adds, is left out."""
    return str(getattr(error, "strerror", None) or type(error).__name__)[:80].lower()
