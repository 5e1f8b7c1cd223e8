"""All tables, in the order in which they are named."""

from benchmarks.papers import acquisition, dimensionality, feet, filtering, posing, restoring, search, styles, synthesis

TABLES = (
    *synthesis.TABLES,
    *search.TABLES,
    dimensionality.TABLE,
    acquisition.TABLE,
    *posing.TABLES,
    *styles.TABLES,
    *restoring.TABLES,
    *filtering.TABLES,
    feet.TABLE,
)
