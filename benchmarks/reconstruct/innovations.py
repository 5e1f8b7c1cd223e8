"""Innovations: how far markers with true labels are from where the belief expects them, after being hidden for some frames.

Each has the probability density that an association gives it: a Gaussian with the covariance of prediction, marker and point, or,
with a small probability, a wide one. The mean of its logarithm is what process noise and stray markers are estimated by.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats, Ints
from config.settings import LabelSettings
from reconstruct.track.belief import predict_points
from tools.evaluate.missing.methods import MethodInput

# Frames since a marker was last seen, first and last: seen in the frame before, and about 6, 30 and 120 frames ahead.
AGES = {"seen": (1, 1), "6": (4, 8), "30": (25, 35), "120": (100, 125)}
STRAYS, STRAYS_M = np.geomspace(0.003, 0.3, 13), np.geomspace(0.05, 1.0, 13)
SIGMAS_M = np.geomspace(0.0005, 0.04, 16)
N_RESAMPLES = 400
FLAT = 1e-3  # by how much less likely a factor nearer to one may be to be taken


@dataclass(frozen=True, slots=True)
class Innovations:
    """Markers beside where they were expected.

    age: frames since each was last seen, (K,); seen: whether it is in this one, (K,); apart_m: (K, 3); covariance_m2: of
    prediction and point, (K, 3, 3).
    """

    age: Ints
    seen: Bools
    apart_m: Floats
    covariance_m2: Floats

    def only(self, which: Bools) -> "Innovations":
        """Return some of them."""
        return Innovations(self.age[which], self.seen[which], self.apart_m[which], self.covariance_m2[which])

    @property
    def of_ages(self) -> list["Innovations"]:
        """The innovations by AGES; of markers seen in the frame before, those that are seen in this one as well."""
        ages = ((self.age >= first) & (self.age <= last) & ((self.age > 1) | self.seen) for first, last in AGES.values())
        return [self.only(which) for which in ages]

    @property
    def at_return(self) -> "Innovations":
        """The innovations of markers that are seen again."""
        return self.only(self.seen & (self.age > 1))


def collect_innovations(given: MethodInput) -> Innovations:
    """Follow a query whose markers are hidden by turns, with true labels, and compare them with what is expected."""
    query, estimator, noise_m2 = given.query, given.estimator(), given.query.sigma_m**2 * np.eye(3)
    subject, age, parts = query.subject, np.ones(query.visible.shape[1], np.int64), list[Innovations]()
    every = np.arange(len(age))
    for n in range(len(query)):
        frame = query.frame(n)
        predicted = estimator.predict_belief(frame.t_capture_ns)
        if predicted is not None:
            point_m, covariance = predict_points(predicted, subject.skeleton, subject.joint, subject.offset_m)
            own = covariance[every, :, every] + noise_m2
            parts.append(Innovations(age, query.visible[n], query.marker_m[n] - point_m, own))
        age = np.where(query.visible[n], 1, age + 1)
        estimate = estimator.estimate(frame, query.start if n == 0 else None)
        if estimate is not None:
            estimator.accept(estimate)
    columns = ([getattr(part, name) for part in parts] for name in ("age", "seen", "apart_m", "covariance_m2"))
    return Innovations(*(np.concatenate(column) for column in columns))


def compute_log_gaussian(apart_m: Floats, covariance_m2: Floats) -> Floats:
    """Return ln of Gaussian densities, (K,), of vectors (K, 3) with covariances (K, 3, 3)."""
    squares = np.einsum("ki,ki->k", apart_m, np.linalg.solve(covariance_m2, apart_m[:, :, None])[:, :, 0])
    return np.asarray(-0.5 * (squares + np.linalg.slogdet(2.0 * np.pi * covariance_m2)[1]))


def compute_log_density(found: Innovations, s: LabelSettings) -> Floats:
    """Return ln of the probability density of each, (K,) [1/m^3], one of some being anywhere near."""
    S = found.covariance_m2 + s.marker_sigma_m**2 * np.eye(3)
    near, stray = compute_log_gaussian(found.apart_m, S), compute_log_gaussian(found.apart_m, S + s.stray_m**2 * np.eye(3))
    return np.asarray(np.logaddexp(near + np.log1p(-s.stray), stray + np.log(s.stray)))


def sum_by_age(found: Innovations, s: LabelSettings) -> Floats:
    """Return the sum of ln of the densities and their number by AGES, (A, 2)."""
    return np.array([[compute_log_density(part, s).sum(), len(part.age)] for part in found.of_ages])


def compute_mean_likelihood(sums: Floats) -> float:
    """Return the mean of ln of the density, every age counting alike; sums: of some clips, (C, A, 2)."""
    total, count = sums.sum(axis=0).T
    return float((total[count > 0] / count[count > 0]).mean())


def find_likeliest_factor(factors: Floats, likelihood: Floats) -> float:
    """Return the factor, of (F,) in order, where a likelihood, (F,), is greatest: by a parabola in its logarithm."""
    x = np.log(factors)
    best = int(np.argmin(np.where(likelihood > likelihood.max() - FLAT, np.abs(x), np.inf)))
    if best in (0, len(factors) - 1):
        return float(factors[best])
    near = slice(best - 1, best + 2)
    curved, sloping, _ = np.polyfit(x[near] - x[best], likelihood[near], 2)
    return float(np.exp(x[best] - 0.5 * sloping / curved)) if curved < 0.0 else float(factors[best])


def compute_sigma_likelihood(apart_m: Floats, covariance_m2: Floats) -> Floats:
    """Return the sum of ln of the densities of residuals for SIGMAS_M of markers, without and with stray ones, (2, S)."""
    every = np.ones(len(apart_m), np.int64)
    residuals = Innovations(every, every > 0, apart_m, covariance_m2)
    settings = [LabelSettings(marker_sigma_m=float(sigma_m)) for sigma_m in SIGMAS_M]
    alone = [compute_log_gaussian(apart_m, covariance_m2 + s.marker_sigma_m**2 * np.eye(3)).sum() for s in settings]
    return np.array([alone, [compute_log_density(residuals, s).sum() for s in settings]])


def compute_stray_likelihood(found: Innovations, marker_sigma_m: float) -> Floats:
    """Return the sum of ln of the densities for every pair of STRAYS and STRAYS_M, (S, M)."""
    S = found.covariance_m2 + marker_sigma_m**2 * np.eye(3)
    near = compute_log_gaussian(found.apart_m, S)
    wide = np.array([compute_log_gaussian(found.apart_m, S + stray_m**2 * np.eye(3)) for stray_m in STRAYS_M])
    both = np.logaddexp(near + np.log1p(-STRAYS)[:, None, None], wide + np.log(STRAYS)[:, None, None])
    return np.asarray(both.sum(axis=2))


def find_likeliest_stray(likelihood: Floats) -> tuple[float, float]:
    """Return share and standard deviation of stray markers where a likelihood, as of `compute_stray_likelihood`, is greatest."""
    k, m = np.unravel_index(int(np.argmax(likelihood)), likelihood.shape)
    return find_likeliest_factor(STRAYS, likelihood[:, m]), find_likeliest_factor(STRAYS_M, likelihood[k])


def count_transitions(seen: Bools) -> Floats:
    """Return how often markers, (N, M), are seen after a frame in which they were, and were not, and of how many, (2, 2)."""
    before, after = seen[:-1], seen[1:]
    return np.array([[float((after & was).sum()), float(was.sum())] for was in (before, ~before)])


def resample_estimate(estimate: Callable[[Ints], float], n_clips: int) -> tuple[float, float, float]:
    """Return an estimate from some clips, and the ends of its 95 % interval by drawing clips with replacement."""
    rng, every = np.random.default_rng(1), np.arange(n_clips)
    drawn = [estimate(rng.choice(every, n_clips)) for _ in range(N_RESAMPLES)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return estimate(every), float(low), float(high)
