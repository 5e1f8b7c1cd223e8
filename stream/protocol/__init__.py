"""The messages of the stream, their bytes, and what is computed from them: joint positions, latency, the report of a replay.

Other folders import compose, joints, latency, messages, report.
"""
