"""What is simulated, in plain values that can be sent to any process: motion, markers, cameras, light, faults."""

from dataclasses import asdict, dataclass, field
from typing import Any

from config.errors import SettingsError
from config.settings import CAMERA_NAMES

LOOKS = ("dark", "lit", "person")


@dataclass(frozen=True, slots=True)
class SimulatedScene:
    """A performer before simulated cameras, one to eight; the same values give the same images in every process."""

    motion: str = "walk"  # a BVH or AMC file, "demo", or the name of a built-in motion
    parameters: dict[str, float] = field(default_factory=dict)  # of the built-in motion
    markers: str = "locomotion"  # a markers.toml or the name of a preset
    rig: str = ""  # a rig.toml; empty: placed by the six values below
    views: int = 2  # cameras: two in front, the third at the performer's left, the fourth behind, the others between
    distance_m: float = 0.0  # from the middle of the motion to the cameras; 0: each as near as shows all of it
    baseline_m: float = 1.0
    camera_height_m: float = 1.2
    fov_deg: float = 60.0  # horizontal
    width_px: int = 640
    height_px: int = 480
    look: str = "dark"  # "dark": retro-reflectors in a black room; "lit": coloured markers in a furnished one;
    # "person": the same room, and a body with face and hands
    fps: float = 60.0
    start_s: float = 0.0  # where in the motion to begin
    seconds: float = 0.0  # how much of the motion to take; 0: all
    empty_s: float = 0.0  # the room without the performer, before anything else
    tpose_s: float = 3.0  # then the performer stands in the T-pose this long
    turn_deg: float = 0.0  # turns the performer to their left; 0 faces the cameras on average
    marker_mm: float = 25.0  # diameter
    placement_mm: float = 8.0  # standard deviation of the worn markers from their nominal offsets
    noise: float = 1.5  # of the sensor, grey levels
    shot: float = 0.02  # photon noise, variance per grey level
    gain: float = 1.0  # exposure; 1 is right, more saturates
    blur_px: float = 0.5  # of the lens, standard deviation
    exposure_ms: float = 4.0  # how long the shutter is open
    pixel_noise_px: float = 0.0  # error of each drawn marker centre, standard deviation
    occlude: float = 0.0  # share of the markers hidden on purpose, others every half second
    occlude_each: bool = False  # from each camera others, not the same from all
    reflections: int = 0  # bright spots that are no markers
    skew_ms: float = 0.0  # how much later the second camera captures; further ones between the first two
    jitter_ms: float = 0.0  # of all shutters, standard deviation
    drift_ppm: float = 0.0  # how much slower the second camera's clock runs; likewise
    drop: float = 0.0  # share of frames each camera loses
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise SettingsError for an impossible value."""
        if self.look not in LOOKS:
            raise SettingsError(f"the look {self.look!r} is unknown; known: {', '.join(LOOKS)}")
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingsError(f"{name} = {value:g} cannot be simulated; expected {low:g} to {high:g}")

    @property
    def size(self) -> tuple[int, int]:
        """Width, height [px]."""
        return self.width_px, self.height_px

    def to_plain(self) -> dict[str, Any]:
        """Return the scene as a map of plain values, as msgpack or TOML take it."""
        return asdict(self)


LIMITS: dict[str, tuple[float, float]] = {
    "views": (1, len(CAMERA_NAMES)),
    "distance_m": (0.0, 50.0),
    "baseline_m": (0.01, 20.0),
    "camera_height_m": (0.05, 10.0),
    "fov_deg": (10.0, 150.0),
    "width_px": (32, 4096),
    "height_px": (32, 4096),
    "fps": (1.0, 1000.0),
    "start_s": (0.0, 1e5),
    "seconds": (0.0, 1e5),
    "empty_s": (0.0, 60.0),
    "tpose_s": (0.0, 60.0),
    "turn_deg": (-360.0, 360.0),
    "marker_mm": (4.0, 100.0),
    "placement_mm": (0.0, 50.0),
    "noise": (0.0, 50.0),
    "shot": (0.0, 10.0),
    "gain": (0.01, 20.0),
    "blur_px": (0.0, 5.0),
    "exposure_ms": (0.0, 200.0),
    "pixel_noise_px": (0.0, 20.0),
    "occlude": (0.0, 0.9),
    "reflections": (0, 50),
    "skew_ms": (-500.0, 500.0),
    "jitter_ms": (0.0, 100.0),
    "drift_ppm": (-1e5, 1e5),
    "drop": (0.0, 0.9),
    "seed": (0, 2**31),
}
