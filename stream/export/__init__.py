"""A take as files of other programs, one module a format.

BVH, C3D, CSV, TRC, GLB, VRMA, FBX by Blender, a user's own `avatar` and joint angles; mesh/ makes the body of a GLB.

Other folders import angles, avatar, bvh, c3d, csv, events, fbx, glb, trc, vrma.
"""
