"""Cameras that stream over the network: MJPEG over HTTP, RTSP."""
