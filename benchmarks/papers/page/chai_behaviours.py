"""The second page of Chai & Hodgins 2005: what section 8 shows in pictures, measured."""

from benchmarks.papers.page.compare import compare_behaviours, compare_end_to_end, compare_one_camera, compare_swordplay
from benchmarks.papers.page.frame import PageItem, PaperPage

ABOUT = """The paper gives a figure for boxing from end to end; it shows Kendo, one camera and transitions in pictures.
Its other tables: [local models](papers-chai.md).
"""

PAGE = PaperPage(
    "chai-behaviours",
    "papers-behaviours.md",
    "Chai & Hodgins 2005: behaviours",
    (
        PageItem(
            "Section 8",
            "end to end, boxing",
            "Two rendered cameras in place of real ones, the T-pose's calibration included; degrees of the Acclaim skeleton.",
            "end-to-end",
            compare_end_to_end,
            "Worse where the database has hardly such boxing: 1,400 poses of another session, the paper's 71,597 of its own.",
            only=("02_05", "14_02"),
            seconds=5.0,
        ),
        PageItem(
            "Section 8",
            "Kendo",
            "The set `kendo` on two real sword plays, as there is no Kendo here: `grip_m` keeps both hands on the sword. "
            "The database lacks swords; the paper's has 59,600 poses of Kendo.",
            "swordplay",
            compare_swordplay,
            "A real sword turns in the grip, and ours is fixed to the leading hand: what its marker gains in direction the wrist "
            "loses. Both hands give the direction back without seeing the sword.",
            seconds=3.0,
        ),
        PageItem(
            "Section 8",
            "one camera",
            "*Labels and start known*: the solver alone, half a pixel of noise. *Rendered*: found and tracked, the T-pose with "
            "two cameras; only tracked frames count. `all_around` is the larger set, of 14 markers.",
            "one-camera",
            compare_one_camera,
            "With labels the larger set halves the error of one camera. Rendered, the performer is found late, not at all or "
            "wrongly within two seconds: what limits one camera is the finding, not the solver.",
            seconds=2.0,
        ),
        PageItem(
            "Section 8",
            "by behaviour, transitions among them",
            "Exact markers of clips that the database lacks, all behaviours; degrees. *NN*, *LWR*: ours of both.",
            "synthesis-exact",
            compare_behaviours("deg"),
            seconds=2.0,
        ),
        PageItem(
            "Section 8",
            "by behaviour, in millimetres",
            "The same per joint.",
            "synthesis-exact",
            compare_behaviours("mm"),
            seconds=2.0,
        ),
    ),
    ABOUT,
)
