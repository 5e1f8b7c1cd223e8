"""Physics of the body (Wei et al. 2011): masses, equations of motion, contact forces, and motion that obeys them.

In: a skeleton, a total mass and poses. Out: `body`: masses, inertias and contact points of a skeleton; `dynamics`: eq. 1 and its
derivatives, by pinocchio; `contacts`: which points carry weight, and friction cones (eq. 2). Pure.

Other folders import anthropometry, backend, body, clean, contacts, dynamics, forces, friction, smoothing.
"""
