"""The page of Wei, Min & Chai 2011."""

from benchmarks.papers.page.frame import PageItem, PaperPage

ABOUT = """All of ours are on two pages of their own, with the commands: [physics](evaluation-physics.md), and strips of
every example in the [gallery](gallery.md).
"""

PAGE = PaperPage(
    "wei",
    "papers-wei.md",
    "Wei, Min & Chai 2011: physics",
    (
        PageItem("Figure 2", "data before and after preprocessing", "[Clean takes](evaluation-physics.md#clean-takes)."),
        PageItem(
            "Table 1",
            "thirteen examples",
            "The same lengths and key poses, without the key trajectories of three. The paper: 61 to 197 s of solving "
            "a second of motion; ours: 1.4 to 7.4 s, better. Residual, keys met and peaks, which the paper does not "
            "give, and what is wrong in each: [gallery](gallery.md).",
        ),
        PageItem(
            "Table 2",
            "three databases",
            "The paper: 4,571 to 7,840 frames, 40 to 47 min of learning. Ours: [force "
            "fields](evaluation-physics.md#force-fields), 3 to 11 s.",
        ),
        PageItem(
            "Figures 4 and 5",
            "changed bodies and walks",
            "[Force fields](evaluation-physics.md#force-fields): moon, heavy foot, spring, ice.",
        ),
        PageItem(
            "Figure 6",
            "without physics",
            "[Force fields](evaluation-physics.md#force-fields): left-out clips, the energy without one term each, a "
            "subspace in place of the field.",
        ),
    ),
    ABOUT,
)
