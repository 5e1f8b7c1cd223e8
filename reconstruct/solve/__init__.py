"""The most probable pose for the markers of one frame (Chai & Hodgins 2005, eq. 9).

Other folders import limits, root, solver.
"""
