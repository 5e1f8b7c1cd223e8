"""A rig from one or two markers that are waved through the volume.

In: `Sightings`, both cameras' bright spots (tracks), and their lenses. Out: a `WandSolution` (solve), its report (quality) and
picture.

Other folders import picture, quality, solve, tracks.
"""
