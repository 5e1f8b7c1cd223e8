"""A take: the poses of a recording as arrays, from which edits and exports start.

In: poses (`take`), a recording (`from_recording`) or any file (`read`), with the forces of the `ground`. On the way: parts and
takes on the spot (`take`), equal frame times (`resampling`), another body (`retarget`). Out: a recording again (`recorded`).

Other folders import from_recording, ground, read, recorded, resampling, retarget, take.
"""
