"""The page of Grochow, Martin, Hertzmann & Popović 2004."""

from benchmarks.papers.page.compare import compare_blends, compare_keys, compare_missing, compare_switches
from benchmarks.papers.page.frame import PageItem, PaperPage

ABOUT = """The paper has pictures and two figures: 23 frames a second with 100 active poses in three dimensions, and
faithful poses "with more than 50% of the markers missing".
"""

PAGE = PaperPage(
    "grochow",
    "papers-grochow.md",
    "Grochow et al. 2004: styles",
    (
        PageItem("Figure 1", "latent spaces", "`duocap style plot` draws the same: [styles](style.md#looking-at-a-style)."),
        PageItem(
            "Figure 2",
            "mixtures of Gaussians",
            "A picture; as a model of poses, mixtures are in the tables of [Lai et al.](papers-lai.md).",
        ),
        PageItem("Figure 3", "annealed models", "`duocap style plot --levels` draws the three levels."),
        PageItem(
            "Figure 4",
            "motion from keyed curves",
            "Feet and one hand of a take that the style has not learned; the paper shows two baseball pitches. "
            "*Paper's model here*: every frame by itself.",
            "style-keys",
            compare_keys,
        ),
        PageItem(
            "Figure 5",
            "posing from a picture",
            "Four and six image points of one camera, with truth: "
            "[posing](evaluation-models.md#posing-python--m-benchmarkspapers-posing).",
        ),
        PageItem(
            "Section 7.3",
            "optical markers missing",
            "Real Vicon markers of 02_05 (boxing, 41) and of a free movement with real gaps (nick, 53). The style is of the "
            "take's first 40 %. A share is hidden, others every second. *Paper's model here*: f over the active set "
            "(`--only-active`).",
            "style-missing",
            compare_missing,
            "With nine tenths hidden nobody knows the free movement from its beginning. There both styles are the same at last: "
            "all of their poses are active.",
        ),
        PageItem(
            "Equation 9",
            "interpolation of styles",
            "Walking and running of one person are learned and jogs posed from few points; or walks of two people, and those of "
            "a third posed. Shares 0 and 1 are one style alone.",
            "style-blend",
            compare_blends,
            "Interpolation is nowhere better than the better style alone, and halfway between two walks it is nearer the better "
            "one than to the worse: its worth is not to choose. A style that lacks the behaviour harms even with a quarter.",
            count=24,
        ),
        PageItem(
            "Sections 3, 6 and 8",
            "annealing, f, speed",
            "100 active poses of 500, three dimensions; the paper's 23 frames a second are of a 2.8 GHz Pentium 4.",
            "style-switches",
            compare_switches,
            why="Over 632 poses annealing makes no difference, with points or image points; the paper's f is 7 % worse.",
            count=160,
        ),
    ),
    ABOUT,
)
