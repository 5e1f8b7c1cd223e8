"""The output filter: jitter of a standing body against delay of a moving one, errors of predictions, gain of the smoother.

Standing: the stillest pose of a clip, kept still, with 5 mm of noise on its markers, and the T-pose of a real recording. Moving:
clips of the protocol, exact and with noise. All are solved once; then every filter is applied to the same poses. The peers, the
one-euro filter and a low pass, work on joint positions, where they need not respect a skeleton.
"""
