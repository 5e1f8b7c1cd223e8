"""The papers' tables on real motions, beside other methods in the same run: `python -m benchmarks.papers`.

A table is one entry of `tables.TABLES`: its name, the paper, its columns and a function that yields rows (`frame`). What is asked
for comes in as a `Request`; clips, queries, scores and peers of poses are those of `duocap evaluate` (`tools/evaluate`).
"""
