"""Motion from a few constraints (Wei et al. 2011, section 6.2): the most likely one that obeys eq. 1.

In: a `problem.MotionProblem` of key poses, paths, contacts, surroundings, and a force field. Out: `solve`: the motion, its
contact forces and how well it obeys. `start`: a first motion, interpolated or from the nearest example. Pure.

Other folders import animate, energy, kinematics, measure, problem, start.
"""
