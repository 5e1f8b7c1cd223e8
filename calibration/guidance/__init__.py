"""What somebody who moves a board or takes up a T-pose is told to do next.

In: views of a board as they are found (rig), or points of markers frame by frame (subject), with their times. Out: `Advice` as
text and arrow, and what was kept.

Other folders import advice, rig, subject.
"""
