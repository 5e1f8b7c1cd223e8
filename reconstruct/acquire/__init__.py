"""Where a body is sought without a previous pose: what poses of examples say of points, or of one camera's blobs.

In: points or blobs without names. Out: candidates for which is which marker (`hypotheses`, `upright`), of one camera's view with
the body's place (`monocular`). `track.acquisition` solves and judges them.
"""
