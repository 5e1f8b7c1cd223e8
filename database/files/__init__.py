"""Motion files of other programs, brought to the project's own skeleton.

In: ASF/AMC, BVH and glTF files (read). Out: a `Clip` at the file's rate, for `cleaning` and `resample`. A reader makes a
`SourceMotion`; `names` and `shapes` tell which joint is which, `axes` how its rest pose is turned, `lengths` its bones;
`retarget` brings all together.
An `avatar` is a skinned body of a file, which moves as our skeleton does.

Other folders import asf_amc, avatar, cleaning, names, read, resample, retarget.
"""
