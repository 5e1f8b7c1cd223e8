"""Files of an optical system's markers.

In: C3D and TRC files (c3d, trc), with what C3D files have beside points (c3d_extras). Out: `OpticalPoints` of one person
(points). `checks` finds units and rates, by what bodies and motion are, and takes the subject out of names.

Other folders import c3d, c3d_extras, points, trc.
"""
