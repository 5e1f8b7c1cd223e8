"""The page of Wei, Min & Chai 2011."""

from collections.abc import Sequence

from benchmarks.papers.page.frame import Comparison, PageItem, PaperPage
from benchmarks.report import Row

ABOUT = """Where a figure of ours comes from: [physics](evaluation-physics.md); every example with a strip and what is wrong in
it: [gallery](gallery.md). In the paper the user gives the contacts of the whole motion; here they are found. The paper's
computer is of 2011, its code Matlab.
"""

SYNTHESIS_S = {  # table 1: start and synthesis, seconds of solving a second of motion
    "normal walk": (1.0, 113),
    "big step": (0.8, 107),
    "turning": (0.8, 92),
    "running": (1.2, 140),
    "jumping": (0.5, 75),
    "heavy foot": (1.3, 169),
    "resistance": (1.0, 159),
    "slippery": (1.3, 188),
    "moon": (1.3, 197),
    "sneaky": (0.9, 61),
    "proud": (1.2, 95),
    "long walk": (0.6, 68),
    "run walk jump": (0.8, 74),
}
DATABASES = {  # table 2: minutes of motion, of preparing it, of learning
    "walking": (2.9, 65, 40),
    "stylised": (4.4, 138, 46),
    "locomotion": (2.5, 55, 47),
}


def compare_examples(rows: Sequence[Row]) -> list[Comparison]:
    """Return seconds of solving a second of motion, start and synthesis, for every example of the paper."""
    return [
        Comparison(
            f"{row['name']}, {row['seconds']:.1f} s: keys within {row['key_mm']:.0f} mm, {row['unmet']:.1f} % unmet",
            float(sum(SYNTHESIS_S[row["name"]])),
            ours=(row["start_s"] + row["solve_s"]) / row["seconds"],
            digits=1,
        )
        for row in rows
        if row["name"] in SYNTHESIS_S
    ]


def compare_databases(rows: Sequence[Row]) -> list[Comparison]:
    """Return minutes of preparing and of learning for a minute of motion."""
    found = []
    for row in rows:
        minutes, prepared, learned = DATABASES[row["name"]]
        what = f"{row['name']}, {row['minutes']:.1f} min of motion (the paper {minutes:.1f})"
        found.append(Comparison(f"{what}: prepared", prepared / minutes, ours=row["prepared_min"] / row["minutes"]))
        found.append(Comparison(f"{what}: learned", learned / minutes, ours=row["learned_min"] / row["minutes"]))
    return found


def compare_left_out(rows: Sequence[Row]) -> list[Comparison]:
    """Return the mean distance of each method from the real motion [mm], known and new people apart."""
    found = []
    for known, who in ((True, "known"), (False, "new")):
        own = [row for row in rows if row["known"] == known]
        for method in [name for name in own[0] if name not in ("clip", "known")]:
            mean = sum(row[method] for row in own) / len(own)
            found.append(Comparison(f"{len(own)} clips of {who} people: {method}", None, ours=mean, digits=1))
    return found


PAGE = PaperPage(
    "wei",
    "papers-wei.md",
    "Wei, Min & Chai 2011: physics",
    (
        PageItem(
            "Table 1",
            "thirteen examples",
            "The paper's lengths and key poses, without the key trajectories of three. Seconds of processor time a second of "
            "motion, start and synthesis; the paper gives neither keys nor what is unmet of eq. 1 (of the weight).",
            compare=compare_examples,
            why="Faster is not better where keys are missed: the line of each example says what it misses.",
            figures="physics-examples.json",
        ),
        PageItem(
            "Table 2",
            "three databases",
            "Minutes for a minute of motion. Ours has a fifteenth of the paper's stylised motion. Dimensions of states: 22 to 32 "
            "(the paper 19 to 22), of forces 4 to 17 (7 to 10).",
            compare=compare_databases,
            figures="physics-databases.json",
        ),
        PageItem(
            "Figure 2",
            "data before and after preprocessing",
            "[Five clips](evaluation-physics.md#clean-takes): slide 9.3 to 16.4 mm a frame before, 1.4 to 3.1 after; jitter of "
            "the force 533 to 1002 %, then 11 to 42.",
        ),
        PageItem(
            "Figure 4",
            "heavy foot",
            "The paper's leans to the right. Ours changes its forces and hardly its gait, as 2.5 kg are a thirtieth of the body: "
            "no lean is seen, and the foot is lifted by 17.0 cm in the mean of its steps, 16.8 without: worse.",
        ),
        PageItem(
            "Figure 5",
            "big step, obstacle, slope",
            "One field makes all three here, too: [gallery](gallery.md).",
        ),
        PageItem(
            "Figure 6",
            "resistance, with and without physics",
            "Leans only with physics in the paper; ours leans by 16.5 degrees with, by 11.3 without.",
        ),
        PageItem(
            "Section 8.1",
            "ice and moon",
            "A film there. Ours: steps of 0.50 m, 0.59 without ice; a jump flies 0.98 s, 0.40 on earth; the walk on the moon "
            "takes long, slow steps, with landings that are too hard.",
        ),
        PageItem(
            "Section 8.3",
            "beside the truth, and without parts",
            "Mean distance from the truth [mm]; [clip by clip](evaluation-physics.md#force-fields). Physics alone is "
            "ballistic, a subspace of poses unnatural, as in the paper.",
            compare=compare_left_out,
            figures="physics-left-out.json",
        ),
    ),
    ABOUT,
)
