"""Walking: when feet strike the ground and leave it, and what steps are like: `duocap gait`.

In: a motion (`tools.physics.motion`). On the way: `events` finds them, `steps` measures. Out: a table, and events for a C3D file.
"""
