"""Where landmarks are on the body, how exact and how lasting they are, and how often left and right are exchanged.

    python -m benchmarks.reconstruct.landmark_errors FILE.npz... > F.toml

Fits recordings of rendered people (`recorded_landmarks`) and prints a marker file of the landmarks
(`config/presets/none.toml`) with estimates of settings as comments: by least squares the places, by maximum likelihood what a
score says (a Gaussian as wide as the score tells, or astray) and the rates of exchanges (a Markov chain in each
view, summed over all its paths).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from benchmarks.reconstruct.recorded_landmarks import Recording, compare_exchanges, find_exchanges, measure_errors, read_recording
from benchmarks.report import build_parser, run_main
from config.arrays import Floats
from config.joints import JOINTS
from config.landmarks import LANDMARKS, MIRRORED, SOURCES
from config.markers import NO_MARKERS, MarkerSet, read_marker_set
from config.settings import LabelSettings
from reconstruct.track.landmarks import compute_change_costs

ROBUST_M, ROUNDS = 0.04, 10  # of the fit of offsets
SEEN = 0.4  # score of a landmark that its place on the bone is fitted to


def fit_offset(recordings: Sequence[Recording], joint: int, landmark: int, begin_m: Floats, min_score: float) -> Floats:
    """Return the place of a landmark on its bone that fits all pictures, (3,) [m], robustly."""
    offset = begin_m.copy()
    for _ in range(ROUNDS):
        A, b = 1e-3 * np.eye(3), np.zeros(3)
        for each in recordings:
            for c, camera in enumerate(each.rig.cameras):
                e = measure_errors(each, c, joint, offset, landmark)
                use = np.isfinite(e).all(axis=1) & (each.score[:, c, landmark] >= min_score)
                J, e = (camera.rotation[:2] @ each.rotation[:, joint])[use], e[use]
                w = 1.0 / np.sqrt(1.0 + (e**2).sum(axis=1) / ROBUST_M**2)
                A += np.einsum("f,fia,fib->ab", w, J, J)
                b += np.einsum("f,fia,fi->a", w, J, e)
        offset += np.linalg.solve(A, b)
    return offset


def fit_landmarks(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield the lines of a marker file that fits the recordings, and of their rates as comments."""
    markers = read_marker_set(NO_MARKERS)
    places = zip(markers.joint, markers.landmark, markers.offset_m, strict=True)
    fitted = [fit_offset(recordings, int(j), int(k), o, SEEN) for j, k, o in places]
    numbers = {int(landmark): m for m, landmark in enumerate(markers.landmark)}
    offset_m, sigma_m = np.empty_like(markers.offset_m), np.empty(len(markers))
    for m, landmark in enumerate(markers.landmark):
        other = numbers[MIRRORED[landmark]]
        offset_m[m] = 0.5 * (fitted[m] + fitted[other] * [-1.0, 1.0, 1.0])
    markers = replace(markers, offset_m=offset_m)
    for m in range(len(markers)):
        both = [m, numbers[MIRRORED[markers.landmark[m]]]]
        errors = np.concatenate([_collect_errors(recordings, markers, k, SEEN) for k in both])
        sigma_m[m] = 1.4826 * np.median(np.abs(errors))
    yield "# No markers: landmarks of the body that are found in each picture (BlazePose). Offsets, x to the performer's left,"
    yield "# y up, z forward, metres, T-pose; deviations are of rendered people (`python -m benchmarks.reconstruct.landmarks`)."
    for m, name in enumerate(markers.names):
        yield f'\n[{name}]\nlandmark = "{LANDMARKS[markers.landmark[m]]}"\nlandmark_sigma_m = {sigma_m[m]:.3f}'
        yield f'joint = "{JOINTS[markers.joint[m]]}"' + ("\ntorso = true" if markers.torso[m] else "")
        yield f"offset_m = [{', '.join(f'{x + 0.0:.3f}' for x in np.round(offset_m[m], 3) + 0.0)}]"
    yield from describe_scores(recordings, markers)
    yield from describe_rates(recordings, markers)


def _collect_errors(recordings: Sequence[Recording], markers: MarkerSet, m: int, min_score: float) -> Floats:
    """Return all errors of a landmark that was well seen, (N, 2) [m]."""
    found, landmark = [], int(markers.landmark[m])
    for each in recordings:
        for c in range(len(each.rig)):
            e = measure_errors(each, c, int(markers.joint[m]), markers.offset_m[m], landmark)
            found.append(e[np.isfinite(e).all(axis=1) & (each.score[:, c, landmark] >= min_score)])
    return np.concatenate(found)


def describe_scores(recordings: Sequence[Recording], markers: MarkerSet) -> Iterator[str]:
    """Yield what a score says of a landmark, as settings: the likeliest mixture of landmarks that are seen and guessed."""
    far2, score, sigma_m = (np.concatenate(part) for part in zip(*_collect_scored_errors(recordings, markers), strict=True))

    def cost(p: Floats) -> float:
        fade, usual, steep, even, stray_m = p
        seen2 = (sigma_m * np.exp(fade * (usual - score))) ** 2
        guessed, stray2 = np.exp(np.minimum(steep * (even - score), 0.0)), seen2 + stray_m**2
        density = np.exp(-0.5 * far2 / seen2) / seen2 + guessed * np.exp(-0.5 * far2 / stray2) / stray2
        return float(-np.log(density / (1.0 + guessed) + 1e-300).mean())

    s = LabelSettings()
    begin = [s.landmark_fade, s.landmark_usual_score, s.landmark_steep, s.landmark_score, s.landmark_stray_m]
    found = minimize(cost, begin, method="Nelder-Mead", options={"maxiter": 2000}).x
    names = ("landmark_fade", "landmark_usual_score", "landmark_steep", "landmark_score", "landmark_stray_m")
    yield from (f"# label.{name} = {value:.3g}" for name, value in zip(names, found, strict=True))


def _collect_scored_errors(recordings: Sequence[Recording], markers: MarkerSet) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield squared errors [m^2], scores and deviations [m] of each landmark in each view, with exchanges undone."""
    for each in recordings:
        states, every = find_exchanges(each, markers), np.arange(len(each.seconds))
        for c in range(len(each.rig)):
            for m, landmark in enumerate(markers.landmark):
                source = SOURCES[states[:, c], landmark]
                e = measure_errors(each, c, int(markers.joint[m]), markers.offset_m[m], source)
                use = np.isfinite(e).all(axis=1)
                n = int(np.count_nonzero(use))
                yield (e[use] ** 2).sum(axis=1), each.score[every, c, source][use], np.full(n, markers.landmark_sigma_m[m])


def describe_rates(recordings: Sequence[Recording], markers: MarkerSet) -> Iterator[str]:
    """Yield the likeliest rates of exchanges, and how long errors last."""
    lasting, costs = [], []
    for each in recordings:
        frame_s = float(np.median(np.diff(each.seconds)))
        for c in range(len(each.rig)):
            costs.append((compare_exchanges(each, c, markers), frame_s))
            for m, landmark in enumerate(markers.landmark):
                e = measure_errors(each, c, int(markers.joint[m]), markers.offset_m[m], int(landmark))
                e = np.clip(e, -0.1, 0.1)
                lasting.append(_find_time_constant(np.nan_to_num(e - np.nanmean(e, axis=0)), frame_s))
    s = LabelSettings()

    def cost(log_rates: Floats) -> float:
        rates = replace(s, exchange_rate=float(np.exp(log_rates[0])), exchange_lasts_s=float(np.exp(log_rates[1])))
        return sum(_sum_over_states(each, compute_change_costs(frame_s, rates)) for each, frame_s in costs)

    found = np.exp(minimize(cost, np.log([s.exchange_rate, s.exchange_lasts_s]), method="Nelder-Mead", options={"maxiter": 60}).x)
    yield f"# label.exchange_rate = {found[0]:.2f}"
    yield f"# label.exchange_lasts_s = {found[1]:.2f}"
    yield f"# solve.landmark_lasts_s = {np.median(lasting):.2f}"


def _sum_over_states(cost: Floats, change: Floats) -> float:
    """Return -ln of the probability of a view's landmarks over all paths of states; cost: (E, F); change: (E, E)."""
    kept, total = np.exp(-change), 0.0
    p = kept[0]
    for column in cost.T:
        p = p * np.exp(column.min() - column)
        total += float(column.min() - np.log(p.sum()))
        p = (p / p.sum()) @ kept
    return total


def _find_time_constant(errors: Floats, frame_s: float) -> float:
    """Return the time after which the correlation of errors, (F, 2), is less than 1 / e [s]."""
    power = float((errors**2).sum())
    for lag in range(1, len(errors)):
        if float((errors[lag:] * errors[:-lag]).sum()) < power / np.e:
            return lag * frame_s
    return len(errors) * frame_s


def main() -> None:
    """Fit and print."""
    parser = build_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    print("\n".join(fit_landmarks([read_recording(path) for path in options.files])))


if __name__ == "__main__":
    run_main(main)
