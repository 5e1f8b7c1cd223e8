"""Calibration with cameras that run: somebody is guided on a page.

What to say next, and when it is enough, is decided in `calibration/guidance`, of views and points alone; the page is
`stream/guidance`; here are the processes of the cameras and the loop that joins the three.
"""
