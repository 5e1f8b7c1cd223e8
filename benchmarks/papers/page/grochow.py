"""The page of Grochow, Martin, Hertzmann & Popović 2004."""

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
            "Figure 5",
            "posing from a picture",
            "Four and six image points of one camera, with truth: "
            "[posing](evaluation-models.md#posing-python--m-benchmarkspapers-posing).",
        ),
    ),
    ABOUT,
)
