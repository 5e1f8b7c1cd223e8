"""Every setting, typed and frozen, one section a stage; config/defaults.toml documents them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """Foreground and blobs."""

    mode: str = "auto"  # "dark": bright retro-reflectors; "background": lit room; "auto": decided from the images
    k_sigma: float = 6.0
    min_area_px: float = 3.0


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """Epipolar matching of the two views."""

    max_epipolar_px: float = 3.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one run."""

    detector: DetectorSettings = field(default_factory=DetectorSettings)
    match: MatchSettings = field(default_factory=MatchSettings)
