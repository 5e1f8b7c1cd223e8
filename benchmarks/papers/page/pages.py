"""The pages of all papers."""

from benchmarks.papers.page import chai, chai_behaviours, grochow, lai, lai_sizes, wei

PAGES = (chai.PAGE, chai_behaviours.PAGE, grochow.PAGE, lai.PAGE, lai_sizes.PAGE, wei.PAGE)
