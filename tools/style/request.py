"""What a file of constraints asks for: of one pose, of several, or of a motion along curves."""

from dataclasses import dataclass

from config.arrays import Floats
from reconstruct.constraints import RootConstraint
from reconstruct.models.style.synthesis.curves import KeyedCurve


@dataclass(frozen=True, slots=True)
class BodyPoint:
    """A point on the body: its name in reports, joint, and place in the joint's frame, (3,) [m]; None: the end of its bone."""

    name: str
    joint: int
    offset_m: Floats | None


@dataclass(frozen=True, slots=True)
class PointAsked:
    """A handle that shall be at a place, (3,) [m] world."""

    handle: BodyPoint
    position_m: Floats
    sigma_m: float


@dataclass(frozen=True, slots=True)
class ImagePointAsked:
    """A handle that shall be seen at a point, (2,) [px], of the left (0) or right (1) camera."""

    handle: BodyPoint
    px: Floats
    sigma_px: float
    camera: int


@dataclass(frozen=True, slots=True)
class OrientationAsked:
    """A joint that shall have an orientation in the world, (3, 3), counted from the T-pose."""

    joint: int
    rotation: Floats
    sigma_rad: float


@dataclass(frozen=True, slots=True)
class FixedAsked:
    """A joint that keeps its rotation from its parent: counted from the T-pose, (3, 3), or that of a pose of the first style.

    Attributes:
        rotation: None where it is the style's.
        pose: number of a training pose, None for the style's mean.
    """

    joint: int
    rotation: Floats | None
    pose: int | None
    sigma_rad: float


@dataclass(frozen=True, slots=True)
class PoseAsked:
    """All that is asked of one pose; shares: of the styles, None where they are as everywhere."""

    points: tuple[PointAsked, ...] = ()
    image_points: tuple[ImagePointAsked, ...] = ()
    orientations: tuple[OrientationAsked, ...] = ()
    fixed: tuple[FixedAsked, ...] = ()
    root: RootConstraint | None = None
    shares: tuple[float, ...] | None = None

    def with_common(self, common: "PoseAsked") -> "PoseAsked":
        """Return the request together with that for all poses."""
        return PoseAsked(
            common.points + self.points,
            common.image_points + self.image_points,
            common.orientations + self.orientations,
            common.fixed + self.fixed,
            common.root if self.root is None else self.root,
            common.shares if self.shares is None else self.shares,
        )

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is asked that has a place."""
        return not (self.points or self.image_points or self.orientations or self.fixed or self.root)


@dataclass(frozen=True, slots=True)
class CurveAsked:
    """A handle that shall follow a curve."""

    handle: BodyPoint
    curve: KeyedCurve
    sigma_m: float


@dataclass(frozen=True, slots=True)
class StyleShares:
    """How much of each style there is over time: keys, (K,) [s] rising, and shares, (K, S)."""

    time_s: Floats
    shares: Floats


@dataclass(frozen=True, slots=True)
class PoseRequest:
    """A file of constraints: poses, or where there are curves a motion, of which the one pose says what holds throughout."""

    poses: tuple[PoseAsked, ...]
    curves: tuple[CurveAsked, ...] = ()
    shares: StyleShares | None = None
