"""The page of Chai & Hodgins 2005."""

from benchmarks.papers.page.compare import (
    compare_balls,
    compare_dimensions,
    compare_mixture,
    compare_search,
    compare_sizes,
    compare_synthesis,
)
from benchmarks.papers.page.frame import PageItem, PaperPage

ABOUT = """The paper's database has 433,622 poses of ten behaviours; ours of the CMU motions here has 148,022 at 60 Hz,
with 1,400 of boxing in place of 71,597.

*Paper's model here* is `--model paper` (`solve.model`): the weights alpha 0.8 and beta 0.2 of eqs. 2 and 9, the
pose expected by eq. 8, the root fitted to the torso's markers and then kept, squared errors, the start at the
nearest example, and a PCA whose K (to 200) and B (to 7) have the least leave-one-out error. The paper does not say
in which units its weights count: `paper` takes centimetres and degrees, `paper-si` metres and radians. Neighbours
come from our search or from trying all; the paper's own search is measured by itself in Table 1.
"""

PAGE = PaperPage(
    "chai",
    "papers-chai.md",
    "Chai & Hodgins 2005: local models",
    (
        PageItem(
            "Table 1",
            "nodes examined by the search",
            "Queries with 5 mm of noise. *Paper's model here*: the walk in the graph alone. Degrees: the mean of the "
            "neighbours found from that of the nearest.",
            "search",
            compare_search,
            "Ours keeps 16 sampled edges a pose and walks several hops; more poses are examined so that none is lost "
            "after a jump ([decision 13](decisions/0013-search.md)).",
            only=("14_02", "07_08", "09_12"),
            seconds=5.0,
        ),
        PageItem(
            "Table 1",
            "the paper's own search",
            "Whole balls of eq. 4, one hop from the last neighbours; the limit follows from the database, in brackets its poses.",
            "search-ball",
            compare_balls,
            "Poses of walking are as good as by trying all. Boxing has too few: what one hop misses is lost to later frames.",
            only=("14_02", "07_08"),
            seconds=4.0,
        ),
        PageItem(
            "Section 5",
            "search by the size of the database",
            "Poses examined for a query. Random clips of CMU and HDM05 motions at 120 Hz and their mirror images, to the paper's "
            "433,622 poses. Found are the nearest, within 0.01 % of their distance.",
            compare=compare_sizes,
            figures="search-sizes.json",
        ),
        PageItem("Figure 4", "search in two dimensions", "A picture of the method; nothing to compare."),
        PageItem(
            "Figure 5",
            "dimensions for less than a degree per joint angle",
            "*Paper's model here*: poses of the database itself, as in the paper it seems; *ours*: poses of clips that it lacks.",
            "dimensionality",
            compare_dimensions,
            "Poses of clips that are not in the database need 15 to 30 dimensions with every method: few dimensions are enough"
            " only for poses whose neighbours were recorded a moment apart.",
        ),
        PageItem(
            "Figure 6",
            "degrees per joint angle of synthesised poses",
            "Exact markers of clips that the database lacks; the Acclaim skeleton's 46 angles. NN and LWR are ours in their "
            "place.",
            "synthesis-exact",
            compare_synthesis,
            "The paper's boxing is of the person and session of its database; here 1,400 other poses of boxing are all there is. "
            "Why the paper's model does worse at walking than there is not known.",
            only=("14_02", "02_05", "07_08", "16_15", "09_09"),
            seconds=4.0,
        ),
        PageItem(
            "Section 9",
            "mixture and size of the database",
            "CMU and HDM05 motions at 120 Hz and their mirror images; parts are random clips, three draws each. *All but it*: "
            "without transitions, too.",
            "synthesis-mixture",
            compare_mixture,
            "Other behaviours do no harm to walking and running, as the paper found; to boxing 7 % with our model, 36 % with the "
            "paper's. What a clip needs is its own behaviour, which small parts hardly hold.",
            only=("14_02", "07_08", "09_09"),
            seconds=3.0,
        ),
        PageItem("Figure 7", "live behaviours", "Pictures; ours: [gallery](gallery.md), [README](../README.md)."),
    ),
    ABOUT,
)
