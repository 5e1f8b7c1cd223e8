"""A take as files of other programs, one module a format.

In: poses (`take`), a recording (`from_recording`) or a file (`read`). On the way: parts and takes on the spot (`take`), equal
frame times (`resampling`). Out: BVH, C3D, CSV, TRC, GLB, VRMA and joint angles; mesh/ makes the body of a GLB.

Other folders import angles, bvh, c3d, csv, events, from_recording, glb, ground, read, recorded, resampling, take, trc, vrma.
"""
