"""Poses and motions of styles that meet constraints (Grochow et al. 2004, sections 6 and 7).

In: styles and `Constraints`, of one pose (`synthesizer.Synthesizer`) or of each frame of a motion (`trajectory.follow`). Out:
`Synthesis`: the pose, how likely it is and how well it meets the constraints.

Other folders import curves, synthesizer, trajectory.
"""
