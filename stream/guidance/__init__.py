"""The page that guides a user through a calibration before live cameras.

In: advice, the cameras' pictures, the quality report. Out: a viser page (`page`), its HTML (`html`) and its pictures (`picture`).

Other folders import html, page, picture.
"""
