"""What is asked of a synthesised motion, and the weights and units of what it is judged by."""

from dataclasses import dataclass, replace
from dataclasses import field as made

import numpy as np
from scipy.special import ndtr

from config.arrays import Bools, Floats, Ints, ReadOnlyArrays
from reconstruct.models.physics.body import Body, ContactPoints
from reconstruct.models.physics.contacts import N_FEET
from reconstruct.models.physics.dynamics import Dynamics
from reconstruct.models.physics.field.examples import LEAST_DISTANCE
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.state import STANDARD_GRAVITY, Units

PAPER_FPS = 30.0  # sums over frames are worth as much as at this rate
KEY_M, KEY_RAD = 0.025, 0.05  # units of the constraints: with a weight of 1000 deviations of 0.8 mm, 0.1 degrees
EXAMPLE_HZ = (
    2.5  # of how motions differ from their nearest examples: by their accelerations, in 300 stretches of walks, runs and jumps
)
HEIGHT_M, SLIDE_M_S = 0.15, 1.0
STEP_M = 0.5  # the ground under a body is blurred by this
PHYSICS_FORCE, PHYSICS_TORQUE = 0.1, 0.02  # of the weight; of the weight times the height: with 100, deviations of 1 and 0.2 %


@dataclass(frozen=True, slots=True)
class SynthesisWeights:
    """Weights of eqs. 10 and 11, the paper's by default, and four of our own.

    Attributes:
        torque: weight of the squared joint torques, for motion without a force field.
        strength: weight of the squared torques beyond what a strong person's legs can.
        example: weight of the improbability of the differences from the nearest example, which decides what nothing else does, as
            the path of a step.
        log_variance: weight of the logarithm of the field's variance in -ln pr; 1 in the paper, where it draws every motion to
            the states that the field knows best.
    """

    constraints: float = 1000.0
    first: float = 1.0
    field: float = 1.0
    physics: float = 100.0
    force_subspace: float = 10.0
    state_subspace: float = 10.0
    torque: float = 0.0
    strength: float = 100.0
    example: float = 1.0
    log_variance: float = 0.2


@dataclass(frozen=True, slots=True)
class KeyPose(ReadOnlyArrays):
    """A pose that the motion has in a frame.

    Attributes:
        q: configuration, (95,).
        free_place: wherever the hips are in the plane.
        parts: parts of the feet that carry weight in it, (2, 3); None: unknown.
    """

    frame: int
    q: Floats
    free_place: bool = False
    parts: Bools | None = None


@dataclass(frozen=True, slots=True)
class KeyPath(ReadOnlyArrays):
    """Where a joint is in some frames, (F,).

    Attributes:
        position_m: its places, (F, 3) [m] world.
        axes: which of x, y, z are wanted, 1 or 0, (3,).
        within_m: how far off it may be, a standard deviation [m]; 0: exactly there.
    """

    joint: int
    frames: Ints
    position_m: Floats
    axes: Floats = made(default_factory=lambda: np.ones(3))
    within_m: float = 0.0


@dataclass(frozen=True, slots=True)
class ExternalForce(ReadOnlyArrays):
    """A force on a point of a joint in frames first..stop-1.

    Attributes:
        at_m: position in the joint's frame, (3,) [m].
        force_n: constant, (3,) [N] world.
        stiffness: stiffness of a spring to anchor_m, (3,) [m] world [N/m]; 0 for none.
    """

    joint: int
    at_m: Floats
    first: int
    stop: int
    force_n: Floats
    stiffness: float = 0.0
    anchor_m: Floats = made(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True, slots=True)
class Mound(ReadOnlyArrays):
    """A box on the ground whose edges are rounded by a Gaussian: a step, a log, or a hill.

    Attributes:
        place_m: its middle, x and z, (2,) [m].
        size_m: its lengths along x and z, (2,) [m].
        height_m: its height [m].
        edge_m: standard deviation of the Gaussian [m].
    """

    place_m: Floats
    size_m: Floats
    height_m: float
    edge_m: float

    def compute_ground(self, at_m: Floats, blur_m: float = 0.0) -> tuple[Floats, Floats]:
        """Return heights (...) and slopes (..., 2) at places (..., 2), blurred by a further Gaussian."""
        sigma = np.hypot(self.edge_m, blur_m)
        near = (at_m - self.place_m + 0.5 * self.size_m) / sigma
        far = (at_m - self.place_m - 0.5 * self.size_m) / sigma
        inside = ndtr(near) - ndtr(far)
        rise = (np.exp(-0.5 * near**2) - np.exp(-0.5 * far**2)) / (np.sqrt(2.0 * np.pi) * sigma)
        return self.height_m * inside.prod(axis=-1), self.height_m * rise * inside[..., ::-1]


@dataclass(frozen=True, slots=True)
class Surroundings(ReadOnlyArrays):
    """Gravity and ground.

    Attributes:
        gravity_m_s2: acceleration of gravity, (3,) [m/s^2].
        friction: friction coefficient of the ground.
        slope: rise of the ground along x and z, (2,).
        mounds: what stands on it.
    """

    gravity_m_s2: Floats = made(default_factory=lambda: np.array([0.0, -STANDARD_GRAVITY, 0.0]))
    friction: float = 0.8
    slope: Floats = made(default_factory=lambda: np.zeros(2))
    mounds: tuple[Mound, ...] = ()

    @property
    def normal(self) -> Floats:
        """The normal of the ground without mounds, (3,)."""
        n = np.array([-self.slope[0], 1.0, -self.slope[1]])
        return np.asarray(n / np.linalg.norm(n))

    def height_m(self, x_m: Floats, z_m: Floats) -> Floats:
        """Return the height of the ground under a body at places: the mean over about a step, as a log raises no body."""
        at = np.stack(np.broadcast_arrays(x_m, z_m), axis=-1)
        return np.asarray(at @ self.slope + sum(mound.compute_ground(at, STEP_M)[0] for mound in self.mounds))

    def compute_foot_ground(self, at_m: Floats) -> tuple[Floats, Floats]:
        """Return the heights (...) [m] and slopes (..., 2) of the ground under points of the feet at (..., 2)."""
        height, slope = at_m @ self.slope, np.broadcast_to(self.slope, at_m.shape)
        for mound in self.mounds:
            more = mound.compute_ground(at_m)
            height, slope = height + more[0], slope + more[1]
        return height, slope


@dataclass(frozen=True, slots=True)
class ExampleMotion(ReadOnlyArrays):
    """A motion to stay near, made of K examples, as far as motions of the field do.

    Attributes:
        q: their mean, (N, 95).
        spread: differences of the examples from it, times the roots of their shares, (N, K, 72).
        distance: how unlike what is wanted the nearest is, in deviations.
    """

    q: Floats
    spread: Floats
    distance: float

    def cut(self, rows: slice) -> "ExampleMotion":
        """Return some of its frames."""
        return ExampleMotion(self.q[rows], self.spread[rows], self.distance)

    def compute_nearness(self, nearness: Floats) -> Floats:
        """Return matrices L (N, 72, 72) of each frame: |L d|^2 is how unlikely a motion is that differs from the mean by d.

        The covariance grows with the distance of the examples, and where they go different ways.

        Args:
            nearness: matrix of `examples.compute_nearness`, (72, 72).
        """
        root = max(LEAST_DISTANCE, self.distance) * np.linalg.inv(nearness)
        covariance = root @ root.T + np.swapaxes(self.spread, 1, 2) @ self.spread
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray((vectors / np.sqrt(values)[:, None]) @ np.swapaxes(vectors, 1, 2))


@dataclass(frozen=True, slots=True)
class MotionProblem:
    """A motion of n frames that is wanted.

    Attributes:
        parts: parts of the feet that carry weight, (N, 2, 3).
        level_m: height of each over the ground when it stands, (2, 3) [m].
        units: units of states and forces, those of the body before it was changed.
        field: None for physics alone.
        example: a motion to stay near, None for none.
    """

    body: Body
    units: Units
    field: ForceField | None
    fps: float
    parts: Bools
    level_m: Floats
    keys: tuple[KeyPose, ...]
    paths: tuple[KeyPath, ...] = ()
    external: tuple[ExternalForce, ...] = ()
    surroundings: Surroundings = made(default_factory=Surroundings)
    weights: SynthesisWeights = made(default_factory=SynthesisWeights)
    example: ExampleMotion | None = None

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.parts)

    @property
    def weight_n(self) -> float:
        """The unit of forces: the weight that the body has, on earth where there is no gravity."""
        gravity = float(np.linalg.norm(self.surroundings.gravity_m_s2))
        return self.body.total_kg * (gravity if gravity > 0.1 * STANDARD_GRAVITY else STANDARD_GRAVITY)

    def dynamics(self) -> Dynamics:
        """Return the body's dynamics; after its contact points come the points of the external forces."""
        points = self.body.contacts
        if not self.external:
            return Dynamics(self.body, self.surroundings.gravity_m_s2)
        more = ContactPoints(
            (*points.names, *(f"external{k}" for k in range(len(self.external)))),
            np.concatenate([points.joint, [each.joint for each in self.external]]).astype(np.int64),
            np.concatenate([points.offset_m, [each.at_m for each in self.external]]),
            np.concatenate([points.foot, np.full(len(self.external), N_FEET)]).astype(np.int64),
            np.concatenate([points.part, np.zeros(len(self.external))]).astype(np.int64),
        )
        return Dynamics(replace(self.body, contacts=more), self.surroundings.gravity_m_s2)
