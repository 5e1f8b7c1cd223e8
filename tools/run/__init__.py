"""A live run: its processes started, watched and ended."""
