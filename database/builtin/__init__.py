"""Motions made by rule, not recorded: those of the default database, and what the simulator performs.

In: a name, a body, a style. Out: clips. A motion writes its moves into a `MotionPlan` (plan), which `render` turns into a clip.
"""

from database.builtin.bodies import body
from database.builtin.catalog import builtin_clip, database_clips
from database.builtin.performance import demo_performance

__all__ = ["body", "builtin_clip", "database_clips", "demo_performance"]
