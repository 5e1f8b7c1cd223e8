"""Motions made by rule, not recorded: those of the default database, and what the simulator performs.

In: a name, a body, a style. Out: clips. A motion writes its moves into a `MotionPlan` (plan), which `render` turns into a clip.

Other folders import bodies, catalog, performance.
"""

from database.builtin.bodies import build_person_skeleton
from database.builtin.catalog import make_builtin_clip, make_database_clips
from database.builtin.performance import make_demo_performance

__all__ = ["build_person_skeleton", "make_builtin_clip", "make_database_clips", "make_demo_performance"]
