"""How the rows of tables become rows of pages."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from benchmarks.papers.page.frame import Comparison
from benchmarks.papers.restoring_poses import Halves
from benchmarks.report import Row, group_rows

Compare = Callable[[Sequence[Row]], list[Comparison]]
OWN_SPARSE = ("k-svd", "all-poses")


def find_row(rows: Sequence[Row], **values: object) -> Row:
    """Return the first row with some values, an empty one where none has them."""
    return next((row for row in rows if all(row.get(name) == value for name, value in values.items())), {})


def compute_standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean, 0 of a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def compare_dimensions(rows: Sequence[Row]) -> list[Comparison]:
    """Return the dimensions for less than a degree: of poses of the database as the paper's, of others as ours."""
    found = []
    for row in (row for row in rows if row["tests"] == "own" and row["paper"] is not None):
        unseen = find_row(rows, database=row["database"], method=row["method"], tests="unseen").get("B < 1 deg")
        what = f"{row['database']} ({row['poses']} poses), {row['method']}"
        found.append(Comparison(what, row["paper"], row["B < 1 deg"], unseen, digits=0, rival=row["method"] != "local"))
    return found


def compare_synthesis(rows: Sequence[Row]) -> list[Comparison]:
    """Return degrees per joint angle by behaviour: peers beside the paper's, then the paper's model and ours."""
    found = []
    for here in group_rows(rows, "behaviour"):
        means = {same[0]["method"]: weigh_mean(same) for same in group_rows(here, "method")}
        papers = {row["method"]: row["paper"] for row in here}
        what = f"{here[0]['behaviour']}, {sum(row['frames'] for row in here if row['method'] == 'ours')} frames"
        for peer in ("NN", "LWR"):
            found.append(Comparison(f"{what}, {peer}", papers.get(peer), means.get(peer)))
        found.append(Comparison(f"{what}, m and rad", papers.get("paper"), means.get("paper-si")))
        errors = [row["deg"] for row in here if row["method"] == "ours"]
        error = compute_standard_error(errors)
        found.append(Comparison(what, papers.get("paper"), means.get("paper"), means.get("ours"), error))
    return [one for one in found if one.faithful is not None]


def compare_behaviours(figure: str) -> Compare:
    """Return what compares degrees, or millimetres, by behaviour: our nearest neighbours and regression named in the row."""

    def compare(rows: Sequence[Row]) -> list[Comparison]:
        found, digits = [], 1 if figure == "mm" else 2
        for here in group_rows(rows, "behaviour"):
            nn, lwr, paper, ours = (
                weigh_mean([row for row in here if row["method"] == m], figure) for m in ("NN", "LWR", "paper", "ours")
            )
            frames = sum(row["frames"] for row in here if row["method"] == "ours")
            what = f"{here[0]['behaviour']}, {frames} frames, {figure}; NN {nn:.{digits}f}, LWR {lwr:.{digits}f}"
            found.append(Comparison(what, None, paper, ours, digits=digits))
        return found

    return compare


def weigh_mean(rows: Sequence[Row], figure: str = "deg") -> float | None:
    """Return the mean over frames of a figure."""
    return float(np.average([row[figure] for row in rows], weights=[row["frames"] for row in rows])) if rows else None


def compare_restoring(tasks: Sequence[str], models: bool = False) -> Compare:
    """Return what compares tasks in every kind of halves: the paper's sparse model, its dictionary here, the better of ours.

    Args:
        tasks: names of tasks, more than one of rows about the same data.
        models: whether each model has a row of its own below.
    """

    def compare(rows: Sequence[Row]) -> list[Comparison]:
        found = []
        for halves, task in product(Halves, tasks):
            for same in group_rows((row for row in rows if (row["task"], row["halves"]) == (task, halves)), "data"):
                here = {row["model"]: row for row in same}
                if "omp" in here:
                    by_subject = f"{same[0]['data']} (for {same[0]['stands for']})"
                    about = by_subject if len(tasks) == 1 else f"{task}, {same[0]['train']} train"
                    found.append(compare_best(here, f"{halves}, {about}: {name_best(same)}"))
                    found += [compare_model(row) for row in same if models and row["model"] != "omp"]
        return found

    return compare


def compare_best(here: dict[str, Row], what: str) -> Comparison:
    """Return the paper's sparse model beside the better of ours; here: rows by model."""
    omp = here["omp"]
    best = min((here[name] for name in OWN_SPARSE if name in here), key=lambda row: float(row["error"]), default=omp)
    error, of_omp = compute_standard_error(best["errors"]), compute_standard_error(omp["errors"])
    return Comparison(what, find_paper_error(omp), omp["error"], best["error"], error, of_omp, digits=4)


def compare_model(row: Row) -> Comparison:
    """Return the error of a model, which is not judged."""
    name, error = row["model"], compute_standard_error(row["errors"])
    if name in OWN_SPARSE:
        return Comparison(name, None, None, row["error"], error, digits=4, rival=True)
    return Comparison(name, find_paper_error(row), row["error"], None, 0.0, error, digits=4, rival=True)


def find_paper_error(row: Row) -> float | None:
    """Return the paper's error of a row, None where poses are held out, as it holds nothing out."""
    return row["paper"] if row["halves"] == Halves.POSES else None


def average_subjects(rows: Sequence[Row]) -> list[Row]:
    """Return rows whose errors are means over subjects."""
    means = []
    for same in group_rows(rows, "halves", "task", "model"):
        errors = np.mean([row["errors"] for row in same], axis=0).tolist()
        means.append(same[0] | {"data": "all", "error": float(np.mean(errors)), "errors": errors})
    return means


def name_best(rows: Sequence[Row]) -> str:
    """Return the best models of some rows, and their error: those within two standard errors of paired differences."""
    best = min(rows, key=lambda row: float(row["error"]))

    def is_tie(row: Row) -> bool:
        """Return whether a model is as good as the best."""
        n = min(len(row["errors"]), len(best["errors"]))
        apart = np.subtract(row["errors"][:n], best["errors"][:n])
        return float(apart.mean()) <= 2.0 * compute_standard_error(apart.tolist())

    names = [best["model"], *(row["model"] for row in rows if row is not best and is_tie(row))]
    return f"best {names[0]}" if len(names) == 1 else "tie of " + ", ".join(names)


def compare_atoms(task: str) -> Compare:
    """Return what compares dictionaries of K atoms: pursuit, the mean of many codes, poses of as many numbers."""

    def compare(rows: Sequence[Row]) -> list[Comparison]:
        found = []
        for here in group_rows((row for row in rows if row["task"] == task), "data", "halves", "K"):
            omp, ours, rival = (find_row(here, model=model) for model in ("omp", "k-svd", "local-pca"))
            if omp and ours:
                error, what = compute_standard_error(ours["errors"]), f"{omp['data']}, {omp['halves']}, K = {omp['K']}"
                found.append(Comparison(f"{what}: {name_best(here)}", None, omp["error"], ours["error"], error, digits=4))
                if rival:
                    found.append(Comparison(f"{what}, local PCA", None, None, rival["error"], digits=4, rival=True))
        return found

    return compare


def compare_search(rows: Sequence[Row]) -> list[Comparison]:
    """Return nodes examined for a query, and the error of what is found."""
    found = []
    for row in rows:
        what = f"{row['clip']} {row['behaviour']}"
        boxing = row["behaviour"] == "boxing"
        examined, error = (752.3, 0.025) if boxing else (710.1, 0.014)
        found.append(Comparison(f"{what}, examined", examined, row["walk examined"], row["examined"], digits=0))
        found.append(Comparison(f"{what}, degrees off", error, None, row["mean deg"], digits=3))
    return found


def compare_missing(rows: Sequence[Row]) -> list[Comparison]:
    """Return millimetres of joints with markers missing: the paper's f over the active set, and ours."""
    found = []
    for same in group_rows(rows, "take", "hidden %"):
        here, hidden = {row["model"]: row for row in same}, same[0]["hidden %"]
        hides = f"{hidden:.0f} % of {here['style']['markers']} markers hidden" if hidden else "only its own gaps"
        what = f"{same[0]['take']}: {hides}, {here['style']['frames']} frames, mm"
        found.append(Comparison(what, None, here["paper's f"]["mm"], here["style"]["mm"], digits=1))
        found.append(Comparison(f"{what}, local model", None, None, here["local"]["mm"], digits=1, rival=True))
    return found


def compare_blends(rows: Sequence[Row]) -> list[Comparison]:
    """Return millimetres of poses between two styles by the share of the second."""
    found = []
    for row in rows:
        what = f"{row['posed']}, {row['given']}, {row['poses']} poses, share {row['share']:g}"
        found.append(Comparison(what, None, None, row["mm"], row["error"], digits=1))
    return found


def compare_keys(rows: Sequence[Row]) -> list[Comparison]:
    """Return millimetres of joints of motion from keyed curves; in the paper's place, frames posed alone."""
    found = []
    for here in group_rows(rows, "behaviour", "keys every s"):
        alone, motion = (find_row(here, method=method) for method in ("frames alone", "motion"))
        what = f"{motion['behaviour']}, keys every {motion['keys every s']:g} s, {motion['frames']} frames, mm"
        found.append(Comparison(what, None, alone["mm"], motion["mm"], digits=1))
    return found


def compare_switches(rows: Sequence[Row]) -> list[Comparison]:
    """Return millimetres and frames a second of each switch, means over behaviours; the paper's 23 beside."""
    found = []
    for here in group_rows(rows, "given", "style"):
        given, style = here[0]["given"], here[0]["style"]
        what = f"{len(here)} behaviours, {given}, {style}, {sum(row['poses'] for row in here)} poses"
        mm, cold_ms, warm_ms = (float(np.mean([row[name] for row in here])) for name in ("mm", "cold ms", "warm ms"))
        if style == "paper's f":
            found.append(Comparison(f"{what}, mm", None, mm, digits=1))
        else:
            error = compute_standard_error([row["mm"] for row in here])
            found.append(Comparison(f"{what}, mm", None, None, mm, error, digits=1))
        if style == "as it is":
            for start, ms in (("the last", warm_ms), ("nothing", cold_ms)):
                found.append(Comparison(f"{what}, poses a second from {start}", 23.0, None, 1e3 / ms, digits=0, more=True))
    return found


def compare_balls(rows: Sequence[Row]) -> list[Comparison]:
    """Return poses examined by the paper's own search, the error of what it finds, and that of poses made of it."""
    found = []
    for row in rows:
        what = f"{row['clip']} {row['behaviour']}, {row['database']} ({row['poses']})"
        found.append(Comparison(f"{what}, examined", row["paper examined"], row["examined"], digits=0))
        found.append(Comparison(f"{what}, degrees off", row["paper deg"], row["deg off"], digits=3))
        made = f"{what}, poses, degrees; {row['deg of all']:.2f} by trying all"
        found.append(Comparison(made, None, row["deg"]))
    return found


def compare_sizes(rows: Sequence[Row]) -> list[Comparison]:
    """Return poses examined for a query by the size of the database."""
    return [Comparison(f"{row['poses']} poses", None, ours=row["examined"], digits=0) for row in rows]


def compare_mixture(rows: Sequence[Row]) -> list[Comparison]:
    """Return degrees by what the database holds, means over random draws."""
    found = []
    for here in group_rows(rows, "clip", "database"):
        paper, ours = ([row["deg"] for row in here if row["method"] == method] for method in ("paper", "ours"))
        what = f"{here[0]['clip']} {here[0]['behaviour']}, {here[0]['database']} ({here[0]['poses']})"
        errors = compute_standard_error(ours), compute_standard_error(paper)
        found.append(Comparison(what, None, float(np.mean(paper)), float(np.mean(ours)), errors[0], errors[1]))
    return found


def compare_one_camera(rows: Sequence[Row]) -> list[Comparison]:
    """Return millimetres from one camera and from two, by marker set; degrees and the share of frames named in the row."""
    found = []
    for row in (row for row in rows if row["model"] == "gaussian"):
        how = "1 camera" if row["cameras"] == 1 else f"{row['cameras']} cameras"
        what = f"{row['given']}, {row['clip']} {row['behaviour']}, {row['markers']}, {how}, {row['frames']} frames"
        names = {name: row[name] for name in ("given", "clip", "markers", "cameras")}
        paper = find_row(rows, model="paper", **names).get("mm")
        tracked = f"{row['tracked %']:.0f} % tracked, {row['deg']:.1f} degrees" if row["tracked %"] else "never tracked"
        found.append(Comparison(f"{what}: {tracked}; mm", None, paper, row["mm"] if row["tracked %"] else None, digits=1))
    return found


def compare_swordplay(rows: Sequence[Row]) -> list[Comparison]:
    """Return millimetres of joints by how the sword is used; of the hand behind, and degrees of the sword, named in the row."""
    found = []
    for here in group_rows(rows, "clip", "way"):
        paper, ours = (find_row(here, model=model) for model in ("paper", "ours"))
        hand = f"hand behind {ours['other hand mm']:.1f} mm, sword {ours['sword deg']:.1f} degrees"
        what = f"{ours['clip']}, {ours['frames']} frames, {ours['way']}: {hand}; joints, mm"
        found.append(Comparison(what, None, paper["mm"], ours["mm"], digits=1))
    return found


def compare_end_to_end(rows: Sequence[Row]) -> list[Comparison]:
    """Return degrees per joint angle from two cameras."""
    return [
        Comparison(f"{row['clip']} {row['behaviour']}, {row['frames']} frames", row["paper"], None, row["deg"]) for row in rows
    ]
