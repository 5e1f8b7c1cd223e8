"""What the kernels of synthesis take, as named tuples of arrays.

Unknowns: a, the joints' coordinates (A = 3 (J - 1)); p, the root's rotation vector from where it starts, its position, and x of
all styles (P = 6 + Q).
"""

from typing import NamedTuple

from config.arrays import Floats, Ints


class LikelihoodModel(NamedTuple):
    """A style with one set of parameters; several styles have one more axis in front, shorter ones padded with zeros.

    The K features are those that count: without known previous poses the static ones that the style models, D of them.

    Attributes:
        latent: active x (M, Q).
        inverse: K^-1 (M, M).
        coefficients: K^-1 Y W (M, K).
        shift: W b (K,) where y = s - b.
        scale: w (K,).
        column: the static feature of each feature (K,).
        parameters: alpha, 1 / beta, gamma and D.
    """

    latent: Floats
    inverse: Floats
    coefficients: Floats
    shift: Floats
    scale: Floats
    column: Ints
    parameters: Floats


class SynthesisPrior(NamedTuple):
    """What is known without handles.

    Attributes:
        styles: likelihoods of the styles, with a leading axis (S).
        shares: (S,).
        first: start of each style's x in all x, and the end, (S + 1,).
        weight, centre: weights and target values of the static features that are drawn to a value, (A + 3,) each.
        up: up direction of the world, (3,).
    """

    styles: LikelihoodModel
    shares: Floats
    first: Ints
    weight: Floats
    centre: Floats
    up: Floats


class JointTree(NamedTuple):
    """A skeleton: parent of each joint (J,), offsets from it (J, 3) [m], reference rotations of the charts (J, 3, 3)."""

    parents: Ints
    offsets_m: Floats
    reference: Floats


class ViewArrays(NamedTuple):
    """Two cameras: rotation (2, 3, 3) and translation (2, 3), world to camera; focal (2,) [px]."""

    rotation: Floats
    translation: Floats
    focal: Floats


class HandleTargets(NamedTuple):
    """Handles: joint (N,) and offset_m (N, 3); point_m, root_info, ideal, weight_px and views as of `Observations`."""

    joint: Ints
    offset_m: Floats
    point_m: Floats
    root_info: Floats
    ideal: Floats
    weight_px: Floats
    views: ViewArrays


class OrientationTargets(NamedTuple):
    """Joints (O,), the world orientations they should have (O, 3, 3), standard deviations (O,) [rad]."""

    joint: Ints
    rotation: Floats
    sigma_rad: Floats


class RootTarget(NamedTuple):
    """Rotation (3, 3) and position (3,) [m] of the root, and 1 / sigma^2 of each, zero for none."""

    rotation: Floats
    position_m: Floats
    rotation_precision: float
    position_precision: float


class Targets(NamedTuple):
    """All constraints of one pose; robust2: the square of robust_sigmas."""

    handles: HandleTargets
    orientations: OrientationTargets
    root: RootTarget
    robust2: float


class SynthesisState(NamedTuple):
    """A pose that synthesis moves: rotvec (J, 3), row 0 unused; rotation (3, 3) and root_m (3,) of the root; all x (Q,)."""

    rotvec: Floats
    rotation: Floats
    root_m: Floats
    latent: Floats


class JointFrames(NamedTuple):
    """Joints in the world: rotation (J, 3, 3), position (J, 3), and axes: angular velocities by their coordinates (J, 3, 3)."""

    rotation: Floats
    position: Floats
    axes: Floats


class Linearisation(NamedTuple):
    """The energy near a state: a smooth part, and R residuals with derivatives, each over its standard deviation.

    Smooth part: diagonal of the Hessian by a, hessian_a (A,), hessian_ap (A, P), hessian_p (P, P), gradient_a (A,), gradient_p
    (P,). Residuals: rows_a (R, A), rows_p (R, P), residual (R,). scale_p: scale of steps in p (P,).
    """

    hessian_a: Floats
    hessian_ap: Floats
    gradient_a: Floats
    hessian_p: Floats
    gradient_p: Floats
    rows_a: Floats
    rows_p: Floats
    residual: Floats
    scale_p: Floats


class LatentDerivatives(NamedTuple):
    """Derivatives of L_IK by x: gradient (Q,), hessian (Q, Q), scale of steps (Q,)."""

    gradient: Floats
    hessian: Floats
    scale: Floats


class StaticDerivatives(NamedTuple):
    """Derivatives of L_IK by the static features s: gradient (S,), diagonal of the Hessian (S,), cross: by s and x (S, Q)."""

    gradient: Floats
    diagonal: Floats
    cross: Floats


class SynthesisMinimum(NamedTuple):
    """End of a minimisation: the energy, and whether it converged."""

    energy: float
    converged: bool
