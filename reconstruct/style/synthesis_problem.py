"""From styles and constraints to the arrays of `reconstruct.style.synthesis_rows_kernels`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from database.rotations import Floats
from reconstruct.style.constraints import Constraints
from reconstruct.style.features import N_STATIC
from reconstruct.style.likelihood_kernels import Model
from reconstruct.style.model import Level, Style
from reconstruct.style.synthesis_rows_kernels import Asked, Styles

HELD_RAD = 0.03  # how far features may stray that no style models


@dataclass(frozen=True, slots=True)
class Problem:
    """What is asked of one pose: the constraints, those as the kernels take them, weights and centres of static features that are
    held, (S,) each, and s - y of features whose poses before are known, (F,)."""

    constraints: Constraints
    asked: Asked
    weight: Floats
    centre: Floats
    offset: Floats | None

    @property
    def lines(self) -> bool:
        """Tell whether any handle is known by image points alone."""
        _, _, _, info, _, weight, _ = self.asked[0]
        return bool((weight[:, ~(info[:, 0, 0] > 0.0)] > 0.0).any())


def _own(values: ArrayLike) -> Floats:
    """Give an array of the one type that the kernels are compiled for."""
    return np.require(values, np.float64, ["C", "W"])


def model_of(style: Style, level: Level, moving: bool) -> Model:
    """Give a style's arrays; without moving, velocities and accelerations are left out, which marginalises them."""
    column = np.flatnonzero(style.modelled)
    used = np.ones(len(column), bool) if moving else column < N_STATIC
    scale = np.ascontiguousarray(level.scale[used])
    coefficients = np.ascontiguousarray(level.coefficients[:, used] * scale)
    p = level.parameters
    one_place = bool((np.ptp(level.latent, axis=0) <= 1e-6 / np.sqrt(p.gamma)).all())
    # Around one place alone s2 has a saddle that no search leaves; without gamma the pose is as that place has it, whatever x is.
    parameters = np.array([p.alpha, 1.0 / p.beta, 0.0 if one_place else p.gamma, len(scale)])
    shift = scale * level.mean[used]
    return level.latent, level.inverse, coefficients, shift, scale, np.ascontiguousarray(column[used] % N_STATIC), parameters


def packed(models: Sequence[Model]) -> Styles:
    """Put models behind each other; the lesser ones are filled up with active points and features that count for nothing."""
    each = list(zip(*models, strict=True))
    return tuple(_filled(parts) for parts in each)  # type: ignore[return-value]


def _filled(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Give arrays as one, the shorter ones with zeros at their ends."""
    shape = np.max([part.shape for part in parts], axis=0)
    return np.stack([np.pad(part, [(0, most - n) for most, n in zip(shape, part.shape, strict=True)]) for part in parts])


def held(styles: Sequence[Style], shares: Sequence[float]) -> tuple[Floats, Floats]:
    """Give weights and centres of static features, (S,): at the means of the styles that do not model them."""
    weight, pull = np.zeros(N_STATIC), np.zeros(N_STATIC)
    for style, share in zip(styles, shares, strict=True):
        w = np.where(style.modelled[:N_STATIC], 0.0, share / HELD_RAD**2)
        weight += w
        pull += w * style.mean[:N_STATIC]
    return weight, pull / np.maximum(weight, 1e-12)


def with_fixed(weight: Floats, centre: Floats, constraints: Constraints) -> tuple[Floats, Floats]:
    """Add the joints that shall keep their rotation to what is held."""
    fixed = constraints.fixed
    added, pull = weight.copy(), weight * centre
    for joint, rotvec, sigma in zip(fixed.joint, fixed.rotvec, fixed.sigma_rad, strict=True):
        if joint < 1 or not sigma > 0.0 or not np.isfinite(sigma) or not np.isfinite(rotvec).all():
            continue
        at = slice(3 * (joint - 1), 3 * joint)
        added[at] += 1.0 / sigma**2
        pull[at] += rotvec / sigma**2
    return added, np.where(added > 0.0, pull / np.maximum(added, 1e-12), centre)


def asked_of(constraints: Constraints) -> Asked:
    """Give constraints as the kernels take them; what is not finite is not asked."""
    c, turned = constraints, constraints.orientations
    point, info, ideal, weight, views = c.observations.arrays()
    bad3 = np.asarray(~(np.isfinite(point).all(axis=1) & np.isfinite(info).all(axis=(1, 2))))
    bad2 = np.asarray(~(np.isfinite(ideal).all(axis=2) & np.isfinite(weight)))
    if bad3.any() or bad2.any():
        point, info = np.where(bad3[:, None], 0.0, point), np.where(bad3[:, None, None], 0.0, info)
        ideal, weight = np.where(bad2[:, :, None], 0.0, ideal), np.where(bad2, 0.0, weight)
    seen = _own(point), _own(info), _own(ideal), _own(weight), (_own(views[0]), _own(views[1]), _own(views[2]))
    handled = np.require(c.handles.joint, np.int64, ["C", "W"]), _own(c.handles.offset_m), *seen
    known = np.isfinite(turned.rotation).all(axis=(1, 2)) & (turned.sigma_rad > 0.0) & np.isfinite(turned.sigma_rad)
    orientations = turned.joint[known].astype(np.int64), _own(turned.rotation[known]), _own(turned.sigma_rad[known])
    return handled, orientations, _root(c), float(c.robust_sigmas) ** 2


def _root(c: Constraints) -> tuple[Floats, Floats, float, float]:
    """Give the root's prior with precisions; one that is not finite is none."""
    r = c.root
    turn = 1.0 / r.sigma_rad**2 if r.sigma_rad > 0.0 and np.isfinite(r.rotation).all() else 0.0
    place = 1.0 / r.sigma_m**2 if r.sigma_m > 0.0 and np.isfinite(r.position_m).all() else 0.0
    rotation = r.rotation if turn > 0.0 else np.eye(3)
    position = r.position_m if place > 0.0 else np.zeros(3)
    return _own(rotation), _own(position), float(turn), float(place)
