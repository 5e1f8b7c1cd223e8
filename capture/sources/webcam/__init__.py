"""Webcams of this machine, through OpenCV.

Other folders import backends, names, settings, webcam.
"""
