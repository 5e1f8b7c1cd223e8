"""Compile every kernel of detection before the first frame counts: compiled in mid-run, they cost a first start seconds."""

import numpy as np

from capture.disc_fit import fit_discs
from capture.foreground import Bounds, RunFinder

SIDE_PX = 48


def warm_detection() -> None:
    """Run what a first picture need not touch: every way to find foreground, and touching markers taken apart."""
    image = np.zeros((SIDE_PX, SIDE_PX, 3), np.uint8)
    image[20:28, 10:30] = 200
    none = np.zeros((SIDE_PX, 3 * SIDE_PX), np.uint8)
    finder, bounds = RunFinder((SIDE_PX, SIDE_PX)), Bounds(none, none)
    finder.outside(image, bounds)
    finder.brighter(image, 100)
    finder.brighter(image, 100, bounds)
    box, at_px = np.array([10.0, 29.0, 20.0, 27.0]), np.array([[14.0, 23.5], [25.0, 23.5]])
    area_px, peak = np.full(2, 70.0), np.full(2, 150.0)
    for table in (None, np.ones((32, 32, 32), np.uint8)):
        fit_discs(image, box, 160.0, at_px, area_px, peak, table, 50.0)
