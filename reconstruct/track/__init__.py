"""The tracker: what is believed of the performer, from frame to frame.

In: what the cameras see of a moment, as points and blobs without names. Out: labels, and the pose with its covariance.
`belief` is the Gaussian over pose and velocity that is carried from frame to frame.
"""
