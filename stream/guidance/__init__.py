"""The page that guides a user through a calibration before live cameras.

In: advice, the cameras' pictures, the quality report. Out: a viser page (`page`) and its HTML (`html`).

Other folders import html, page.
"""
