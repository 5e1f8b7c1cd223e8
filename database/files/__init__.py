"""Motion files of other programs, brought to the project's own skeleton.

In: ASF/AMC and BVH files (read), C3D and TRC files (c3d, trc). Out: a `Clip` at the file's rate, which `clean` and
`resample` take, or `C3dPoints` and `TrcPoints`.

Other folders import asf_amc, c3d, cleaning, read, resample, retarget, trc.
"""
