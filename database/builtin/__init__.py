"""Motions made by rule, not recorded: the embedded default and what the simulator performs."""

from database.builtin.bodies import body
from database.builtin.catalog import builtin_clip, builtin_names
from database.builtin.performance import demo_performance

__all__ = ["body", "builtin_clip", "builtin_names", "demo_performance"]
