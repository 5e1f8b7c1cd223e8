"""A performer's skeleton and marker offsets, from T-poses and movement; subject.toml.

In: points of markers over time. Out: a labelled `TPose` (tpose), the `SubjectFit` to one or several (fit), the same refined by
movement (motion), its report (quality, coverage of the marker set) and picture, and the `Subject` that is written (subject).

Other folders import adjust, constellation, fit, functional, labelled, marker_motion, model, motion, picture, poses,
props, quality, subject, tpose, world.
"""
