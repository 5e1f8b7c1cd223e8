"""The pose stream: many and slow subscribers, recordings, malformed messages, VMC, the viewer."""
