"""The quality report on a calibration: how wrong the world may be, what explains it, and its picture.

In: a `RigSolution` of solve/. Out: a `QualityReport` of graded findings and figures (rig), and its picture (rig_picture). The
report itself and what pictures share (report, picture) serve floor/, wand/ and subject/ too.

Other folders import picture, report, rig, rig_picture.
"""
