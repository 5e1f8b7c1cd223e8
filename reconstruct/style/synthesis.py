"""Synthesis: the likeliest pose of a style that does what is asked of it (Grochow et al. 2004, section 6).

    L_IK(x, y) = |W (y - f(x))|^2 / (2 s2(x)) + D/2 ln s2(x) + 1/2 |x|^2
    minimise over x_0.., q:  sum_s share_s L_IK_s(x_s, y(q)) + constraints

first of the annealed model, then of one in between, last of the one that was learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.style.constraints import Constraints
from reconstruct.style.features import UP
from reconstruct.style.model import Style


@dataclass(frozen=True, slots=True)
class Past:
    """Static features (S,) of the poses one and two steps (`features.STEP_S`) before."""

    before: Floats
    earlier: Floats


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A synthesized pose.

    rotvec: charted rotation vectors, (J, 3) [rad], row 0 the root's orientation; root_m: (3,) [m]; latent: x of each style, (Q,);
    energy: of everything; likelihood: the shares' sum of L_IK; variance: s2(x) as a share of alpha + 1/beta, from near 0 beside
    training poses to 1 far from all; off_m: distance of the handles from their targets, (P,), and off_px: of their image points,
    (2, P), 0 where none is asked for; reached: all constraints are met within tolerance, else they contradict each other or are
    out of reach, and this is the best pose; converged: the minimum was found within the steps granted.
    """

    rotvec: Floats
    root_m: Floats
    latent: tuple[Floats, ...]
    energy: float
    likelihood: float
    variance: float
    off_m: Floats
    off_px: Floats
    reached: bool
    converged: bool


class Synthesizer:
    """Poses one skeleton in one style or between several."""

    def __init__(
        self, styles: Sequence[Style], shares: Sequence[float] = (1.0,), skeleton: Skeleton | None = None, up: ArrayLike = UP
    ) -> None:
        """Prepare. skeleton: of who is posed, the first style's if None. Raises StyleError: shares that are no shares."""
        self.styles, self.shares = tuple(styles), tuple(shares)
        self.skeleton = styles[0].skeleton if skeleton is None else skeleton

    def synthesize(self, constraints: Constraints, start: Synthesis | None = None, past: Past | None = None) -> Synthesis:
        """Find the pose.

        start: of the frame before: neither annealing nor a search for a start is done; past: velocity and acceleration count too,
        without it the style's pose features alone.
        """
        raise NotImplementedError
