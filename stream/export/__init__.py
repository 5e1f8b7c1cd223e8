"""A take as files of other programs, one module a format.

In: poses (`take`), a recording (`from_recording`) or a file (`read`). On the way: parts and takes on the spot (`take`), equal
frame times (`resampling`), another body (`retarget`). Out: BVH, C3D, CSV, TRC, GLB, VRMA, FBX by Blender, a user's own `avatar`
and joint angles; mesh/ makes the body of a GLB.

Other folders import angles, avatar, bvh, c3d, csv, events, fbx, from_recording, glb, ground, read, recorded, resampling,
retarget, take, trc, vrma.
"""
