"""The papers' tables and figures on real motions: what `duocap evaluate` measures."""
