"""Measure the product on real motions and print the papers' tables: `duocap evaluate`.

A room or module a table: `measure` holds the types and the measurement, `table` makes lines of text of its results and `plot`
draws them. `tools/commands/evaluate/group.py` calls one after the other. Shared: the leave-one-out protocol (`protocol`), the
clips for tuning and test (`clip_sets`), anybody's clips (`user_clips`, `similar_motions`), markers of known motions (`queries`),
methods that solve them (`methods`), views put through the pipeline (`tracking`), errors (`scores`, `asf_angles`).
"""
