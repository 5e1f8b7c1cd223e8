"""Cameras that stream over the network: MJPEG over HTTP, RTSP.

Other folders import address, mjpeg, rtsp.
"""
