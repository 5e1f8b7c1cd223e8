"""The papers' tables and figures in their order, theirs beside ours, as pages: `python -m benchmarks.papers --page`.

A page is one entry of `PAGES` (`pages`): the paper's items, each with the table that measures it and how its rows are compared.
What was measured is kept as JSON in `benchmarks/papers/figures`, so that a page is made again without measuring.
"""
