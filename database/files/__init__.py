"""Motion files of other programs, brought to the project's own skeleton.

In: ASF/AMC, BVH and glTF files (read), C3D and TRC files (c3d, trc). Out: a `Clip` at the file's rate, for `clean` and
`resample`, or `C3dPoints` and `TrcPoints`, either as `OpticalPoints` (points). A reader makes a `SourceMotion`; `names`
and `shapes` tell which joint is which, `axes` how its rest pose is turned, `lengths` its bones; `retarget` brings all together.
An `avatar` is a skinned body of a file, which moves as our skeleton does.

Other folders import asf_amc, avatar, c3d, c3d_extras, cleaning, names, points, read, resample, retarget, trc.
"""
