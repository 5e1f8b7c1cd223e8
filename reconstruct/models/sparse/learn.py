"""Learning a dictionary by K-SVD (Aharon et al. 2006; Lai et al. 2012, section 3.1).

    minimise |X - A D|_F^2  subject to  |a_i|_0 <= T, |d_k| = 1

alternately over the codes (`coding`) and over one atom after the other with its coefficients: the best rank-one
approximation of what the other atoms leave of the poses that use it, by one step of power iteration (Rubinstein et al. 2008).
Atoms that no pose uses, or that are like another, become the worst coded poses.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from config.arrays import Floats, Ints, Singles
from config.errors import DuocapError
from config.jit import kernel
from reconstruct.models.sparse.coding import Codes, code_poses

ALIKE = 0.999  # cosine of the angle between atoms from which on one of them is replaced
GAIN = 2.0  # error of sampled atoms by that of learned ones, about
GROWTH = 1.4  # of the number of atoms where the target is missed after learning
MAX_GROWN = 6
TESTED = 10_000  # poses on which sampled atoms are tried
Progress = Callable[[int, int, float], None]  # iterations done, in all, root mean square error


class SparseError(DuocapError):
    """A dictionary cannot be learned, read or used."""


@dataclass(frozen=True, slots=True)
class DictionaryOptions:
    """How a dictionary is learned.

    Attributes:
        n_atoms: K, or 0 to grow it until the root mean square error of the entries is at most `target`.
        n_nonzero: T.
        iterations: number of iterations of K-SVD.
        seed: seed of the first choice of atoms.
    """

    n_atoms: int = 0
    n_nonzero: int = 5
    target: float = 0.003
    iterations: int = 15
    seed: int = 1
    max_atoms: int = 10_000


@dataclass(frozen=True, slots=True)
class LearnedAtoms:
    """Atoms of norm 1, (K, D), and the root mean square error of the entries after every iteration, in the poses' unit."""

    atoms: Singles
    error: Floats = field(default_factory=lambda: np.zeros(0))


def learn_atoms(poses: Singles, options: DictionaryOptions | None = None, progress: Progress | None = None) -> LearnedAtoms:
    """Learn atoms from poses, (N, D) float32; the same for the same seed, poses and machine.

    Args:
        poses: (N, D) float32.
        options: None for the defaults.
        progress: called with the iterations done and all, or None.
    Raises SparseError: fewer poses than two, values that are not finite, or nothing but zeros.
    """
    options = options or DictionaryOptions()
    poses = np.ascontiguousarray(poses, np.float32)
    if len(poses) < 2 or not np.isfinite(poses).all() or not poses.any():
        raise SparseError(f"a dictionary is learned from two poses or more, of finite numbers and not all zero; got {len(poses)}")
    rng = np.random.default_rng(options.seed)
    if options.n_atoms > 0:
        return _run_k_svd(poses, _sample_atoms(poses, options.n_atoms, rng), options, progress)
    n_atoms = _find_sample_size(poses, options, rng)
    for _ in range(MAX_GROWN):
        learned = _run_k_svd(poses, _sample_atoms(poses, n_atoms, rng), options, progress)
        if learned.error[-1] <= options.target or n_atoms >= min(len(poses), options.max_atoms):
            break
        n_atoms = min(round(GROWTH * n_atoms), len(poses), options.max_atoms)
    return learned


def _find_sample_size(poses: Singles, options: DictionaryOptions, rng: np.random.Generator) -> int:
    """Return how many sampled poses come near the target, from few on, doubled (section 4.1)."""
    tested = poses[rng.choice(len(poses), min(TESTED, len(poses)), replace=False)]
    n_atoms = 2 * options.n_nonzero
    while n_atoms < min(len(poses), options.max_atoms):
        codes = code_poses(_sample_atoms(poses, n_atoms, rng), tested, options.n_nonzero)
        if compute_rms_error(codes, poses.shape[1]) <= GAIN * options.target:
            break
        n_atoms *= 2
    return min(n_atoms, len(poses), options.max_atoms)


def compute_rms_error(codes: Codes, n_entries: int) -> float:
    """Return the root mean square error of the poses' entries."""
    return float(np.sqrt(codes.error2.mean(dtype=np.float64) / n_entries))


def _sample_atoms(poses: Singles, n_atoms: int, rng: np.random.Generator) -> Singles:
    """Return sampled poses as atoms of norm 1; zero poses as a random direction."""
    atoms = poses[rng.permutation(len(poses))[: min(n_atoms, len(poses))]].copy()
    zero = ~atoms.any(axis=1)
    atoms[zero] = rng.normal(size=(int(zero.sum()), poses.shape[1]))
    return np.asarray(atoms / np.linalg.norm(atoms, axis=1, keepdims=True), np.float32)


def _run_k_svd(poses: Singles, atoms: Singles, options: DictionaryOptions, progress: Progress | None) -> LearnedAtoms:
    """Improve atoms; as many as there are poses are these poses, and stay so."""
    atoms, errors = atoms.copy(), []
    if len(atoms) >= len(poses):
        return LearnedAtoms(atoms, np.zeros(1))
    for iteration in range(options.iterations):
        codes = code_poses(atoms, poses, options.n_nonzero)
        update_atoms(poses, atoms, codes)
        if iteration < options.iterations - 1:
            replace_useless_atoms(poses, atoms, codes)
        errors.append(compute_rms_error(codes, poses.shape[1]))
        if progress is not None:
            progress(iteration + 1, options.iterations, errors[-1])
    return LearnedAtoms(atoms, np.array(errors))


def update_atoms(poses: Singles, atoms: Singles, codes: Codes) -> None:
    """Update every atom in use and its coefficients in turn, then the squared errors of the codes; their sum never rises.

    Args:
        poses: poses to code, (N, D) float32.
        atoms: atoms of the dictionary, (K, D) float32; changed.
        codes: sparse codes of the poses; changed.
    """
    used = codes.atom >= 0
    owner, slot = np.nonzero(used)
    order = np.argsort(codes.atom[used], kind="stable")
    start = np.searchsorted(codes.atom[used][order], np.arange(len(atoms) + 1)).astype(np.int64)
    residual = poses.copy()
    _subtract_coded_part(residual, atoms, codes)
    _update_each_atom(residual, atoms, codes, start, owner[order], slot[order])
    codes.error2[:] = np.einsum("nd,nd->n", residual, residual)


def replace_useless_atoms(poses: Singles, atoms: Singles, codes: Codes) -> int:
    """Replace atoms that no pose uses or that are like one before by the worst coded poses; return how many.

    Args:
        poses: (N, D) float32.
        atoms: (K, D) float32; changed.
        codes: sparse codes of the poses.
    """
    used = np.bincount(codes.atom[codes.atom >= 0], minlength=len(atoms)) > 0
    alike = np.abs(atoms @ atoms.T)
    earlier = np.tril(alike > ALIKE, -1).any(axis=1)
    useless = np.flatnonzero(~used | earlier)
    worst = np.argsort(-codes.error2, kind="stable")[: len(useless)]
    norm = np.linalg.norm(poses[worst], axis=1)
    good = norm > 0.0
    chosen = useless[: len(worst)][good]
    atoms[chosen] = poses[worst][good] / norm[good, None]
    return len(chosen)


@kernel
def _subtract_coded_part(residual: Singles, atoms: Singles, codes: Codes) -> None:
    """Subtract the coded part of poses."""
    for n in range(residual.shape[0]):
        for t in range(codes.atom.shape[1]):
            k = codes.atom[n, t]
            if k >= 0:
                for d in range(atoms.shape[1]):
                    residual[n, d] -= codes.coefficient[n, t] * atoms[k, d]


@kernel
def _update_each_atom(residual: Singles, atoms: Singles, codes: Codes, start: Ints, owner: Ints, slot: Ints) -> None:
    """Update atoms one after another; entries start[k]..start[k + 1] of owner (pose) and slot are those of atom k."""
    n_entries = atoms.shape[1]
    new = np.empty(n_entries, np.float32)
    for k in range(atoms.shape[0]):
        if start[k] == start[k + 1]:
            continue
        new[:] = 0.0
        for i in range(start[k], start[k + 1]):
            a = codes.coefficient[owner[i], slot[i]]
            for d in range(n_entries):
                residual[owner[i], d] += a * atoms[k, d]
                new[d] += a * residual[owner[i], d]
        norm2 = np.float32(0.0)
        for d in range(n_entries):
            norm2 += new[d] * new[d]
        if norm2 > 0.0:
            scale = np.float32(1.0) / np.sqrt(norm2)
            for d in range(n_entries):
                atoms[k, d] = new[d] * scale
        for i in range(start[k], start[k + 1]):
            a = np.float32(0.0)
            for d in range(n_entries):
                a += residual[owner[i], d] * atoms[k, d]
            codes.coefficient[owner[i], slot[i]] = a
            for d in range(n_entries):
                residual[owner[i], d] -= a * atoms[k, d]
