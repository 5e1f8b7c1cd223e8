"""All tables, in the order in which they are named."""

from benchmarks.papers import (
    acquisition,
    ball,
    dimensionality,
    feet,
    filtering,
    mixture,
    one_camera,
    posing,
    restoring,
    search,
    styles,
    swordplay,
    synthesis,
)

TABLES = (
    *synthesis.TABLES,
    *mixture.TABLES,
    swordplay.TABLE,
    one_camera.TABLE,
    *search.TABLES,
    ball.TABLE,
    dimensionality.TABLE,
    acquisition.TABLE,
    *posing.TABLES,
    *styles.TABLES,
    *restoring.TABLES,
    *filtering.TABLES,
    feet.TABLE,
)
