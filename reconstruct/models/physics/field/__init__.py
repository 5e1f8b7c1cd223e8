"""Force fields (Wei et al. 2011, section 5): what generalized forces a way of moving uses in each state.

In: motions of a body. Out: `field`: the distribution of forces given pose and velocity, and of first states, with derivatives;
`train`: learned from motions; `file`: its file. Pure.

Other folders import field, file, prepare, state, train.
"""
