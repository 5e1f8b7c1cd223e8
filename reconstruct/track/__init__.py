"""The tracker: what is believed of the performer, from frame to frame.

In: what the cameras see of a moment, as points and blobs without names. Out: labels, and the pose with its covariance.
`belief` is the Gaussian over pose and velocity that is carried from frame to frame, `models` joins it with the neighbours,
`estimator` solves one frame with labels; `association` finds labels, `hypotheses` follows what may be true, `acquisition` begins
it, `landmarks` are found in pictures of the body, not worn: which states of exchange are likely, and a start by them alone;
`tracker` goes from moment to moment, `publish` says what is known in the end. `false_detections` removes blobs beforehand.

Other folders import acquisition, association, estimator, landmarks, local_models.
"""
