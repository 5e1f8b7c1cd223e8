"""The messages of the stream, their bytes, and what is computed from them: joint positions, latency, what became of landmarks,
the report of a replay.

Other folders import compose, joints, landmarks, latency, messages, report.
"""
