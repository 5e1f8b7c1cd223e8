"""What is done to solved poses before they are published.

In: a `Pose` and its nearest poses in the database. Out: the `Pose` filtered, with contacts and with feet that do not slide
(`stage.Finish`). Two more stages for those who want them: poses some milliseconds ahead (`prediction.Predictor`), and recorded
takes without jitter or lag (`take_smoother.smooth_poses`).

Other folders import body, contacts, foot_lock, leg, output_filter, prediction, take_smoother.
"""
