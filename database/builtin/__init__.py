"""Motions made by rule, not recorded: the embedded default and what the simulator performs."""

from database.builtin.bodies import body
from database.builtin.catalog import builtin_clip, builtin_names
from database.builtin.performance import demo_performance
from database.builtin.repertoire import database_clips

__all__ = ["body", "builtin_clip", "builtin_names", "database_clips", "demo_performance"]
