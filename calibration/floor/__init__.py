"""The floor of a rig: from a board, from markers that lie on it, or from a walk."""
