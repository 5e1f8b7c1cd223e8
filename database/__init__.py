"""Motion data: from motion files, or from motions made by rule, to one memory-mapped database of poses.

In: ASF/AMC and BVH files (files), built-in motions (builtin), T-poses (tpose). Out: a `PoseDatabase` (store) with its neighbour
graph (graph), contacts of the feet, the typical standing pose. `build` makes or extends one, `parts`
one of several files, `thinning` leaves out what is nearly the same, `default` opens the built-in one.

Other folders import build, clips, contacts, container, default, parts, standing, store, thinning.
"""
