"""How OpenCV's camera backends differ: which is best on which system, their flags, where they wait, what they give.

Read from the backends' sources and their users' reports. DirectShow is preferred to Media Foundation on Windows: it opens at
once, where the other may take 20 s, and takes exposures and MJPG more reliably. Its `grab` returns at once and `retrieve` waits.
"""

import sys
from dataclasses import dataclass

import cv2

from config.errors import SettingsError

Flags = tuple[float, float]
# Some backends know the colour temperature by another name than OpenCV's own.
TEMPERATURE = cv2.CAP_PROP_WB_TEMPERATURE
OTHER_TEMPERATURES = (cv2.CAP_PROP_TEMPERATURE, cv2.CAP_PROP_WHITE_BALANCE_BLUE_U)


@dataclass(frozen=True, slots=True)
class Backend:
    """One backend.

    api: OpenCV's number; auto_exposure: flags for by hand and automatic; manual_first: automatic exposure must be switched off
    before a number counts (elsewhere the number does that, and the flag would be taken for one); waits_in_retrieve: `grab` does
    not wait for a frame; driver_time: CAP_PROP_POS_MSEC may be the driver's time; raw_jpeg: compressed frames can be had as they
    are; has_buffer: CAP_PROP_BUFFERSIZE counts; has_controls: exposure and the like can be set; rate_first: changing the rate
    forgets the pixel format, so it comes before.
    """

    name: str
    api: int
    title: str
    auto_exposure: Flags = (1.0, 3.0)
    manual_first: bool = True
    waits_in_retrieve: bool = False
    driver_time: bool = False
    raw_jpeg: bool = False
    has_buffer: bool = False
    has_controls: bool = True
    rate_first: bool = False


V4L2 = Backend("v4l2", cv2.CAP_V4L2, "Video4Linux", driver_time=True, raw_jpeg=True, has_buffer=True)
DSHOW = Backend("dshow", cv2.CAP_DSHOW, "DirectShow", auto_exposure=(0.25, 0.75), waits_in_retrieve=True, rate_first=True)
MSMF = Backend("msmf", cv2.CAP_MSMF, "Media Foundation", auto_exposure=(0.0, 1.0), manual_first=False)
AVFOUNDATION = Backend("avfoundation", cv2.CAP_AVFOUNDATION, "AVFoundation", has_controls=False)
BACKENDS = {backend.name: backend for backend in (V4L2, DSHOW, MSMF, AVFOUNDATION)}
BEST = {"linux": V4L2, "win32": DSHOW, "darwin": AVFOUNDATION}


def backend_of(setting: str, platform: str = sys.platform) -> Backend:
    """Give the backend a setting asks for; auto: the best of the system. Raises SettingsError: none of that name."""
    name = setting.strip().lower()
    if name == "auto":
        return next((best for system, best in BEST.items() if platform.startswith(system)), V4L2)
    if name not in BACKENDS:
        raise SettingsError(f"camera.backend is {setting!r}; expected auto, {', '.join(BACKENDS)}")
    return BACKENDS[name]
