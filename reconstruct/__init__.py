"""From labelled points to poses.

In: `Views` of one moment. `Pipeline.step` labels (track/), finds nearest poses (search/), builds a local
model (models/local/), solves (solve/), predicts what is missing (missing/) and finishes (finish/). Out: a `Pose`.

Other folders import body_state, constraints, doubt, observations, pipeline, pose.
"""
