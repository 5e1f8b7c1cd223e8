"""The pages of all papers."""

from benchmarks.papers.page import chai, grochow, lai, wei

PAGES = (chai.PAGE, grochow.PAGE, lai.PAGE, wei.PAGE)
