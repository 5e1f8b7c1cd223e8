"""Recordings of the stream and folders of sessions.

In: payloads and the journal (`recorder`, `outputs`, `session`). Out: what was recorded (`recording`), also as if live
(`playback`).

Other folders import collector, folders, outputs, playback, recorder, recording, session, worlds.
"""
