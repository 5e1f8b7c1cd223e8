"""The page of a session: app, scene, panels; the only part that knows viser, and all in one thread.

Other folders import app.
"""
