"""From a frame to the blobs that are markers, with their uncertainty.

Other folders import blobs, detector, foreground.
"""
