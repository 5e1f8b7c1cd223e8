"""Which point is which marker.

In: points or blobs and where markers are expected (`labeller`). Out: labels, and doubts about them. Without a previous pose, at
the start and after a loss, labels come from example poses: from points (`acquisition`) or from one camera's blobs (`monocular`).
`alternatives` tries other labels of a solved frame, `rivals` follows them over time; `false_detections` removes blobs that are no
markers; `plausibility` tells whether a solved pose may be published.
"""
