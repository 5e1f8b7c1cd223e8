"""Several T-poses of one performer: whether each is of the same body with the same markers, and the fit to those that are.

A take agrees if what the others tell of lengths and offsets predicts its markers: the fit to the others, with its covariance,
is all that is expected of lengths and offsets when the take is fitted alone. The cost of that is chi-square distributed, three
a marker less six for the root.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.subject import Subject
from calibration.subject_adjust import Problem, adjust
from calibration.subject_fit import SubjectFit, TPose, fit_markers, fit_takes, problem_of
from config.markers import MarkerSet
from database.rotations import Floats
from database.skeleton import Skeleton

ODD = 3.0  # standard deviations of chi-square beyond the other takes: all of them are off alike where people hold a pose well
USUAL = -1.0  # where there are only two, none of which can tell what is usual


@dataclass(frozen=True, slots=True)
class Body:
    """What is known of a performer before the T-poses.

    skeletons: of other people; standing: how legs and trunk are held, (J, 3) [rad] or None; height_m: shoes off, or None;
    old: their subject of earlier, whose skeleton is kept and whose marker offsets only are found anew, or None.
    """

    skeletons: Sequence[Skeleton]
    standing: Floats | None = None
    height_m: float | None = None
    old: Subject | None = None


@dataclass(frozen=True, slots=True)
class TakesFit:
    """The fit and which takes it used; oddity: of each take, in standard deviations from what the others predict, NaN for one
    alone."""

    fit: SubjectFit
    used: tuple[int, ...]
    oddity: Floats

    @property
    def left_out(self) -> tuple[int, ...]:
        """The takes that were not used."""
        return tuple(k for k in range(len(self.oddity)) if k not in self.used)


def fit_body(name: str, markers: MarkerSet, tposes: Sequence[TPose], body: Body) -> SubjectFit:
    """Fit all T-poses given. Raises CalibrationError as `fit_takes`."""
    if body.old is not None:
        return fit_markers(replace(body.old, name=name), markers, tposes, body.standing)
    return fit_takes(name, markers, tposes, body.skeletons, body.standing, body.height_m)


def fit_agreeing(name: str, markers: MarkerSet, tposes: Sequence[TPose], body: Body) -> TakesFit:
    """Fit a performer to the takes that agree, leaving out the oddest while three or more are there.

    Of two that do not agree nobody can tell which is wrong: both are used. Raises CalibrationError as `fit_takes`.
    """
    used = list(range(len(tposes)))
    oddity = np.full(len(tposes), np.nan)
    while len(used) > 1:
        alone = np.array([surprise_of(k, [tposes[i] for i in used], markers, body) for k in range(len(used))])
        usual = [np.median(np.delete(alone, k)) if len(used) > 2 else USUAL for k in range(len(used))]
        found = alone - usual
        oddity[used] = found
        worst = int(np.argmax(found))
        if len(used) == 2 or found[worst] < ODD:
            break
        del used[worst]
    return TakesFit(fit_body(name, markers, [tposes[k] for k in used], body), tuple(used), oddity)


def surprise_of(index: int, tposes: Sequence[TPose], markers: MarkerSet, body: Body) -> float:
    """Tell by how many standard deviations a take costs more than the others let expect."""
    others = [tpose for k, tpose in enumerate(tposes) if k != index]
    fit = fit_body("", markers, others, body)
    asked = problem_of(fit.problem.space, markers, [tposes[index]], body.standing)
    mean = np.concatenate([fit.adjusted.state.y, fit.adjusted.state.offset_m.ravel()])
    root = np.linalg.cholesky(np.linalg.inv(fit.adjusted.covariance)).T
    alone = adjust(Problem(asked.space, asked.worn, asked.takes, earlier=(mean, root)))
    freedom = max(3 * int(tposes[index].valid.sum()) - 6, 1)
    return float((alone.cost - freedom) / np.sqrt(2.0 * freedom))
